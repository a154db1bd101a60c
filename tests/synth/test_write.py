"""Synthetic launches as files, plain large ones, and the numbers they are made of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mgpu_trace.decode import decode
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.read import read_trace
from mgpu_trace.synth import SynthConfig, bench, bench_launch, synthesise, write_bench_npy, write_synthetic
from mgpu_trace.synth.noise import Noise


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_what_is_written_reads_back(tmp_path: Path, suffix: str) -> None:
    made = synthesise(SynthConfig(kernel='quoted "name" \U0001f525 \ud800'), 1)
    files = write_synthetic(tmp_path / f"made{suffix}", made)
    assert all(f.is_file() for f in files)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    result = read_trace(files[0])
    assert result.buffer.spec == made.spec
    assert (np.asarray(result.buffer.words) == made.words).all()
    assert result.diagnostics == ()


def test_the_truth_is_written_beside_it(tmp_path: Path) -> None:
    made = synthesise(SynthConfig(), 1)
    truth = json.loads(write_synthetic(tmp_path / "made.npy", made)[-1].read_text(encoding="utf-8"))
    assert truth["schema"] == "mgpu-trace/truth"
    assert truth["sm_clock_mhz"] == 1980.0
    assert len(truth["rows"]) == len(made.truth)
    row = dict(zip(truth["columns"], truth["rows"][7], strict=True))
    assert row["start_cyc"] == made.truth.start_cyc[7]
    assert row["start_ns"] == pytest.approx(row["start_cyc"] / 1.98)
    assert row["recorded"] is True


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    for name in ("made.bin", "made"):
        with pytest.raises(MgpuTraceError) as caught:
            write_synthetic(tmp_path / name, synthesise(SynthConfig()))
        assert caught.value.diagnostic.code is catalogue.UNKNOWN_FORMAT


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(MgpuTraceError) as caught:
        write_synthetic(tmp_path / "nowhere" / "made.npy", synthesise(SynthConfig()))
    assert caught.value.diagnostic.code is catalogue.OUTPUT_FOLDER
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "made.npy").mkdir()
    with pytest.raises(MgpuTraceError) as caught:
        write_synthetic(tmp_path / "made.npy", synthesise(SynthConfig()))
    assert caught.value.diagnostic.code is catalogue.CANNOT_WRITE
    assert [p.name for p in tmp_path.iterdir()] == ["made.npy"]


def test_a_bench_launch_is_sound() -> None:
    buffer = bench_launch(n_blocks=140, tracks_per_block=2, events_per_track=42)
    result = decode(buffer)
    assert list(result.report) == []
    assert len(result.slices) == 140 * 2 * 21
    clocks = buffer.words[:, 4:87:2].astype(np.int64)
    assert (np.diff(clocks) >= 13).all()


def test_a_bench_file_has_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_RUN_WORDS", 1000)
    spec = write_bench_npy(tmp_path / "b.npy", 10, 3, 100, seed=9)
    whole = bench_launch(10, 3, 100, seed=9)
    assert spec == whole.spec
    assert (np.load(tmp_path / "b.npy") == whole.words.reshape(-1)).all()


def test_the_noise_is_splitmix64() -> None:
    # The first outputs of SplitMix64 from state 0, as its author published them.
    wanted = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert Noise(0).bits(3).tolist() == wanted
    stream = Noise(7)
    assert [*stream.bits(2).tolist(), *stream.bits(3).tolist()] == Noise(7).bits(5).tolist()
    assert sorted(Noise(1).permutation(100).tolist()) == list(range(100))
    numbers = Noise(1).integers(-3, 4, 1000)
    assert set(numbers.tolist()) == set(range(-3, 4))
