"""One file per command; :mod:`mgpu_trace_cli.main` lists them and imports the one that is called."""
