"""Which device a launch ran on, which JAX's callback does not tell: the partition, as an operand.

The buffer that a callback is given lies on the CPU wherever the kernel ran. So kernels that are lowered
during a capture hand their callback one number more: the id of their partition of the program.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

UNKNOWN: Final = (1 << 32) - 1


@cache
def partition_id_primitive() -> Any:
    """A JAX primitive without operands whose value is the partition's id, or :data:`UNKNOWN`."""
    import jax
    import numpy as np
    from jax.extend.core import Primitive
    from jax.interpreters import mlir

    primitive: Any = Primitive("mgpu_trace_partition_id")
    primitive.def_abstract_eval(lambda: jax.core.ShapedArray((), np.uint32))
    primitive.def_impl(lambda: np.uint32(UNKNOWN))
    mlir.register_lowering(primitive, _lower)
    return primitive


def _lower(ctx: Any) -> list[Any]:
    import numpy as np
    from jax.extend.mlir.dialects import stablehlo
    from jax.interpreters import mlir

    kind = _axis_context(ctx)
    if kind == "partition":
        return [stablehlo.PartitionIdOp().result]
    if kind == "replica":
        return [stablehlo.ReplicaIdOp().result]
    return [mlir.ir_constant(np.uint32(0 if kind == "single" else UNKNOWN))]


def _axis_context(ctx: Any) -> str:
    """What tells the devices of this program apart.

    Only where every axis is manual (``shard_map`` over the whole mesh) has a partition's id a meaning
    that the compiler accepts.
    """
    context: Any = getattr(ctx.module_context, "axis_context", None)
    name = type(context).__name__
    if name == "SPMDAxisContext":
        every = set(context.mesh.axis_names) == set(context.manual_axes)
        return "partition" if every else "unknown"
    if name == "ReplicaAxisContext":
        return "replica"
    return "single" if getattr(context, "num_devices", None) == 1 else "unknown"
