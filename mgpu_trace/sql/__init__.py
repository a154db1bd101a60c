"""SQL over decoded launches, by DuckDB: what is asked is read from the columns, and nothing else can be.

::

    lazy       a table of which only the columns are made that a statement reads
    session    the four tables, one statement, its answer
    answers    an answer as rows for JSON, CSV and people

duckdb and pyarrow are imported inside the functions that need them.
"""
