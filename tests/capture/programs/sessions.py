"""What a session promises, tried one by one: ``sessions.py FOLDER`` writes FOLDER/told.json."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import os
import resource
import shutil
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kernels import (
    DUMPS,
    OUT,
    ZEROS,
    jax,
    marked,
    mosaic_kernel,
    pallas_kernel,
    profiler,
    shard_map,
    sim,
)
from told import session_dict, write_session

import mgpu_trace
import mgpu_trace.capture.writer as writer

CASES: dict[str, Callable[[Path], Any]] = {}


def case(body: Callable[[Path], Any]) -> Callable[[Path], Any]:
    CASES[body.__name__] = body
    return body


@contextlib.contextmanager
def stderr() -> Iterator[io.StringIO]:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        yield said


def refused(call: Callable[[], Any]) -> str | None:
    """The code that ``call`` is refused with."""
    try:
        call()
    except mgpu_trace.MgpuTraceError as error:
        return error.diagnostic.code.id
    return None


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def enter(session: Any) -> None:
    with session:
        pass


# ---- one capture at a time


@case
def nested(folder: Path) -> Any:
    kernel = jax.jit(pallas_kernel("nested_k"))
    with mgpu_trace.capture(folder / "outer") as outer:
        kernel(ZEROS)
        code = refused(lambda: enter(mgpu_trace.capture(folder / "inner")))
        again = refused(lambda: enter(outer))
        kernel(ZEROS)
    return {"code": code, "again": again, "files": names(folder / "outer"), "inner": names(folder / "inner")}


@case
def in_a_second_thread(folder: Path) -> Any:
    kernel, codes = jax.jit(pallas_kernel("thread_k")), []
    with mgpu_trace.capture(folder / "outer"):
        thread = threading.Thread(
            target=lambda: codes.append(refused(lambda: enter(mgpu_trace.capture(folder / "inner"))))
        )
        thread.start()
        thread.join()
        kernel(ZEROS)
    return {"codes": codes, "files": names(folder / "outer")}


@case
def launches_of_other_threads(folder: Path) -> Any:
    """Launched by a thread that has gone, and not waited for."""
    kernel = shard_map(pallas_kernel("other_k"))
    sim.spoil = lambda _: time.sleep(0.02)
    kernel(marked())  # still under way when the capture begins, which it is not of
    with mgpu_trace.capture(folder):
        thread = threading.Thread(target=lambda: [kernel(marked()) for _ in range(3)])
        thread.start()
        thread.join()
    sim.spoil = None
    return names(folder)


@case
def decorated(folder: Path) -> Any:
    kernel = jax.jit(pallas_kernel("decorated_k"))

    @mgpu_trace.capture(folder)
    def step(x: Any, *, times: int = 1) -> Any:
        """Add one so many times."""
        for _ in range(times):
            x = kernel(x)
        return x

    value = step(step(ZEROS, times=2))
    kernel(ZEROS)
    calls = {"name": step.__name__, "doc": step.__doc__, "signature": str(inspect.signature(step))}
    nested = mgpu_trace.capture(folder)(lambda: step(ZEROS))
    return {"value": float(value[0]), "files": names(folder), "nested": refused(nested)} | calls


@case
def session_used_again(folder: Path) -> Any:
    kernel = jax.jit(pallas_kernel("again_k"))
    session = mgpu_trace.capture(folder)
    counts = []
    for n in (1, 2):
        with session:
            for _ in range(n):
                kernel(ZEROS)
        counts.append(len(session.launches))
    return {"counts": counts, "files": names(folder)}


# ---- leaving


class TroubleError(Exception):
    pass


@case
def body_raises(folder: Path) -> Any:
    kernel = jax.jit(pallas_kernel("raises_k"))
    trouble = TroubleError("the program's own")
    before = snapshot()
    try:
        with mgpu_trace.capture(folder):
            kernel(ZEROS)
            raise trouble
    except TroubleError as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        same = error is trouble and error.__context__ is None and error.__cause__ is None
    return {"same": same, "frames": frames, "files": names(folder), "changed": changed(before)}


@case
def everything_is_put_back(folder: Path) -> Any:
    options: list[dict[str, Any]] = [
        {},
        {"profile_space": 16},
        {"keep_json": True},
        {"kernel": "x", "every": 2},
    ]
    found = {}
    for i, chosen in enumerate(options):
        before = snapshot()
        with stderr(), mgpu_trace.capture(folder / str(i), **chosen):
            inside = changed(before)
            jax.jit(pallas_kernel("put_back_k"))(ZEROS)
            mosaic_kernel("put_back_mosaic_k")(ZEROS)
        found[str(i)] = {"inside": inside, "after": changed(before)}
    return found


def snapshot() -> dict[tuple[str, str], int]:
    """Every attribute of JAX's modules, of the profiler's class, and of the builtins."""
    owners = [(name, module) for name, module in sys.modules.items() if name.startswith("jax")]
    owners += [("ProfilerSpec", profiler.ProfilerSpec), ("builtins", sys.modules["builtins"])]
    return {
        (owner_name, name): id(value)
        for owner_name, owner in owners
        for name, value in list(vars(owner).items())
        if callable(value)
    }


def changed(before: dict[tuple[str, str], int]) -> list[str]:
    """What is not as it was. Modules that came meanwhile do not count."""
    now = snapshot()
    modules = {owner for owner, _ in before}
    pairs = [pair for pair in before.keys() | now.keys() if pair[0] in modules]
    return sorted(".".join(pair) for pair in pairs if before.get(pair) != now.get(pair))


@case
def runs_as_before_afterwards(folder: Path) -> Any:
    """A kernel compiled inside gives JAX's own file outside, and JAX's own warning the second time."""
    kernel = jax.jit(pallas_kernel("afterwards_k"))
    mosaic = mosaic_kernel("afterwards_mosaic_k")
    with mgpu_trace.capture(folder):
        mosaic(kernel(ZEROS))
    captured = names(folder)
    inside = names(DUMPS)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        value = mosaic(kernel(kernel(ZEROS)))
        jax.effects_barrier()
    return {
        "value": float(value[0]),
        "captured": captured,
        "later": names(folder) != captured,
        "inside": inside,
        "dumps": names(DUMPS),
        "warned": [str(warning.message) for warning in warned],
    }


@case
def profile_is_taken_back(folder: Path) -> Any:
    """Kernels that profiled because of the capture do not do so any more, or nobody hears of it."""
    function = jax.jit(pallas_kernel("forced_k", profile_space=0))
    function(ZEROS)
    here = names(Path.cwd())
    with mgpu_trace.capture(folder, profile_space=16):
        compiled = function.lower(ZEROS).compile()
        inside = float(compiled(function(ZEROS))[0])
    n = len(sim.LAUNCHES)
    after = float(function(ZEROS)[0])
    not_profiled = len(sim.LAUNCHES) == n
    ahead = float(compiled(ZEROS)[0])
    jax.effects_barrier()
    return {
        "values": [inside, after, ahead],
        "files": names(folder),
        "not_profiled": not_profiled,
        "dumps": names(DUMPS),
        "left_behind": sorted({*names(Path.cwd())} - {*here}),
    }


@case
def in_flight_on_four_devices(folder: Path) -> Any:
    kernel = shard_map(pallas_kernel("four_k"))
    kernel(marked())
    found = []
    for i in range(10):
        with mgpu_trace.capture(folder / str(i)):
            for _ in range(3):
                kernel(marked())
        found.append(len(names(folder / str(i))))
    return found


@case
def devices_of_kernels_of_an_earlier_capture(folder: Path) -> Any:
    kernel = shard_map(pallas_kernel("earlier_k"))
    for which in ("first", "second"):
        with mgpu_trace.capture(folder / which) as session:
            kernel(marked())
    return sorted(str(launch.device) for launch in session.launches)


@case
def own_callbacks(folder: Path) -> Any:
    """The program's own callbacks are its own, whatever their names."""
    seen: list[float] = []

    def dump_profile(x: Any) -> None:
        seen.append(float(x))

    kernel = pallas_kernel("own_k")

    @jax.jit
    def step(x: Any) -> Any:
        jax.debug.callback(dump_profile, x[0])
        jax.debug.callback(lambda *, value: seen.append(float(value)), value=x[0])
        return kernel(x)

    with mgpu_trace.capture(folder):
        step(step(ZEROS))
    return {"seen": sorted(seen), "files": names(folder)}


@case
def dumped_by_hand(folder: Path) -> Any:
    """The program calls ``dump`` itself, with a file of its own, and uses the memory again."""
    write, go_on = writer.write_container, threading.Event()

    def when_told(*args: Any, **kwargs: Any) -> None:
        go_on.wait(20)
        write(*args, **kwargs)

    writer.write_container = when_told
    spec = profiler.ProfilerSpec(16, dump_path=str(DUMPS))
    spec.intern_name("Init")
    words = np.zeros(16, np.uint32)
    words[0] = 1000
    file = io.StringIO()
    with mgpu_trace.capture(folder) as session:
        spec.dump(words, file, (1, 1, 1), (128, 1, 1))
        words[:] = 2
        go_on.set()
    writer.write_container = write
    [launch] = session.launches
    return {"text": file.getvalue(), "start_ns": int(mgpu_trace.load(launch.path).tracks.start_ns[0])}


# ---- one folder for several


@case
def one_after_the_other(folder: Path) -> Any:
    kernel = jax.jit(pallas_kernel("after_k"))
    with mgpu_trace.capture(folder) as first:
        kernel(kernel(ZEROS))
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    with mgpu_trace.capture(folder) as second:
        kernel(kernel(kernel(ZEROS)))
    sim.write_truth(folder / "../truth.npz")
    return {
        "files": names(folder),
        "untouched": all((folder / name).read_bytes() == data for name, data in before.items()),
        "sessions": [session_dict(session)["launches"] for session in (first, second)],
    }


@case
def slow_disk(folder: Path) -> Any:
    """More launches than the queue holds, and a disk that is slower than they come."""
    kernel = jax.jit(pallas_kernel("slow_k"))
    kernel(ZEROS)
    write, waiting = writer.write_container, []

    def slowly(*args: Any, **kwargs: Any) -> None:
        time.sleep(0.02)
        write(*args, **kwargs)

    writer.write_container = slowly
    try:
        with mgpu_trace.capture(folder) as session:
            for _ in range(60):
                kernel(ZEROS)
                waiting.append(len(sim.LAUNCHES) - 1 - len(session.launches))
    finally:
        writer.write_container = write
    return {"files": len(names(folder)), "waiting": max(waiting), "room": writer.QUEUE_LAUNCHES}


# ---- trouble


def troubled(folder: Path, during: Callable[[], Any], after: Callable[[], Any] = lambda: None) -> Any:
    """One launch, then trouble, then two launches more."""
    kernel = jax.jit(pallas_kernel("troubled_k"))
    with stderr() as said:
        with mgpu_trace.capture(folder) as session:
            x = kernel(ZEROS)
            jax.effects_barrier()
            deadline = time.monotonic() + 20
            while not session.launches and not session.report and time.monotonic() < deadline:
                time.sleep(0.01)
            during()
            value = kernel(kernel(x))
        after()
    return session_dict(session) | {
        "value": float(value[0]),
        "stderr": said.getvalue().splitlines(),
        "files": names(folder),
    }


@case
def folder_removed(folder: Path) -> Any:
    return troubled(folder, lambda: shutil.rmtree(folder))


@case
def file_in_place_of_folder(folder: Path) -> Any:
    def swap() -> None:
        shutil.rmtree(folder)
        folder.write_text("")

    return troubled(folder, swap)


@case
def folder_that_cannot_be_made(folder: Path) -> Any:
    return troubled(Path("/proc/self/traces"), lambda: None)


@case
def full_disk(folder: Path) -> Any:
    """A small file system of its own, where whoever runs this could make one."""
    disk = os.environ.get("SMALL_DISK")
    if disk is None:
        return None

    def fill() -> None:
        with contextlib.suppress(OSError), open(Path(disk) / "ballast", "wb", buffering=0) as file:
            while file.write(bytes(1024)):
                pass

    return troubled(Path(disk) / "traces", fill, lambda: os.unlink(Path(disk) / "ballast"))


@case
def no_space(folder: Path) -> Any:
    """A disk that is full, as the system calls say it."""
    write = writer.write_container

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return troubled(
        folder,
        lambda: setattr(writer, "write_container", full),
        lambda: setattr(writer, "write_container", write),
    )


@case
def file_size_limit(folder: Path) -> Any:
    """The kernel refuses to write more than some bytes of each file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    return troubled(
        folder,
        lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard)),
        lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard)),
    )


@case
def fault_of_ours(folder: Path) -> Any:
    """Something in the capture itself is wrong."""
    from mgpu_trace.capture import session as module

    names_of = module.interned_names

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    return troubled(
        folder,
        lambda: setattr(module, "interned_names", broken),
        lambda: setattr(module, "interned_names", names_of),
    )


@case
def no_stderr(folder: Path) -> Any:
    """What is to be said cannot be: stderr is closed, or there is none."""
    told = []
    for said in (io.StringIO(), None):
        if said is not None:
            said.close()
        kernel, x = jax.jit(pallas_kernel("mute_k")), ZEROS
        with contextlib.redirect_stderr(said), mgpu_trace.capture("/proc/self/traces") as session:
            for _ in range(40):  # more than the queue holds
                x = kernel(x)
            value = float(x[0])
        told.append(session_dict(session) | {"value": value})
    return told


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "Failed to dump profile")  # launches outside of the captures
    told: dict[str, Any] = {}
    at_first = snapshot()
    for name, body in CASES.items():
        del sim.LAUNCHES[:]
        for path in DUMPS.iterdir() if DUMPS.exists() else ():
            path.unlink()
        try:
            told[name] = body(OUT / name / "traces")
        except Exception:
            told[name] = {"raised": traceback.format_exc()}
    told["everything_is_as_it_was_at_first"] = changed(at_first)
    write_session(OUT / "told.json", told)
