"""``hopbytes measure``: latency and bandwidth of every level of a machine."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Force, MachineFile, Quiet
from hopbytes.cli.declare import argument, option
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.values import seconds


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
    time_limit: Annotated[
        float | None,
        option(
            "--time-limit", metavar="TIME", parser=seconds, default="2m",
            help="Time for the messages of all pairs; slow networks get fewer messages and no large ones.",
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Measure latency and bandwidth of every level of a machine by ping-pong, and store them for --on."""
    from hopbytes.cli.output import tell
    from hopbytes.discover.measure import TIME_LIMIT, measure_to_file

    summary = measure_to_file(
        command, machine.allocation(), output, force=force, compiler=cc, batches=batches,
        keep_distances=keep_distances, time_limit=time_limit or TIME_LIMIT, tell=None if quiet else tell,
    )
    if not quiet:
        tell(summary)
