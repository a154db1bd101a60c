"""What the tests of reading share."""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mgpu_trace.diagnostics import Code, Diagnostic, MgpuTraceError
from mgpu_trace.read import ReadResult, read_trace
from mgpu_trace.spec import SpecOptions

FULL = SpecOptions(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=16)
"""The spec of :func:`words`."""


def words(n_tracks: int = 6, per_track: int = 16) -> np.ndarray:
    """Recognisable words: 100 per track and 1 per word, with tags in the EXIT half."""
    rows = 100 * np.arange(n_tracks, dtype=np.uint32)[:, None] + np.arange(per_track, dtype=np.uint32)
    rows[:, 5] |= np.uint32(1 << 31)
    return rows.reshape(-1)


def refused(code: Code, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Diagnostic:
    """The finding that ``call`` is refused with, which must be of ``code`` and print as one line."""
    with pytest.raises(MgpuTraceError) as caught:
        call(*args, **kwargs)
    found = caught.value.diagnostic
    assert found.code is code, found.line()
    line = found.line()
    assert "\n" not in line
    assert line.isprintable()
    assert line.startswith(f"error[{code.id}]: ")
    return found


def refused_file(
    code: Code, path: str | os.PathLike[str], options: SpecOptions = FULL, **kwargs: Any
) -> Diagnostic:
    """The same for a file, which the finding must name as it was given."""
    found = refused(code, read_trace, path, options, **kwargs)
    assert found.file == os.fspath(path)
    return found


def read(path: str | os.PathLike[str], options: SpecOptions = FULL, **kwargs: Any) -> ReadResult:
    return read_trace(path, options, **kwargs)


def codes(result: ReadResult) -> list[str]:
    return [d.code.id for d in result.diagnostics]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def npy(array: np.ndarray, **kwargs: object) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **kwargs)  # type: ignore[arg-type]
    return out.getvalue()


def header(text: str, version: int = 1, body: bytes = b"") -> bytes:
    width = 2 if version == 1 else 4
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text.encode() + body


def backed_by_map(array: np.ndarray) -> bool:
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


class Bomb:
    """Ends the process when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (os._exit, (99,))
