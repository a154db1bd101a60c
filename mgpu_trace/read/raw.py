"""Raw little-endian uint32 words: ``.bin``, ``.u32``, or a pipe."""

from __future__ import annotations

import numpy as np

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.read.source import Source
from mgpu_trace.read.words import Words


def read_raw(source: Source) -> Words:
    """All of ``source`` as words.

    Raises
    ------
    MgpuTraceError
        MGT111 when it is not a whole number of words.
    """
    words, rest = divmod(len(source.data), layout.WORD_BYTES)
    if rest:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.RAGGED_BYTES,
                f"{len(source.data)} bytes are {words} words and {rest} bytes more",
                hint="copy the file again in binary mode",
            )
        )
    return Words(np.frombuffer(source.data, "<u4"), (words,), 0)
