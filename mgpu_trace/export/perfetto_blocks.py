"""Slices of blocks in Perfetto's own format: around the regions of each, on every line that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from mgpu_trace.export.perfetto_options import Zero
from mgpu_trace.export.perfetto_rows import MAX_TIME_NS, Words, end_rows, named_begin_rows
from mgpu_trace.export.perfetto_tree import Tree
from mgpu_trace.export.picture import block_name
from mgpu_trace.model import I64, U8, distinct

CATEGORY: Final = "block"
CATEGORY_IID: Final = 1  # interned
# Tracks per batch.
_BATCH: Final = 16 * 1024


class BlockSlices:
    """Begins and ends of the slices of all shown blocks; none where blocks have no slice.

    All begins come before the regions and all ends after them: of equal times the one that comes first
    in the file counts first.

    Parameters
    ----------
    tree
        The launch's lines.
    zero
        What times count from.

    Attributes
    ----------
    n_too_long
        Slices that end too late to be written, and are left out.
    """

    def __init__(self, tree: Tree, zero: Zero) -> None:
        self._tree = tree
        self._zero = zero
        wanted = np.flatnonzero(tree.picture.shown) if tree.picture.has_blocks else np.empty(0, np.int64)
        fits = tree.picture.block_span(wanted)[1] <= MAX_TIME_NS - zero.ns
        self._tracks: I64 = wanted[fits]
        self.n_too_long = len(wanted) - len(self._tracks)

    def begins(self) -> Iterator[U8]:
        """Their begins.

        With their names in them: the engine keeps a copy of all interned names for every line that
        events are written on, which a hundred thousand blocks do not fit twice.
        """
        for tracks in self._batches():
            of = tracks // self._tree.spec.tracks_per_block
            blocks = distinct(of)
            texts = [block_name(self._tree.spec, block).encode() for block in blocks.tolist()]
            names, lengths = np.array(texts), np.array([len(text) for text in texts])
            at = np.searchsorted(blocks, of)
            for length in distinct(lengths).tolist():
                some = lengths[at] == length
                text = names[at[some]].astype(f"S{length}").view(np.uint8).reshape(-1, length)
                uuid = self._tree.line_uuids(tracks[some]).astype(np.uint64)
                ns = self._tree.picture.block_span(tracks[some])[0] + self._zero.ns
                yield named_begin_rows(uuid, ns, text, CATEGORY_IID)

    def ends(self) -> Iterator[Words]:
        """Their ends."""
        for tracks in self._batches():
            ns = self._tree.picture.block_span(tracks)[1] + self._zero.ns
            yield end_rows(self._tree.line_uuids(tracks).astype(np.uint64), ns)

    def _batches(self) -> Iterator[I64]:
        for first in range(0, len(self._tracks), _BATCH):
            yield self._tracks[first : first + _BATCH]
