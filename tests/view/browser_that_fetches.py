"""Stands in for a browser: fetches what the URL of the page names, and notes what it got and where it ran.

python browser_that_fetches.py URL FOLDER
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path

url, folder = sys.argv[1:]
sys.stdout.write("a browser's chatter\n")
sys.stderr.write("more of it\n")
trace = url.partition("url=")[2]
with urllib.request.urlopen(trace) as answer:
    Path(folder, trace.rpartition("/")[2]).write_bytes(answer.read())
facts = {"url": url, "session": os.getsid(0), "stdin": os.path.realpath("/proc/self/fd/0")}
Path(folder, f"{os.getpid()}.facts").write_text(json.dumps(facts), encoding="utf-8")
