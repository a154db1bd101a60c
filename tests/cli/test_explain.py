"""``explain``: codes, pasted errors, standard input, JSON."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import jsonschema
import pytest
from cli_support import command, environment, invoke, is_one_error, process
from documented import schema

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import entry_of, explanation_of
from mgpu_trace_cli import explaining

HEADINGS = ("What it means", "When it happens", "Common situations", "Why it matters", "What to do", "Before")
BLOCK = "ValueError: Block size is not a multiple of 128"
SPACE = "RuntimeError: Insufficient space to capture a full trace"


def squashed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_every_code_can_be_explained(code: Code) -> None:
    by_id, by_slug = invoke("explain", code.id.lower()), invoke("explain", code.slug)
    assert by_id.exit_code == by_slug.exit_code == 0
    assert by_id.stdout == by_slug.stdout
    said, told = squashed(by_id.stdout), explanation_of(code)
    assert said.startswith(f"{code.id} {code.slug} ({code.severity.label}) {code.summary} ")
    prose = (told.means, told.when, *told.situations, told.matters, told.todo)
    sentences = (f"{one.raises}: {one.sentence}" for one in told.upstream)
    places = (f"{place.module}, {place.function}" for one in told.upstream for place in one.where)
    for part in (*HEADINGS, "After", *prose, *sentences, *places):
        assert squashed(part) in said
    for key in told.related:
        related = catalogue.find(key)
        assert related is not None
        assert f"\n    {key} {related.slug}\n" in by_id.stdout
    examples = [f"    {line}".rstrip() for line in f"{told.before}\n{told.after}".splitlines()]
    lines = by_id.stdout.splitlines()
    assert {line for line in examples if line} <= {line.rstrip() for line in lines}
    for line in lines:
        assert len(line) <= 88 or line.rstrip() in examples or len(line.split()) == 1, line


def test_list_has_every_code_once() -> None:
    lines = invoke("explain", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [c.id for c in catalogue.ALL]


def test_several_codes_are_shown_each_once() -> None:
    both = invoke("explain", "MGT302", "overfull-track", "mgt302")
    one, other = invoke("explain", "MGT302"), invoke("explain", "MGT301")
    assert both.exit_code == 0
    assert both.stdout == f"{one.stdout}\n{other.stdout}"


@pytest.mark.parametrize(
    "args",
    [
        [BLOCK],
        BLOCK.split(),
        ["block size is not\n   a multiple", "of"],
        ["error[MGT207]: the block has 96 threads"],
        ["more: mgpu-trace explain MGT207"],
    ],
    ids=repr,
)
def test_a_text_is_explained_by_its_code(args: list[str]) -> None:
    result = invoke("explain", *args)
    assert result.exit_code == 0
    assert result.stdout == invoke("explain", "MGT207").stdout
    assert result.stderr == ""


def test_other_matches_are_listed_after_the_entry_of_the_best() -> None:
    result = invoke("explain", input=f"{SPACE}\n\nDuring handling ...\n\n{BLOCK}\n")
    alone = invoke("explain", "MGT207").stdout
    code = catalogue.find("MGT301")
    assert code is not None
    assert result.stdout == f"{alone}\nalso: MGT301 overfull-track: {code.summary}\n"


def test_what_is_only_nearly_a_sentence_is_said_to_be_so() -> None:
    result = invoke("explain", "Blok size is not a multiple of 128")
    assert result.exit_code == 0
    assert result.stdout.startswith("MGT207 ")
    assert "\nnearest to: Blok size is not a multiple of 128 (score 0." in result.stdout


@pytest.mark.parametrize("args", [[], ["-"]])
def test_standard_input_is_read(args: list[str]) -> None:
    result = invoke("explain", *args, input=f"Traceback (most recent call last):\n  ...\n{SPACE}\n")
    assert result.exit_code == 0
    assert result.stdout == invoke("explain", "MGT301").stdout


@pytest.mark.parametrize("text", ["hello world", "ValueError: invalid literal for int() with base 10: 'x'"])
@pytest.mark.parametrize("as_json", [True, False])
def test_no_match_is_status_1_and_one_line(text: str, as_json: bool) -> None:
    result = invoke("explain", text, *["--json"] * as_json)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "mgpu-trace explain --list" in result.stderr
    if as_json:
        assert json.loads(result.stdout)["matches"] == []
    else:
        assert result.stdout == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["MGT310x"], "MGT310"),
        (["overful-track"], "overfull-track"),
        (["qqq"], "--list"),
        (["MGT301", "MGT3O2"], "MGT302"),
        (["overful-track", "MGT301"], "overfull-track"),
        (["x" * 10_000], "--list"),
    ],
)
def test_an_unknown_code_is_a_usage_error_that_offers_the_nearest(typed: list[str], offered: str) -> None:
    result = invoke("explain", *typed)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert offered in result.stderr
    unknown = next(word for word in typed if catalogue.find(word) is None)
    assert unknown[:50] in result.stderr
    assert len(result.stderr) < 500


@pytest.mark.parametrize("args", [[], [""], [" \t\n"], ["", " "], ["--list", "MGT301"]], ids=repr)
def test_without_a_code_it_says_what_to_give(args: list[str]) -> None:
    result = invoke("explain", *args)
    assert result.exit_code == 2
    assert "--list" in result.stderr
    assert "a CODE or" in result.stderr
    assert "no code is called" not in result.stderr


def test_on_a_terminal_it_does_not_wait_for_input_and_headings_are_bold() -> None:
    ours, theirs = pty.openpty()
    try:
        waits = process("explain", stdin=theirs)
        bold = subprocess.run(command("explain", "MGT301"), stdout=theirs, env=environment(), timeout=60)
        os.set_blocking(ours, False)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert waits.returncode == 2
    assert b"--list" in waits.stderr
    assert bold.returncode == 0
    assert "\x1b[1mWhat to do\x1b[0m" in shown
    assert "\x1b" not in process("explain", "MGT301").stdout.decode()


@pytest.mark.parametrize(("columns", "width"), [(50, 50), (88, 88), (200, 88)])
def test_an_entry_is_no_wider_than_the_terminal(columns: int, width: int) -> None:
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        env = {name: value for name, value in environment().items() if name != "COLUMNS"}
        done = subprocess.run(command("explain", "MGT406"), stdout=theirs, env=env, timeout=60)
        os.set_blocking(ours, False)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0
    told = explanation_of(catalogue.UNKNOWN_NAME)
    examples = f"{told.before}\n{told.after}".splitlines()
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in shown.splitlines()]
    prose = [line for line in lines if line.strip() not in {one.strip() for one in examples}]
    assert width - 12 < max(map(len, prose)) <= width
    assert squashed(catalogue.UNKNOWN_NAME.summary) in squashed("\n".join(prose))


def test_json_of_codes_texts_and_the_list() -> None:
    for args in (["MGT301", "MGT302"], [BLOCK], ["--list"], ["nothing like it"]):
        said = json.loads(invoke("explain", "--json", *args).stdout)
        jsonschema.validate(said, schema("mgpu-trace/explain"))
        found = [one["code"] for one in said["matches"]]
        assert found == {
            "MGT301": ["MGT301", "MGT302"],
            BLOCK: ["MGT207"],
            "--list": [code.id for code in catalogue.ALL],
        }.get(args[0], [])


def test_json_has_the_entry_and_how_it_was_found() -> None:
    (found,) = json.loads(invoke("explain", "--json", f"oops\n  {BLOCK}\n").stdout)["matches"]
    assert found.pop("score") == 1
    assert found.pop("sentence") == "Block size is not a multiple of {n}"
    assert found.pop("matched") == "Block size is not a multiple of 128"
    code = catalogue.find("MGT207")
    assert code is not None
    assert found == json.loads(json.dumps(entry_of(code)))


@pytest.mark.parametrize("piped", [True, False])
def test_only_the_end_of_a_long_text_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bool
) -> None:
    monkeypatch.setattr(explaining, "MAX_TEXT_BYTES", 1 << 20)
    monkeypatch.setattr(explaining, "_BLOCK_BYTES", 1 << 16)
    text = f"{SPACE}\n".encode() + b"a line of a log\n" * 400_000 + f"{BLOCK}\n".encode()
    (tmp_path / "log").write_bytes(text)
    with open(tmp_path / "log", "rb") as file:
        if piped:
            reader = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            assert reader.stdout is not None
            source = reader.stdout
        else:
            source = file
        tail, is_all = explaining._tail(source)
        source.read()
        if piped:
            source.close()
            assert reader.wait() == 0
    assert not is_all
    assert tail == text[-(1 << 20) :]


def test_a_long_text_says_that_only_its_end_counts() -> None:
    text = f"{SPACE}\n".encode() + b"a line of a log\n" * (1 << 20) + f"{BLOCK}\n".encode()
    done = process("explain", input=text)
    assert done.returncode == 0
    assert done.stdout.startswith(b"MGT207 ")
    assert b"also: " not in done.stdout
    assert done.stderr == b"note: a long text; its last 16 MiB are looked at\n"


def test_a_pipe_without_end_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "MAX_READ_BYTES", 1 << 22)
    monkeypatch.setattr(explaining, "MAX_TEXT_BYTES", 1 << 20)
    with open("/dev/zero", "rb") as endless:
        assert explaining._tail(endless) == (bytes(1 << 20), False)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0\1\2\xff\xfe" * 1000,
        b"\xff\xfe" + BLOCK.encode("utf-16-le"),
        b"\x1b]0;" + b"x" * 100_000,
        b"(" * 100_000,
        bytes(range(256)) * 100,
        b"\xed\xa0\x80 Blok size is not a multiple \xff of 128",
    ],
    ids=lambda t: repr(t[:20]),
)
def test_hostile_input_ends_in_order(text: bytes) -> None:
    done = process("explain", "-", input=text)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr
    assert b"MGT901" not in done.stderr
    assert done.stderr.count(b"\n") == done.returncode
    as_json = process("explain", "-", "--json", input=text)
    assert as_json.returncode == done.returncode
    assert bool(json.loads(as_json.stdout)["matches"]) == (done.returncode == 0)


def test_what_was_matched_never_holds_control_characters() -> None:
    result = invoke("explain", "Blok\x07 size\x9b is\u202e not a multiple of 128")
    assert result.exit_code == 0
    assert all(line.isprintable() for line in result.stdout.splitlines())


def test_without_standard_input_it_says_so() -> None:
    closed = ["sh", "-c", 'exec "$@" <&-', "sh"]
    done = subprocess.run([*closed, *command("explain", "-")], capture_output=True, env=environment())
    assert done.returncode == 1
    assert is_one_error(done.stderr, "MGT102"), done.stderr
    assert (
        subprocess.run([*closed, *command("explain")], capture_output=True, env=environment()).returncode == 2
    )


def test_a_text_in_another_encoding_of_the_terminal() -> None:
    done = process("explain", b"Blok size \xff is not a multiple".decode(errors="surrogateescape"))
    assert done.returncode == 0, done.stderr
    assert sys.getfilesystemencoding() == "utf-8"
