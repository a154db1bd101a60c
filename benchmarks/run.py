"""Speed and memory of ``mgpu-trace dump``, and the cost of a capture, side by side with rivals.

    python benchmarks/run.py               # everything, about two minutes
    python benchmarks/run.py --only decode --events 1000000 --runs 9
    python benchmarks/run.py --only memory --gib 2

JAX's own ``ProfilerSpec.dump`` is the rival where JAX is installed; one ``write`` of the same bytes,
a copy of the buffer, and ``python -c "import click"`` are the others. Nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import answering
import numpy as np
from capturing import in_callback
from folders import folders
from measure import Line, child_cpu_seconds, cpu_seconds, peak_bytes_of_interpreter, run_child
from querying import querying

from mgpu_trace import layout
from mgpu_trace.decode import decode
from mgpu_trace.export.output import write_trace
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import open_launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import bench_launch, write_bench_npy

BLOCKS, WARPGROUPS = 132, 3
KINDS = (
    "jax",
    "write",
    "native",
    "decode",
    "process",
    "startup",
    "memory",
    "stats",
    "capture",
    "query",
    "folders",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=KINDS, action="append", help="only this (repeatable)")
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the launch")
    parser.add_argument("--runs", type=int, default=9, help="rounds; the smallest time counts")
    parser.add_argument("--gib", type=float, default=2.0, help="size of the buffer of the memory test")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.only or KINDS:
            for line in BENCHMARKS[kind](Path(folder), options):
                print(line, flush=True)


def make_launch(folder: Path, n_events: int) -> tuple[Path, TraceBuffer]:
    """The launch of all figures: 132 blocks of three warpgroups; as a file with its spec, and in memory."""
    per_track = max(12, n_events // (BLOCKS * WARPGROUPS) // 10 * 10 + 2)  # whole patterns: all regions close
    path = folder / "launch.npy"
    buffer = bench_launch(BLOCKS, WARPGROUPS, per_track)
    np.save(path, buffer.words.reshape(-1))
    write_spec(path, buffer.spec)
    return path, buffer


def write_spec(path: Path, spec: TraceSpec) -> None:
    import json

    path.with_suffix(".json").write_text(json.dumps(spec.to_dict()))


def count_events(buffer: TraceBuffer) -> int:
    return int(buffer.words[:, layout.USED_WORD].sum(dtype=np.int64)) // layout.WORDS_PER_EVENT


def against_jax(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Read, decode, fit clocks and write, against JAX's dump of the same buffer to a file."""
    path, buffer = make_launch(folder, options.events)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        from jax.experimental.mosaic.gpu.profiler import ProfilerSpec
    except ImportError as error:
        print(f"jax: skipped, {error}")
        return
    spec = buffer.spec
    theirs = ProfilerSpec(spec.words_per_track)
    for name in spec.names or ():
        theirs.intern_name(name)

    def jax_dump() -> None:
        with open(folder / "jax.json", "w") as f:
            theirs.dump(np.load(path), f, grid=spec.grid, block=spec.block)

    ours = cpu_seconds(options.runs, lambda: write_trace(open_launch(path), folder / "ours.json"))[0]
    jax = cpu_seconds(1, jax_dump)[0]
    n = count_events(buffer)
    yield Line(
        "read+decode+clock+Chrome JSON file",
        f"{ours:.4f} s {n / ours / 1e6:.1f} M ev/s",
        f"JAX's dump {jax:.2f} s",
        f"{jax / ours:.0f} times faster",
        ">= 100",
        jax / ours >= 100,
    )


def against_write(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """The same against one ``write`` of the bytes that it made, to a new file."""
    path, _ = make_launch(folder, options.events)
    write_trace(open_launch(path), folder / "ours.json")
    data = (folder / "ours.json").read_bytes()

    def write_only() -> None:
        with open(folder / "written.json", "wb", buffering=0) as f:
            f.write(data)
        os.replace(folder / "written.json", folder / "renamed.json")

    ours, plain = cpu_seconds(
        options.runs, lambda: write_trace(open_launch(path), folder / "ours.json"), write_only
    )
    yield Line(
        "the same, against writing its bytes",
        f"{ours:.4f} s",
        f"write {len(data) / 1e6:.1f} MB {plain:.4f} s",
        f"{ours / plain:.1f} times as long",
        "<= 4",
        ours / plain <= 4,
    )


def native(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """The same in Perfetto's own format; and its packets made one by one with the package's classes."""
    path, buffer = make_launch(folder, options.events)
    n = count_events(buffer)
    trace = folder / "ours.pftrace"
    write_trace(open_launch(path), trace)
    data = trace.read_bytes()

    def write_only() -> None:
        (folder / "written.pftrace").write_bytes(data)
        os.replace(folder / "written.pftrace", folder / "renamed.pftrace")

    def ours() -> None:
        write_trace(open_launch(path), trace)

    mine, plain = cpu_seconds(options.runs, ours, write_only)
    yield Line(
        "read+decode+clock+TrackEvent file",
        f"{mine:.4f} s {n / mine / 1e6:.1f} M ev/s",
        f"write {len(data) / 1e6:.1f} MB {plain:.4f} s",
        f"{mine / plain:.1f} times as long",
        ">= 12 M ev/s",
        n / mine >= 12e6,
    )
    yield Line(
        "size of a TrackEvent file",
        f"{len(data) / n:.1f} bytes an event",
        f"buffer {buffer.words.nbytes / n:.1f}",
        f"{len(data) / buffer.words.nbytes:.1f} times as large",
        "<= 30",
        len(data) / n <= 30,
    )
    some = min(n, 20_000)
    theirs = cpu_seconds(options.runs, lambda: made_one_by_one(some))[0] * n / some
    yield Line(
        "the same, against perfetto's classes",
        f"{mine:.4f} s with decoding",
        f"packets of {some} events: {theirs:.2f} s for all",
        f"{theirs / mine:.0f} times faster",
        ">= 10",
        theirs / mine >= 10,
    )


def made_one_by_one(n_events: int) -> bytes:
    """As many begins and ends, with the fields that ours have, by the package's own classes."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    trace = pb.Trace()
    for i in range(n_events):
        packet = trace.packet.add()
        packet.timestamp = 100 * i
        packet.trusted_packet_sequence_id = 1
        packet.sequence_flags = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.type = pb.TrackEvent.TYPE_SLICE_END if i % 2 else pb.TrackEvent.TYPE_SLICE_BEGIN
        packet.track_event.name_iid = 1 + i % 8
    return bytes(trace.SerializeToString())


def against_copy(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Decode alone: headers, unwrap, pairing, checks, to Slices; against copying the buffer."""
    _, buffer = make_launch(folder, options.events)
    n = count_events(buffer)
    ours, copy = cpu_seconds(options.runs, lambda: decode(buffer), lambda: buffer.words.copy())
    yield Line(
        "decode alone",
        f"{ours:.4f} s {n / ours / 1e6:.1f} M ev/s",
        f"copy of the buffer {copy:.4f} s",
        f"{ours / copy:.0f} times as long",
        ">= 30 M ev/s",
        n / ours >= 30e6,
    )


def program() -> list[str]:
    script = Path(sysconfig.get_path("scripts")) / "mgpu-trace"
    return [str(script)] if script.exists() else [sys.executable, "-m", "mgpu_trace_cli"]


def whole_process(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """The command, imports included; beside it a Python that only imports NumPy."""
    path, _ = make_launch(folder, options.events)
    command = [*program(), "dump", str(path), "-o", str(folder / "process.json")]
    ours, numpy = child_cpu_seconds(options.runs, command, [sys.executable, "-c", "import numpy"])
    yield Line(
        "whole process: mgpu-trace dump",
        f"{ours:.3f} s",
        f"import numpy {numpy:.3f} s",
        f"{ours / numpy:.1f} times as long",
        "< 0.4 s",
        ours < 0.4,
    )


def startup(_: Path, options: argparse.Namespace) -> Iterator[Line]:
    """``--version`` and ``--help`` against importing click."""
    for flag in ("--version", "--help"):
        ours, click = child_cpu_seconds(
            3 * options.runs, [*program(), flag], [sys.executable, "-c", "import click"]
        )
        yield Line(
            f"mgpu-trace {flag}",
            f"{ours:.3f} s",
            f"import click {click:.3f} s",
            f"{ours / click:.2f} times as long",
            "<= 1.6",
            ours / click <= 1.6,
        )


def stats(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Statistics by region, against decode and against a group-by."""
    yield from answering.against_decode(*make_launch(folder, options.events), options)


def memory(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Peak memory of the commands on a large buffer, the trace streamed to the null device."""
    path = folder / "large.npy"
    per_block = WARPGROUPS * 4 * (2522 * 2 + 8)
    spec = write_bench_npy(path, max(1, int(options.gib * 2**30) // per_block), WARPGROUPS, 2522)
    write_spec(path, spec)
    size = path.stat().st_size
    used = run_child([*program(), "dump", str(path), "-o", os.devnull])
    bare = peak_bytes_of_interpreter()
    above = (used.peak_bytes - bare) / 2**20
    yield Line(
        f"peak memory, {size / 2**30:.2f} GiB buffer",
        f"{above:.0f} MiB above Python",
        f"buffer {size / 2**20:.0f} MiB",
        f"{above * 2**20 / size:.2f} of the buffer",
        "< 500 MiB",
        above < 500,
    )
    for command in ("stats", "balance"):
        yield answering.memory(path, program(), command)
    path.unlink()


BENCHMARKS = {
    "jax": against_jax,
    "write": against_write,
    "native": native,
    "decode": against_copy,
    "process": whole_process,
    "startup": startup,
    "memory": memory,
    "stats": stats,
    "capture": in_callback,
    "query": querying,
    "folders": folders,
}

if __name__ == "__main__":
    main()
