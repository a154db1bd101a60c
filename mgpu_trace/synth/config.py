"""What is asked of a synthetic launch."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass

from mgpu_trace.layout import Scope, Word2
from mgpu_trace.spec import Dim3, is_sm_clock


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a role's program.

    Attributes
    ----------
    name
        Its name; names get ids in the order in which the roles mention them.
    cycles
        Work before its first child, after each child, and in all where it has none: the mean, in SM
        cycles. Each piece varies by a quarter either way.
    children
        Regions inside it, one after the other.
    times
        How often it runs in a row; None stands for the launch's ``n_iterations``.
    """

    name: str
    cycles: int = 200
    children: tuple[Region, ...] = ()
    times: int | None = 1


@dataclass(frozen=True, slots=True)
class Role:
    """What one unit of a block does. ``repeat`` is run ``n_iterations`` times between the rest."""

    name: str
    first: tuple[Region, ...]
    repeat: tuple[Region, ...] = ()
    last: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something to break. ``kind`` is the slug of the code that it makes fire (see ``FAULTS``).

    ``track`` says where; None takes a sound track that no other fault has touched.
    """

    kind: str
    track: int | None = None


class Tail(enum.Enum):
    """What the words after the used ones hold."""

    POISON = "poison"  # 0xDEADBEEF
    STALE = "stale"  # events that could be ones
    RANDOM = "random"


INIT = Region("Init", 120)
PRODUCER = Role("producer", (INIT,), (Region("tma_wait", 260), Region("tma_load", 340)))
CONSUMER = Role(
    "consumer",
    (INIT,),
    (Region("mma", 40, (Region("wait", 160), Region("wgmma", 380))),),
    (Region("epilogue", 220, (Region("store", 300),)),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthConfig:
    """One synthetic launch.

    Attributes
    ----------
    n_sms, resident
        SMs of the part, and how many blocks each holds at a time; more blocks come in waves.
    grid, block, scope
        As in :class:`mgpu_trace.spec.TraceSpec`.
    words_per_track
        None takes the smallest multiple of 4 words that no track fills.
    roles
        Unit ``u`` of every block does ``roles[u]``; units past the last do as the last.
    names
        The table of names; None takes those that the roles mention, in order.
    n_iterations
        How often each role's ``repeat`` runs.
    sm_clock_mhz, state_clock
        The SM clock's rate, to the kHz, and whether the spec says it.
    step_ns, start_ns
        Step of the global timer, and its 64-bit value when the launch begins.
    lead_cyc
        Cycles from the reading of the start time to a track's first event.
    clock_offsets
        Each SM's counter when the launch begins, by SM; None: random 32-bit numbers.
    word2
        Which variant the headers have. The spec does not say: the buffer does.
    bounds_checked
        True drops events that do not fit; otherwise they overrun into the next track. The spec says so.
    tail
        What the unused words hold.
    kernel, device, jax_version
        Passed on to the spec.
    faults
        What to break, in this order.
    """

    n_sms: int = 4
    resident: int = 1
    grid: Dim3 = (8, 1, 1)
    block: Dim3 = (384, 1, 1)
    scope: Scope = Scope.WARPGROUP
    words_per_track: int | None = None
    roles: tuple[Role, ...] = (PRODUCER, CONSUMER)
    names: tuple[str, ...] | None = None
    n_iterations: int = 4
    sm_clock_mhz: float = 1980.0
    state_clock: bool = True
    step_ns: int = 32
    start_ns: int = 1_000_000_000
    lead_cyc: int = 0
    clock_offsets: tuple[int, ...] | None = None
    word2: Word2 = Word2.USED
    bounds_checked: bool | None = None
    tail: Tail = Tail.POISON
    kernel: str | None = "synthetic"
    device: str | None = None
    jax_version: str | None = None
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        if min(self.n_sms, self.resident, self.step_ns) < 1 or self.n_iterations < 0:
            raise ValueError("n_sms, resident and step_ns must be positive, n_iterations not negative")
        if not self.roles:
            raise ValueError("a launch needs at least one role")
        if self.clock_offsets is not None and len(self.clock_offsets) < self.n_sms:
            raise ValueError(f"clock_offsets has {len(self.clock_offsets)} numbers for {self.n_sms} SMs")
        if not is_sm_clock(self.sm_clock_mhz):
            raise ValueError(f"sm_clock_mhz {self.sm_clock_mhz} is not between 1 and 100000")

    @property
    def clock_khz(self) -> int:
        """The SM clock's rate as the whole number that all arithmetic uses."""
        return round(self.sm_clock_mhz * 1000)

    @property
    def n_blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def tracks_per_block(self) -> int:
        return math.prod(self.block) // self.scope.value

    def role_of(self, unit: int) -> Role:
        return self.roles[min(unit, len(self.roles) - 1)]

    def name_table(self) -> tuple[str, ...]:
        """Names by id: those given, or those that the roles mention in the order of the programs."""
        if self.names is not None:
            return self.names
        regions = (r for role in self.roles for r in (*role.first, *role.repeat, *role.last))
        return tuple(dict.fromkeys(name for region in regions for name in _names(region)))


def _names(region: Region) -> Iterator[str]:
    yield region.name
    for child in region.children:
        yield from _names(child)
