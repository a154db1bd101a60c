"""The rules, by what they are about; each yields its findings from what was said and what follows."""

from __future__ import annotations

from collections.abc import Iterator

from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.rules import axes, blocks, capacity, grids, measuring, memory, sizes


def findings(config: LaunchConfig) -> Iterator[Diagnostic]:
    """Everything that is wrong with ``config``.

    Sizes that cannot be are all that is said of a launch that has them: nothing follows from them.
    """
    wrong = tuple(sizes.rules(config))
    yield from wrong
    if not wrong:
        facts = config.facts
        yield from grids.rules(config)
        for rules in (blocks.rules, memory.rules, capacity.rules):
            yield from rules(config, facts)
    yield from axes.rules(config)
    yield from measuring.rules(config)
