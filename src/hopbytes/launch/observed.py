"""Where ranks run: a probe that stands in for the program, and its answers compared with a mapping.

The probe is a line of shell, so that nodes need nothing installed.
"""

from __future__ import annotations

import os
import re
import subprocess

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.mappings.host_lists import node_numbers, node_of_host
from hopbytes.formats.mappings.launchers import Launcher
from hopbytes.formats.mappings.numbering import Numbering, Slots, parse_cpus
from hopbytes.launch.command import Start
from hopbytes.machines.node.job import same_host
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import format_list
from hopbytes.text.lines import natural_key
from hopbytes.util.programs import stop

#: Maximum number of characters of a launcher's error message that are shown.
MOST_CHARACTERS = 300
#: Time limit of a probe in seconds.
PROBE_TIMEOUT = 300

_SCRIPT = (
    "while read -r key value; do case $key in Cpus_allowed_list:) cpus=$value ;; esac; done "
    "</proc/self/status; "
    'printf "hopbytes-rank %s %s %s %s .\\n" "${RANK:-?}" "${HOST:-$(hostname)}" "${cpus:-?}" '
    '"${CUDA_VISIBLE_DEVICES:-${ROCR_VISIBLE_DEVICES:-${ZE_AFFINITY_MASK:--}}}"'
)
_LINE = re.compile(r"hopbytes-rank (\S+) (\S+) (\S+) (\S+) \.")


@frozen
class Seen:
    """Where a rank runs."""

    host: str
    cpus: frozenset[int]  # CPU numbers of the operating system that the rank may run on
    gpus: str = ""  # visible devices according to the environment of the rank; "" if no variable is set


def probe_words(launcher: Launcher) -> tuple[str, ...]:
    """Return the probe, which a launcher starts in place of the user's program."""
    host = f"${{{launcher.host_variable}:-}}" if launcher.host_variable else ""
    return ("sh", "-c", f"RANK=${{{launcher.rank_variable}:-}}; HOST={host}; {_SCRIPT}")


def probe(start: Start) -> tuple[dict[int, Seen], int, str]:
    """Run a probe; return where each rank runs, the exit code, and the error message of the launcher."""
    environment = {**os.environ, **dict(start.environment)}
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            start.words, env=environment, stdout=pipe, stderr=pipe, text=True, errors="replace",
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise UnsupportedError(f"{start.words[0]}: {error.strerror}, expected a launcher") from None
    with child:
        try:
            printed, error_text = child.communicate(timeout=PROBE_TIMEOUT)
        except subprocess.TimeoutExpired:
            stop(child)
            raise HopbytesError(f"{start.words[0]} did not end within {PROBE_TIMEOUT} seconds") from None
        except BaseException:
            stop(child)  # a launcher that is killed at once leaves its daemon behind
            raise
    return seen_in(printed), child.returncode, _tail(error_text or printed)


def seen_in(text: str) -> dict[int, Seen]:
    """Return the answers in the output of a probe, by rank."""
    seen: dict[int, Seen] = {}
    for rank, host, cpus, gpus in _LINE.findall(text):
        if not rank.isdecimal():
            raise HopbytesError(f"a process on {host} does not know its rank, expected one from its launcher")
        if int(rank) in seen:
            raise HopbytesError(f"rank {rank} answered twice, expected one process for each rank")
        allowed = frozenset(parse_cpus(cpus, "probe")) if cpus != "?" else frozenset()
        seen[int(rank)] = Seen(host, allowed, "" if gpus == "-" else gpus)
    return seen


def _tail(text: str) -> str:
    """Return the last error message of a launcher as one line; Open MPI puts it between ruled lines."""
    lines = [line.strip() for line in text.splitlines() if not _LINE.search(line)]
    blocks = [" ".join(block.split()) for block in re.split(r"\n-{10,}\n", "\n".join(["", *lines, ""]))]
    worded = [block for block in blocks if re.search(r"[A-Za-z]{3}", block)]
    if not worded:
        return ""
    return worded[-1] if len(worded[-1]) <= MOST_CHARACTERS else f"{worded[-1][: MOST_CHARACTERS - 1]}…"


#: Ranks that do not run where the mapping has them, and in what way.
Wrong = list[tuple[int, str]]


@frozen
class Verdict:
    """The result of a comparison."""

    wrong: tuple[str, ...]  # a sentence for every rank that does not run where the mapping has it
    checked: tuple[str, ...]  # the properties that were compared


def compare(mapping: Mapping, seen: dict[int, Seen], hosts: tuple[str, ...] = ()) -> Verdict:
    """Compare host, allowed CPUs and visible GPUs of every rank with a mapping."""
    # If the mapping has no names of hosts, ranks must share a host if and only if they share a node. CPU
    # numbers are compared if the machine knows those of the operating system. On a machine from a typed spec,
    # positions of cores are used as CPU numbers; if these differ, it is sufficient that ranks share CPUs if
    # and only if they share a slot.
    where = mapping.where
    names = hosts or where.hosts
    missing = _missing(mapping, seen)
    if missing:
        return Verdict((missing,), ("ranks",))
    wrong = _wrong_hosts(mapping, seen, names) if names else _hosts_by_sharing(mapping, seen)
    elsewhere = {rank for rank, _ in wrong}  # for a rank on a wrong host only that sentence is kept
    checked = ["hosts" if names else "hosts (without names: by who shares one)"]
    if where.has_cores:
        numbering = Numbering.of(where.machine)
        cpus, what = _wrong_cpus(mapping, seen, numbering), "CPUs"
        if cpus and not numbering.known:
            cpus = _cpus_by_sharing(mapping, seen)
            what = "CPUs (by who shares them: the machine has no numbers of the operating system)"
        wrong += [(rank, text) for rank, text in cpus if rank not in elsewhere]
        checked.append(what)
    if any(where.gpus_of(pe) for pe in set(mapping.pe.tolist())):
        wrong += [(rank, text) for rank, text in _wrong_gpus(mapping, seen) if rank not in elsewhere]
        checked.append("GPUs")
    in_order = sorted(wrong, key=lambda pair: pair[0])
    return Verdict(tuple(f"rank {rank} {text}" for rank, text in in_order), tuple(checked))


def _missing(mapping: Mapping, seen: dict[int, Seen]) -> str:
    gaps = [rank for rank in range(mapping.n) if rank not in seen]
    more = sorted(rank for rank in seen if rank >= mapping.n)
    if gaps:
        return f"rank {gaps[0]} did not answer" + (f" ({len(gaps)} in all)" if len(gaps) > 1 else "")
    return f"rank {more[0]} is not in the mapping, which has {mapping.n} ranks" if more else ""


def _wrong_hosts(mapping: Mapping, seen: dict[int, Seen], names: tuple[str, ...]) -> Wrong:
    return [
        (rank, f"is on {seen[rank].host}, expected {names[node]}")
        for rank, node in enumerate(mapping.where.node_of_pe[mapping.pe].tolist())
        if not same_host(seen[rank].host, names[node])
    ]


def _hosts_by_sharing(mapping: Mapping, seen: dict[int, Seen]) -> Wrong:
    host_of: dict[int, tuple[str, int]] = {}
    node_of: dict[str, tuple[int, int]] = {}
    wrong = []
    for rank, node in enumerate(mapping.where.node_of_pe[mapping.pe].tolist()):
        host = seen[rank].host
        first_host, mate = host_of.setdefault(node, (host, rank))
        first_node, stranger = node_of.setdefault(host, (node, rank))
        if first_host != host:
            wrong.append((rank, f"is on {host}, expected {first_host}, the host of rank {mate}"))
        elif first_node != node:
            wrong.append((rank, f"shares {host} with rank {stranger}, expected another host"))
    return wrong


def _wrong_cpus(mapping: Mapping, seen: dict[int, Seen], numbering: Numbering) -> Wrong:
    expected = {pe: numbering.os_cpus(mapping.where.cores_of(pe)) for pe in set(mapping.pe.tolist())}
    return [
        (rank, f"may run on CPUs {format_list(cpus) or 'unknown'}, expected {format_list(expected[pe])}")
        for rank, pe in enumerate(mapping.pe.tolist())
        if (cpus := seen[rank].cpus) != frozenset(expected[pe])
    ]


def _cpus_by_sharing(mapping: Mapping, seen: dict[int, Seen]) -> Wrong:
    wrong = []
    owner: dict[tuple[str, int], tuple[int, int]] = {}
    cpus_of: dict[int, tuple[frozenset[int], int]] = {}
    for rank, pe in enumerate(mapping.pe.tolist()):
        host, cpus = seen[rank].host, seen[rank].cpus
        own, mate = cpus_of.setdefault(pe, (cpus, rank))
        if own != cpus:
            wrong.append((rank, f"shares a slot with rank {mate} but not its CPUs"))
        owners = ((cpu, *owner.setdefault((host, cpu), (pe, rank))) for cpu in sorted(cpus))
        taken = next(((cpu, other) for cpu, slot, other in owners if slot != pe), None)
        if taken is not None:
            wrong.append((rank, f"shares CPU {taken[0]} with rank {taken[1]}, expected CPUs of its own"))
    return wrong


def _wrong_gpus(mapping: Mapping, seen: dict[int, Seen]) -> Wrong:
    expected = [",".join(mapping.where.shown_gpus(pe)) for pe in mapping.pe.tolist()]
    return [
        (rank, f"sees GPUs {seen[rank].gpus or 'by default'}, expected {gpus}")
        for rank, gpus in enumerate(expected)
        if gpus and seen[rank].gpus != gpus
    ]


def mapping_seen(where: Allocation, seen: dict[int, Seen], source: str = "where") -> Mapping:
    """Return the mapping of a real launch, in which each rank has the slot of its CPUs, or of its GPUs."""
    # Devices are those visible to each rank; they count if slots are GPUs without known cores.
    n, slots, known = _all_ranks(seen), Slots(where), node_numbers(where)
    pe_with = {(int(node), where.shown_gpus(pe)): pe for pe, node in enumerate(where.node_of_pe)}
    pe = np.empty(n, np.int32)
    for rank in range(n):
        line = (f"{source}: rank {rank}", None)
        node = node_of_host(where, known, seen[rank].host, line)
        if where.has_cores:
            pe[rank] = slots.pe(node, seen[rank].cpus, "cpu", line)
            continue
        gpus = _shown(seen[rank])
        if (node, gpus) not in pe_with:
            what = f"sees GPUs {seen[rank].gpus[:40] or 'by default'}, expected those of one slot"
            raise FormatError(*line, f"{what} (CUDA_VISIBLE_DEVICES=0 and the like)")
        pe[rank] = pe_with[node, gpus]
    return Mapping(pe, where, {"problem": "processes", "mapper": "as launched"})


def mapping_by_node(where: Allocation, seen: dict[int, Seen], source: str = "where") -> Mapping:
    """Return the mapping of a real launch in which ranks may run on several slots."""
    # Launchers need not bind a rank to one core: Open MPI 4 binds to a package, MPICH and srun do not bind.
    # Such a rank is assigned the first free one of its slots, in the order of ranks, and a notice states that
    # only its node is known.
    n, slots, known = _all_ranks(seen), Slots(where), node_numbers(where)
    pe = np.full(n, -1, np.int32)
    taken = np.zeros(where.k, np.int64)
    open_ranks: list[tuple[int, int, tuple[int, ...]]] = []
    for rank in range(n):
        line = (f"{source}: rank {rank}", None)
        node = node_of_host(where, known, seen[rank].host, line)
        possible = _possible(where, slots, node, seen[rank])
        if len(possible) > 1:
            open_ranks.append((len(possible), rank, possible))
            continue
        pe[rank] = possible[0] if possible else slots.pe(node, seen[rank].cpus, "cpu", line)
        taken[pe[rank]] += 1
    for _, rank, possible in sorted(open_ranks):  # ranks with the fewest possible slots choose first
        pe[rank] = min(possible, key=lambda slot: (taken[slot], slot))
        taken[pe[rank]] += 1
    info: dict[str, object] = {"problem": "processes", "mapper": "as launched"}
    if open_ranks:
        info["notices"] = [
            f"{len(open_ranks)} of {n} ranks may run on several slots (rank {open_ranks[0][1]} on "
            f"{open_ranks[0][0]}): their nodes are known, inside a node slots are assigned in order of ranks"
        ]
    return Mapping(pe, where, info)


def _shown(seen: Seen) -> tuple[str, ...]:
    """Return the numbers of the GPUs visible to a rank, ascending; empty without any."""
    return tuple(sorted(filter(None, seen.gpus.split(",")), key=natural_key))


def _possible(where: Allocation, slots: Slots, node: int, seen: Seen) -> tuple[int, ...]:
    """Return the slots of a node that a rank may use, from its CPUs, or from its GPUs if slots are GPUs."""
    if where.has_cores:
        return slots.possible(node, seen.cpus)
    own = tuple(np.flatnonzero(where.node_of_pe == node).tolist())
    return tuple(pe for pe in own if where.shown_gpus(pe) == _shown(seen)) or own


def _all_ranks(seen: dict[int, Seen]) -> int:
    n = max(seen, default=-1) + 1
    gaps = [rank for rank in range(n) if rank not in seen]
    if gaps or not seen:
        raise UnsupportedError(f"rank {gaps[0] if gaps else 0} did not answer, expected all of the launch")
    return n
