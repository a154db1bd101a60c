"""A synthetic launch as files: the buffer, its spec, and the truth beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.files import whole_file
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth.truth import Synthetic


def write_synthetic(path: str | os.PathLike[str], synthetic: Synthetic) -> tuple[Path, ...]:
    """Write ``synthetic`` as ``path`` and beside it; return the files, the buffer first.

    ``NAME.npy`` gets the sidecar ``NAME.json``; ``NAME.npz`` carries the spec itself. Both get
    ``NAME.truth.json``. Each file appears whole or not at all.

    Raises
    ------
    MgpuTraceError
        MGT603 for another suffix, MGT601 where the folder is missing, MGT602 where it cannot be written.
    """
    path = Path(path)
    truth = _truth_text(synthetic.truth.to_dict())
    jobs: list[tuple[Path, Callable[[BinaryIO], object]]]
    if path.suffix == ".npy":
        jobs = [(path, lambda f: np.save(f, synthetic.words.reshape(-1), allow_pickle=False))]
        jobs.append((path.with_suffix(".json"), lambda f: f.write(spec_text(synthetic.spec))))
    elif path.suffix == ".npz":
        arrays = {
            "words": synthetic.words.reshape(-1),
            "spec": np.array(json.dumps(synthetic.spec.to_dict())),
        }
        jobs = [(path, lambda f: np.savez_compressed(f, **arrays))]  # type: ignore[arg-type]
    else:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.UNKNOWN_FORMAT,
                f"a buffer cannot be written as {path.suffix or 'a file without a suffix'}",
                hint="use .npy or .npz",
                file=str(path),
            )
        )
    jobs.append((path.with_suffix(".truth.json"), lambda f: f.write(truth)))
    for target, write in jobs:
        with whole_file(target) as file:
            write(file)
    return tuple(target for target, _ in jobs)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def spec_text(spec: TraceSpec) -> bytes:
    """A sidecar: ``spec`` as JSON with one field a line."""
    lines = (b" " + _json(key) + b": " + _json(value) for key, value in spec.to_dict().items())
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def _truth_text(truth: dict[str, Any]) -> bytes:
    """``truth`` with one slice a line."""
    rows = truth.pop("rows")
    head = _json(truth).rstrip(b"}")
    body = ",\n".join(map(json.dumps, rows))
    return head + b', "rows": [\n' + body.encode() + b"\n]}\n"
