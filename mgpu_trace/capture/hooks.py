"""The places in JAX that a capture replaces, and what each is needed for.

Both ways to a profiled kernel, Pallas and Mosaic GPU, end in a function ``dump_profile`` that JAX
runs in a ``jax.debug.callback``: it opens a file, whose name it may already have used, and calls
``ProfilerSpec.dump`` with it. Read in JAX 0.10.2 and 0.12.0.1; docs/capture.md lists the versions.
"""

from __future__ import annotations

import builtins
import inspect
import io
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final, Protocol

from mgpu_trace.capture.metadata import kernel_of_file
from mgpu_trace.capture.place import Place, Places, should_say_its_device
from mgpu_trace.capture.targets import DEBUG, DISPATCH, LOWERING, MOSAIC, PALLAS, PROFILER

_NO_ROOM: Final = "exceeds available shared memory"
_OPENING: Final = "dump_profile that opens its file with open"
_MISSING: Final = object()

# The place of the launch whose callback this thread runs. All sessions share it, for a kernel that was
# lowered in one of them says its place to those that follow.
_now = threading.local()


class Capturing(Protocol):
    """What the hooks need of a session."""

    keep_json: bool
    profile_space: int | None

    def seen(self, profiler: Any, buffer: Any, grid: Any, block: Any, file: str, place: Place) -> None:
        """Take a launch's buffer. Never raises."""

    def unknown(self, what: str, loses: str) -> None:
        """Record that this JAX lacks something."""

    def not_profiled(self, kernel: str, reason: str) -> None:
        """Record that a kernel could not be made to profile."""


class Hooks:
    """Everything that was replaced in JAX for one session, so that it can be put back."""

    def __init__(self, session: Capturing) -> None:
        self._session = session
        self._replaced: list[tuple[Any, str, Any]] = []
        self.open = True
        self._sees_launches = False
        self._knows_callbacks = False
        self.names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        # Specs of kernels that profile only because the session made them.
        self._forced: weakref.WeakSet[Any] = weakref.WeakSet()
        self._places = Places()
        self.for_module: dict[str, Callable[[Any], None]] = {
            PROFILER: self._hook_dump,
            MOSAIC: self._hook_mosaic,
            PALLAS: self._hook_open,
            LOWERING: self._hook_lowering,
            DEBUG: self._hook_callback,
            DISPATCH: self._hook_dispatch,
        }

    def install(self, name: str, module: Any) -> None:
        """Replace what is to be replaced in the module of that name."""
        self.for_module[name](module)

    def restore(self) -> None:
        """Put everything back, the last first."""
        self.open = False
        while self._replaced:
            owner, name, original = self._replaced.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._replaced.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    # What follows runs inside JAX and inside the user's program: it must not raise.

    def _hook_dump(self, module: Any) -> None:
        """``ProfilerSpec.dump(buffer, f, grid, block)``: take the buffer in place of JAX's slow loop."""
        spec: Any = getattr(module, "ProfilerSpec", None)
        original: Any = getattr(spec, "dump", None)
        if spec is None or not _takes(original, "buffer", "f", "grid", "block"):
            self._session.unknown("ProfilerSpec.dump(buffer, f, grid, block)", "no launch is seen")
            return
        hooks = self

        @wraps(original)
        def dump(self: Any, buffer: Any, f: Any, grid: Any, block: Any) -> Any:
            place = getattr(_now, "place", Place())
            file = str(getattr(f, "name", ""))
            hooks._session.seen(self, buffer, grid, block, file, place)
            if isinstance(f, _Sink):
                return None
            if kernel_of_file(file) is not None and not hooks._session.keep_json:
                hooks._session.unknown(_OPENING, "only the first launch of a Pallas kernel is seen")
            return original(self, buffer, f, grid=grid, block=block)

        self._replace(spec, "dump", dump)
        self._sees_launches = True

    def _hook_mosaic(self, module: Any) -> None:
        self._hook_open(module)
        original: Any = getattr(module, "_lower_as_gpu_kernel", None)
        if not _takes(original, "kernel_name", "prof_spec"):
            self._session.unknown(
                "_lower_as_gpu_kernel(kernel_name, prof_spec)", "kernels of as_gpu_kernel have no names"
            )
            return
        signature = inspect.signature(original)

        @wraps(original)
        def lower(*args: Any, **kwargs: Any) -> Any:
            self._remember_name(signature, args, kwargs)
            return original(*args, **kwargs)

        self._replace(module, "_lower_as_gpu_kernel", lower)

    def _remember_name(self, signature: inspect.Signature, args: Any, kwargs: Any) -> None:
        try:
            said = signature.bind(*args, **kwargs).arguments
            if said.get("prof_spec") is not None:
                self.names[said["prof_spec"]] = str(said["kernel_name"])
        except Exception:  # a name is a comfort, and the call itself says what is wrong with it
            return

    def _hook_open(self, module: Any) -> None:
        """The ``open`` of ``dump_profile``: its file may be there already, and nobody wants its JSON."""
        if not self._sees_launches:
            return  # then JAX's JSON is all there is

        def open_profile(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if mode != "x":
                return builtins.open(file, mode, *args, **kwargs)
            if self._session.keep_json:
                try:
                    return builtins.open(file, mode, *args, **kwargs)
                except OSError:  # JAX would drop this launch
                    return _Sink(str(file))
            return _Sink(str(file))

        self._replace(module, "open", open_profile)

    def _hook_callback(self, module: Any) -> None:
        """``jax.debug.callback(dump_profile, buffer)``: give it the partition too."""
        original: Any = getattr(module, "callback", None)
        if original is None:
            self._session.unknown("jax.debug.callback", "devices of launches are not known")
            return

        @wraps(original)
        def callback(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not (self.open and _is_dump_profile(function) and len(args) == 1):
                return original(function, *args, **kwargs)
            try:
                key, number = self._places.operand()
            except Exception as error:
                self._session.unknown(f"way to ask for the partition ({error})", "devices are not known")
                return original(function, *args, **kwargs)
            return original(self._placed(function, key), args[0], number, **kwargs)

        self._replace(module, "callback", callback)
        self._knows_callbacks = True

    def _placed(self, function: Callable[[Any], Any], key: int) -> Callable[[Any, Any], None]:
        """``dump_profile`` with one operand more. It outlives the session in compiled programs."""
        forced = _profiler_of(function) in self._forced

        def dump_profile(buffer: Any, number: Any) -> None:
            if forced and not self.open:
                return
            _now.place = self._places.place(key, int(number))
            try:
                function(buffer)
            except Exception as error:
                if not forced:
                    raise  # as it would without us
                self._session.unknown(_OPENING, f"{type(error).__name__}: {error}")
            finally:
                _now.place = Place()

        return dump_profile

    def _hook_dispatch(self, module: Any) -> None:
        """``jaxpr_has_prim_requiring_devices``: programs with kernels say for which device they are."""
        original: Any = getattr(module, "jaxpr_has_prim_requiring_devices", None)
        if original is None:
            self._session.unknown(
                "jaxpr_has_prim_requiring_devices", "the device of a program for one device is not known"
            )
            return

        @wraps(original)
        def asks(jaxpr: Any) -> bool:
            try:
                told = self.open and should_say_its_device(jaxpr, sys._getframe(1))
            except Exception:  # the device stays unknown, which is said in the spec
                told = False
            return told or bool(original(jaxpr))

        self._replace(module, "jaxpr_has_prim_requiring_devices", asks)

    def _hook_lowering(self, module: Any) -> None:
        """``lower_jaxpr_to_module(params, …)``: ask for a profile where the kernel does not."""
        if self._session.profile_space is None:
            return
        original: Any = getattr(module, "lower_jaxpr_to_module", None)
        if not _takes(original, "params", "jaxpr"):
            self._session.unknown("lower_jaxpr_to_module(jaxpr, params)", "profiling cannot be turned on")
            return
        signature = inspect.signature(original)

        @wraps(original)
        def lower(*args: Any, **kwargs: Any) -> Any:
            forced = self._with_profile(original, signature, args, kwargs) if self.open else None
            return original(*args, **kwargs) if forced is None else forced

        self._replace(module, "lower_jaxpr_to_module", lower)

    def _with_profile(self, original: Any, signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
        """The kernel lowered with a profile that it did not ask for, or None where that cannot be."""
        kernel = "kernel"
        try:
            bound = signature.bind(*args, **kwargs)
            params = bound.arguments["params"]
            if params.profile_space:
                return None
            kernel = str(bound.arguments["jaxpr"].debug_info.func_name)
            if not (self._sees_launches and self._knows_callbacks):
                raise LookupError("in this JAX its buffer could not be caught")
            # The folder is never written to: the file is opened through the hook, or not at all.
            bound.arguments["params"] = replace(
                params, profile_space=self._session.profile_space, profile_dir="mgpu-trace"
            )
            result = original(*bound.args, **bound.kwargs)
            self._forced.add(result.profiler_spec)
        except Exception as error:
            said = str(error).splitlines() or [type(error).__name__]
            reason = next((line for line in said if _NO_ROOM in line), said[0])
            self._session.not_profiled(kernel, reason)
            return None
        return result


class _Sink(io.StringIO):
    """A file for JAX that is no file, with the name that it would have had."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def _takes(function: Any, *names: str) -> bool:
    """Whether ``function`` is there and has parameters of these names."""
    try:
        return {*names} <= inspect.signature(function).parameters.keys()
    except (TypeError, ValueError):
        return False


def _is_dump_profile(function: Any) -> bool:
    return (
        getattr(function, "__name__", "") == "dump_profile"
        and getattr(function, "__module__", "") in (MOSAIC, PALLAS)
    )  # fmt: skip


def _profiler_of(function: Any) -> Any:
    """The ProfilerSpec in the closure of ``dump_profile``."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    return cells["prof_spec"].cell_contents if "prof_spec" in cells else None
