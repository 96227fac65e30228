"""``hopbytes measure``: latency and bandwidth of every level of a machine."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Force, MachineFile, Quiet
from hopbytes.cli.declare import argument, option
from hopbytes.cli.machine_options import MachineOptions


def measure(
    command: Annotated[
        list[str],
        argument(
            metavar="-- COMMAND", values="words",
            help="Command that starts MPI ranks, one per slot: mpirun -n 64 --bind-to core.",
        ),
    ],
    machine: MachineOptions,
    output: MachineFile = "-",
    cc: Annotated[
        str | None,
        option(
            "--cc", metavar="MPICC", values="files", default="mpi4py is used",
            help="MPI compiler to build the ping-pong in C with.",
        ),
    ] = None,
    batches: Annotated[
        int,
        option(
            "--batches", metavar="N", least=5,
            help="Measurements per pair and message size; their median counts.",
        ),
    ] = 5,
    keep_distances: Annotated[
        bool, option("--keep-distances", help="Store latency and bandwidth, but no new distances.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Measure latency and bandwidth of every level of a machine by ping-pong, and store them for --on."""
    from hopbytes.cli.output import tell
    from hopbytes.discovery.store import measure_to_file

    options = {"compiler": cc, "batches": batches, "keep_distances": keep_distances}
    summary = measure_to_file(command, machine.allocation(), output, force=force, **options)
    if not quiet:
        tell(summary)
