"""OTF2 archives of Score-P, Scalasca and others, read with the optional package ``otf2``."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import Format, Source
from hopbytes.formats.patterns.recorded import Collectives, Traffic, chosen_model
from hopbytes.model.comm_graph import CommGraph

MAGIC = b"OTF2"
#: ``[OTF2] src/file.c:1: error: Invalid or inconsistent record data: what happened``
COMPLAINT = re.compile(r"^\[OTF2\] \S+ error: (.*)$", re.MULTILINE)


class Otf2(Format, form="otf2"):
    """The anchor file, ``traces.otf2``, names the archive in its folder."""
    # Sends of the program and one-sided transfers are counted in all communicators. Collectives become
    # messages by the model that ``collectives=`` names, with the sizes that Score-P stores. O(events), about
    # 10⁵ events per second.

    signature = re.compile(rb"\A[\s\S]{0,28}OTF2")
    suffixes = (".otf2",)
    binary = True
    summary = "OTF2 archives (Score-P, Scalasca); needs the package otf2"

    def read(self, source: Source) -> CommGraph:
        model = chosen_model(source)
        sums = _sums(source)
        n = sums["ranks"]
        if not n:
            raise UnsupportedError(f"{source.name}: the archive has no MPI ranks, expected a trace of MPI")
        traffic, collectives = Traffic(), Collectives()
        for pair in sums["messages"]:
            traffic.add(*pair)
        for own, members, kind, root, volume, calls in sums["collectives"]:
            collectives.add(members.index(own), kind, volume, root, tuple(members), calls)
        notices = collectives.expand_into(traffic, model, n)
        if sums["uneven"] and model != "ignore":
            notices.append(
                f"{sums['uneven']} all-to-all calls have a count per rank: the archive stores only sums, "
                "which are distributed evenly over the ranks"
            )
        unknown = sums["unknown"] + sums["between"]
        if unknown:
            notices.append(f"{unknown} collective calls between two groups or of other kinds are left out")
        return traffic.graph(source, "otf2", n, notices=notices, collectives=model)


def _sums(source: Source) -> dict[str, Any]:
    """Return the JSON output of the process that reads the archive; FormatError if it reported an error."""
    if source.path is None or MAGIC not in source.head(32):
        what = "not the anchor file of an archive, expected traces.otf2 in the folder of its archive"
        raise source.error(what)
    if importlib.util.find_spec("otf2") is None:
        what = "the package otf2 is not installed, expected it for this format: pip install otf2"
        raise UnsupportedError(f"{source.name}: {what}")
    done = subprocess.run(
        [sys.executable, "-m", "hopbytes.formats.patterns._otf2_events", os.path.abspath(source.path)],
        cwd=Path(__file__).resolve().parents[3], stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    errors = done.stderr.decode(errors="replace")
    complaint = COMPLAINT.search(errors)
    if complaint or done.returncode:
        # If the library printed no message, the last line is the exception of the package.
        why = complaint[1] if complaint else (errors.strip().splitlines() or ["its reader crashed"])[-1]
        raise source.error(f"{why[:200]}, expected a complete OTF2 archive")
    sums: dict[str, Any] = json.loads(done.stdout)
    return sums
