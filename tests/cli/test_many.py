"""Many files at once: processes, one broken file, what is already there, Ctrl-C."""

import gzip
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from cli_support import command, environment, invoke

from mgpu_trace.synth import SynthConfig, synthesise, write_synthetic


@pytest.fixture
def folder(tmp_path):
    """Six buffers, of which the third is none."""
    place = tmp_path / "traces"
    place.mkdir()
    for i in range(6):
        write_synthetic(place / f"l{i}.npy", synthesise(SynthConfig(), i))
    (place / "l2.npy").write_bytes(b"\x93NUMPY nothing")
    return place


def traces(place):
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def test_several_processes_write_what_one_does_and_say_the_same(folder, tmp_path):
    one = invoke("dump", str(folder), "-o", f"{tmp_path}/one/", "--jobs", "1")
    two = invoke("dump", str(folder), "-o", f"{tmp_path}/two/", "--jobs", "3")
    assert one.exit_code == two.exit_code == 1
    assert traces(tmp_path / "one") == traces(tmp_path / "two")
    assert len(traces(tmp_path / "one")) == 5
    assert one.stderr.replace("one/", "two/") == two.stderr
    assert two.stderr.count("error[") == 1
    assert "l2.npy" in two.stderr


def test_resume_makes_what_is_missing_or_older_than_its_buffer_or_spec(folder, tmp_path):
    out = tmp_path / "out"
    invoke("dump", str(folder), "-o", f"{out}/", "-q")
    before = {name: os.stat(out / name).st_mtime_ns for name in traces(out)}
    os.unlink(out / "l0.trace.json.gz")
    later = time.time() + 10
    os.utime(folder / "l1.npy", (later, later))
    os.utime(folder / "l3.json", (later, later))
    result = invoke("dump", str(folder), "-o", f"{out}/", "--resume", "--jobs", "2")
    assert "2 traces already there (--resume)" in result.stderr
    after = {name: os.stat(out / name).st_mtime_ns for name in traces(out)}
    changed = [name for name in after if after[name] != before[name] or name.startswith("l0")]
    assert changed == ["l0.trace.json.gz", "l1.trace.json.gz", "l3.trace.json.gz"]


def test_a_folder_that_cannot_be_made_is_one_line(folder, tmp_path):
    result = invoke("dump", str(folder), "-o", f"{tmp_path}/none/out/")
    assert result.exit_code == 1
    assert result.stderr.count("error[MGT602]") == 1
    assert len(result.stderr.splitlines()) == 2


def test_validate_with_several_processes_says_what_one_does(folder):
    one = invoke("validate", str(folder), "--json", "--jobs", "1")
    two = invoke("validate", str(folder), "--json", "--jobs", "3")
    assert one.exit_code == two.exit_code == 1
    assert one.stdout == two.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="POSIX signals")
def test_ctrl_c_leaves_only_whole_files(tmp_path):
    place, out = tmp_path / "traces", tmp_path / "out"
    place.mkdir()
    words = np.load(Path(__file__).parents[2] / "fixtures/golden/hopper_gemm.npy")
    spec = (Path(__file__).parents[2] / "fixtures/golden/hopper_gemm.json").read_text()
    for i in range(4000):
        np.save(place / f"l{i:04}.npy", words)
        (place / f"l{i:04}.json").write_text(spec)
    line = command("dump", place, "-o", f"{out}/", "--jobs", 2, "-q")
    process = subprocess.Popen(
        line, start_new_session=True, stderr=subprocess.PIPE, text=True, env=environment()
    )
    while not (out.is_dir() and any(out.glob("l*"))):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the workers as well
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said
    names = [path.name for path in out.iterdir()]
    assert names
    assert all(name.endswith(".trace.json.gz") for name in names)
    assert all(gzip.decompress(path.read_bytes()).endswith(b"}\n") for path in out.iterdir())
    assert len(names) < 4000
