"""``hopbytes eval-distributed``: metrics of a mapping by several MPI processes."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from hopbytes.cli.common_options import Json
from hopbytes.cli.declare import argument
from hopbytes.cli.machine_options import MachineOptions


def eval_distributed(
    graph: Annotated[
        str,
        argument(
            metavar="GRAPH", values="files",
            help="METIS, ParHIP or HDF5 file (FILE.h5:GROUP), or grid:AxB, grid:AxBxC, geometric:N.",
        ),
    ],
    mapping: Annotated[
        str,
        argument(metavar="MAPPING", help="A PE per line, or .npy of map-distributed.", values="files"),
    ],
    machine: MachineOptions,
    json: Json = False,
) -> None:
    """Evaluate a mapping on the processes of an MPI job: mpirun -n P hopbytes eval-distributed …"""
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.cli.over_ranks import run_on_all
    from hopbytes.mpi.distributed.mapping import evaluate_file, evaluated_sentence

    record = run_on_all(partial(evaluate_file, graph=graph, mapping=mapping), machine.allocation)
    if record is not None and json:
        print_json(record)
    elif record is not None:
        print_text(evaluated_sentence(record))
