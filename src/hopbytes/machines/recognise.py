"""The kind of machine that a file holds, for specs that name only the file."""

from __future__ import annotations

import os
import re

from hopbytes.errors import FormatError
from hopbytes.text.open_input import open_stream

HEAD = 4096
#: How the files that a kind reads begin, after comments and empty lines. No pattern and no placement does.
BEGINNINGS = {
    "slurm": re.compile(rb"(?:SwitchName|BlockName|BlockSizes)\s*=|- topology:", re.IGNORECASE),
    "topograph": re.compile(rb"(?:switches|blocks):\s*\n"),
    "scotch": re.compile(rb"(?:tleaf|cmpltw?|deco|hcub|sub|torus[23X]D|mesh[23X]D)\s+[0-9]"),
    "nvidia": re.compile(rb"(?:\x1b\[[0-9;]*m)?GPU[0-9]{1,4}[ \t]"),
    "amd": re.compile(rb"=+ ROCm System Management|(?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE:"),
    "xtdb2proc": re.compile(rb"cpu=[0-9]+,"),
    "netloc": re.compile(rb"[0-9.]+[ \t\r]*\n[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\s"),
}
#: What ibnetdiscover prints, after notes of its own.
DISCOVERY = re.compile(rb'^(?:(?:Switch|Ca|Hca)[ \t]+[0-9]+[ \t]+"[^"\n]+"|DR path .* -> )', re.MULTILINE)


def kind_of_file(path: str) -> str | None:
    """Return the kind whose spec ``kind:path`` reads a file; None for files that hold no machine.

    Looks at the first 4 KiB, after decompression. O(1).
    """
    if path == "-" or not os.path.isfile(path):
        return None
    try:
        with open_stream(path) as opened:
            head = opened.stream.peek(HEAD)[:HEAD]
    except FormatError:
        return None
    text = head.lstrip()
    if text.startswith(b"<"):
        roots = {b"<topology": "hwloc", b"<platform": "simgrid", b"<system": "nvidia"}
        return next((kind for root, kind in roots.items() if root in text), None)
    if text.startswith(b"{"):
        return "machine" if b'"hopbytes machine"' in text else None
    lines = head.split(b"\n")
    filled = (i for i, line in enumerate(lines) if line.strip() not in (b"", b"---") and line[:1] != b"#")
    first = next(filled, 0)
    text = b"\n".join(lines[first:]).lstrip()
    found = next((kind for kind, beginning in BEGINNINGS.items() if beginning.match(text)), None)
    return found or ("ib" if DISCOVERY.search(head) else None)
