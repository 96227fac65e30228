"""``hopbytes map-distributed``: a mapping by several MPI processes, none of which holds the whole graph."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from hopbytes.cli.common_options import Force, Json, Quiet
from hopbytes.cli.declare import argument, option
from hopbytes.cli.machine_options import MachineOptions


def map_distributed(
    graph: Annotated[
        str,
        argument(
            metavar="GRAPH", values="files",
            help="METIS, ParHIP or HDF5 file (FILE.h5:GROUP), or grid:AxB, grid:AxBxC, geometric:N.",
        ),
    ],
    machine: MachineOptions,
    road: Annotated[
        str,
        option(
            "--road", metavar="NAME", panel="Method",
            help="islands (cut along the outermost level first), levels (one coarse graph for all), both, or "
            "auto.",
        ),
    ] = "auto",
    cutter: Annotated[
        str,
        option(
            "--cutter", metavar="NAME", panel="Method", rare=True,
            help="What makes the first cuts into islands: own, ptscotch (needs libptscotch), or both.",
        ),
    ] = "own",
    preset: Annotated[
        str,
        option("--preset", metavar="NAME", panel="Method", help="Effort of every process.", values="presets"),
    ] = "eco",
    imbalance: Annotated[
        str,
        option(
            "--imbalance", metavar="E", panel="Problem",
            help="No slot gets more than 1 + E times the mean load; 0.03 or 3%.",
        ),
    ] = "0.03",
    strict_balance: Annotated[
        bool,
        option(
            "--strict-balance", panel="Problem", rare=True,
            help="Stop with an error if the loads of single tasks require a larger bound.",
        ),
    ] = False,
    seed: Annotated[
        int,
        option("--seed", metavar="N", least=0, panel="Method", rare=True, help="Seed of all random numbers."),
    ] = 0,
    output: Annotated[
        str | None,
        option(
            "--output", "-o", metavar="FILE", panel="Output", values="files",
            help="File to write in parallel: .npy is an array of int32, others have one line per task.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Map a graph as a partition on the processes of an MPI job: mpirun -n P hopbytes map-distributed …"""
    from hopbytes.cli.output import print_json, tell
    from hopbytes.cli.over_ranks import run_on_all
    from hopbytes.mpi.distributed.mapping import map_file, mapped_sentence

    work = partial(
        map_file, graph=graph, output=output, force=force, road=road, cutter=cutter, preset=preset,
        imbalance=imbalance, strict_balance=strict_balance, seed=seed,
    )
    record = run_on_all(work, machine.allocation)
    if record is not None and json:
        print_json(record)
    elif record is not None and not quiet:
        tell(mapped_sentence(record))
