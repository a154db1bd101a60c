"""Slices of blocks in Perfetto's own format: around the regions of each, on every line that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.export.perfetto_options import Zero
from mgpu_trace.export.perfetto_rows import MAX_TIME_NS, block_begin_rows, block_end_rows
from mgpu_trace.export.perfetto_tree import Tree, new_packet
from mgpu_trace.export.picture import block_name
from mgpu_trace.export.presence import Presence
from mgpu_trace.layout import MAX_NAME_ID
from mgpu_trace.model import I64, distinct

CATEGORY: Final = "block"
# The interned category, and the first interned name of a block: those of regions are below.
CATEGORY_IID: Final = 1
_FIRST_NAME_IID: Final = MAX_NAME_ID + 2
# Tracks per batch.
_BATCH: Final = 16 * 1024


class BlockSlices:
    """Begins and ends of the slices of all shown blocks; none where blocks have no slice.

    All begins come before the regions and all ends after them: of equal times the one that comes first
    in the file counts first.

    Parameters
    ----------
    tree, presence
        The launch's lines, and when blocks were there.
    zero
        What times count from.

    Attributes
    ----------
    n_too_long
        Slices that end too late to be written, and are left out.
    """

    def __init__(self, tree: Tree, presence: Presence, zero: Zero) -> None:
        self._tree = tree
        self._presence = presence
        self._zero = zero
        wanted = np.flatnonzero(tree.picture.shown) if tree.picture.has_blocks else np.empty(0, np.int64)
        fits = presence.stay_end[presence.stay[wanted]] <= MAX_TIME_NS - zero.ns
        self._tracks: I64 = wanted[fits]
        self.n_too_long = len(wanted) - len(self._tracks)

    def begins(self) -> Iterator[bytes]:
        """The names of blocks, and their begins."""
        presence, last = self._presence, -1
        for tracks in self._batches():
            stay = presence.stay[tracks]
            block = presence.block[stay]
            new = distinct(block[block > last])
            last = int(block[-1])
            if new.size:
                yield self._names(new)
            ns = presence.stay_begin[stay] + self._zero.ns
            uuid = self._tree.line_uuids(tracks).astype(np.uint64)
            yield block_begin_rows(uuid, ns, block + _FIRST_NAME_IID, CATEGORY_IID).tobytes()

    def ends(self) -> Iterator[bytes]:
        """Their ends."""
        for tracks in self._batches():
            ns = self._presence.stay_end[self._presence.stay[tracks]] + self._zero.ns
            yield block_end_rows(self._tree.line_uuids(tracks).astype(np.uint64), ns).tobytes()

    def _batches(self) -> Iterator[I64]:
        for first in range(0, len(self._tracks), _BATCH):
            yield self._tracks[first : first + _BATCH]

    def _names(self, blocks: I64) -> bytes:
        packet = new_packet(sequence_flags=pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
        add = packet.interned_data.event_names.add
        for block in blocks.tolist():
            add(iid=block + _FIRST_NAME_IID, name=block_name(self._tree.spec, block))
        return bytes(pb.Trace(packet=[packet]).SerializeToString())
