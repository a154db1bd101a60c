"""What can be wrong, said once: codes, the findings that carry them, and the one exception.

A fault in the data is a value (:class:`Diagnostic`) that travels the same path as the data;
:class:`MgpuTraceError` carries the same value where there is no data left to go on with.
Every code and its explanation lives in :mod:`mgpu_trace.diagnostics.catalogue`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Code", "Diagnostic", "MgpuTraceError", "Report", "Severity"]


class Severity(enum.IntEnum):
    """How bad a finding is. Only :attr:`ERROR` changes the exit status."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: a stable id, a slug, how bad it is, and what it is in one line.

    Everything longer is in :mod:`mgpu_trace.diagnostics.explain`, read when it is asked for.

    Attributes
    ----------
    id
        ``MGTnnn``; never renumbered or reused.
    slug
        The same, as words.
    severity
        How bad every finding of this code is.
    summary
        One line, no full stop.
    """

    id: str
    slug: str
    severity: Severity
    summary: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One code's findings in one buffer.

    Attributes
    ----------
    code
        Which kind of finding.
    message
        One line for a person, with the evidence in it.
    count
        How many times it was found (tracks, events, slices, ...; the message says which).
    block, unit
        The first place: block index ``(x, y, z)`` and unit (warp or warpgroup in the block).
    hint
        The way out, computed from the evidence where that is possible. May be empty.
    file
        The file it is about, as the user named it.
    """

    code: Code
    message: str
    count: int = 1
    block: tuple[int, int, int] | None = None
    unit: int | None = None
    hint: str = ""
    file: str | None = None

    @property
    def severity(self) -> Severity:
        return self.code.severity

    def in_file(self, file: str) -> Diagnostic:
        """The same finding with its file named, unless it already is."""
        return self if self.file is not None else replace(self, file=file)

    def line(self) -> str:
        """The finding as the one line that every command prints: ``error[MGT301]: ...``."""
        text = self.message if self.file is None else f"{self.file}: {self.message}"
        hint = f"{' ' if text.endswith('.') else '; '}{self.hint}" if self.hint else ""
        return one_line(f"{self.severity.label}[{self.code.id}]: {text}{hint}")

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-ready data (the schema is in docs/cli.md)."""
        return {
            "code": self.code.id,
            "slug": self.code.slug,
            "severity": self.severity.label,
            "message": self.message,
            "count": self.count,
            "block": None if self.block is None else list(self.block),
            "unit": self.unit,
            "hint": self.hint,
            "file": self.file,
        }


def one_line(text: str) -> str:
    """``text`` with control characters and lone surrogates escaped, so that it prints as one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding of one launch, worst first, then by code."""

    diagnostics: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, found: Iterable[Diagnostic]) -> Report:
        return cls(tuple(sorted(found, key=lambda d: (-d.severity, d.code.id))))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)

    def __add__(self, other: Iterable[Diagnostic]) -> Report:
        return Report.of((*self.diagnostics, *other))

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def of_code(self, code: Code) -> Diagnostic | None:
        """The finding of ``code``, or None."""
        return next((d for d in self.diagnostics if d.code is code), None)


class MgpuTraceError(Exception):
    """The only exception raised on purpose; carries one :class:`Diagnostic`."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.line())
        self.diagnostic = diagnostic
