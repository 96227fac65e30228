"""What the verbs map-distributed and eval-distributed do on every process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hopbytes.errors import HopbytesError
from hopbytes.model.allocation import Allocation
from hopbytes.mpi.distributed.evaluate_over_ranks import evaluate_distributed
from hopbytes.mpi.distributed.map_over_ranks import map_distributed
from hopbytes.mpi.distributed.mapping_ranges import read_distributed, write_distributed
from hopbytes.mpi.distributed.member import Comm, Member
from hopbytes.mpi.distributed.slab_files import read_slab


def agreed_machine(comm: Comm, machine: Callable[[], Allocation]) -> Allocation:
    """Return the machine of this process; an error on one process is raised on all."""
    where, fault = None, None
    try:
        where = machine()
    except (HopbytesError, OSError) as error:
        fault = error
    Member(comm).agree(fault)
    assert where is not None
    return where


def map_file(
    comm: Comm, machine: Callable[[], Allocation], graph: str, output: str | None, *, force: bool,
    **options: Any,
) -> dict[str, Any]:
    """Read, map and write on all processes; return the record of the run."""
    where = agreed_machine(comm, machine)
    Member(comm).same("graph and output", (graph, output))
    mapping = map_distributed(comm, lambda: read_slab(comm, graph), where, **options)
    if output is not None:
        write_distributed(comm, mapping, output, force=force)
    return {"tasks": mapping.total, "pes": where.k, **mapping.info}


def evaluate_file(comm: Comm, machine: Callable[[], Allocation], graph: str, mapping: str) -> dict[str, Any]:
    """Read a graph and a mapping and evaluate it on all processes."""
    where = agreed_machine(comm, machine)
    Member(comm).same("graph and mapping", (graph, mapping))
    slab = read_slab(comm, graph)
    return evaluate_distributed(comm, slab, read_distributed(comm, mapping, slab.n), where)


def mapped_sentence(record: dict[str, Any]) -> str:
    """Return the lines about a distributed mapping."""
    sent = sum(sum(each.values()) for each in record["sent"])
    peak = max(record["peak_bytes"]) / 2**20
    whole = ("read", "verify", *record["roads"])
    seconds = sum(value for name, value in record["seconds"][0].items() if name in whole)
    return (
        f"partition: J {record['comm_cost']:,}; {record['tasks']:,} tasks on {record['pes']:,} PEs, at most "
        f"{record['bound_kept']:,} of {record['bound_asked']:,} each; {record['ranks']} ranks, "
        f"{seconds:.1f} s, {sent:,} bytes sent, at most {peak:.0f} MiB per rank"
    )


def evaluated_sentence(record: dict[str, Any]) -> str:
    """Return the line about an evaluation."""
    share = 100 * record["cut"] / max(record["volume"], 1)
    return (
        f"J {record['comm_cost']:,}; {share:.1f} % of the volume between PEs; imbalance "
        f"{100 * record['imbalance']:.2f} %; {record['empty']} empty PEs; {record['tasks']:,} tasks"
    )
