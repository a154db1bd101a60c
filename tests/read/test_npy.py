from __future__ import annotations

import mmap
import pickle
from pathlib import Path

import numpy as np
import pytest
from read.support import FULL, Bomb, backed_by_map, codes, header, npy, read, refused_file, words, write

from mgpu_trace.diagnostics import catalogue
from mgpu_trace.spec import SpecOptions

WORDS = words()


@pytest.mark.parametrize("dtype", ["<u4", ">u4", "<i4", ">i4"])
def test_plain_words_stay_in_the_map(tmp_path: Path, dtype: str) -> None:
    path = write(
        tmp_path / "a.npy", npy(WORDS.view("i4").astype(dtype) if "i" in dtype else WORDS.astype(dtype))
    )
    result = read(path)
    assert result.buffer.words.dtype.str == dtype.replace("i", "u")
    assert result.buffer.words.shape == (6, 16)
    assert np.array_equal(result.buffer.words.astype("<u4"), WORDS.reshape(6, 16))
    assert not result.buffer.words.flags.writeable
    assert backed_by_map(result.buffer.words)
    assert codes(result) == []


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", ">i2", "<u8", ">u8", "<i8"])
def test_other_integers_are_converted_and_said(tmp_path: Path, dtype: str) -> None:
    small = (np.arange(96) % 100).astype(dtype)
    result = read(write(tmp_path / "a.npy", npy(small)))
    assert np.array_equal(result.buffer.words.reshape(-1), np.arange(96) % 100)
    assert codes(result) == ["MGT112"]


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<i2"])
def test_negative_values_are_their_pattern(tmp_path: Path, dtype: str) -> None:
    values = np.zeros(96, dtype)
    lowest = -(2**31) if dtype[1:] == "i8" else -(2**15)
    values[:2] = lowest, -1
    result = read(write(tmp_path / "a.npy", npy(values)))
    assert result.buffer.words[0, :3].tolist() == [lowest % 2**32, 2**32 - 1, 0]


@pytest.mark.parametrize(
    ("value", "dtype"), [(2**32, "u8"), (2**64 - 1, "u8"), (2**32, "i8"), (-(2**31) - 1, ">i8")]
)
def test_a_value_out_of_range_is_named(tmp_path: Path, value: int, dtype: str) -> None:
    values = np.zeros(96, dtype)
    values[70] = value
    found = refused_file(catalogue.VALUE_RANGE, write(tmp_path / "a.npy", npy(values)))
    assert f"value {value} at index 70 " in found.message


def test_the_largest_word_fits_in_64_bits(tmp_path: Path) -> None:
    values = np.full(96, 2**32 - 1, np.uint64)
    assert read(write(tmp_path / "a.npy", npy(values))).buffer.words.min() == 2**32 - 1


def test_values_are_checked_in_every_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mgpu_trace.read import words as module

    monkeypatch.setattr(module, "_CHUNK", 7)
    values = np.arange(96, dtype=np.int64)
    values[::9] = -1
    result = read(write(tmp_path / "a.npy", npy(values)))
    assert np.array_equal(result.buffer.words.reshape(-1), values.astype(np.uint32))
    values[95] = 2**40
    found = refused_file(catalogue.VALUE_RANGE, write(tmp_path / "b.npy", npy(values)))
    assert "index 95 " in found.message


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (np.zeros(96, np.float32), "float32"),
        (np.zeros(96, np.float64), "float64"),
        (np.zeros(96, np.bool_), "bool"),
        (np.zeros(96, np.complex64), "complex64"),
        (np.zeros(96, "U4"), "str"),
        (np.zeros(96, "S4"), "bytes"),
        (np.zeros(96, "M8[ns]"), "datetime64"),
        (np.zeros(96, [("a", "<u4")]), "records"),
        (np.zeros(96, "V4"), "records"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_is_no_integer_is_refused(tmp_path: Path, array: np.ndarray, word: str) -> None:
    assert word in refused_file(catalogue.BAD_DTYPE, write(tmp_path / "a.npy", npy(array))).message


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npy", npy(np.array([Bomb()] * 3, object), allow_pickle=True))
    found = refused_file(catalogue.OBJECT_ARRAY, path)
    assert "pickle" not in found.line()
    record = np.zeros(3, [("a", object)])
    refused_file(catalogue.OBJECT_ARRAY, write(tmp_path / "b.npy", npy(record, allow_pickle=True)))
    found = refused_file(catalogue.NOT_A_BUFFER, write(tmp_path / "c.npy", pickle.dumps([1, 2])))
    assert "pickle" in found.message


@pytest.mark.parametrize("dtype", ["<u4", ">i4", "<u8"])
@pytest.mark.parametrize("shape", [(6, 16), (3, 2, 16)])
def test_fortran_order_comes_out_in_c_order(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    array = np.asfortranarray(WORDS.astype(np.uint32).astype(dtype, casting="unsafe").reshape(shape))
    assert array.flags.f_contiguous
    path = write(tmp_path / "a.npy", npy(array))
    assert b"'fortran_order': True" in path.read_bytes()
    assert np.array_equal(read(path).buffer.words.astype("<u4"), WORDS.reshape(6, 16))


def test_the_shape_gives_the_layout(tmp_path: Path) -> None:
    result = read(write(tmp_path / "a.npy", npy(WORDS.reshape(3, 2, 16))), SpecOptions())
    spec = result.buffer.spec
    assert (spec.n_blocks, spec.tracks_per_block, spec.words_per_track) == (3, 2, 16)
    assert any("shape" in s for s in spec.assumed)
    result = read(write(tmp_path / "b.npy", npy(WORDS.reshape(6, 16))), SpecOptions())
    spec = result.buffer.spec
    assert (spec.n_blocks, spec.tracks_per_block, spec.words_per_track) == (6, 1, 16)
    assert spec.assumed


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((6, 16), SpecOptions(words_per_track=8)),
        ((3, 2, 16), SpecOptions(grid=(2, 1, 1), block=(384, 1, 1), words_per_track=16)),
        ((2, 3, 16), FULL),
        ((1, 96), FULL),
        ((6, 16), SpecOptions(profile_space=2, jax_version="0.10.0")),
    ],
)
def test_a_shape_that_contradicts_is_refused(
    tmp_path: Path, shape: tuple[int, ...], options: SpecOptions
) -> None:
    path = write(tmp_path / "a.npy", npy(WORDS.reshape(shape)))
    found = refused_file(catalogue.SPEC_CONTRADICTS, path, options)
    assert str(shape[-1]) in found.message


@pytest.mark.parametrize(
    ("array", "words_"),
    [
        (np.uint32(7), "single value"),
        (np.zeros(0, np.uint32), "0 words"),
        (np.zeros((3, 0, 16), np.uint32), "0 words"),
        (np.zeros((2, 2, 2, 12), np.uint32), "4 dimensions"),
    ],
    ids=["0-d", "empty", "empty-3-d", "4-d"],
)
def test_shapes_that_no_buffer_has(tmp_path: Path, array: np.ndarray, words_: str) -> None:
    assert (
        words_
        in refused_file(catalogue.NOT_A_BUFFER, write(tmp_path / "a.npy", npy(np.asarray(array)))).message
    )


def test_a_file_cut_anywhere_is_truncated(tmp_path: Path) -> None:
    whole = npy(WORDS)
    path = tmp_path / "a.npy"
    for size in range(1, len(whole)):
        found = refused_file(catalogue.FILE_TRUNCATED, write(path, whole[:size]))
        assert "pickle" not in found.line()
    assert "95 of 96 words" in found.message
    found = refused_file(catalogue.FILE_TRUNCATED, write(path, whole[: 128 + 4 * 10 + 2]))
    assert "10 of 96 words" in found.message
    found = refused_file(catalogue.FILE_TRUNCATED, write(path, whole[:3]))
    assert "3 of 6 bytes" in found.message
    found = refused_file(catalogue.FILE_TRUNCATED, write(path, whole[:50]))
    assert "50 of 128 bytes" in found.message


def test_more_than_the_array_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npy", npy(WORDS) + npy(WORDS))
    result = read(path)
    assert codes(result) == ["MGT113"]
    assert f"{128 + 384} bytes" in result.diagnostics[0].message
    assert np.array_equal(result.buffer.words.reshape(-1), WORDS)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_of_the_header(tmp_path: Path, version: int) -> None:
    text = "{'descr': '<u4', 'fortran_order': False, 'shape': (96,), }\n"
    path = write(tmp_path / "a.npy", header(text, version, WORDS.tobytes()))
    assert np.array_equal(read(path).buffer.words.reshape(-1), WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'descr': '<u4', 'fortran_order': False}",
        "{'descr': '<u4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<u4', 'fortran_order': False, 'shape': ('a',)}",
        "{'descr': 'nope', 'fortran_order': False, 'shape': (96,)}",
        "{'descr': '<V0', 'fortran_order': False, 'shape': (96,)}",
        "__import__('os')._exit(99)",
        "(" * 9000,
        "[" * 9000 + "]" * 9000,
        "{'descr': '<u4', 'fortran_order': False, 'shape': (96L,), 'x': 1}",
        "\x00" * 60,
        "{'descr': '<u4',\n\n 'fortran_order': Fa",
    ],
)
def test_a_damaged_header_is_refused(tmp_path: Path, text: str) -> None:
    refused_file(catalogue.CONTAINER_CORRUPT, write(tmp_path / "a.npy", header(text, 1, WORDS.tobytes())))


def test_a_header_of_unknown_version_or_size_is_refused(tmp_path: Path) -> None:
    refused_file(catalogue.CONTAINER_CORRUPT, write(tmp_path / "a.npy", header("{}", 9)))
    huge = b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little") + b" " * 100
    refused_file(catalogue.CONTAINER_CORRUPT, write(tmp_path / "b.npy", huge))


def test_a_huge_promise_allocates_nothing(tmp_path: Path) -> None:
    for shape in ("(1099511627776,)", "(4294967296, 4294967296, 4294967296)"):
        text = f"{{'descr': '<u8', 'fortran_order': True, 'shape': {shape}}}"
        refused_file(catalogue.FILE_TRUNCATED, write(tmp_path / "a.npy", header(text, 1, b"\0" * 80)))


def test_released_pages_leave_memory(tmp_path: Path) -> None:
    status = Path("/proc/self/status")
    if not (status.exists() and hasattr(mmap, "MADV_DONTNEED")):
        pytest.skip("this system does not say how much of a map is resident")

    def resident_bytes() -> int:
        line = next(x for x in status.read_text().splitlines() if x.startswith("RssFile"))
        return int(line.split()[1]) << 10

    n = 1 << 24
    path = tmp_path / "a.npy"
    np.save(path, np.arange(n, dtype=np.uint32))
    buffer = read(path, SpecOptions(words_per_track=1024)).buffer
    before = resident_bytes()
    total = int(buffer.words.sum(dtype=np.int64))
    touched = resident_bytes()
    assert touched - before > 3 * n
    for first in range(0, len(buffer.words), 100):
        buffer.release(first, min(first + 100, len(buffer.words)))
    assert resident_bytes() - before < (touched - before) // 20
    assert int(buffer.words.sum(dtype=np.int64)) == total == n * (n - 1) // 2
