"""The command line of mgpu-trace.

::

    main        the list of commands; where an error becomes text and an exit status
    commands    one thin file per command
    options     the options that several commands take
    report      findings, the line of summary, the status
    render      tables and progress, on a terminal (rich) and in a pipe (plain text)
    outputs     where dump writes
    dumping     dump: one buffer to one trace
    facts       info: what is told about a launch
    made        synth: what is asked for
"""
