"""Open MPI's mpirun 4.0 to 6.0: options, hostfiles, and rankfiles by rmaps_rank_file_lex.l and its parser."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from helpers.stand_ins import (
    Job,
    Place,
    RefusedError,
    Taken,
    by_script,
    lines_of,
    numbers,
    placed,
    take,
)

COMMON = """
n np c host H hostfile machinefile map-by bind-to rank-by wdir output-filename x
"""
#: orterun(1) of 4.1; 5.0.11 says of ``-rf``: an unrecognized option was included.
OLD = {"rf": 1, "rankfile": 1} | {"mca": 2, "gmca": 2}
NEW = {"mca": 2, "prtemca": 2, "pmixmca": 2, "display": 1, "output": 1}
FLAGS = {"oversubscribe", "allow-run-as-root", "report-bindings", "tag-output", "v", "q"}
#: A line as the scanner and the parser take it: names may have a user, and a host may be a number in the job.
LINE = re.compile(
    r"\s*rank\s+(?P<rank>[0-9]+)\s*=\s*(?:[A-Za-z0-9][\w-]*@)?(?P<host>[A-Za-z0-9_][\w.:-]*|\+n[0-9]+)"
    r"\s+slots?\s*=\s*(?P<slot>[A-Za-z0-9_,;:*@-]+)\s*", re.ASCII,
)
#: Size of ``slot_list`` and ``tmp_rank_assignment`` up to 5.0: longer lists are cut, longer lines overflow.
ROOM = 64


def mpirun(version: str, words: list[str], folder: Path, job: Job) -> list[Place]:
    """Return the places of the ranks that mpirun of a version starts."""
    four = version < "5"
    taken = take(words, dict.fromkeys(COMMON.split(), 1) | (OLD if four else NEW), FLAGS)
    count = taken.number("n", "np")
    policy, directives = _policy(taken, four)
    hostfile = taken.get("hostfile", "machinefile")
    if hostfile is not None and "," in str(folder / hostfile) and not four:
        raise RefusedError("a comma divides the names of host files")
    if policy == "seq":
        hosts = [line.split()[0] for line in lines_of(folder, hostfile or "")]
        cpus: list[frozenset[int] | None] = [None] * count
        if len(hosts) < count:
            raise RefusedError("seq: not enough resources")
        if taken.get("bind-to") != "none":
            raise RefusedError("the stand-in knows no binding of seq")
        hosts = hosts[:count]
    elif policy == "rankfile":
        slots = _slots(folder, hostfile, job)
        hosts, cpus = _rankfile(version, folder, directives, taken, slots, job, count)
    elif policy is None and taken.get("bind-to") == "none" and hostfile is not None:
        slots = _slots(folder, hostfile, job)  # filled one host after the other
        hosts = [host for host, held in slots.items() for _ in range(held)][:count]
        cpus = [None] * len(hosts)
        if len(hosts) < count:
            raise RefusedError("There are not enough slots available in the system")
    else:
        raise RefusedError(f"the stand-in does not know --map-by {policy}")
    unknown = set(hosts) - set(job.cores)
    if unknown:
        raise RefusedError(f"unknown hosts {unknown}")
    return placed(hosts, cpus, by_script(taken.program, folder, "OMPI_COMM_WORLD_RANK", count))


def _policy(taken: Taken, four: bool) -> tuple[str | None, dict[str, str]]:
    """Return the mapping policy and its directives."""
    old = taken.get("rf", "rankfile")
    if old is not None:
        return "rankfile", {"file": old}
    text = taken.get("map-by")
    if text is None:
        return None, {}
    policy, *given = text.split(":")
    directives = {part.partition("=")[0].lower(): part.partition("=")[2] for part in given}
    known = {"pe", "oversubscribe", "nooversubscribe", "nolocal", "span"}
    known |= set() if four else {"file", "hwtcpus", "corecpus", "inherit", "ordered", "pe-list"}
    if set(directives) - known or (four and policy == "rankfile"):
        raise RefusedError(f"--map-by {text}: the mapping policy or a modifier is not recognized")
    return policy, directives


def _slots(folder: Path, hostfile: str | None, job: Job) -> dict[str, int]:
    """Return the slots of every host, those of the job without a file; equal names add up."""
    if hostfile is None:
        return {host: len(job.cores[host]) for host in job.hosts}
    slots: Counter[str] = Counter()
    for line in lines_of(folder, hostfile):
        host, *given = line.split()
        found = [word.partition("=")[2] for word in given if word.startswith("slots=")]
        if len(found) != len(given) or not all(one.isdecimal() for one in found):
            raise RefusedError(f"hostfile: {line}")
        slots[host] += int(found[0]) if found else 1
    return dict(slots)


def _rankfile(
    version: str, folder: Path, directives: dict[str, str], taken: Taken, slots: dict[str, int], job: Job,
    count: int,
) -> tuple[list[str], list[frozenset[int] | None]]:
    if not (folder / directives.get("file", "")).is_file():
        raise RefusedError("rankfile cannot be opened")
    lines = parse((folder / directives["file"]).read_text(), version)
    threads = "hwtcpus" in directives
    names, hosts, cpus = list(slots), [], []
    for rank in range(count):
        if rank not in lines:
            raise RefusedError(f"rank {rank} is missing in the rankfile")
        host, slot = lines[rank]
        if host.startswith("+n"):
            if version < "5" and taken.get("hostfile") is not None:
                raise RefusedError("+n with a hostfile: no prior allocation has been made")
            if int(host[2:]) >= len(names):
                raise RefusedError(f"{host}: there are {len(names)} nodes")
            host = names[int(host[2:])]
        if host not in slots:
            raise RefusedError(f"{host} is not in the hostfile")
        units = [[cpu] for cpu in job.cpus(host)] if threads else job.cores[host]
        wanted = numbers(slot)
        if max(wanted) >= len(units):
            raise RefusedError(f"rank {rank}: {host} has {len(units)} units, not {slot}")
        hosts.append(host)
        cpus.append(frozenset(cpu for number in wanted for cpu in units[number]))
    for host, held in Counter(hosts).items():
        if held > slots[host]:
            raise RefusedError(f"{held} ranks on {host}, which has {slots[host]} slots")
    held_by = Counter((host, cpu) for host, own in zip(hosts, cpus, strict=True) for cpu in own)
    allowed = version < "5" or "overload-allowed" in (taken.get("bind-to") or "")
    if max(held_by.values()) > 1 and not allowed:
        raise RefusedError("more processes than cpus on a resource: use overload-allowed")
    return hosts, list(cpus)


def parse(text: str, version: str) -> dict[int, tuple[str, str]]:
    """Return host and slots of every rank."""
    found: dict[int, tuple[str, str]] = {}
    for line in text.splitlines():
        bare = re.sub("(#|//).*", "", line)
        if not bare.strip():
            continue
        words = LINE.fullmatch(bare)
        if words is None:
            raise RefusedError(f"rankfile: bad syntax in {line!r}")
        rank, host, slot = int(words["rank"]), words["host"], words["slot"]
        if rank in found:
            raise RefusedError(f"rank {rank} is assigned twice")
        if version < "6" and len(f"{host} slot={slot}") >= ROOM:
            raise RefusedError(f"{host} slot={slot} does not fit {ROOM} characters")
        found[rank] = (host, slot)
    return found
