"""What a session says, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def session_dict(session: Any) -> dict[str, Any]:
    fields = ("kernel", "process", "device", "launch", "n_words", "n_tracks", "n_tracks_lost")
    return {
        "launches": [
            {"path": str(launch.path)} | {field: getattr(launch, field) for field in fields}
            for launch in session.launches
        ],
        "skipped": dict(session.skipped),
        "report": [
            {"code": found.code.id, "slug": found.code.slug, "message": found.message}
            for found in session.report
        ],
    }


def write_session(path: Path, told: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1))
