"""Launches without a capture: ``plain.py FOLDER``."""

from __future__ import annotations

import json
import warnings

from kernels import DUMPS, OUT, SIZE, ZEROS, jax, marked, mosaic_kernel, pallas_kernel, shard_map, sim

from mgpu_trace.capture.settle import wait_for_launches

with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    pallas, mosaic = jax.jit(pallas_kernel("pallas")), mosaic_kernel("mosaic")
    sharded = shard_map(pallas_kernel("sharded"))
    results = {
        "pallas": pallas(pallas(pallas(ZEROS))),
        "mosaic": mosaic(mosaic(ZEROS)),
        "sharded": sharded(sharded(marked())),
    }
    jax.effects_barrier()
    wait_for_launches()
sim.write_truth(OUT / "truth.npz")
names = [path.name for path in DUMPS.iterdir()]
dumps = {kernel: sum(name.startswith(f"{kernel}-") for name in names) for kernel in ("pallas", "sharded")}
told = {
    "results": {name: value[::SIZE].tolist() for name, value in results.items()},
    "dumps": dumps,
    "warned": sum("Failed to dump profile" in str(warning.message) for warning in warned),
}
(OUT / "told.json").write_text(json.dumps(told))
