"""The command line of mgpu-trace.

::

    main        the list of commands; where an error becomes text and an exit status
    options     the options that several commands take
    render      tables and progress, on a terminal (rich) and in a pipe (plain text)
    commands    one thin file per command
"""
