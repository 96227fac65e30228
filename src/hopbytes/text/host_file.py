"""Host files of launchers and resource managers: which hosts, and how many slots each line gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TextIO

from hopbytes.errors import FormatError
from hopbytes.text.hostlist import HOST_OF_FILE, MAX_HOSTS, MAX_LINE, expand_hosts

#: Words for the number of slots and its bound, as Open MPI has them, and words that it refuses.
SLOTS, MISTAKEN = ("slots", "count", "cpu"), ("slot", "cpus", "cores", "np", "ppn")
BOUNDS = tuple(f"{a}{joint}{b}" for joint in "-_" for w in SLOTS for a, b in (("max", w), (w, "max")))
#: Lines of Grid Engine: ``n1 4 all.q@n1 UNDEFINED``.
GRID_ENGINE = re.compile(r"\S+ [0-9]{1,9} [^\s=]+ [^\s=]+", re.ASCII)
RELATIVE = re.compile(r"\+n([0-9]{1,7})", re.ASCII | re.IGNORECASE)

Slots = tuple[tuple[str, ...], tuple[int | None, ...]]
Allocated = Callable[[], Sequence[str]]


def read_slots(path: str, allocated: Allocated = tuple) -> Slots:
    """Read a host file: ``name``, repeated or not, ``user@name slots=4``, ``name:4``.

    Source: the host files of Open MPI 4 and PRRTE (keywords in small letters; other cases are read, too), the
    manuals of Hydra, MVAPICH, Intel MPI and Grid Engine.
    """
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as stream:
            return _slots_of_lines(path, stream, allocated)
    except OSError as error:
        raise FormatError(path, None, f"{error.strerror}, expected a file of hosts") from None


def _slots_of_lines(path: str, stream: TextIO, allocated: Allocated) -> Slots:
    stated: dict[str, int] = {}
    mentions: dict[str, int] = {}
    excluded: set[str] = set()
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), ""), start=1):
        if len(line) >= MAX_LINE or number > MAX_HOSTS * 64:
            raise FormatError(path, number, f"{MAX_LINE} characters in a line, or too many lines")
        text = line.partition("#")[0].partition("//")[0]
        words = "=".join(part.strip() for part in text.split("=")).split()
        if not words:
            continue
        hosts, count = _one_line(path, number, words, allocated)
        if words[0].startswith("^"):
            excluded.update(hosts)
            continue
        for host in hosts:
            mentions[host] = mentions.get(host, 0) + (count is None)
            stated[host] = stated.get(host, 0) + (count or 0)
        if len(mentions) > MAX_HOSTS:
            raise FormatError(path, number, f"more than {MAX_HOSTS} hosts")
    found = [host for host in mentions if host not in excluded]
    if not found:
        raise FormatError(path, None, "no host, expected one or more")
    listed = max(mentions.values()) > 1  # as resource managers write them: a line for every slot
    slots = [
        None if mentions[host] == 1 and not stated[host] and not listed else mentions[host] + stated[host]
        for host in found
    ]
    return tuple(found), tuple(slots)


def _one_line(path: str, line: int, words: list[str], allocated: Allocated) -> tuple[list[str], int | None]:
    """Return the hosts of a line and the number of slots of each."""
    text = " ".join(words)
    if GRID_ENGINE.fullmatch(text):
        return expand_hosts(words[0], path, line), int(words[1])
    pairs = [(key.lower(), value) for key, equals, value in (w.partition("=") for w in words[1:]) if equals]
    place = RELATIVE.fullmatch(words[0])
    found = HOST_OF_FILE.fullmatch(words[0].removeprefix("^"))
    stated = [value for key, value in pairs if key in SLOTS]
    bounds = [value for key, value in pairs if key in BOUNDS]
    if found is not None and found[2] is not None:
        stated.append(found[2])
    counts = stated or bounds[:1]
    wrong = any(key in MISTAKEN for key, _ in pairs) or len(counts) > 1 or len(pairs) + 1 < len(words)
    if words[0].lower() == "rank" or (words[0].startswith("+") and place is None):
        raise FormatError(path, line, f"{text[:60]!r} of a rankfile or of empty nodes, expected a host")
    if wrong or found is None or not all(c.isdecimal() and len(c) < 10 for c in [*stated, *bounds]):
        what = f"{text[:60]!r}, expected HOST, HOST:N or HOST slots=N"
        raise FormatError(path, line, what)
    if place is None:
        return expand_hosts(found[1], path, line), int(counts[0]) if counts else None
    of_job = allocated()
    if int(place[1]) >= len(of_job):
        what = f"{words[0]} means a host of the job around it, which has {len(of_job)}"
        raise FormatError(path, line, f"{what}, expected a name")
    return [of_job[int(place[1])]], int(counts[0]) if counts else None
