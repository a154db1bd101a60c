from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from read.support import FULL, Bomb, backed_by_map, codes, header, npy, read, refused_file, words

from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.layout import Scope
from mgpu_trace.read import write_npz
from mgpu_trace.spec import SpecOptions, TraceSpec

WORDS = words()
NOTHING = SpecOptions()
SPEC = TraceSpec(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=16, names=("Init", 'a"\n\ud83d', ""))


def zipped(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)
    return path


def test_the_container_round_trips_and_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, WORDS, SPEC)
    result = read(path, NOTHING)
    assert result.buffer.spec == SPEC
    assert np.array_equal(result.buffer.words, WORDS.reshape(6, 16))
    assert backed_by_map(result.buffer.words)
    assert result.buffer.words.flags.aligned
    result.buffer.release(0, 6)
    assert np.array_equal(result.buffer.words, WORDS.reshape(6, 16))
    assert codes(result) == []
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_numpy_reads_the_container(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", WORDS.reshape(3, 2, 16), SPEC)
    with np.load(tmp_path / "a.npz") as archive:
        assert np.array_equal(archive["words"].reshape(-1), WORDS)
        assert json.loads(str(archive["spec"])) == SPEC.to_dict()


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.npz").write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(MgpuTraceError, match="disk full") as caught:
        write_npz(tmp_path / "a.npz", WORDS, SPEC)
    assert caught.value.diagnostic.code.id == "MGT602"
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.npz", b"old")]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("form", ["unicode", "bytes", "uint8"])
def test_what_numpy_writes(tmp_path: Path, save: object, form: str) -> None:
    text = json.dumps({"grid": 3, "block": [256], "entries_per_warpgroup": 16, "names": ["é"]})
    spec = {
        "unicode": np.array(text),
        "bytes": np.array(text.encode()),
        "uint8": np.frombuffer(text.encode(), np.uint8),
    }[form]
    save(tmp_path / "a.npz", words=WORDS, spec=spec)  # type: ignore[operator]
    result = read(tmp_path / "a.npz", NOTHING)
    assert result.buffer.spec.names == ("é",)
    assert result.buffer.spec.n_tracks == 6
    assert np.array_equal(result.buffer.words.reshape(-1), WORDS)


def test_flags_win_over_the_container(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", WORDS, SPEC)
    options = SpecOptions(grid=(6, 1, 1), block=(32, 1, 1), scope=Scope.WARP, names=("x",))
    spec = read(tmp_path / "a.npz", options).buffer.spec
    assert (spec.n_blocks, spec.tracks_per_block, spec.names) == (6, 1, ("x",))


def test_a_plain_one_with_one_array(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", anything=WORDS.astype(">u4"))
    assert np.array_equal(read(tmp_path / "a.npz").buffer.words.reshape(-1), WORDS)
    np.savez(tmp_path / "b.npz", WORDS)
    assert np.array_equal(read(tmp_path / "b.npz").buffer.words.reshape(-1), WORDS)


def test_a_large_unaligned_one_is_mapped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mgpu_trace.read import npz

    np.savez(tmp_path / "a.npz", words=WORDS)
    small = read(tmp_path / "a.npz").buffer.words
    assert small.flags.aligned
    monkeypatch.setattr(npz, "_COPY_UNALIGNED_BYTES", 1)
    large = read(tmp_path / "a.npz").buffer.words
    assert not large.flags.aligned
    assert backed_by_map(large)
    assert np.array_equal(large, small)


def test_several_arrays_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=WORDS, y=WORDS + 1, spec=np.array("{}"))
    found = refused_file(catalogue.ARRAY_CHOICE, path)
    assert "x, y, spec" in found.message
    assert "--array" in found.hint
    assert read(path, array="y").buffer.words[0, 0] == 1
    assert read(path, array="x.npy").buffer.words[0, 0] == 0
    assert "z" in refused_file(catalogue.ARRAY_CHOICE, path, array="z").message
    np.savez(path, **{f"a{i}": WORDS for i in range(300)})
    assert "292 more" in refused_file(catalogue.ARRAY_CHOICE, path).message


def test_array_is_for_npz_only(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", WORDS)
    refused_file(catalogue.ARRAY_CHOICE, tmp_path / "a.npy", array="words")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    bomb = npy(np.array([Bomb()], object), allow_pickle=True)
    refused_file(catalogue.OBJECT_ARRAY, zipped(tmp_path / "a.npz", words=bomb))
    refused_file(catalogue.SPEC_INVALID, zipped(tmp_path / "b.npz", words=npy(WORDS), spec=bomb))


@pytest.mark.parametrize(
    "spec",
    [np.zeros(3), np.array(["a", "b"]), np.array(b"\xff\xfe"), np.array("{"), np.array("[]"), np.array("")],
)
def test_a_spec_that_is_none(tmp_path: Path, spec: np.ndarray) -> None:
    refused_file(catalogue.SPEC_INVALID, zipped(tmp_path / "a.npz", words=npy(WORDS), spec=npy(spec)))


def test_a_spec_of_impossible_characters(tmp_path: Path) -> None:
    bad = header("{'descr': '<U2', 'fortran_order': False, 'shape': ()}", 1, b"\xff" * 8)
    refused_file(catalogue.SPEC_INVALID, zipped(tmp_path / "a.npz", words=npy(WORDS), spec=bad))


def test_a_zip_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no array" in refused_file(catalogue.NOT_A_BUFFER, tmp_path / "a.npz").message
    with zipfile.ZipFile(tmp_path / "b.npz", "w"):
        pass
    refused_file(catalogue.NOT_A_BUFFER, tmp_path / "b.npz")


def test_an_array_that_ends_early_or_late(tmp_path: Path) -> None:
    found = refused_file(catalogue.FILE_TRUNCATED, zipped(tmp_path / "a.npz", words=npy(WORDS)[:-8]))
    assert "94 of 96 words" in found.message
    refused_file(catalogue.FILE_TRUNCATED, zipped(tmp_path / "b.npz", words=b"\x93NU"))
    refused_file(catalogue.CONTAINER_CORRUPT, zipped(tmp_path / "c.npz", words=b"not an array at all"))
    assert codes(read(zipped(tmp_path / "d.npz", words=npy(WORDS) + b"more"))) == ["MGT113"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_flipped_bit_fails_the_checksum(tmp_path: Path, save: object) -> None:
    path = tmp_path / "a.npz"
    save(path, words=WORDS)  # type: ignore[operator]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    refused_file(catalogue.CONTAINER_CORRUPT, path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed, "ours"])
def test_a_flipped_bit_far_into_a_large_one(tmp_path: Path, save: object) -> None:
    path = tmp_path / "a.npz"
    large = np.random.default_rng(0).integers(0, 2**32, 40_000, dtype=np.uint32)
    options = SpecOptions(words_per_track=16)
    if save == "ours":
        write_npz(path, large, SPEC)
    else:
        save(path, words=large)  # type: ignore[operator]
    data = bytearray(path.read_bytes())
    data[150_000] ^= 1
    path.write_bytes(data)
    refused_file(catalogue.CONTAINER_CORRUPT, path, options)


def test_a_cut_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, WORDS, SPEC)
    data = path.read_bytes()
    for size in range(7, len(data), 13):
        path.write_bytes(data[:size])
        refused_file(catalogue.CONTAINER_CORRUPT, path)


def test_an_encrypted_entry(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.npz", words=npy(WORDS))
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    path.write_bytes(data)
    assert "encrypted" in refused_file(catalogue.CONTAINER_CORRUPT, path).message


def test_an_unknown_compression(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.npz", words=npy(WORDS))
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(magic) + at] = 77
    path.write_bytes(data)
    refused_file(catalogue.CONTAINER_CORRUPT, path)


def test_two_arrays_of_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("words.npy", npy(WORDS))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("words.npy", npy(WORDS + 1))
    refused_file(catalogue.CONTAINER_CORRUPT, tmp_path / "a.npz")


@pytest.mark.parametrize("claim", [1 << 20, (1 << 32) - 2])
def test_sizes_that_lie_allocate_nothing(tmp_path: Path, claim: int) -> None:
    """The archive and the header promise far more than the entry holds."""
    text = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({(claim - 128) // 4},)}}"
    body = header(text.ljust(117) + "\n", 1, b"\0" * 400)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        path = tmp_path / f"{method}.npz"
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("words.npy", body)
        data = bytearray(out.getvalue())
        at = data.index(b"PK\x01\x02")
        data[at + 24 : at + 28] = claim.to_bytes(4, "little")
        path.write_bytes(data)
        refused_file(catalogue.CONTAINER_CORRUPT, path, FULL)


def test_a_container_of_another_type_is_converted(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", words=WORDS.astype(np.int64))
    assert codes(read(tmp_path / "a.npz")) == ["MGT112"]


def test_a_compressed_array_larger_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", words=np.zeros(5000, np.uint32))
    monkeypatch.setattr("mgpu_trace.read.npz.MAX_UNPACKED_BYTES", 10_000)
    with pytest.raises(MgpuTraceError, match="unpacks to 20128 bytes") as caught:
        read(tmp_path / "a.npz", NOTHING)
    assert caught.value.diagnostic.code.id == "MGT902"
