"""What a program sees of the Python that runs it, as JSON on stdout."""

from __future__ import annotations

import json
import os
import sys

import sitecustomize

sys.stdout.write(
    json.dumps(
        {
            "argv": sys.argv,
            "path": sys.path,
            "main": sys.modules["__main__"].__spec__ and sys.modules["__main__"].__spec__.name,
            "executable": sys.executable,
            "flags": list(sys.flags),
            "cwd": os.getcwd(),
            "stdin": sys.stdin.read(),
            "customized": getattr(sitecustomize, "HERE", None),
            "n_customized": getattr(sys, "n_customized", None),
            "jax": sorted(name for name in sys.modules if name.startswith("jax")),
        }
    )
)
