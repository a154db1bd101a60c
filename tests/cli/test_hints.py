"""What a finding tells a person to do works when it is done literally."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
from cli_support import FIXTURES, command, environment, invoke


def hint_of(stderr: str, code: str) -> str:
    (line,) = [text for text in stderr.splitlines() if f"[{code}]" in text]
    return line


def test_an_empty_launch_is_accepted_by_every_command_that_refuses_it(tmp_path: Path) -> None:
    np.save(tmp_path / "zero.npy", np.zeros(64, np.uint32))
    layout = ["--grid", 4, "--block", 128, "--entries", 16]
    for name, *more in (["dump", "-o", tmp_path / "t.json"], ["info"], ["info", "--json"], ["validate"]):
        refused = invoke(name, tmp_path / "zero.npy", *layout, *more)
        assert refused.exit_code == 1
        assert "--allow-empty" in refused.output
        assert invoke(name, tmp_path / "zero.npy", *layout, *more, "--allow-empty").exit_code == 0


def test_the_wrong_variant_of_word_2_is_not_called_memory_corruption(tmp_path: Path) -> None:
    for buffer, wrong in (("hopper_gemm", ["--word2", "used+3"]), ("old_word2", ["--jax-version", "0.10.2"])):
        path = FIXTURES / "golden" / f"{buffer}.npy"
        result = invoke("validate", path, *wrong)
        assert result.exit_code == 1
        assert "MGT303" in result.stdout
        (tried,) = re.findall(r"try (--word2 \S+)", result.stdout)
        assert invoke("validate", path, *wrong, *tried.split()).exit_code == 0


def test_a_raw_file_of_another_name_can_be_piped_in_as_told(tmp_path: Path) -> None:
    path = tmp_path / "my buffer's words.dat"
    path.write_bytes(np.load(FIXTURES / "golden" / "waves.npy").tobytes())
    line = hint_of(invoke("dump", path).stderr, "MGT104")
    (told,) = re.findall(r"pipe it in: mgpu-trace (dump - < .*)$", line)
    shell = f"{shlex.join(command())} {told}"
    done = subprocess.run(["sh", "-c", shell], env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metadata"]["n_slices"] > 0


def test_a_selection_that_matches_nothing_is_said_in_the_trace(tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    result = invoke("dump", FIXTURES / "golden" / "hopper_gemm.npy", "--select", "sm=900", "-o", out)
    assert "MGT605" in hint_of(result.stderr, "MGT605")
    metadata = json.loads(out.read_bytes())["metadata"]
    assert "MGT605" in [finding["code"] for finding in metadata["diagnostics"]]
