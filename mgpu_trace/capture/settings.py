"""What to capture, and where to."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """What to capture, and where to.

    Attributes
    ----------
    folder
        Where the files go; it is made when it is not there.
    kernel
        A pattern as in a shell; kernels whose name does not match are left out.
    every
        Keep the first launch of each kernel on each device, and then every so many.
    launches
        Keep at most so many launches of each kernel on each device.
    max_bytes
        Keep no more buffers when those that were kept have so many bytes, unused words included.
    keep_json
        Let JAX write its own JSON too, where it would.
    profile_space
        Turn profiling on, with that much space, for Pallas kernels that do not ask for it.
    """

    folder: str
    kernel: str | None = None
    every: int = 1
    launches: int | None = None
    max_bytes: int | None = None
    keep_json: bool = False
    profile_space: int | None = None

    def __post_init__(self) -> None:
        if not os.fspath(self.folder):
            raise ValueError("folder must not be empty")
        object.__setattr__(self, "folder", os.path.abspath(os.fspath(self.folder)))
        for name in ("every", "launches", "max_bytes", "profile_space"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ValueError(f"{name} must be a whole number, not {value!r}")
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")

    def why_not(self, kernel: str, launch: int, kept_bytes: int, n_bytes: int) -> str | None:
        """The limit that leaves a launch out, as the flag that set it; None where it is kept.

        Parameters
        ----------
        kernel, launch
            Its name, and its number among the launches of that kernel on that device.
        kept_bytes, n_bytes
            Bytes of all buffers kept so far, and of this one.
        """
        if self.kernel is not None and not fnmatchcase(kernel, self.kernel):
            return f"--kernel {self.kernel}"
        if launch % self.every:
            return f"--every {self.every}"
        if self.launches is not None and launch // self.every >= self.launches:
            return f"--launches {self.launches}"
        if self.max_bytes is not None and kept_bytes + n_bytes > self.max_bytes:
            return f"--max-bytes {self.max_bytes}"
        return None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> CaptureSettings:
        return cls(**json.loads(text))
