"""What a question must not do, and what is said of one that cannot be answered."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from cli_support import FIXTURES

import mgpu_trace
from mgpu_trace.columns.fields import TABLES
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.sql import session as session_module
from mgpu_trace.sql.session import Session

GEMM = FIXTURES / "golden/hopper_gemm.npy"


def refusal(session: Session, sql: str) -> MgpuTraceError:
    with pytest.raises(MgpuTraceError) as caught:
        session.ask(sql)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "no statement"),
        (" -- nothing", "no statement"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP TABLE slices", "2 statements"),
        ("CREATE TABLE x AS SELECT 1", "CREATE is no question"),
        ("CREATE MACRO f() AS 1", "CREATE is no question"),
        ("INSERT INTO slices VALUES (1)", "INSERT"),
        ("DELETE FROM slices", "DELETE"),
        ("UPDATE slices SET track = 1", "UPDATE"),
        ("DROP VIEW slices", "DROP"),
        ("COPY slices TO 'x.csv'", "COPY"),
        ("EXPORT DATABASE 'x'", "EXPORT"),
        ("ATTACH 'x.db'", "ATTACH"),
        ("INSTALL httpfs", "LOAD"),
        ("LOAD httpfs", "LOAD"),
        ("SET enable_external_access = true", "SET"),
        ("RESET lock_configuration", "SET"),
        ("PRAGMA threads=1", ""),
        ("CALL pragma_version()", ""),
        ("PREPARE x AS SELECT 1", "PREPARE"),
        ("BEGIN", "TRANSACTION"),
        ("CHECKPOINT", ""),
        ("VACUUM", "VACUUM"),
        ("USE memory", ""),
    ],
)
def test_what_is_not_one_question(session: Session, sql: str, said: str) -> None:
    found = refusal(session, sql).diagnostic
    assert found.code is catalogue.SQL_REFUSED
    assert said in found.message


SECRET = "the secret"


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of files that no SQL may read, and which must not change."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SECRET", SECRET)
    for name in ("secret.txt", "secret.csv", "secret.json"):
        (tmp_path / name).write_text(SECRET)
    mgpu_trace.write_trace(mgpu_trace.load(GEMM), tmp_path / "secret.parquet")
    mgpu_trace.write_trace(mgpu_trace.load(GEMM), tmp_path / "secret.arrow")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    yield tmp_path
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


python_variable = pa.table({"a": [SECRET]})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM 'secret.csv'",
        "SELECT * FROM 'secret.parquet'",
        "SELECT * FROM 'secret.json'",
        'SELECT * FROM "secret.arrow"',
        "SELECT * FROM 'https://example.com/x.parquet'",
        "SELECT * FROM 's3://bucket/x.parquet'",
        "SELECT * FROM read_csv('secret.csv')",
        "SELECT * FROM read_csv_auto('/etc/passwd')",
        "SELECT * FROM sniff_csv('secret.csv')",
        "SELECT * FROM read_parquet('secret.parquet')",
        "SELECT * FROM parquet_scan(['secret.parquet'])",
        "SELECT * FROM parquet_metadata('secret.parquet')",
        "SELECT * FROM parquet_schema('secret.parquet')",
        "SELECT * FROM parquet_kv_metadata('secret.parquet')",
        "SELECT * FROM read_json('secret.json')",
        "SELECT * FROM read_text('secret.txt')",
        "SELECT content FROM read_blob('/etc/passwd')",
        "SELECT * FROM glob('*')",
        "SELECT * FROM python_variable",
        "SELECT * FROM local_variable",
        "SELECT * FROM sqlite_scan('x.db', 't')",
        "SELECT getenv('SECRET')",
        "SELECT * FROM query('SELECT * FROM read_text(''secret.txt'')')",
        "SELECT * FROM query_table('secret.csv')",
        "WITH a AS (SELECT * FROM read_text('secret.txt')) SELECT * FROM a",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO 'written.csv'",
        "EXPLAIN ANALYZE ATTACH 'written.db'",
        "SELECT (SELECT content FROM read_text('secret.txt'))",
        "SELECT nextval('x')",
        "SELECT * FROM load_aws_credentials()",
        "PIVOT (SELECT * FROM read_csv('secret.csv')) ON a USING count(*)",
        "DESCRIBE SELECT * FROM 'secret.csv'",
        "SUMMARIZE 'secret.csv'",
    ],
)
def test_no_file_no_machine_no_variable_is_read(secrets: Path, session: Session, sql: str) -> None:
    local_variable = pa.table({"a": [SECRET]})
    assert local_variable.num_rows
    error = refusal(session, sql)
    assert error.diagnostic.code in (catalogue.SQL_ERROR, catalogue.SQL_REFUSED)
    assert SECRET not in str(error)
    assert "\n" not in error.diagnostic.message


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM duckdb_secrets()",
        "SELECT name, value FROM duckdb_settings()",
        "SELECT * FROM duckdb_variables()",
        "SELECT * FROM duckdb_databases()",
    ],
)
def test_what_duckdb_says_of_itself_holds_no_secret(secrets: Path, session: Session, sql: str) -> None:
    stored = secrets / ".duckdb/stored_secrets"
    assert not stored.exists()
    assert SECRET not in str(session.ask(sql).to_pylist())


def test_settings_are_final(session: Session) -> None:
    sql = "SELECT name, value FROM duckdb_settings()"
    values = {row["name"]: row["value"] for row in session.ask(sql).to_pylist()}
    closed = ("enable_external_access", "python_enable_replacements", "autoload_known_extensions")
    assert {values[name] for name in closed} == {"false"}
    assert (values["lock_configuration"], values["temp_directory"]) == ("true", "")
    for name, value in session_module._SETTINGS.items():
        assert str(values[name]).lower() == value


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT regio FROM slices", '"regio" not found'),
        ("SELECT * FROM slice", "slice does not exist"),
        ("SELEC 1", 'syntax error at or near "SELEC'),
        ("SELECT region FROM slices GROUP BY track", "must appear in the GROUP BY clause"),
        ("SELECT 'a'::INT FROM slices", "Could not convert string 'a'"),
        ("SELECT region::INT FROM slices", "Could not convert string"),
        ("SELECT error('no')", "no"),
        ("SELECT 'unfinished", "unterminated"),
    ],
)
def test_errors_are_duckdbs_words_in_one_line(session: Session, sql: str, said: str) -> None:
    found = refusal(session, sql).diagnostic
    assert found.code is catalogue.SQL_ERROR
    assert said in found.message
    assert "\n" not in found.message
    assert "LINE 1" not in found.message
    assert ("--schema" in found.hint) == (
        sql.startswith(("SELECT regio ", "SELECT * FROM slice", "SELECT region FROM"))
    )


def test_an_error_does_not_spoil_the_next_answer(session: Session) -> None:
    refusal(session, "SELECT region::INT FROM slices")
    assert session.ask("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_more_than_the_memory_that_there_is(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session_module._SETTINGS, "memory_limit", "20MB")
    small = Session()
    error = refusal(small, "SELECT list(a.range + b.range) FROM range(10000) a, range(10000) b")
    assert error.diagnostic.code is catalogue.OUT_OF_MEMORY
    assert not Path(".tmp").exists()


def test_a_question_that_takes_long_can_be_interrupted(session: Session) -> None:
    sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1"
    began = time.monotonic()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.ask(sql)
    timer.join()
    assert time.monotonic() - began < 30  # it would be hours
    assert session.ask("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_the_tables_are_those_that_are_listed(session: Session) -> None:
    for name, fields in TABLES.items():
        found = session.ask(f"SELECT * FROM {name} LIMIT 0").column_names
        assert found == [field.name for field in fields]
    listed = session.ask("SELECT name FROM (SHOW TABLES)").to_pydict()["name"]
    assert sorted(listed) == sorted(TABLES)
