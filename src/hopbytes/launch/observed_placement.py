"""Compares where ranks run with a mapping, and builds the mapping of a real launch."""

from __future__ import annotations

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.mappings.host_lists import node_numbers, node_of_host
from hopbytes.formats.mappings.numbering import Numbering, Slots, number_list
from hopbytes.launch.placement_probe import Seen
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.lines import natural_key


@frozen
class Verdict:
    """The result of a comparison."""

    wrong: tuple[str, ...]  # A sentence for every rank that does not run where the mapping places it
    checked: tuple[str, ...]  # the properties that were compared


def compare(mapping: Mapping, seen: dict[int, Seen], hosts: tuple[str, ...] = ()) -> Verdict:
    """Compare host, allowed CPUs and visible GPUs of every rank with a mapping.

    If the mapping has no names of hosts, ranks must share a host if and only if they share a node. CPU
    numbers are compared if the machine knows those of the operating system. On a machine from a typed spec,
    positions of cores are used as CPU numbers; if these differ, it is sufficient that ranks share CPUs if and
    only if they share a slot.
    """
    names = hosts or mapping.where.hosts
    wrong = [*_missing(mapping, seen)]
    if wrong:
        return Verdict(tuple(wrong), ("ranks",))
    wrong += _hosts_by_name(mapping, seen, names) if names else _hosts_by_sharing(mapping, seen)
    numbering = Numbering.of(mapping.where.machine)
    by_number = _cpus_by_number(mapping, seen, numbering) if mapping.where.has_cores else []
    checked = ["hosts" if names else "hosts (without names: by who shares one)", "CPUs"]
    if not mapping.where.has_cores:
        checked.pop()
    if by_number and not numbering.known:
        by_sharing = _cpus_by_sharing(mapping, seen)
        by_number = by_sharing
        checked[1] = "CPUs (by who shares them: the machine has no numbers of the operating system)"
    wrong += by_number
    if any(mapping.where.gpus_of(pe) for pe in set(mapping.pe.tolist())):
        wrong += _gpus(mapping, seen)
        checked.append("GPUs")
    return Verdict(tuple(_by_rank(wrong)), tuple(checked))


def _by_rank(sentences: list[str]) -> list[str]:
    """Sort sentences ``rank N …`` by rank; for a rank on a wrong host only that sentence is kept."""
    elsewhere: set[int] = set()
    kept: list[tuple[int, str]] = []
    for sentence in sentences:  # sentences about hosts come first
        rank = int(sentence.split()[1])
        if rank not in elsewhere:
            kept.append((rank, sentence))
        if f"rank {rank} is on " in sentence or "expected another host" in sentence:
            elsewhere.add(rank)
    return [sentence for _, sentence in sorted(kept, key=lambda pair: pair[0])]


def placement_seen(where: Allocation, seen: dict[int, Seen], source: str = "where") -> Mapping:
    """Return the mapping of a real launch, in which each rank has the slot of the CPUs it may run on."""
    if not where.has_cores:
        return placement_by_gpu(where, seen, source)
    n = _all_ranks(seen)
    slots, known = Slots(where), node_numbers(where)
    pe = np.empty(n, np.int32)
    for rank in range(n):
        place = (f"{source}: rank {rank}", None)
        node = node_of_host(where, known, seen[rank].host, place)
        pe[rank] = slots.pe(node, seen[rank].cpus, "cpu", place)
    return Mapping(pe, where, {"problem": "processes", "mapper": "as launched"})


def placement_by_gpu(where: Allocation, seen: dict[int, Seen], source: str = "where") -> Mapping:
    """Return the mapping of a real launch on slots that are GPUs, from the devices visible to each rank."""
    n, known = _all_ranks(seen), node_numbers(where)
    slot = {(int(node), where.shown_gpus(pe)): pe for pe, node in enumerate(where.node_of_pe)}
    pe = np.empty(n, np.int32)
    for rank in range(n):
        place = (f"{source}: rank {rank}", None)
        node = node_of_host(where, known, seen[rank].host, place)
        gpus = _shown(seen[rank])
        if (node, gpus) not in slot:
            what = f"sees GPUs {seen[rank].gpus[:40] or 'by default'}, expected those of one slot"
            raise FormatError(*place, f"{what} (CUDA_VISIBLE_DEVICES=0 and the like)")
        pe[rank] = slot[node, gpus]
    return Mapping(pe, where, {"problem": "processes", "mapper": "as launched"})


def placement_by_node(where: Allocation, seen: dict[int, Seen], source: str = "where") -> Mapping:
    """Return the mapping of a real launch in which ranks may run on several slots.

    Launchers need not bind a rank to one core: Open MPI 4 binds to a package, MPICH and srun do not bind.
    Such a rank is assigned the first free one of its slots, in the order of ranks, and a notice states that
    only its node is known.
    """
    n = _all_ranks(seen)
    slots, known = Slots(where), node_numbers(where)
    pe = np.full(n, -1, np.int32)
    taken = np.zeros(where.k, np.int64)
    open_ranks: list[tuple[int, int, tuple[int, ...]]] = []
    for rank in range(n):
        place = (f"{source}: rank {rank}", None)
        node = node_of_host(where, known, seen[rank].host, place)
        possible = _possible(where, slots, node, seen[rank])
        if len(possible) > 1:
            open_ranks.append((len(possible), rank, possible))
            continue
        pe[rank] = possible[0] if possible else slots.pe(node, seen[rank].cpus, "cpu", place)
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


def _missing(mapping: Mapping, seen: dict[int, Seen]) -> list[str]:
    gaps = [rank for rank in range(mapping.n) if rank not in seen]
    more = sorted(rank for rank in seen if rank >= mapping.n)
    if gaps:
        return [f"rank {gaps[0]} did not answer" + (f" ({len(gaps)} in all)" if len(gaps) > 1 else "")]
    return [f"rank {more[0]} is not in the mapping, which has {mapping.n} ranks"] if more else []


def _hosts_by_name(mapping: Mapping, seen: dict[int, Seen], names: tuple[str, ...]) -> list[str]:
    wrong = []
    for rank, node in enumerate(mapping.where.node_of_pe[mapping.pe].tolist()):
        if not same_host(seen[rank].host, names[node]):
            wrong.append(f"rank {rank} is on {seen[rank].host}, expected {names[node]}")
    return wrong


def same_host(one: str, other: str) -> bool:
    """Return whether two names denote the same host, with or without its domain."""
    if "." in one and "." in other:
        return one == other
    return one.split(".")[0] == other.split(".")[0]


def _hosts_by_sharing(mapping: Mapping, seen: dict[int, Seen]) -> list[str]:
    host_of: dict[int, tuple[str, int]] = {}
    node_of: dict[str, tuple[int, int]] = {}
    wrong = []
    for rank, node in enumerate(mapping.where.node_of_pe[mapping.pe].tolist()):
        host = seen[rank].host
        first_host, mate = host_of.setdefault(node, (host, rank))
        first_node, stranger = node_of.setdefault(host, (node, rank))
        if first_host != host:
            wrong.append(f"rank {rank} is on {host}, expected {first_host}, the host of rank {mate}")
        elif first_node != node:
            wrong.append(f"rank {rank} shares {host} with rank {stranger}, expected another host")
    return wrong


def _cpus_by_number(mapping: Mapping, seen: dict[int, Seen], numbering: Numbering) -> list[str]:
    wrong = []
    expected: dict[int, tuple[int, ...]] = {}
    for rank, pe in enumerate(mapping.pe.tolist()):
        if pe not in expected:
            expected[pe] = numbering.os_cpus(mapping.where.cores_of(pe))
        found = tuple(sorted(seen[rank].cpus))
        if found != expected[pe]:
            what = f"rank {rank} may run on CPUs {number_list(found) or 'unknown'}"
            wrong.append(f"{what}, expected {number_list(expected[pe])}")
    return wrong


def _cpus_by_sharing(mapping: Mapping, seen: dict[int, Seen]) -> list[str]:
    wrong = []
    owner: dict[tuple[str, int], tuple[int, int]] = {}
    cpus_of: dict[int, tuple[frozenset[int], int]] = {}
    for rank, pe in enumerate(mapping.pe.tolist()):
        own, mate = cpus_of.setdefault(pe, (seen[rank].cpus, rank))
        if own != seen[rank].cpus:
            wrong.append(f"rank {rank} shares a slot with rank {mate} but not its CPUs")
        for cpu in sorted(seen[rank].cpus):
            slot, other = owner.setdefault((seen[rank].host, cpu), (pe, rank))
            if slot != pe:
                wrong.append(f"rank {rank} shares CPU {cpu} with rank {other}, expected CPUs of its own")
                break
    return wrong


def _gpus(mapping: Mapping, seen: dict[int, Seen]) -> list[str]:
    wrong = []
    for rank, pe in enumerate(mapping.pe.tolist()):
        expected = ",".join(mapping.where.shown_gpus(pe))
        if expected and seen[rank].gpus != expected:
            wrong.append(f"rank {rank} sees GPUs {seen[rank].gpus or 'by default'}, expected {expected}")
    return wrong


