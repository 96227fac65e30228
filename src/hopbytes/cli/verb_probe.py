"""``hopbytes probe``: what the nodes of the running job are."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Quiet


def probe(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND", help="Starts one process on every node: srun -N16 --ntasks-per-node=1."
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write; --on takes the file.")
    ] = "-",
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that hopbytes did not write.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Ask each node of a job for its tree, the CPUs that may be used, and its GPUs: one file for --on."""
    from hopbytes.cli.output import tell
    from hopbytes.discovery.probe import probe_to_file

    said = probe_to_file(command, output, force=force)
    if not quiet:
        tell(said)
