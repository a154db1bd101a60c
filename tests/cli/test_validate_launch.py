"""``validate`` about launches: flags, launch.toml, specs, buffers with flags, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import FIXTURES, invoke
from documented import schema
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.launch.launchfile import KEYS

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"


def launch_of(*args: object) -> tuple[int, dict[str, Any]]:
    result = invoke("validate", "--json", *args)
    said = json.loads(result.stdout)
    jsonschema.validate(said, schema("mgpu-trace/validate"))
    assert said["files"] == []
    assert result.exit_code == int(not said["launch"]["ok"])
    return result.exit_code, said["launch"]


def codes(entry: dict[str, Any]) -> list[str]:
    return [d["code"] for d in entry["diagnostics"]]


def test_block_alone_is_a_whole_question() -> None:
    result = invoke("validate", "--block", "128")
    assert result.exit_code == 0
    assert "128 threads, 1 warpgroup" in result.stdout
    assert result.stdout.splitlines()[-1] == "launch: nothing found"
    result = invoke("validate", "--block", "96")
    assert result.exit_code == 1
    assert "Block size is not a multiple of 128" in result.stdout
    assert result.stdout.splitlines()[-1] == "  more: mgpu-trace explain MGT207"


def test_facts_and_findings_as_data() -> None:
    status, launch = launch_of(
        *("--grid", "2x3", "--block", "384", "--entries", "2048", "--smem-bytes", 200001, "--arch", "sm_90")
    )
    assert status == 0
    assert launch["config"]["grid"] == [2, 3]
    facts = launch["facts"]
    assert (facts["tracks_per_block"], facts["n_tracks"], facts["n_words"]) == (3, 18, 36864)
    assert (facts["smem_start_bytes"], facts["smem_total_bytes"]) == (200008, 224584)
    status, launch = launch_of("--block", "384", "--entries", "2048", "--smem-bytes", 200001, "--arch", "120")
    assert (status, codes(launch)) == (1, ["MGT223"])


def test_every_flag_reaches_the_launch() -> None:
    _, launch = launch_of(
        *("--grid", "4", "--block", "256", "--cluster", "2", "--scope", "warp", "--profile-space", "32"),
        *("--profile-dir", "d", "--smem-bytes", "1000", "--smem-limit", "9000", "--events", "4"),
        *("--n-names", "7", "--thread-axis", "t", "--num-threads", "2", "--cluster-axes", "c"),
        *("--grid-axes", "x", "--collective-axes", "t", "--iterations", "3", "--bounds-checked"),
        *("--nonportable-cluster", "--jax-version", "0.12.0"),
    )
    assert launch["config"] == {
        "grid": [4],
        "block": [256],
        "cluster": [2],
        "scope": "warp",
        "profile_space": 32,
        "profile_dir": "d",
        "smem_bytes": 1000,
        "smem_limit_bytes": 9000,
        "n_events": 4,
        "n_names": 7,
        "thread_axis": "t",
        "num_threads": 2,
        "cluster_axes": ["c"],
        "grid_axes": ["x"],
        "collective_axes": ["t"],
        "iterations": 3,
        "bounds_checked": True,
        "nonportable_cluster": True,
        "jax_version": "0.12.0",
    }
    assert codes(launch) == []
    _, launch = launch_of("--collective-axes", "", "--thread-axis", "t", "--num-threads", "2")
    assert codes(launch) == ["MGT240"]
    _, launch = launch_of("--ranges", "4", "--names", "Init,a", "--entries", "11")
    assert codes(launch) == ["MGT228"]


def toml_of(fields: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


LAUNCH = {"grid": [4, 2], "block": 384, "entries": 2048, "smem_bytes": 200001, "arch": "sm_90", "ranges": 600}


def test_launch_toml_and_flags_over_it(tmp_path: Path) -> None:
    file = tmp_path / "launch.toml"
    file.write_text(toml_of(LAUNCH))
    result = invoke("validate", "--json", file)
    said = json.loads(result.stdout)
    jsonschema.validate(said, schema("mgpu-trace/validate"))
    (entry,) = said["files"]
    assert said["launch"] is None
    assert result.exit_code == 1
    assert codes(entry) == ["MGT228"]
    assert entry["launch"]["facts"]["n_tracks"] == 24
    assert {d["file"] for d in entry["diagnostics"]} == {str(file)}
    assert invoke("validate", file, "--events", "1000").exit_code == 0
    assert invoke("validate", file, "--events", "1000", "--smem-limit", "100000").exit_code == 1


def test_every_flag_is_a_key_and_every_key_a_flag() -> None:
    command = invoke("validate", "--help").stdout
    for key in KEYS.keys() - {"words_per_track"}:
        assert f"--{key.replace('_', '-')}" in command


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gird = 2", "gird is no key of a launch file; did you mean grid?"),
        ("profile-space = 2", "did you mean profile_space?"),
        ("zzz = 1", "the keys are grid, block"),
        ("", "says nothing of a launch"),
        ("[launch]\nblock = 128", "keys stand at the top level"),
        ('"\\u001b[31mRED" = 1', "\\x1b[31mRED is no key"),
        ("grid = 'x'", "grid takes a whole number or a list"),
        ("grid = []", "grid takes"),
        ("grid = [1.5]", "grid takes"),
        ("block = true", "block takes"),
        ("scope = 3", "scope takes a string"),
        ("bounds_checked = 1", "bounds_checked takes true or false"),
        ("grid = 2\ngrid = 3", "not valid TOML"),
        ("grid = ", "not valid TOML"),
        ("entries = 8\nwords_per_track = 8", "given twice"),
        ("entries = 8\nprofile_space = 8", "both given"),
        ("arch = 'sm_77'", "sm_77"),
        ("num_threads = 2\nblock = 128", "256 CUDA threads"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ("x = " + "9" * 5000, "TOML"),
    ],
)
def test_what_a_launch_file_may_not_say_is_a_usage_error(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "launch.toml"
    file.write_text(text)
    result = invoke("validate", file)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00", b"\xef\xbb\xbfgrid = 2"])
def test_bytes_that_are_no_text(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "launch.toml"
    file.write_bytes(content)
    assert invoke("validate", file).exit_code == (0 if b"grid" in content else 2)


def test_a_launch_file_that_is_none_does_not_stop_the_rest(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("gird = 2")
    result = invoke("validate", "--json", bad, GEMM)
    assert [codes(e) for e in json.loads(result.stdout)["files"]] == [["MGT213"], []]
    assert result.exit_code == 1


@pytest.mark.parametrize("text", ["{}", '{"blok": [96, 1, 1], "cluster": [32]}', '{"$schema": "x"}', "[1]"])
def test_json_that_says_nothing_of_a_launch_is_no_launch(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    (entry,) = json.loads(invoke("validate", "--json", file).stdout)["files"]
    assert not entry["ok"]
    assert entry["launch"] is None


def test_a_misspelled_key_of_a_spec_is_said(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"block": 128, "gird": 2}')
    (entry,) = json.loads(invoke("validate", "--json", file).stdout)["files"]
    assert codes(entry) == ["MGT210"]


def test_axis_names_are_those_of_the_grid_that_was_said(tmp_path: Path) -> None:
    """A spec is filled up to three sizes; a mesh of one axis is not."""
    file = tmp_path / "a.json"
    file.write_text('{"grid": [132, 1, 1], "block": 128}')
    assert invoke("validate", file, "--grid-axes", "x").exit_code == 0
    assert invoke("validate", file, "--grid-axes", "x,y").exit_code == 1


def test_a_launch_file_that_is_not_there_does_not_stop_the_rest(tmp_path: Path) -> None:
    result = invoke("validate", "--json", tmp_path / "no.toml", tmp_path, GEMM)
    entries = json.loads(result.stdout)["files"]
    assert [codes(e)[:1] for e in entries] == [["MGT101"], ["MGT102"], []]
    assert result.exit_code == 1


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_launch_file_is_answered(content: bytes) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "launch.toml"
        file.write_bytes(content)
        result = invoke("validate", file)
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.stderr + result.stdout


def test_a_spec_is_checked_as_a_launch(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"grid": 2, "block": 256, "words_per_track": 63, "jax_version": "0.10.2"}))
    result = invoke("validate", "--json", spec)
    (entry,) = json.loads(result.stdout)["files"]
    assert codes(entry) == ["MGT226"]
    assert entry["summary"] is None
    spec.write_text('{"grid": "x"}')
    (entry,) = json.loads(invoke("validate", "--json", spec).stdout)["files"]
    assert codes(entry) == ["MGT202"]


def test_a_buffer_is_checked_as_a_launch_where_launch_flags_ask_for_it() -> None:
    (plain,) = json.loads(invoke("validate", "--json", GEMM).stdout)["files"]
    assert plain["launch"] is None
    result = invoke(
        "validate", "--json", GEMM, "--arch", "sm_120", "--smem-bytes", "101000", "--cluster", "3"
    )
    (entry,) = json.loads(result.stdout)["files"]
    jsonschema.validate(json.loads(result.stdout), schema("mgpu-trace/validate"))
    assert codes(entry) == ["MGT223", "MGT231"]
    assert entry["summary"] == plain["summary"]
    assert entry["launch"]["facts"]["n_words"] == np.load(GEMM).size
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "--block 128"),
        (["--grid", "1,2,3,4,5"], "'--grid': takes one to three positive numbers up to 2147483647"),
        (["--grid", str(2**40)], "'--grid'"),
        (["--grid", "0"], "'--grid'"),
        (["--block", "-128"], "'--block'"),
        (["--block", "1e3"], "'--block'"),
        (["--cluster", "a"], "'--cluster'"),
        (["--arch", "sm_77"], "takes sm_80, sm_86"),
        (["--smem-bytes", "-1"], "'--smem-bytes': takes a whole number of bytes"),
        (["--smem-limit", "227KiB"], "'--smem-limit'"),
        (["--events", "x"], "'--events'"),
        (["--iterations", "1.5"], "'--iterations'"),
        (["--num-threads", "0"], "'--num-threads'"),
        (["--cluster-axes", "a,,b"], "'--cluster-axes'"),
        (["--entries", "64", "--profile-space", "16"], "--entries and --profile-space"),
        (["--events", "4", "--ranges", "2"], "events and ranges are both given"),
        (["--names", "a", "--n-names", "2"], "names and n_names are both given; give one of them (MGT214)"),
        (["--arch", "sm_90", "--smem-limit", "2"], "arch and smem_limit are both given"),
        (["--jax-version", "newest"], "is no version"),
        (["--smem-limit", "0"], "from 1 to"),
        (["--block", "128", "--num-threads", "2"], "256 CUDA threads"),
        ([GEMM, "--scope", "block"], "'--scope'"),
    ],
)
def test_usage_errors_name_the_flag_and_what_it_takes(args: list[object], says: str) -> None:
    result = invoke("validate", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_a_size_that_does_not_fit_lists_what_would(tmp_path: Path) -> None:
    """1000 words for 2 blocks x 2 warpgroups x 64; every way out that is offered is taken."""
    file = tmp_path / "b.npy"
    np.save(file, np.zeros(1000, np.uint32))
    said = ["--grid", "2", "--block", "256", "--entries", "64"]
    (entry,) = json.loads(invoke("validate", "--json", file, *said).stdout)["files"]
    (found,) = entry["diagnostics"]
    assert found["code"] == "MGT201"
    assert "1000 words" in found["message"]
    assert "2 blocks x 2 warpgroups x 64 words need 256" in found["message"]
    ways = found["hint"].removeprefix("would fit: ").split(", ")
    assert {flag for way in ways for flag in way.split()[::2]} == {"--grid", "--block", "--entries"}
    for way in ways:
        words = way.split()
        flags = dict(zip(said[::2], said[1::2], strict=True)) | dict(
            zip(words[::2], words[1::2], strict=True)
        )
        args = [word for pair in flags.items() for word in pair]
        (entry,) = json.loads(invoke("validate", "--json", "--allow-empty", file, *args).stdout)["files"]
        assert codes(entry) == [], way
