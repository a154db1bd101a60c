"""Random launches as flat words, made here so that inference is tested against something of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EXIT = 1 << 31
TAILS = ("zero", "deadbeef", "random", "stale", "mixed")


@dataclass(frozen=True)
class Made:
    """A launch: its words, and what inference should find."""

    words: np.ndarray
    words_per_track: int
    n_tracks: int
    tracks_per_block: int
    old: bool
    tail: str
    faults: int


def _events(rng: np.random.Generator, room: int, clock0: int, slow: bool) -> list[tuple[int, int]]:
    """Init, then nested regions, at most ``room`` events, all closed."""
    n = int(rng.integers(2, max(3, room + 1)))
    out, stack, clock = [], [], clock0
    while len(out) + len(stack) < n:
        if not out:
            out.append((0, clock))
            out_name = 0
            stack.append(out_name)
        elif len(stack) > 1 and (rng.random() < 0.5 or len(out) + len(stack) + 2 > n):
            out.append((stack.pop() | EXIT, clock))
        elif len(out) + len(stack) + 2 <= n:
            name = int(rng.integers(1, 8))
            stack.append(name)
            out.append((name, clock))
        else:
            break
        clock += int(rng.integers(1, 5 if slow else 3000))
    while stack:
        out.append((stack.pop() | EXIT, clock))
        clock += int(rng.integers(1, 5 if slow else 3000))
    return out


def _tail(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    if kind == "mixed":
        kind = TAILS[int(rng.integers(0, 4))]
    if kind == "zero":
        return np.zeros(n, np.int64)
    if kind == "deadbeef":
        return np.full(n, 0xDEADBEEF, np.int64)
    if kind == "random":
        return rng.integers(0, 2**32, n)
    # What an earlier kernel left: whole events, flat or nested, from any word on.
    size = n + 16
    pairs = np.empty(size, np.int64)
    names = (1, 1 | EXIT) if rng.random() < 0.5 else (1, 2, 2 | EXIT, 1 | EXIT)
    base = int(rng.integers(0, 2**31)) if rng.random() < 0.7 else 500
    pairs[0::2] = np.resize(names, len(pairs[0::2]))
    pairs[1::2] = base + 20 * np.arange(len(pairs[1::2]))
    cut = int(rng.integers(0, 8))
    return pairs[cut : cut + n]


def make(seed: int, *, max_tracks: int = 200, max_words: int = 300) -> Made:
    """A random launch; the same for the same seed."""
    rng = np.random.default_rng(seed)
    per_block = int(rng.choice([1, 1, 2, 3, 4, 8]))
    n_blocks = int(rng.integers(1, max(2, max_tracks // per_block)))
    if rng.random() < 0.2:
        n_blocks = int(rng.integers(1, 4))
    if rng.random() < 0.08:
        n_blocks = per_block = 1
    n_tracks = n_blocks * per_block
    size = int(
        rng.choice([rng.integers(7, 24), 4 * rng.integers(2, 65), rng.integers(16, max_words), 64, 128, 256])
    )
    tail, old, slow = str(rng.choice(TAILS)), rng.random() < 0.3, rng.random() < 0.25
    capacity = (size - 3) // 2
    fill = rng.random()
    n_sms = int(rng.choice([1, 2, 8, 132, 148]))
    epoch = int(rng.integers(0, 2**32)) if rng.random() < 0.8 else int(rng.integers(0, 2000))
    offsets = rng.integers(0, 2**32 if not slow else 200, 1024)
    idle_rate = rng.choice([0.0, 0.0, 0.2, 0.5])
    rows = np.empty((n_tracks, size), np.int64)
    for block in range(n_blocks):
        sm = block % n_sms
        wave = block // n_sms
        for unit in range(per_block):
            row = rows[block * per_block + unit]
            row[0] = (epoch + wave * int(rng.integers(3000, 9000)) + int(rng.integers(0, 40)) * 32) % 2**32
            row[1] = sm
            room = max(2, int(capacity * fill)) if rng.random() < 0.8 else capacity
            events = _events(rng, room, int(offsets[sm]) + wave * 40, slow)
            if rng.random() < idle_rate and (block or unit):
                events = []
            row[2] = 2 * len(events) + 3 * old
            flat = [w for tag, clock in events for w in (tag, clock % 2**32)]
            row[3 : 3 + len(flat)] = flat
            row[3 + len(flat) :] = _tail(rng, tail, size - 3 - len(flat))
    faults = _spoil(rng, rows, int(rng.choice([0, 0, 0, 1, 2, 5])))
    return Made(
        (rows % 2**32).astype(np.uint32).reshape(-1), size, n_tracks, per_block, bool(old), tail, faults
    )


def _spoil(rng: np.random.Generator, rows: np.ndarray, wanted: int) -> int:
    """Break up to ``wanted`` tracks, at most a fifth of them."""
    n = min(wanted, len(rows) // 5)
    size = rows.shape[1]
    for track in rng.choice(len(rows), n, replace=False):
        row = rows[track]
        kind = int(rng.integers(0, 7))
        if kind == 0:
            row[2] = 0xFFFFFFFE
        elif kind == 1:
            row[2] += 1
        elif kind == 2:
            row[2] = size + int(rng.integers(0, 30)) * 2
        elif kind == 3:
            row[3], row[4] = 0xDEADBEEF, 7
        elif kind == 4:
            row[3] |= EXIT
        elif kind == 5:
            row[:] = rng.integers(0, 2**32, size)
        else:
            row[1] = 0xFFFF
    return n
