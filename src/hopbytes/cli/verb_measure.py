"""``hopbytes measure``: latency and bandwidth of every level of a machine."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Quiet
from hopbytes.cli.machine_options import MachineOptions


def measure(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND", help="Starts MPI ranks, one per slot: mpirun -n 64 --bind-to core."
        ),
    ],
    machine: MachineOptions,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write; --on takes the file.")
    ] = "-",
    cc: Annotated[
        str | None,
        typer.Option("--cc", metavar="MPICC", help="Build the ping-pong in C with it (instead of mpi4py)."),
    ] = None,
    batches: Annotated[
        int,
        typer.Option("--batches", metavar="N", min=5, help="Times per pair and size; the median counts (5)."),
    ] = 5,
    keep_distances: Annotated[
        bool, typer.Option("--keep-distances", help="Store latency and bandwidth only.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that hopbytes did not write.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Measure a machine by ping-pong between pairs of ranks at every level, and store it for --on."""
    from hopbytes.cli.output import tell
    from hopbytes.discovery.store import measure_to_file

    options = {"compiler": cc, "batches": batches, "keep_distances": keep_distances}
    said = measure_to_file(command, machine.allocation(), output, force=force, **options)
    if not quiet:
        tell(said)
