"""Golden and bad buffers with random damage, under random options: whatever comes, the promises hold.

What is promised: a status of 0, 1 or 2; lines of known forms, one for each code; a trace that is
whole or not there, says what was said, and has no slice that crosses its parent.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import FIXTURES, invoke

N_SEEDS = 12
RUNS_PER_SEED = 50

SOURCES = sorted(p for p in FIXTURES.glob("*/*") if p.suffix in (".npy", ".npz", ".bin"))
LINE = re.compile(
    r"(error|warning|info)\[MGT[1-6]\d\d\]: .|  more: mgpu-trace explain( MGT[1-6]\d\d)+$"
    r"|\d+ tracks?, \d+ slices?, \d+ dropped; |wrote .|nothing was written \(--strict\)$"
)
WORDS = (
    0,
    1,
    2,
    3,
    7,
    1024,
    65535,
    (1 << 20) - 1,
    1 << 20,
    2**31 - 1,
    2**31,
    2**31 + 1,
    2**32 - 2,
    2**32 - 1,
)
OPTIONS: dict[str, tuple[object, ...]] = {
    "--grid": (1, 4, "4,2,1", 2**31 - 1, "2147483647,2147483647,2147483647"),
    "--block": (128, 384, 96, 1024),
    "--entries": (4, 16, 36, 44, 2**31 - 1),
    "--profile-space": (1, 9, 11),
    "--scope": ("warp", "warpgroup"),
    "--names": ("a,b,c", ",", "\udc80,x", "n" * 3000),
    "--sm-clock-mhz": (1, 1980, 100_000),
    "--word2": ("auto", "used", "used+3"),
    "--jax-version": ("0.7.2", "0.10.2", "dev", ""),
    "--device": ("H100", "\udc80\n"),
    "--kernel": ("k\\", ""),
}
OF_DUMP: dict[str, tuple[object, ...]] = {
    "--select": ("sm=0-3", "unit=7", "block=99999999999999999999", "name=[", "time=1us:", "time=:0"),
    "--role": ("0=a\\", "0,1=\udc80"),
    "--args": ("cycles", "index,cycles"),
    "--overhead": ("auto", 1, 100_000),
    "--group-by": ("block", "unit"),
}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, cut, added or taken out."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 64))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(12)
        if kind == 0:
            del out[at:]
        elif kind == 1:
            del out[at : at + rng.randrange(8)]
        elif kind == 2:
            out[at:at] = rng.randbytes(rng.randrange(8))
        else:
            out[at : at + 1] = rng.randbytes(1)
    return bytes(out)


def with_wild_words(data: bytes, rng: random.Random) -> bytes:
    """Another buffer of the same size, where the file can be read at all."""
    try:
        array = np.load(io.BytesIO(data)).copy()
        words = array.reshape(-1).view(np.uint32)
    except Exception:  # the bad fixtures are bad in every way
        return damaged(data, rng)
    for _ in range(rng.choice((1, 3, 30))):
        words[rng.randrange(words.size)] = rng.choice((*WORDS, rng.getrandbits(32)))
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def some(options: dict[str, tuple[object, ...]], rng: random.Random, share: float) -> list[str]:
    chosen = [(flag, str(rng.choice(values))) for flag, values in options.items() if rng.random() < share]
    return [text for pair in chosen for text in pair]


def prepared(folder: Path, rng: random.Random) -> Path:
    """A damaged copy of a fixture, with its sidecar or without."""
    source = rng.choice(SOURCES)
    path = folder / f"x{source.suffix}"
    how = rng.choice((with_wild_words, with_wild_words, damaged))
    path.write_bytes(how(source.read_bytes() or b"\0", rng))
    sidecar = source.with_suffix(".json")
    if sidecar.exists() and rng.random() < 0.8:
        text = sidecar.read_bytes()
        (folder / "x.json").write_bytes(damaged(text, rng) if rng.random() < 0.3 else text)
    return path


def check_trace(trace: dict[str, Any], status: int, codes: set[str]) -> None:
    found = trace["metadata"]["diagnostics"]
    assert {d["code"] for d in found} == codes
    assert status == int(any(d["severity"] == "error" for d in found))
    events = trace["traceEvents"]
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    assert sum("cat" not in e for e in slices) == trace["metadata"]["n_slices"]
    open_ends: dict[tuple[int, int], list[int]] = {}
    for e in slices:
        line = (e["pid"], e["tid"])
        assert line in threads
        begin = round(e["ts"] * 1000)
        end = begin + round(e["dur"] * 1000)
        assert 0 <= begin <= end
        ends = open_ends.setdefault(line, [])
        while ends and (ends[-1] < begin or ends[-1] == begin < end):
            ends.pop()
        assert not ends or end <= ends[-1]
        ends.append(end)


def one_run(folder: Path, rng: random.Random) -> None:
    path = prepared(folder, rng)
    command = rng.choice(("dump", "dump", "dump", "validate", "info"))
    share = rng.choice((0.0, 0.05, 0.2))
    args: list[object] = [command, path, *some(OPTIONS, rng, share)]
    compat = strict = False
    if command == "dump":
        compat, strict = rng.random() < 0.1, rng.random() < 0.1
        args += ["-o", folder / "out.json", *(some(OF_DUMP, rng, share) if not compat else ())]
        args += ["--compat", "jax"] * compat + ["--strict"] * strict
        args += ["--no-lanes"] * (not compat and rng.random() < 0.2)
    elif rng.random() < 0.5:
        args += ["--json"]
    before = set(os.listdir(folder))
    result = invoke(*args)
    assert result.exit_code in (0, 1, 2), args
    assert result.exception is None or isinstance(result.exception, SystemExit), args
    if result.exit_code == 2:
        assert result.stderr.startswith("Usage: "), args
        return
    lines = result.stderr.splitlines()
    assert all(LINE.match(line) for line in lines), (args, lines)
    said = Counter(line.split("[")[1][:6] for line in lines if "[MGT" in line[:14])
    assert set(said.values()) <= {1}, (args, lines)
    new = set(os.listdir(folder)) - before
    if command == "dump":
        assert new <= {"out.json"}, args
        assert ("out.json" in new) == any(line.startswith("wrote ") for line in lines), args
        assert new or result.exit_code == 1
        if new:
            trace = json.loads((folder / "out.json").read_bytes())
            assert not (strict and result.exit_code)
            if not compat:
                check_trace(trace, result.exit_code, set(said))
    else:
        assert not new
        if "--json" in args and result.stdout:
            json.loads(result.stdout)


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_the_promises_hold_whatever_comes(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for i in range(RUNS_PER_SEED):
        folder = tmp_path / str(i)
        folder.mkdir()
        one_run(folder, rng)
        shutil.rmtree(folder)
