"""A program under capture on a JAX that was changed: ``on_changed_jax.py FOLDER``.

Its own output is one line on stdout, and the status 3.
"""

from __future__ import annotations

import changed_jax  # before JAX
from kernels import DUMPS, OUT, SIZE, ZEROS, jax, marked, mosaic_kernel, pallas_kernel, shard_map, sim
from told import session_dict, write_session

import mgpu_trace

assert changed_jax.chosen
with mgpu_trace.capture(OUT / "traces", profile_space=16) as session:
    pallas, mosaic = jax.jit(pallas_kernel("pallas")), mosaic_kernel("mosaic")
    sharded, silent = shard_map(pallas_kernel("sharded")), pallas_kernel("silent", profile_space=0)
    results = [pallas(pallas(ZEROS)), mosaic(mosaic(ZEROS)), sharded(marked()), silent(ZEROS)]
    own = " ".join(str(result[::SIZE].tolist()) for result in results)
sim.write_truth(OUT / "truth.npz")
write_session(
    OUT / "told.json", session_dict(session) | {"dumps": sorted(path.name for path in DUMPS.iterdir())}
)
print(own)  # noqa: T201
raise SystemExit(3)
