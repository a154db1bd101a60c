"""Rows of a query in every form: values of all kinds, and tables that are too long for people."""

from __future__ import annotations

import csv
import io
import json

from cli_support import FIXTURES, invoke

from mgpu_trace_cli.answers import MOST_ROWS

GEMM = FIXTURES / "golden/hopper_gemm.npy"


def test_long_tables_say_what_they_leave_out() -> None:
    sql = f"SELECT range FROM range({MOST_ROWS + 5})"
    result = invoke("query", sql, GEMM)
    assert len(result.stdout.splitlines()) == 1 + MOST_ROWS
    assert result.stderr == f"{MOST_ROWS} of {MOST_ROWS + 5} rows; --format csv, json or parquet has all\n"
    assert len(invoke("query", sql, GEMM, "--csv").stdout.splitlines()) == 1 + MOST_ROWS + 5


VALUES = """SELECT 9223372036854775807 AS big, 170141183460469231731687303715884105727::HUGEINT AS huge,
    -1.5::DECIMAL(4, 2) AS dec, 'nan'::DOUBLE AS nan, 'inf'::DOUBLE AS inf, NULL AS nothing, true AS yes,
    [1, NULL] AS list, {'a': 'b'} AS pair, DATE '2026-01-02' AS day, '\\xAB'::BLOB AS bytes, '' AS empty,
    'a,"b"\n' AS text, 1 AS a, 2 AS a, MAP {'k': 1} AS map"""
JSON_VALUES = {
    "big": 2**63 - 1,
    "huge": 2**127 - 1,
    "dec": -1.5,
    "nan": None,
    "inf": None,
    "nothing": None,
    "yes": True,
    "list": [1, None],
    "pair": {"a": "b"},
    "day": "2026-01-02",
    "bytes": "ab",
    "empty": "",
    "text": 'a,"b"\n',
    "a": 1,
    "a_1": 2,
}


def test_values_of_all_kinds() -> None:
    (row,) = json.loads(invoke("query", VALUES, GEMM, "--json").stdout)["rows"]
    assert list(row)[-1] == "map"
    row.pop("map")
    assert row == JSON_VALUES
    (line,) = csv.DictReader(io.StringIO(invoke("query", VALUES, GEMM, "--csv").stdout, newline=""))
    assert line["huge"] == str(2**127 - 1)
    assert line["nan"] == line["nothing"] == line["empty"] == ""
    assert (line["yes"], line["list"], line["pair"]) == ("true", "[1, null]", '{"a": "b"}')
    assert line["text"] == 'a,"b"\n'
    shown = invoke("query", VALUES, GEMM).stdout.splitlines()
    assert len(shown) == 2
    assert str(2**127 - 1) in shown[1]
