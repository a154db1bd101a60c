"""The launch checks of ``validate``: their options, where a launch is said, and what is shown of it."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, one_line
from mgpu_trace.layout import Scope
from mgpu_trace_cli.options import COUNT, MOST, Command, Told, count, sizes

if TYPE_CHECKING:
    from mgpu_trace.launch import LaunchConfig


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()):
        raise ValueError
    return int(text)


def _axes(text: str) -> tuple[str, ...]:
    """Names with commas between them; an empty text is no axis at all, which is an answer too."""
    names = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if not all(names):
        raise ValueError
    return names


def _arch(text: str) -> str:
    from mgpu_trace.launch.hardware import architecture

    name = architecture(text)
    if name is None:
        raise ValueError
    return name


CLUSTER: Final = Told(
    "X[,Y[,Z]]", "one to three positive numbers, such as 2 or 2,1,1", lambda t: sizes(t, most=8)
)
BYTES: Final = Told("BYTES", f"a whole number of bytes from 0 to {MOST}", lambda t: count(t, 0))
LIMIT: Final = Told("BYTES", f"a whole number of bytes from 1 to {MOST}", count)
FROM_ZERO: Final = Told("N", f"a whole number from 0 to {MOST}", lambda t: count(t, 0))
NAMES_COUNT: Final = Told("N", "a whole number from 1 to 10^18", lambda t: count(t, 1, 10**18))
WHOLE: Final = Told("N", "a whole number", _whole)
AXES: Final = Told("A,B,...", "names of axes with commas between them, or '' for none", _axes)
ARCH: Final = Told("SM", "sm_80, sm_86, sm_89, sm_90, sm_100, sm_103 or sm_120 (or see --smem-limit)", _arch)

_LAUNCH_OPTIONS: Final = (
    click.option("--cluster", type=CLUSTER, help="Blocks of a cluster."),
    click.option("--smem-bytes", type=BYTES, help="Shared memory of the kernel itself, a block."),
    click.option("--smem-limit", "smem_limit_bytes", type=LIMIT, help="Shared memory that a block may use."),
    click.option("--arch", type=ARCH, help="The GPU's architecture, which says the same: sm_90."),
    click.option("--events", "n_events", type=FROM_ZERO, help="Events a track will record, Init's included."),
    click.option("--ranges", "n_ranges", type=FROM_ZERO, help="Ranges a track will record, without Init."),
    click.option("--n-names", type=NAMES_COUNT, help="How many names the regions have, Init included."),
    click.option("--thread-axis", metavar="NAME", help="The mesh's thread_name."),
    click.option("--num-threads", type=COUNT, help="The mesh's num_threads, of 128 CUDA threads each."),
    click.option("--grid-axes", type=AXES, help="The mesh's grid_names."),
    click.option("--cluster-axes", type=AXES, help="The mesh's cluster_names."),
    click.option("--collective-axes", type=AXES, help="run_scoped's collective_axes; '' for none."),
    click.option("--iterations", type=WHOLE, help="Iterations of profiler.measure."),
    click.option("--profile-dir", metavar="DIR", help="Pallas's profile_dir."),
    click.option("--nonportable-cluster", is_flag=True, default=None, help="Opt in to clusters of up to 16."),
)
_LAUNCH_FIELDS: Final = (
    *("cluster", "smem_bytes", "smem_limit_bytes", "arch", "n_events", "n_ranges", "n_names"),
    *("thread_axis", "num_threads", "grid_axes", "cluster_axes", "collective_axes", "iterations"),
    *("profile_dir", "nonportable_cluster"),
)
# Options of a buffer's spec that also say something about a launch that is to be made.
_SHARED_FIELDS: Final = (
    *("grid", "block", "scope", "words_per_track", "profile_space", "names", "bounds_checked"),
    "jax_version",
)
# A spec without one of these says nothing of a launch.
_LAYOUT_FIELDS: Final = frozenset({"grid", "block", "words_per_track", "profile_space"})


def _any_scope(value: str | None) -> Scope | str | None:
    """The scope that ``value`` names; the text where it names none, for JAX has a sentence about that."""
    known = value is not None and value.upper() in Scope.__members__
    return Scope[value.upper()] if value is not None and known else value


any_scope_option: Final = click.option(
    "--scope",
    metavar=f"[{'|'.join(s.label for s in Scope)}]",
    callback=lambda ctx, param, value: _any_scope(value),
    help="Whose events share a track.",
)


def launch_options(command: Command) -> Command:
    """Give ``command`` the options of a launch; it takes all that were said as ``said``, by field.

    Goes above ``spec_options``, whose options it reads too.
    """

    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        shared = {name: kwargs.get(name) for name in _SHARED_FIELDS}
        own = {name: kwargs.pop(name) for name in _LAUNCH_FIELDS}
        said = {name: value for name, value in (shared | own).items() if value is not None}
        return command(*args, said=said, **kwargs)

    for option in reversed(_LAUNCH_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def asks_for_a_launch(said: dict[str, Any]) -> bool:
    """Whether something was said that only a launch has, and no buffer's spec."""
    return any(name in said for name in _LAUNCH_FIELDS)


def config_of(said: dict[str, Any], under: dict[str, Any] | None = None) -> LaunchConfig:
    """The launch that the flags say, over what a file says.

    Raises
    ------
    MgpuTraceError
        MGT214 or MGT215 where that is no launch.
    """
    from mgpu_trace.launch import LaunchConfig
    from mgpu_trace.launch.config import EITHER

    fields = dict(under or {})
    for pair in EITHER:
        if any(name in said for name in pair):
            for name in pair:
                fields.pop(name, None)
    return LaunchConfig(**fields | said)


def as_usage_error(error: MgpuTraceError) -> click.UsageError:
    """A launch that cannot be meant, in the words of the flags and of the file's keys."""
    from mgpu_trace.launch.launchfile import KEYS

    found = error.diagnostic
    keys = {field: key for key, (field, _) in KEYS.items() if key != field}
    text = found.message if found.hint == "" else f"{found.message}; {found.hint}"
    words = re.sub(r"\w+", lambda match: keys.get(match[0], match[0]), text)
    file = "" if found.file is None else f"{found.file}: "
    return click.UsageError(one_line(f"{file}{words} ({found.code.id})"))


def fields_in(file: str) -> tuple[dict[str, Any], tuple[Diagnostic, ...]] | None:
    """The fields of LaunchConfig that ``file`` says, where it is a launch and no buffer; else None.

    Raises
    ------
    MgpuTraceError
        Where it looks like one and cannot be used.
    """
    if file.endswith(".toml"):
        from mgpu_trace.launch.launchfile import read_launch_file

        return read_launch_file(file), ()
    if file.endswith(".json"):
        from mgpu_trace.launch.config import without_ones
        from mgpu_trace.read.specfile import read_spec

        spec, found = read_spec(file)
        said = {name: value for name, value in spec.items() if name in _SHARED_FIELDS}
        sizes = {name: without_ones(said[name]) for name in ("grid", "block") if name in said}
        return (said | sizes, found) if said.keys() & _LAYOUT_FIELDS else None
    return None
