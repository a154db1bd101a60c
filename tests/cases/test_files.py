"""Files: inputs that people have reported, from a file through the command line to the trace.

The tests bear the numbers of the list of reports.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_support import invoke
from dumped import PAIRS, Dumped, cycles, warpgroups, words_of
from rows import B, E, row


def test_13_an_empty_json_is_an_interrupted_dump(tmp_path: Path) -> None:
    (tmp_path / "gemm-trace.json").touch()
    result = invoke("dump", tmp_path / "gemm-trace.json", "-o", tmp_path / "out.json")
    assert result.exit_code == 1
    assert "empty file: the dump failed or was interrupted" in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert not (tmp_path / "out.json").exists()


def test_78_a_truncated_array_says_how_many_words_are_there(tmp_path: Path) -> None:
    path = tmp_path / "cut.npy"
    np.save(path, np.arange(256, dtype=np.uint32))
    whole = path.read_bytes()
    body = len(whole) - 1024
    for size, says in ((body + 400, "100 of 256 words"), (3, "0 words"), (50, "0 words"), (0, "empty file")):
        path.write_bytes(whole[:size])
        result = invoke("dump", path, "-o", tmp_path / "out.json")
        assert result.exit_code == 1
        assert says in result.stderr
        assert str(path) in result.stderr
        assert "pickle" not in result.stderr
        assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize("dtype", [">u4", "<i4", "<u8", "<i8", ">i8"])
def test_81_integers_of_other_kinds(tmp_path: Path, dtype: str) -> None:
    words = words_of([row(1000, 0, PAIRS)], 16)
    np.save(tmp_path / "a.npy", words.view(np.int32).astype(dtype) if "i" in dtype else words.astype(dtype))
    dumped = Dumped(tmp_path / "a.npy", *warpgroups(1, 16), *cycles())
    assert dumped.status == 0
    assert [t[1:] for t in dumped.times()] == [("region_0", 0, 10), ("region_1", 20, 20)]
    assert ("MGT112" in dumped.codes()) == dtype.endswith("8")


def test_81_arrays_that_are_not_words(tmp_path: Path) -> None:
    words = words_of([row(1000, 0, PAIRS)], 16)
    bad = {
        "MGT107": words.view(np.float32),
        "MGT106": np.array([None, 1], object),
        "MGT108": words.astype(np.uint64) << 8,
        "MGT104": np.uint32(5),
    }
    for code, array in bad.items():
        np.save(tmp_path / "a.npy", array, allow_pickle=True)
        dumped = Dumped(tmp_path / "a.npy", *warpgroups(1, 16))
        assert dumped.status == 1
        assert dumped.codes() == {code}


def test_81_fortran_order_and_several_arrays(tmp_path: Path) -> None:
    words = words_of([row(1000, i // 2, [B(i, 10), E(i, 20)]) for i in range(4)], 16).reshape(2, 2, 16)
    np.save(tmp_path / "a.npy", np.asfortranarray(words))
    dumped = Dumped(tmp_path / "a.npy", *cycles())
    assert [t[:2] for t in dumped.times()] == [
        (f"block ({i // 2},0,0) · warpgroup {i % 2}", f"region_{i}") for i in range(4)
    ]
    np.savez_compressed(tmp_path / "b.npz", one=words, two=words)
    assert "--array" in Dumped(tmp_path / "b.npz").line("MGT109")
    assert Dumped(tmp_path / "b.npz", "--array", "two").times() == dumped.times()
