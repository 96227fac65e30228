"""``hopbytes probe``: the hardware of the nodes of the running job."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Force, MachineFile, Quiet
from hopbytes.cli.declare import argument


def probe(
    command: Annotated[
        list[str],
        argument(
            metavar="-- COMMAND", values="words",
            help="Command that starts one process on every node: srun -N16 -n16.",
        ),
    ],
    output: MachineFile = "-",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Ask each node of a job for its cores, allowed CPUs and GPUs, and store them in one file for --on."""
    from hopbytes.cli.output import tell
    from hopbytes.discover.probe import probe_to_file

    summary = probe_to_file(command, output, force=force)
    if not quiet:
        tell(summary)
