"""Columns that are made when they are read: the answers are those of plain tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from cli_support import FIXTURES

from mgpu_trace.pipeline import open_launch
from mgpu_trace.sql import session as session_module
from mgpu_trace.sql.session import Session, query

GEMM = FIXTURES / "golden/hopper_gemm.npy"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM slices WHERE block = 1 AND sm < 3 AND region = 'wait' AND begin_ns > 0 AND closed",
        "SELECT region FROM slices WHERE track IN (0, 5) OR dur_ns BETWEEN 20 AND 90 OR role IS NULL",
        "SELECT s.region, t.n_events FROM slices s JOIN tracks t USING (file, track) WHERE t.sm = 2",
        "SELECT DISTINCT ON (region) region, max(dur_cyc) OVER (PARTITION BY region) FROM slices",
        "SELECT columns('.*_cyc') FROM slices",
        "SELECT s FROM slices s LIMIT 3",
        "FROM slices SELECT count(*) WHERE NOT truncated",
        "TABLE names",
        "SELECT region, list(dur_cyc ORDER BY dur_cyc)[:3] FROM slices GROUP BY region",
        "SUMMARIZE slices",
        "DESCRIBE slices",
        "PIVOT slices ON unit USING sum(dur_cyc) GROUP BY region",
        "WITH a AS (SELECT region FROM slices) SELECT count(*) FROM a, a b WHERE a.region < b.region",
        "EXPLAIN SELECT region FROM slices",
        "SELECT quantile_cont(dur_cyc, [0.5, 0.99]) FROM slices;",
        "VALUES (1), (2) -- none of the tables",
        "SELECT count(*) FROM slices TABLESAMPLE 100%",
        "SHOW TABLES",
    ],
)
def test_columns_that_are_made_when_they_are_read_change_nothing(
    sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same from plain tables, all of whose columns are there."""

    def plain(schema: Any, column: Any) -> Any:
        return pa.table([column(name) for name in schema.names], schema=schema)

    lazily = query(sql, open_launch(GEMM))
    monkeypatch.setattr(session_module, "lazy_table", plain)
    at_once = query(sql, open_launch(GEMM))
    if "EXPLAIN" in sql or "SUMMARIZE" in sql:  # estimates of plans and of distinct values
        assert lazily.schema == at_once.schema
    else:
        assert sorted(map(repr, lazily.to_pylist())) == sorted(map(repr, at_once.to_pylist()))


def test_only_what_is_read_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    lazy = session_module.lazy_table

    def watched(schema: Any, column: Any) -> Any:
        return lazy(schema, lambda name: (made.append(name), column(name))[1])

    monkeypatch.setattr(session_module, "lazy_table", watched)
    session = Session()
    session.add(open_launch(GEMM))
    session.ask("SELECT region, sum(dur_cyc) FROM slices WHERE sm > 1 GROUP BY region")
    assert {*made} == {"track", "region", "dur_cyc", "sm"}  # by track the rows are counted


def test_should_duckdb_read_datasets_in_another_way_all_rows_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A dataset that DuckDB finds empty, as it would if it went round the scanner that makes columns."""
    wholes: dict[int, Any] = {}

    class Bypassed(ds.InMemoryDataset):
        def scanner(self, **how: Any) -> Any:
            return super().scanner(**how) if how else wholes[id(self)].scanner()

    def lazy(schema: Any, column: Any) -> Any:
        made = Bypassed(schema.empty_table())
        wholes[id(made)] = ds.dataset(pa.table([column(name) for name in schema.names], schema=schema))
        return made

    sql = (
        "SELECT t.sm, region, n.n_slices FROM slices JOIN tracks t USING (track) JOIN names n USING (region)"
    )
    expected = query(sql, open_launch(GEMM)).num_rows
    monkeypatch.setattr(session_module, "lazy_table", lazy)
    assert query(sql, open_launch(GEMM)).num_rows == expected > 0
