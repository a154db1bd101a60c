"""Which device a launch ran on, which JAX's callback does not tell.

The buffer that a callback is given lies on the CPU wherever the kernel ran. So kernels that are lowered
during a capture hand their callback one number more: the id of their partition of the program. Which
device that is follows from the program's devices, where those are known when it is lowered.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

_UNKNOWN: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a launch ran.

    Attributes
    ----------
    partition, n_partitions
        Which part of the program, of how many.
    device
        JAX's id of the device.
    """

    partition: int | None = None
    n_partitions: int | None = None
    device: int | None = None


class Places:
    """The devices of the programs that were lowered, filled in by the lowering, read by the callbacks."""

    def __init__(self) -> None:
        self._keys = itertools.count()
        self.devices: dict[int, tuple[int | None, ...]] = {}

    def operand(self) -> tuple[int, Any]:
        """A key, and the operand whose value :meth:`place` turns into a place; while JAX is tracing."""
        key = next(self._keys)
        return key, _primitive().bind(places=self, key=key)

    def place(self, key: int, number: int) -> Place:
        """The place that the operand's value stands for."""
        devices = self.devices.get(key, ())
        if number == _UNKNOWN:
            return Place()
        device = devices[number] if number < len(devices) else None
        return Place(number, len(devices) or None, device)


@cache
def _primitive() -> Any:
    """A JAX primitive without operands: the partition's id."""
    import jax
    import numpy as np
    from jax.extend.core import Primitive
    from jax.interpreters import mlir

    primitive: Any = Primitive("mgpu_trace_partition")
    primitive.def_abstract_eval(lambda **_: jax.core.ShapedArray((), np.uint32))
    primitive.def_impl(lambda **_: np.uint32(_UNKNOWN))
    mlir.register_lowering(primitive, _lower)
    return primitive


def _lower(ctx: Any, *, places: Places, key: int) -> list[Any]:
    import numpy as np
    from jax.extend.mlir.dialects import stablehlo
    from jax.interpreters import mlir

    context: Any = getattr(ctx.module_context, "axis_context", None)
    kind = type(context).__name__
    if kind == "SPMDAxisContext" and set(context.mesh.axis_names) == set(context.manual_axes):
        # Only where every axis is manual has a partition's id a meaning that the compiler accepts.
        places.devices[key] = _of_mesh(context.mesh)
        return [stablehlo.PartitionIdOp().result]
    if kind == "ReplicaAxisContext":
        places.devices[key] = (None,) * int(context.axis_env.nreps)
        return [stablehlo.ReplicaIdOp().result]
    if getattr(context, "num_devices", None) == 1:
        places.devices[key] = _of_one(context.device_assignment)
        return [mlir.ir_constant(np.uint32(0))]
    return [mlir.ir_constant(np.uint32(_UNKNOWN))]


def _of_mesh(mesh: Any) -> tuple[int | None, ...]:
    """Ids of a mesh's devices in the order of the partitions; an abstract mesh has none."""
    devices = getattr(mesh, "devices", None)
    return (None,) * int(mesh.size) if devices is None else tuple(int(d.id) for d in devices.flat)


def _of_one(assigned: Any) -> tuple[int | None]:
    if assigned is None:
        local = sys.modules["jax"].local_devices()
        return (int(local[0].id) if len(local) == 1 else None,)
    return (int(assigned[0].id),)


# Programs for one device are lowered without saying for which, unless a primitive in them asks.
_PROFILED: Final = frozenset({"pallas_call", "mpmd_map", "core_map", "mosaic_gpu_p"})
_NAMED: Final = "NamedSharding"


def should_say_its_device(jaxpr: Any, caller: Any) -> bool:
    """Whether a program may be made to say its device: it launches a kernel, on one device, plainly.

    Parameters
    ----------
    jaxpr
        The program.
    caller
        The frame of ``lower_sharding_computation``, whose variables tell the devices. To ask costs a
        lowering for each device; with a mesh JAX would check more, and might refuse the program.
    """
    devices = caller.f_locals.get("device_assignment")
    if devices is None or len(devices) != 1 or not _launches(jaxpr):
        return False
    shardings = (caller.f_locals.get(f"unique_{which}_shardings") for which in ("in", "out", "intermediate"))
    found = [list(group) for group in shardings if group is not None]
    return len(found) == 3 and all(type(s).__name__ != _NAMED for group in found for s in group)


def _launches(program: Any) -> bool:
    """Whether ``program`` or one inside it has an equation that becomes a kernel."""
    left, seen = [program], {id(program)}
    while left:  # each program once: nested ones are shared, and would be seen 2^depth times
        jaxpr = left.pop()
        if any(eqn.primitive.name in _PROFILED for eqn in jaxpr.eqns):
            return True
        for inner in (one for eqn in jaxpr.eqns for one in _jaxprs_in(eqn.params.values())):
            if id(inner) not in seen:
                seen.add(id(inner))
                left.append(inner)
    return False


def _jaxprs_in(values: Any) -> list[Any]:
    found = []
    for value in values:
        if hasattr(value, "jaxpr"):
            found.append(value.jaxpr)
        elif hasattr(value, "eqns"):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += _jaxprs_in(value)
    return found
