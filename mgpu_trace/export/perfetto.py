"""Perfetto's own format: TrackEvents on a tree of tracks, by the rules of docs/perfetto.md.

Every slice is a packet that begins it and one that ends it, both of fixed width (perfetto_rows.py),
in the order in which the kernel came by (perfetto_order.py), on the line of its unit
(perfetto_tree.py). Times are whole nanoseconds, since the epoch where the host's time is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any, BinaryIO, Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.export import Source
from mgpu_trace.export.chrome import ChromeOptions
from mgpu_trace.export.jsontext import shown_name
from mgpu_trace.export.perfetto_blocks import CATEGORY, CATEGORY_IID, BlockSlices
from mgpu_trace.export.perfetto_chunk import Carried, chunk_packets
from mgpu_trace.export.perfetto_counters import counter_packets
from mgpu_trace.export.perfetto_options import ARGS, REALTIME, PerfettoOptions, zero_of
from mgpu_trace.export.perfetto_order import place
from mgpu_trace.export.perfetto_rows import MAX_TIME_NS, Words, integer_words, text_words, true_words
from mgpu_trace.export.perfetto_summary import mark_packets, summary
from mgpu_trace.export.perfetto_tree import Tree, new_packet, shown_text
from mgpu_trace.export.picture import Picture
from mgpu_trace.layout import MAX_NAME_ID
from mgpu_trace.model import I32, I64, Slices, TrackFlag, distinct

# Slices per chunk: the columns of a chunk stay in a core's own cache.
_CHUNK: Final = 16 * 1024
# What annotations are called, by their interned ids.
_ANNOTATIONS: Final = {name: iid for iid, name in enumerate((*ARGS, "truncated", "unclosed"), 1)}
_DEPENDS: Final = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


def write_perfetto(source: Source, sink: BinaryIO, options: ChromeOptions | None = None) -> list[Diagnostic]:
    """Write a trace of TrackEvents.

    Returns
    -------
    list of Diagnostic
        What could not be written as it is: altered names (MGT604), times too long (MGT606).
    """
    options = options or PerfettoOptions()
    if not isinstance(options, PerfettoOptions):
        options = PerfettoOptions(**{name: getattr(options, name) for name in ChromeOptions.__slots__})
    return _Writer(source, sink, options).write()


class _Writer:
    def __init__(self, source: Source, sink: BinaryIO, options: PerfettoOptions) -> None:
        self._source = source
        self._sink = sink
        self._args = options.args
        self._zero = zero_of(source.spec, options.base)
        self._picture = Picture(source, options.arrangement())
        self._tree = Tree(self._picture, source.tracks, options.counters)
        self._blocks = BlockSlices(self._tree, self._zero)
        self._is_named = np.zeros(MAX_NAME_ID + 1, np.bool_)
        self._n_altered = 0
        self._n_too_long = 0

    def write(self) -> list[Diagnostic]:
        self._put(self._first_packets())
        self._put(self._tree.descriptors())
        for named in self._blocks.begins():
            self._sink.write(named.data)
        self._put(mark_packets(self._source, self._tree, self._zero, before=True))
        for run in self._source.runs():
            for chunk in _chunks(run):
                self._write_chunk(chunk)
        self._put(mark_packets(self._source, self._tree, self._zero, before=False))
        for rows in self._blocks.ends():
            self._sink.write(rows.data)
        for rows in counter_packets(self._tree, self._source.tracks, self._zero):
            self._sink.write(rows.data)
        found = self._diagnostics()
        self._put(summary(self._source, found, self._tree, self._zero))
        return found

    def _first_packets(self) -> Iterator[Any]:
        """The start of a sequence (by which the format is known), the clock, and names of annotations."""
        cleared = pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        yield new_packet(sequence_flags=cleared, first_packet_on_sequence=True)
        if self._zero.clock == REALTIME:
            packet = new_packet()
            packet.clock_snapshot.primary_trace_clock = REALTIME
            packet.clock_snapshot.clocks.add(clock_id=REALTIME, timestamp=self._zero.ns)
            yield packet
        packet = new_packet(sequence_flags=_DEPENDS)
        packet.trace_packet_defaults.timestamp_clock_id = self._zero.clock
        packet.interned_data.event_categories.add(iid=CATEGORY_IID, name=CATEGORY)
        for name, iid in _ANNOTATIONS.items():
            packet.interned_data.debug_annotation_names.add(iid=iid, name=name)
        yield packet

    def _put(self, packets: Iterator[Any]) -> None:
        """Write packets, a thousand at once."""
        while some := list(islice(packets, 1024)):
            self._sink.write(pb.Trace(packet=some).SerializeToString())

    def _write_chunk(self, chunk: Slices) -> None:
        n = len(chunk)
        chunk, begin, end = self._fitting(chunk)
        self._n_too_long += n - len(chunk)
        if not len(chunk):
            return
        placed = place(chunk, begin, end, self._picture.levels)
        slices, first = placed.slices, placed.first
        uuids, new = self._tree.further_uuids(slices.track[first], slices.lane[first], placed.floor)
        self._put(iter(new))
        self._put(self._new_names(slices.name))
        placed.ns[:] += self._zero.ns
        carried = Carried(self._annotations(slices), *self._marks(slices))
        self._sink.write(chunk_packets(placed, uuids, self._zero.clock, carried).data)

    def _fitting(self, slices: Slices) -> tuple[Slices, I64, I64]:
        """Those of the slices that end at a time that can be written, and their times."""
        begin, end = self._source.clock.begin_end_ns(slices.track, slices.start_cyc, slices.dur_cyc)
        latest = MAX_TIME_NS - self._zero.ns
        if end.max() <= latest:
            return slices, begin, end
        keep = end <= latest
        return slices.where(keep), begin[keep], end[keep]

    def _new_names(self, name: I32) -> Iterator[Any]:
        """Packets with the names that no packet before had; each its own, for one may be a megabyte."""
        if self._is_named[name].all():
            return
        for name_id in distinct(name[~self._is_named[name]]).tolist():
            text = self._source.spec.name_of(name_id)
            shown = shown_text(shown_name(text))
            self._n_altered += shown != text
            packet = new_packet(sequence_flags=_DEPENDS)
            packet.interned_data.event_names.add(iid=name_id + 1, name=shown)
            yield packet
        self._is_named[name] = True

    def _annotations(self, slices: Slices) -> list[Words]:
        columns: list[Words] = []
        if "cycles" in self._args:
            columns += integer_words(_ANNOTATIONS["cycles"], slices.dur_cyc)
        if "index" in self._args and slices.index is not None:
            columns += integer_words(_ANNOTATIONS["index"], slices.index)
        if "block" in self._args:
            of = slices.track // self._source.spec.tracks_per_block
            blocks = distinct(of)
            texts = [b"%d,%d,%d" % self._source.spec.block_xyz(block) for block in blocks.tolist()]
            words = text_words(_ANNOTATIONS["block"], texts)
            columns += list(words[np.searchsorted(blocks, of)].T)
        return columns

    def _marks(self, slices: Slices) -> tuple[I64, Words]:
        """Slices that were never left, and the words that say so."""
        rows = np.flatnonzero(~slices.closed)
        lost = self._source.tracks.flags[slices.track[rows]] & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0
        return rows, true_words(np.where(lost, _ANNOTATIONS["truncated"], _ANNOTATIONS["unclosed"]))

    def _diagnostics(self) -> list[Diagnostic]:
        found = []
        if self._n_altered:
            what = "name" if self._n_altered == 1 else "names"
            message = (
                f"{self._n_altered} {what} of regions could not be written (lone surrogates, NUL, or empty)"
            )
            found.append(Diagnostic(catalogue.NAME_ALTERED, message, self._n_altered))
        n_too_long = self._n_too_long + self._blocks.n_too_long
        if n_too_long:
            message = f"{n_too_long} slices end after 2^63 ns; left out"
            hint = "check --sm-clock-mhz"
            found.append(Diagnostic(catalogue.TIME_TOO_LONG, message, n_too_long, hint=hint))
        return found


def _chunks(run: Slices) -> Iterator[Slices]:
    """Parts of a run, of whole tracks."""
    some = run.track[_CHUNK::_CHUNK]
    cuts = distinct(np.searchsorted(run.track, some)).tolist()
    for first, last in pairwise((0, *cuts, len(run))):
        if last > first:
            yield run.where(slice(first, last))
