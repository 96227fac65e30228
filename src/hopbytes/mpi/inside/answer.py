"""What rank 0 of a running program asks, and the new rank of every process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import FormatError, InfeasibleError, UnsupportedError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launch.observed import mapping_by_node
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.mpi.processes import UNITS, Spot, machine_of, pe_of_processes, processes_on, spot
from hopbytes.solve.problem import Constraints


@frozen
class Question:
    """Where the processes of a communicator run, and the arcs of a topology that is made of them."""

    spots: tuple[Spot, ...]
    programs: tuple[str, ...]  # a word for the program and the arguments of each process
    topology: CommGraph | None  # None: MPI_COMM_WORLD is ordered

    @classmethod
    def read(cls, text: str) -> Question:
        """Read the lines that ``order.c`` writes: for each process one with its place, then its arcs."""
        spots, programs, arcs, asked = [], [], list[list[int]](), True
        for line in text.splitlines():
            word, *rest = line.split("\t")
            if word == "process" and len(rest) == 3 + len(UNITS):
                spots.append(spot(rest[0], tuple(sorted(parse_cpus(rest[2], "cpus"))), rest[3:]))
                programs.append(rest[1])
            elif word == "world":
                asked = False
            elif word != "invalid":
                arcs.append([int(number) for number in line.split()])
        n, invalid = len(spots), "\ninvalid\n" in text
        if not spots or any(not 0 <= end < n for arc in arcs for end in arc[:2]) or min(
            (arc[2] for arc in arcs), default=0
        ) < 0:
            invalid = True
        table = np.array([] if invalid else arcs, np.int64).reshape(-1, 3)
        graph = CommGraph.from_edges(table[:, 0], table[:, 1], table[:, 2], n=n) if asked else None
        return cls(tuple(spots), tuple(programs), graph)


#: Maps a graph to an allocation under constraints.
Solver = Callable[[CommGraph, Allocation, Constraints | None], Mapping]


@frozen
class Answer:
    """The new rank of every process, and the cost J before and after it, if a graph was mapped."""

    ranks: Int64
    before: int = 0
    after: int = 0


def new_order(
    question: Question, content: CommGraph | Mapping | None, where: Allocation | None, solve: Solver, *,
    keep_first: bool = False,
) -> Answer:
    """Return the order for a question: that of its topology, or of `content` for MPI_COMM_WORLD.

    `where` is the machine if the user named it. With `keep_first` rank 0 stays the process that the launcher
    calls so. Ranks stay as they are if that is no worse.
    """
    graph = question.topology
    n = len(question.spots)
    if graph is None:
        if content is None:
            return Answer(np.arange(n, dtype=np.int64))
        _check_world(question, content)
        if isinstance(content, Mapping):
            return Answer(_as_mapped(question, content, keep_first=keep_first))
        graph = content
    if where is None:
        where, process = machine_of(question.spots)
    else:  # unbound processes take PEs of their node
        where, process = processes_on(where, question.spots, mapping_by_node)
    launched = np.argsort(process).astype(np.int32)
    keeping = keep_first and question.topology is None
    mapped = solve(graph, where, Constraints(fixed={0: int(launched[0])}) if keeping else None).pe
    before, after = (int(CommCost().value(graph, where, pe)) for pe in (launched, mapped))
    if after >= before:
        return Answer(np.arange(n, dtype=np.int64), before, before)
    return Answer(np.argsort(process[mapped]), before, after)


def _check_world(question: Question, content: CommGraph | Mapping) -> None:
    n = len(question.spots)
    if content.n != n:
        raise InfeasibleError(f"{n} processes, expected {content.n}, the tasks of the pattern or mapping")
    other = next((rank for rank in range(n) if question.programs[rank] != question.programs[0]), None)
    if other is not None:
        raise UnsupportedError(
            f"ranks 0 and {other} run different programs or arguments, expected the same for all"
        )


def _as_mapped(question: Question, mapping: Mapping, *, keep_first: bool) -> Int64:
    """Return the order in which the process on the PE of task i has rank i."""
    pes = pe_of_processes(mapping.where, question.spots, mapping_by_node)
    process = {pe: rank for rank, pe in enumerate(pes.tolist())}
    ranks = np.full(mapping.n, -1, np.int64)
    for task, pe in enumerate(mapping.pe.tolist()):
        if pe not in process or ranks[process[pe]] >= 0:
            what = "no process of its own runs there"
            raise FormatError("mapping", None, f"task {task} is on PE {pe}: {what}, expected one on each PE")
        ranks[process[pe]] = task
    if keep_first and ranks[0] != 0:
        raise UnsupportedError(
            "the mapping moves rank 0, which reads standard input, expected </dev/null behind the command"
        )
    return ranks
