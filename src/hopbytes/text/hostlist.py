"""Names of hosts: lists with brackets as resource managers write them, and host files."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from hopbytes.errors import FormatError
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.open_input import open_text

MAX_HOSTS = 2**20
MAX_LINE = 2**16
#: Characters of an argument of a command; Linux takes 131 072 bytes at most.
LONGEST_ARGUMENT = 100_000
#: The last number of a name, and what is before and behind it.
LAST_NUMBER = re.compile(r"(.*?)([0-9]{1,9})([^0-9]*)", re.ASCII)
HOST_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}", re.ASCII)
ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", re.ASCII)
#: A name that can stand in a command or begin a line: no dash or dot is first.
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: A word of a list of hosts; commas and blanks in brackets do not end it.
WORD = re.compile(r"(?:[^\s,\[\]]|\[[^\[\]]*\])+")
#: A host in a file: a user before it, and behind it the processes (Hydra) and the adapter (MVAPICH).
HOST_OF_FILE = re.compile(r"(?:[^\s@:]+@)?([^:@]+)(?::([0-9]{1,9})(?::[^\s:]+)?)?", re.ASCII)


def expand_hosts(text: str, where: str = "`hosts`", line: int | None = None) -> list[str]:
    """Expand a host list: names separated by commas, blanks or line ends, numbers in brackets."""
    hosts: list[str] = []
    brackets = set(WORD.sub("", text)) & set("[]")
    if brackets:
        what = "an open bracket" if brackets == {"["} else "brackets that do not match"
        raise FormatError(where, line, f"{what} in {text[:40]!r}, expected n[1-4,7]")
    for word in WORD.findall(text):  # `scontrol show hostnames` prints lines, commas at the end do no harm
        pieces = re.split(r"\[([^\[\]]*)\]", word)  # names at even places, brackets at odd ones
        choices = [
            _numbers(piece, where, line) if number % 2 else [piece] for number, piece in enumerate(pieces)
        ]
        count = 1
        for choice in choices:
            count *= len(choice)
        if len(hosts) + count > MAX_HOSTS:
            raise FormatError(where, line, f"more than {MAX_HOSTS} hosts in {word[:40]!r}")
        hosts += ["".join(parts) for parts in itertools.product(*choices)]
    if not hosts:
        raise FormatError(where, line, "a list without a host name, expected names like n[1-4]")
    for host in hosts:
        check_host_name(host, where, line)
    return hosts


def host_argument(hosts: Sequence[str]) -> str:
    """Return hosts as one word of a command, in the same order; with brackets where it would be too long."""
    plain = ",".join(hosts)
    return plain if len(plain) <= LONGEST_ARGUMENT else shlex.quote(_folded(hosts))


def _folded(hosts: Sequence[str]) -> str:
    """Write a list that :func:`expand_hosts` reads, runs of numbers in brackets."""
    runs: list[tuple[str, str, str, str]] = []  # text around the numbers, the first and the last of them
    for host in hosts:
        found = LAST_NUMBER.fullmatch(host)
        before, number, behind = found.groups() if found else (host, "", "")
        start, end, first, last = runs[-1] if runs else ("", "", "", "")
        around = (before, behind, len(number)) == (start, end, len(last))
        if around and number and int(number) == int(last) + 1:
            runs[-1] = before, behind, first, number
        else:
            runs.append((before, behind, number, number))
    return ",".join(f"{a}[{x}-{y}]{b}" if x != y else f"{a}{x}{b}" for a, b, x, y in runs)


def check_host_name(name: str, where: str, line: int | None) -> None:
    """Refuse what is no name of a host."""
    if not HOST_NAME.fullmatch(name):
        what = f"host name {name[:40]!r}, expected letters, digits, '.', '_' and '-' only"
        raise FormatError(where, line, what)


def _numbers(text: str, where: str, line: int | None) -> list[str]:
    numbers: list[str] = []
    for word in text.split(","):
        run = number_range(word, 18)
        if run is None:
            raise FormatError(where, line, f"{word[:40]!r} in brackets, expected N or N-M with N <= M")
        if len(numbers) + len(run) > MAX_HOSTS:
            raise FormatError(where, line, f"more than {MAX_HOSTS} hosts in [{text[:40]}]")
        width = len(word.strip().partition("-")[0])
        numbers += [str(number).zfill(width) for number in run]
    return numbers


def read_hosts(hosts: str | Sequence[str]) -> tuple[str, ...]:
    """Return distinct host names from a list, a file or standard input."""
    # A pipe that has a name is what a shell makes of <(scontrol show hostnames).
    is_file = isinstance(hosts, str) and os.path.exists(hosts) and ("/" in hosts or not os.path.isdir(hosts))
    if isinstance(hosts, str) and (is_file or hosts == "-"):
        with open_text(hosts) as stream:
            return _from_lines("<stdin>" if hosts == "-" else hosts, stream)
    if isinstance(hosts, str) and "/" in hosts:
        raise FormatError(hosts, None, "no such file, expected a file of host names")
    words = [hosts] if isinstance(hosts, str) else hosts
    names = distinct_hosts([host for word in words for host in expand_hosts(word)], "`hosts`")
    if not names:
        raise FormatError("`hosts`", None, "a list without a host name, expected names like n[1-4] or a file")
    return names


def is_table(line: str) -> bool:
    """Tell whether a line is the head of a table of hosts: ``node,group,switch``."""
    words = [word.strip().lower() for word in line.split(",")]
    return len(words) > 1 and words[0] in ("node", "host", "name", "hostname")


def _numbered_lines(where: str, stream: TextIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), ""), start=1):
        if len(line) >= MAX_LINE:
            raise FormatError(where, number, f"a line of {MAX_LINE} characters or more, expected a host name")
        if number > MAX_HOSTS * 64:
            raise FormatError(where, number, "too many lines, expected a file of host names")
        yield number, line


def _from_lines(where: str, stream: TextIO) -> tuple[str, ...]:
    hosts: dict[str, None] = {}
    table = False  # node,group,switch: the first column has the names
    for number, line in _numbered_lines(where, stream):
        words = line.partition("#")[0].partition("//")[0].split()
        _refuse_other_files(where, number, words)
        if words and not hosts and not table and is_table(line):
            table = True
        elif words and table:
            hosts[line.partition(",")[0].strip()] = None
        for word in [] if table else _hosts_of_line(words):
            host = HOST_OF_FILE.fullmatch(word)
            hosts.update(dict.fromkeys(expand_hosts(host[1] if host else word, where, number)))
        if len(hosts) > MAX_HOSTS:
            raise FormatError(where, number, f"more than {MAX_HOSTS} hosts")
    if not hosts:
        raise FormatError(where, None, "a file without a host name, expected one per line")
    return tuple(hosts)


def _hosts_of_line(words: list[str]) -> list[str]:
    """Return the words of a line that are hosts: the first, or all where nothing is said about it."""
    facts = len(words) > 1 and (words[1].isdecimal() or any("=" in word for word in words))
    return words[:1] if facts else words


def _refuse_other_files(where: str, line: int, words: Sequence[str]) -> None:
    """Refuse lines of a rankfile, of which the first word is no host, and addresses that are no names."""
    if len(words) > 1 and words[0].lower() == "rank" and "=" in words[1]:
        raise FormatError(where, line, f"{' '.join(words)[:60]!r} of a rankfile, expected a host")
    if words and words[0].count(":") > 1 and HOST_OF_FILE.fullmatch(words[0]) is None:
        raise FormatError(where, line, f"{words[0][:60]!r}, expected the name of a host, not an IPv6 address")


def distinct_hosts(hosts: Sequence[str], where: str) -> tuple[str, ...]:
    """Return hosts that are all different; FormatError for one named twice."""
    twice = next((host for host, count in Counter(hosts).items() if count > 1), None)
    if twice is not None:
        raise FormatError(where, None, f"host {twice!r} twice, expected every host once")
    return tuple(hosts)


def short_name(host: str) -> str:
    """Return the name of a host without its domain; an address has none."""
    return host if ADDRESS.fullmatch(host) else host.partition(".")[0]


def match_hosts(
    wanted: Sequence[str], known: Sequence[str], hint: str = "", where: str = "`hosts`"
) -> list[int]:
    """Find hosts among known ones: by the exact name, else by the short one (up to the first dot)."""
    exact = {name: node for node, name in enumerate(known)}
    short: dict[str, list[int]] = {}
    for node, name in enumerate(known):
        short.setdefault(short_name(name), []).append(node)
    named: dict[int, str] = {}
    missing = []
    for name in wanted:
        nodes = [exact[name]] if name in exact else short.get(short_name(name), [])
        if len(nodes) != 1:
            missing.append(name)
        elif nodes[0] in named:
            what = f"host {name!r} is {named[nodes[0]]!r} again, expected distinct hosts"
            raise FormatError(where, None, what)
        else:
            named[nodes[0]] = name
    if missing:
        raise FormatError(
            where, None,
            f"{len(missing)} of {len(wanted)} hosts are not among the machine's {len(known)} "
            f"({', '.join(missing[:3])}), expected names like {known[0]}{hint}",
        )
    return list(named)


#: Words for the number of slots and its bound, as Open MPI has them, and words that it refuses.
SLOTS, MISTAKEN = ("slots", "count", "cpu"), ("slot", "cpus", "cores", "np", "ppn")
BOUNDS = tuple(f"{a}{joint}{b}" for joint in "-_" for w in SLOTS for a, b in (("max", w), (w, "max")))
#: Lines of Grid Engine: ``n1 4 all.q@n1 UNDEFINED``. With a number at the end it is a list of LSF in a line.
GRID_ENGINE = re.compile(r"\S+ [0-9]{1,9} [^\s=]+ (?![0-9]+$)[^\s=]+", re.ASCII)
RELATIVE = re.compile(r"\+n([0-9]{1,7})", re.ASCII | re.IGNORECASE)

Slots = tuple[tuple[str, ...], tuple[int | None, ...]]
Allocated = Callable[[], Sequence[str]]


def read_slots(path: str, allocated: Allocated = tuple) -> Slots:
    """Read a host file: ``name``, repeated or not, ``user@name slots=4``, ``name:4``."""
    # Source: the host files of Open MPI 4 and PRRTE (keywords in small letters; other cases are read, too),
    # the manuals of Hydra, MVAPICH, Intel MPI and Grid Engine.
    with open_text(path) as stream:
        return _slots_of_lines(path, stream, allocated)


def _slots_of_lines(path: str, stream: TextIO, allocated: Allocated) -> Slots:
    stated: dict[str, int] = {}
    mentions: dict[str, int] = {}
    excluded: set[str] = set()
    for number, line in _numbered_lines(path, stream):
        text = line.partition("#")[0].partition("//")[0]
        words = "=".join(part.strip() for part in text.split("=")).split()
        if not words:
            continue
        _refuse_other_files(path, number, words)
        hosts, count = _one_line(path, number, words, allocated)
        if words[0].startswith("^"):
            excluded.update(hosts)
            continue
        for host in hosts:
            mentions[host] = mentions.get(host, 0) + (count is None)
            stated[host] = stated.get(host, 0) + (count or 0)
        if len(mentions) > MAX_HOSTS:
            raise FormatError(path, number, f"more than {MAX_HOSTS} hosts")
    used = [host for host in mentions if host not in excluded]
    if not used:
        raise FormatError(path, None, "a file without a host, expected one or more")
    listed = max(mentions.values()) > 1  # as resource managers write them: a line for every slot
    slots = [
        None if mentions[host] == 1 and not stated[host] and not listed else mentions[host] + stated[host]
        for host in used
    ]
    return tuple(used), tuple(slots)


def _one_line(path: str, line: int, words: list[str], allocated: Allocated) -> tuple[list[str], int | None]:
    """Return the hosts of a line and the number of slots of each."""
    text = " ".join(words)
    if GRID_ENGINE.fullmatch(text):
        return expand_hosts(words[0], path, line), int(words[1])
    pairs = [(key.lower(), value) for key, equals, value in (w.partition("=") for w in words[1:]) if equals]
    relative = RELATIVE.fullmatch(words[0])
    host = HOST_OF_FILE.fullmatch(words[0].removeprefix("^"))
    stated = [value for key, value in pairs if key in SLOTS]
    bounds = [value for key, value in pairs if key in BOUNDS]
    if host is not None and host[2] is not None:
        stated.append(host[2])
    counts = stated or bounds[:1]
    wrong = any(key in MISTAKEN for key, _ in pairs) or len(counts) > 1 or len(pairs) + 1 < len(words)
    if words[0].lower() == "rank" or (words[0].startswith("+") and relative is None):
        raise FormatError(path, line, f"{text[:60]!r} of a rankfile or of empty nodes, expected a host")
    if wrong or host is None or not all(c.isdecimal() and len(c) < 10 for c in [*stated, *bounds]):
        raise FormatError(path, line, f"{text[:60]!r}, expected HOST, HOST:N or HOST slots=N")
    if relative is None:
        return expand_hosts(host[1], path, line), int(counts[0]) if counts else None
    of_job = allocated()
    if int(relative[1]) >= len(of_job):
        what = f"{words[0]} numbers the hosts of the job, of which there are {len(of_job)}"
        raise FormatError(path, line, f"{what}, expected a name")
    return [of_job[int(relative[1])]], int(counts[0]) if counts else None
