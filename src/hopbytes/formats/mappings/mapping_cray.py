"""cray: MPICH_RANK_ORDER, the rank of every slot in the launcher's own order."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes.errors import FormatError
from hopbytes.formats.base import MARK, Capabilities, Format, Source, Written, formats
from hopbytes.formats.mappings.binding import common_binding
from hopbytes.formats.mappings.host_lists import MAX_RANKS, allocation_of, check_count
from hopbytes.formats.mappings.launch_files import (
    PROGRAM,
    Launch,
    assumptions,
    by_script,
    equal_count,
    nodelist,
    prepare,
)
from hopbytes.formats.mappings.mapping_slurm import DIFFERENT, srun_binding, unbound
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import number_range
from hopbytes.text.lines import natural_key

PER_LINE = 16
PER_NODE = re.compile(f"# rank order {MARK}: [0-9]+ nodes x ([0-9]{{1,9}}) ranks".encode(), re.ASCII)


class Cray(Format):
    """Comma-separated ranks: the k-th is the rank of the process that the launcher starts on slot k.

    The launcher fills one node after the other (``--distribution=block``) and Cray MPICH renumbers the
    processes when it starts, so MPI ranks follow this file while SLURM_PROCID counts slots. All nodes in
    use must hold the same number of ranks.

    Source: HPE's manual pages grid_order(1) and intro_mpi(3) (MPICH_RANK_REORDER_METHOD 3), with the user
    guides of ARCHER2 and LUMI.
    """

    holds = "mapping"
    summary = "Cray MPICH rank order file (MPICH_RANK_REORDER_METHOD=3)"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, gpus=True,
        launcher="srun with Cray MPICH", usual_order="block",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the rank order, ``.place.sh`` where a script has to bind, and the command.

        Options: `hosts`, `oversubscribe` and `allowed`, see
        :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, options)
        count = equal_count(launch, "cray")
        order = launched_order(launch)
        used = launch.n // count
        files = {"": _order_text(order.tolist(), count, used)}
        # The launcher starts its process k on the k-th slot in use.
        slots = launch.rearranged(Mapping(mapping.pe[order], mapping.where, mapping.info))
        binding = common_binding(slots)
        option = None if binding.launch is not slots else srun_binding(binding)
        prefix = "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE={stem}"
        srun = f"srun -n {launch.n} -N {used} --ntasks-per-node={count} --distribution=block"
        srun += nodelist(launch)
        if launch.most_tasks_on_a_slot() > 1:
            srun += " --overcommit"
        notices = _notices(launch)
        if option is None:
            files[".place.sh"] = place_script(launch, order=order.tolist(), variables=("SLURM_PROCID",))
            notices.append(by_script(launch, DIFFERENT))
            command = f"{prefix} {srun} {unbound(launch)} sh {{stem}}.place.sh {PROGRAM}"
        else:
            command = f"{prefix} {binding.openmp}{srun} {option} {PROGRAM}"
        return Written(files, command, tuple(notices), tuple(s for s in files if s == ".place.sh"))

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rank order file; ``0-3`` is a range, ``#`` begins a comment.

        Slot k is the k-th PE in use. If there are fewer ranks than PEs, the number of ranks per node is
        taken from the comment that hopbytes writes into the first line, otherwise the ranks are distributed
        evenly over all nodes. Options: `where`, `n`.
        """
        where = allocation_of(source, "an order of ranks")
        comment = PER_NODE.match(source.head())
        order = _ranks(source)
        check_count(source, len(order))
        slots = spread(where, len(order), tasks_per_node=int(comment[1]) if comment and len(order) else None)
        pe = np.empty(len(order), np.int32)
        pe[order] = slots
        return Mapping(pe, where, {"problem": "processes", "mapper": source.title})

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file has the mark or the name that Cray MPICH expects."""
        return name.startswith("mpich_rank_order") or head.startswith(f"# rank order {MARK}".encode())


formats.register("cray")(Cray())


def launched_order(launch: Launch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the task of every slot in use, in the order in which the launcher numbers slots.

    Slurm sorts hosts by name and number, whatever the order in which they were requested.
    """
    turn = np.arange(len(launch.hosts))
    if not launch.hosts_unknown:
        by_name = sorted(range(len(launch.hosts)), key=lambda node: natural_key(launch.hosts[node]))
        turn[by_name] = np.arange(len(by_name))
    return np.lexsort((launch.mapping.pe, turn[launch.node])).astype(np.int64)


def _order_text(order: list[int], count: int, nodes: int) -> str:
    lines = [f"# rank order {MARK}: {nodes} nodes x {count} ranks, ranks of the first node first"]
    for node in range(nodes):
        own = order[node * count : (node + 1) * count]
        lines += [",".join(map(str, own[i : i + PER_LINE])) for i in range(0, count, PER_LINE)]
    # Cray's parser reads the file as one list, so a comma ends every line but the last.
    return lines[0] + "\n" + ",\n".join(lines[1:]) + "\n"


def _ranks(source: Source) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    for number, line in enumerate(source.text().splitlines(), start=1):
        for word in re.split(r"[,\s]+", line.partition("#")[0].strip()):
            if not word:
                continue
            ranks = number_range(word)
            if ranks is None or len(ranks) > MAX_RANKS:
                raise FormatError(source.name, number, f"{word[:40]!r}, expected ranks like 0,1,4-7")
            twice = next((rank for rank in ranks if rank in seen), None)
            if twice is not None:
                raise FormatError(source.name, number, f"rank {twice} occurs twice, expected every rank once")
            seen.update(ranks)
            order += ranks
    if order and max(order) >= len(order):
        missing = next(rank for rank in range(len(order)) if rank not in seen)
        raise FormatError(source.name, None, f"rank {missing} is missing, expected 0 to {max(order)}")
    return order


def _notices(launch: Launch) -> list[str]:
    notices = ["slots are counted over the job's nodes in Slurm's order (by name), like SLURM_PROCID"]
    if launch.hosts_unknown:
        notices.append("host names are unknown and assumed to be in machine order; otherwise give `hosts`")
    return notices + [text for text in assumptions(launch) if "host names" not in text]
