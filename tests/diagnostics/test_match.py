"""A pasted text leads to the code that its sentence belongs to, however it was printed and wrapped."""

from __future__ import annotations

import ast
import re
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mgpu_trace.diagnostics import Code, Diagnostic, catalogue
from mgpu_trace.diagnostics.explain import explanation_of
from mgpu_trace.diagnostics.match import matches
from mgpu_trace.diagnostics.sentences import PLACEHOLDER, Sentence, known_sentences, telling

SENTENCES = known_sentences()
OF_JAX = [s for s in SENTENCES if not s.is_general]
LONG = [s for s in OF_JAX if len(telling(s.words)) >= 6]


def ids(text: str) -> list[str]:
    return [match.code.id for match in matches(text)]


def fill(sentence: Sentence, value: Callable[[], str]) -> str:
    return PLACEHOLDER.sub(lambda _: value(), sentence.text)


def expected(text: str) -> str:
    """The code of the sentence that reads ``text``; the one with most of its own words; the first."""
    found = []
    for sentence in SENTENCES:
        own = PLACEHOLDER.split(sentence.text)
        if re.fullmatch("(.*)".join(map(re.escape, own)), text, re.DOTALL):
            found.append((-sum(map(len, own)), sentence.code.id))
    return min(found)[1]


@st.composite
def said(draw: st.DrawFn, of: list[Sentence] | tuple[Sentence, ...] = SENTENCES) -> tuple[Sentence, str]:
    """A sentence, and what it reads as with values in it: one word in a short sentence, else any text."""
    sentence = draw(st.sampled_from(of))
    word = st.from_regex(r"[^\s]{1,20}", fullmatch=True)
    values = word if sentence.is_weak else word | st.text(min_size=1, max_size=60)
    values = values.filter(lambda v: not re.search("mgt|\x1b", v, re.IGNORECASE))
    return sentence, fill(sentence, lambda: draw(values))


def test_every_sentence_is_in_the_catalogue() -> None:
    n_said = sum(len(explanation_of(code).upstream) for code in catalogue.ALL)
    assert len(SENTENCES) == n_said > 90


# ---- sentences, alone and as they are printed


@given(said(), st.sampled_from([str, str.upper, str.lower, str.title, repr]))
def test_a_sentence_alone(one: tuple[Sentence, str], printed: Callable[[str], str]) -> None:
    _, text = one
    (first, *_) = matches(text)
    assert first.code.id == expected(text)
    assert first.score >= 0.8
    if printed is not repr or "\\" not in repr(text):
        assert ids(printed(text))[0] == expected(text)


@given(
    said(), st.integers(1, 120), st.sampled_from(["", "    ", "E   ", "│ ", "> ", "  | ", "[rank0]: ", "# "])
)
def test_a_sentence_wrapped_at_any_column(one: tuple[Sentence, str], width: int, prefix: str) -> None:
    sentence, text = one
    kind = sentence.upstream.raises
    message = f"{kind}: {text}"
    lines = [message[i : i + width] for i in range(0, len(message), width)]
    assert ids("\r\n".join(f"{prefix}{line}" for line in lines))[0] == expected(text)


@given(said(), st.integers(20, 100))
def test_a_sentence_in_a_box_with_colours(one: tuple[Sentence, str], width: int) -> None:
    _, text = one
    lines = [text[i : i + width] for i in range(0, len(text), width)]
    box = "\n".join(
        f"\x1b[31m│\x1b[0m \x1b[1;38;5;9m{line:{width}}\x1b[0m \x1b[31m│\x1b[0m" for line in lines
    )
    assert ids(f"╭{'─' * width}╮\n{box}\n╰{'─' * width}╯")[0] == expected(text)


def raised(kind: str, text: str, cause: BaseException | None = None) -> BaseException:
    """A real exception of that name that was raised, with its traceback."""
    error = type(kind.split(".")[-1], (Exception,), {"__module__": "builtins"})(text)
    try:
        raise error from cause
    except Exception as caught:
        return caught


def printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@given(said())
def test_a_sentence_in_a_traceback(one: tuple[Sentence, str]) -> None:
    sentence, text = one
    assert ids(printed(raised(sentence.upstream.raises, text)))[0] == expected(text)


@given(said(OF_JAX), said(OF_JAX))
def test_the_error_raised_in_the_end_comes_first(
    one: tuple[Sentence, str], other: tuple[Sentence, str]
) -> None:
    (first, cause), (second, text) = one, other
    error = raised(second.upstream.raises, text, raised(first.upstream.raises, cause))
    found = ids(printed(error))
    assert found[0] == expected(text)
    assert expected(cause) in found


@given(said(OF_JAX))
def test_a_sentence_in_an_error_of_a_callback(one: tuple[Sentence, str]) -> None:
    """As JAX passes on what Python raised while a compiled program ran."""
    sentence, text = one
    inner = printed(raised(sentence.upstream.raises, text))
    message = f"INTERNAL: CpuCallback error calling callback: {inner}"
    tail = "-" * 20 + "\nFor simplicity, JAX has removed its internal frames from the traceback.\n"
    assert ids(printed(raised("JaxRuntimeError", message)) + tail)[0] == expected(text)


NOISE = (
    "I0101 10:00:00.123456    4242 service.cc:145] XLA service 0x5566 initialized for platform CUDA",
    "2026-03-01 10:00:00,123 INFO jax._src.dispatch Finished tracing + transforming f for pjit in 0.1 s",
    '  File "/home/a/train.py", line 12, in <module>',
    "    y = jax.block_until_ready(kernel(x))",
    "WARNING:root:the block size and the cluster dimension of the grid are not what they were",
    "",
    "step 12: loss 0.25, 3 of 128 blocks, trace events dropped: 0",
)
noise = st.lists(
    st.sampled_from(NOISE)
    | st.text(st.characters(exclude_characters="\n\r\x1b"), max_size=80).filter(lambda t: "MGT" not in t),
    max_size=9,
)


@given(
    said(OF_JAX),
    noise,
    noise,
    st.sampled_from(["", "ValueError: ", "2026-01-01 10:00:00,5 ERROR ", "ERROR: "]),
)
def test_a_sentence_in_a_log(
    one: tuple[Sentence, str], before: list[str], after: list[str], start: str
) -> None:
    _, text = one
    assert ids("\n".join([*before, start + text, *after]))[0] == expected(text)


@pytest.mark.parametrize("at_end", [True, False])
def test_a_sentence_in_megabytes(at_end: bool) -> None:
    lines = [*NOISE * 10_000]
    lines.insert(len(lines) if at_end else 0, "ValueError: Block size is not a multiple of 128")
    assert ids("\n".join(lines))[0] == "MGT207"


# ---- pieces, and what is nearly a sentence

# As the issue that asked for them quotes them: with values left out, or the rest.
NAMED = {
    "Block size is not a multiple of 128": "MGT207",
    "Allocated too many names": "MGT236",
    "Requesting collective allocations, but no explicit thread axis specified.": "MGT238",
    "Collective allocations along cluster axes are not supported.": "MGT239",
    "Scoped allocation must have the thread axis in its collective axes.": "MGT240",
    "Insufficient space to capture a full trace": "MGT301",
    "Profiler collected an odd number of trace events…": "MGT303",
    "Unsupported trace scope": "MGT220",
    "Unsupported trace scope: …": "MGT220",
    "Scope … not supported": "MGT220",
    "{iterations=} must be positive": "MGT237",
    "exceeds available shared memory": "MGT223",
    "Either both profile_space and profile_dir…": "MGT227",
    "Grid dimension … must be divisible by cluster dimension": "MGT231",
    "`thread_id` must be zero when allocating a buffer for all threads": "MGT803",
    "`block_id` must be zero…": "MGT803",
    "Unknown cluster axis": "MGT804",
    "Unknown cluster axis c": "MGT804",
    "Collective axis … not found among axes": "MGT241",
    "No axis names are available": "MGT805",
    "Found an unbound axis name: x": "MGT805",
    "unbound axis name: x": "MGT805",
    "Unsupported mesh type": "MGT806",
    "Invalid grid … in grid_mapping": "MGT807",
    "Failed to dump profile … already exists": "MGT808",
    "CUPTI profiling is not supported on this platform": "MGT801",
    "The number of kernel launches is not divisible…": "MGT802",
    "Out-of-bounds read of …": "MGT809",
}


@pytest.mark.parametrize(
    "shown", ["{}", "ValueError: {}", "E   LookupError: {}\n", "RuntimeError('{}')", "a line\n{}\nanother"]
)
@pytest.mark.parametrize("text", NAMED)
def test_the_errors_that_were_asked_for(text: str, shown: str) -> None:
    typed = [text, text.replace("…", "..."), text.upper()]
    if text.endswith("…"):
        typed.append(text.removesuffix("…").strip())
    for one in typed:
        assert ids(shown.replace("{}", one))[0] == NAMED[text]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Block size is not a multiple of 12", "MGT207"),
        ("Block size is not a mult", "MGT207"),
        ("ck size is not a multiple of 128", "MGT207"),
        ("Blok size is not a multiple of 128", "MGT207"),
        ("Block size is no multiple of 32", "MGT207"),
        ("Insuficient space to capture full trace", "MGT301"),
        ("Insufficient space to capture a ful", "MGT301"),
        ("collected an odd number of trace ev", "MGT303"),
        ("Profiler collected an odd number of trace events", "MGT303"),
        ("exceeds available shared memory", "MGT223"),
        ("must be divisible by cluster dimension", "MGT231"),
        ("Scoped allocation must have thread axis in its colective axes", "MGT240"),
        ("no explicit thread axis specified", "MGT238"),
        ("thread_id must be zero when allocating", "MGT803"),
        ("Allocated to many names", "MGT236"),
        ("Out-of-bounds read of buffer 3: reading [0:8", "MGT809"),
        ("Invalid grid (2, 3) in grid_mapping: expected", "MGT807"),
        ("...size is not a multiple of warpgroup size", "MGT207"),
    ],
)
def test_pieces_and_slips(text: str, code: str) -> None:
    for printed_as in (text, f"E       ValueError: {text}", f"a line\n{text}...\nanother line"):
        found = matches(printed_as)
        assert [m.code.id for m in found][:1] == [code], printed_as
        assert all(m.score <= 1 for m in found)
    best = matches(text)[0]
    assert best.score == 1 or best.score <= 0.75


@given(st.sampled_from(LONG), st.data())
def test_a_long_sentence_with_a_short_word_missing_or_doubled(
    sentence: Sentence, data: st.DataObject
) -> None:
    words = fill(sentence, lambda: "5").split()
    place = data.draw(st.integers(0, len(words) - 1))
    assume(len(words[place]) <= 6)
    times = data.draw(st.sampled_from([0, 2]))
    words[place : place + 1] = [words[place]] * times
    assert sentence.code.id in ids(" ".join(words))


@given(st.sampled_from(LONG), st.data())
def test_a_long_sentence_cut_off(sentence: Sentence, data: st.DataObject) -> None:
    text = fill(sentence, lambda: "5")
    size = data.draw(st.integers(len(text) * 3 // 4, len(text)))
    start = data.draw(st.integers(0, len(text) - size))
    assert sentence.code.id in ids(text[start : start + size])


# ---- our own lines


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_our_own_lines_lead_to_their_code(code: Code) -> None:
    line = Diagnostic(code, "Block size is not a multiple of 128", hint="see MGT9999", file="x.npy").line()
    for text in (
        line,
        f"$ mgpu-trace dump x\n{line}\n  more: mgpu-trace explain {code.id}\n",
        code.id.lower(),
    ):
        assert ids(text)[0] == code.id
        assert matches(text)[0].score == 1
        assert matches(text)[0].sentence is None
    assert ids(f" {code.slug}\n") == [code.id]


def test_ids_come_in_the_order_of_the_text_each_once() -> None:
    assert ids("error[MGT403]: a\nerror[MGT301]: b, MGT403\n more: mgpu-trace explain MGT403 MGT301") == [
        "MGT403",
        "MGT301",
    ]
    assert ids("xMGT301 MGT301x MGT3011 MGT_301 MGT000") == []


# ---- what is no error of ours

UNRELATED = (
    "",
    " ",
    "hello world",
    "?!",
    "the",
    "not supported",
    "ValueError: invalid literal for int() with base 10: 'x'",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "ModuleNotFoundError: No module named 'jax'",
    "AttributeError: module 'jax' has no attribute 'foo'",
    "RuntimeError: CUDA error: out of memory",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.",
    "ValueError: Shapes must be 1D sequences of concrete values of integer type, got [1.0].",
    "KeyError: 'scope'",
    "Scope of this feature is not supported",
    "The scope that the user asked for is not supported by the server",
    "OAuth scope admin:read not supported",
    "Scope\nlots of lines between\nnot supported",
    "Insufficient space",
    "OSError: insufficient space on device to write a trace",
    "n_iterations=0 must be positive",
    "the number of iterations of the solver must be positive",
    "The tile size is not a multiple of the warp size",
    "Our clusters must be 3D printed",
    "an unsupported mesh type: tetrahedra, was read from the file",
    "profile",
    "block grid cluster thread axis scope trace profile",
    "must be positive",
    "is not supported",
    "size is not a multiple of 128",
    "number of",
    "…",
    "... ... ...",
    "the … axis … of … names",
    "Unknown cluster axis of a galaxy",
    "Permission denied",
    # What other packages raise.
    "ValueError: tile size is not a multiple of the warp size",
    "ValueError: axis names are not unique",
    "ValueError: mode 'full' not supported",
    "ValueError: The number of indices must be equal to the number of axes",
    "ValueError: block_size must be a positive integer",
    "NotImplementedError: profiling is not supported in this mode",
    "RuntimeError: Unsupported platform: linux",
    "IndexError: list index out of range",
    "ValueError: grid must be a tuple, got 5",
    "TypeError: f() got an unexpected keyword argument 'axis'",
    "ValueError: shape mismatch: objects cannot be broadcast to a single shape",
    "ValueError: n_iterations must be positive, got 0",
)


@pytest.mark.parametrize("text", UNRELATED)
def test_what_is_unrelated_matches_nothing(text: str) -> None:
    assert ids(text) == []
    assert ids(f"Traceback (most recent call last):\n  File 'x.py', line 1\n{text}\n") == []


def messages_of(module: str) -> set[str]:
    """What a module of Python's library raises, as a traceback ends with it."""
    path = Path(sysconfig.get_paths()["stdlib"], module)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            first = node.exc.args[0]
            if isinstance(first, ast.Constant | ast.JoinedStr | ast.BinOp):
                found.add(f"{ast.unparse(node.exc.func)}: {ast.unparse(first).strip(chr(39))}")
    return found


@pytest.mark.parametrize(
    "module", ["argparse.py", "statistics.py", "ipaddress.py", "shutil.py", "fractions.py"]
)
def test_errors_of_python_match_no_sentence_of_jax(module: str) -> None:
    messages = messages_of(module)
    assert len(messages) > 5
    for message in messages:
        assert [m for m in matches(message) if "numpy" not in repr(m.sentence)] == [], message


# ---- anything at all


@given(st.text() | st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")))
@example("\x1b]" * 1000)
@example("\x1b[" * 1000)
@example("MGT" * 1000)
@example("\0".join("Block size is not a multiple of 128"))
def test_anything_is_taken(text: str) -> None:
    found = matches(text)
    assert sorted((m.score for m in found), reverse=True) == [m.score for m in found]
    assert len({m.code.id for m in found}) == len(found)


@given(st.lists(st.sampled_from(sorted({w for s in SENTENCES for w in s.words if w})), max_size=400))
def test_any_words_of_sentences_are_taken(words: list[str]) -> None:
    for match in matches(" ".join(words)):
        assert 0 < match.score <= 1
        assert match.excerpt


@pytest.mark.parametrize(
    "piece", ["\n", "E \n", "a", "\\n", "\x1b[3", "is not a multiple of ", "Scope ", "MGT301 "]
)
def test_a_hostile_megabyte_is_taken(piece: str) -> None:
    assert ids(piece * ((1 << 20) // len(piece))) == (["MGT301"] if piece == "MGT301 " else [])


def test_the_excerpt_is_what_was_matched() -> None:
    text = "E   ValueError: Block size\x1b[0m is\nE      not a multiple of 96\n(and so on)"
    (found,) = matches(text)
    assert found.excerpt == "Block size is not a multiple of 96"
    assert found.sentence == "Block size is not a multiple of {n}"
