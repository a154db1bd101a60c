"""LaunchConfig: what is known about a launch before it is made."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.launch.hardware import SMEM_LIMIT_BYTES, THREADS_PER_MOSAIC_THREAD, architecture
from mgpu_trace.layout import Scope

if TYPE_CHECKING:
    from mgpu_trace.launch.facts import LaunchFacts
    from mgpu_trace.spec import TraceSpec

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfig:
    """A launch that is to be profiled; None is "not said", and what is not said is not checked.

    Attributes
    ----------
    grid
        Blocks of the CUDA grid, up to three sizes. A Pallas ``Mesh`` counts its grid in clusters and
        has its axes in the opposite order: there this is grid times cluster, reversed.
    block
        Threads of a block, up to three sizes. Where only ``num_threads`` is said: 128 times that.
    cluster
        Blocks of a cluster, in each dimension of the CUDA grid.
    scope
        Which threads share a track. Text that is neither of them is a finding (MGT220).
    words_per_track, profile_space
        Words of a track (JAX's ``entries_per_warpgroup``), or Pallas's unit for them. One of the two.
    smem_bytes
        Shared memory of the kernel itself.
    smem_limit_bytes, arch
        What a block may use of it, or the architecture that says so (``sm_90``).
    n_events, n_ranges
        What a track will record. Events: enters and exits, Init's two included. Ranges: the kernel's
        own, without Init. One of the two.
    names, n_names
        The regions' names, or how many there are, Init included.
    thread_axis, num_threads, grid_axes, cluster_axes
        Names and sizes of a Pallas ``Mesh``'s axes.
    collective_axes
        What ``run_scoped`` is given. An empty tuple asks for an allocation that is not collective.
    iterations
        Of ``profiler.measure``.
    profile_dir
        Pallas's ``profile_dir``.
    bounds_checked
        Pallas's ``profile_bounds_check``.
    nonportable_cluster
        Whether the launch opts in to clusters of more than 8 blocks.
    jax_version
        Which JAX makes the launch; the newest where it is not said.

    Raises
    ------
    MgpuTraceError
        MGT214 where two fields say the same thing, or two things, or a value is of another kind; MGT215
        for an unknown ``arch``.
    """

    grid: Sizes | None = None
    block: Sizes | None = None
    cluster: Sizes | None = None
    scope: Scope | str = Scope.WARPGROUP
    words_per_track: int | None = None
    profile_space: int | None = None
    smem_bytes: int | None = None
    smem_limit_bytes: int | None = None
    arch: str | None = None
    n_events: int | None = None
    n_ranges: int | None = None
    names: tuple[str, ...] | None = None
    n_names: int | None = None
    thread_axis: str | None = None
    num_threads: int | None = None
    grid_axes: tuple[str, ...] | None = None
    cluster_axes: tuple[str, ...] | None = None
    collective_axes: tuple[str, ...] | None = None
    iterations: int | None = None
    profile_dir: str | None = None
    bounds_checked: bool | None = None
    nonportable_cluster: bool = False
    jax_version: str | None = None

    def __post_init__(self) -> None:
        for name, read in _READ.items():
            object.__setattr__(self, name, read(name, getattr(self, name)))
        for one, other in EITHER:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise _contradiction(f"{one} and {other} are both given", "give one of them")
        self._check_arch()
        if self.jax_version is not None and self.release is None:
            raise _contradiction(
                f"jax_version {clipped(self.jax_version, 40)!r} is no version", "it is like 0.10.2"
            )
        threads = self.n_threads
        if self.block is not None and self.num_threads is not None and threads != _of(self.num_threads):
            raise _contradiction(
                f"num_threads {self.num_threads} is {_of(self.num_threads)} CUDA threads, and block says "
                f"{threads}",
                f"a Mosaic thread is {THREADS_PER_MOSAIC_THREAD} CUDA threads; drop one of the two",
            )

    def _check_arch(self) -> None:
        if self.arch is not None and architecture(self.arch) is None:
            raise MgpuTraceError(
                Diagnostic(
                    catalogue.UNKNOWN_ARCHITECTURE,
                    f"arch {clipped(self.arch, 40)!r} is not known",
                    hint=f"known are {', '.join(SMEM_LIMIT_BYTES)}; give smem_limit_bytes otherwise",
                )
            )

    @classmethod
    def from_spec(cls, spec: TraceSpec) -> LaunchConfig:
        """The launch that a buffer with that spec came from, as far as the spec says."""
        return cls(
            grid=without_ones(spec.grid),
            block=without_ones(spec.block),
            scope=spec.scope,
            words_per_track=spec.words_per_track,
            names=spec.names,
            bounds_checked=spec.bounds_checked,
            jax_version=spec.jax_version if release_of(spec.jax_version) else None,
        )

    @property
    def n_threads(self) -> int | None:
        """CUDA threads of a block."""
        if self.block is not None:
            return math.prod(self.block)
        return None if self.num_threads is None else _of(self.num_threads)

    @property
    def release(self) -> tuple[int, int, int] | None:
        """The numbers of ``jax_version``; None where none is said, which stands for the newest."""
        return release_of(self.jax_version)

    @property
    def facts(self) -> LaunchFacts:
        """What follows from the launch (see LaunchFacts)."""
        from mgpu_trace.launch.facts import facts_of

        return facts_of(self)

    def check(self) -> Report:
        """Everything that is wrong with the launch.

        Returns
        -------
        Report
            MGT207 and MGT220 to MGT243; each finding has the evidence and a way out.
        """
        from mgpu_trace.launch.rules import findings

        return Report.of(findings(self))

    def with_(self, **changes: object) -> LaunchConfig:
        """The same launch with other fields."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the fields' own types


# Two fields that say the same thing: only one of them may be given.
EITHER: Final = (
    ("words_per_track", "profile_space"),
    ("n_events", "n_ranges"),
    ("names", "n_names"),
    ("arch", "smem_limit_bytes"),
)


def release_of(jax_version: str | None) -> tuple[int, int, int] | None:
    """The first three numbers of a version of JAX; a development version is taken for what it leads to."""
    match = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?![\d])", jax_version or "", re.ASCII)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def _sizes(name: str, value: Any) -> Sizes | None:
    if value is None:
        return None
    sizes = value if isinstance(value, list | tuple) else (value,)
    return tuple(_whole(name, size) for size in sizes)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _contradiction(f"{name} takes whole numbers, not {clipped(repr(value), 40)}", "correct it")
    return operator.index(value)


def _count(name: str, value: Any) -> int | None:
    return None if value is None else _whole(name, value)


def _text(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _contradiction(f"{name} takes a text, not {clipped(repr(value), 40)}", "correct it")
    return value


def _texts(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    texts = (value,) if isinstance(value, str) else tuple(value)
    for text in texts:
        _text(name, text)
    return texts


def _scope(name: str, value: Any) -> Scope | str | None:
    if isinstance(value, Scope):
        return value
    text = _text(name, value)
    return Scope[text.upper()] if text is not None and text.upper() in Scope.__members__ else text


_READ: Final[dict[str, Callable[[str, Any], Any]]] = {
    **dict.fromkeys(("grid", "block", "cluster"), _sizes),
    **dict.fromkeys(("words_per_track", "profile_space", "smem_bytes", "smem_limit_bytes"), _count),
    **dict.fromkeys(("n_events", "n_ranges", "n_names", "num_threads", "iterations"), _count),
    **dict.fromkeys(("arch", "thread_axis", "profile_dir", "jax_version"), _text),
    **dict.fromkeys(("names", "grid_axes", "cluster_axes", "collective_axes"), _texts),
    "scope": _scope,
}


def without_ones(sizes: Sizes) -> Sizes:
    """Sizes as they were said, before they were filled up to three."""
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes = sizes[:-1]
    return sizes


def _of(num_threads: int) -> int:
    return num_threads * THREADS_PER_MOSAIC_THREAD


def _contradiction(message: str, hint: str) -> MgpuTraceError:
    return MgpuTraceError(Diagnostic(catalogue.LAUNCH_CONTRADICTS, message, hint=hint))
