"""``hopbytes write``: launch files from a stored mapping."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import OutputFile, Quiet, WritingOptions
from hopbytes.cli.launching_options import LaunchingOptions, given_mapping
from hopbytes.cli.machine_options import MachineOptions


def write(
    mapping: Annotated[
        str,
        typer.Argument(
            metavar="MAPPING", help="Stored by 'map -o FILE.json'; with --on any readable placement."
        ),
    ],
    machine: MachineOptions,
    writing: WritingOptions,
    launching: LaunchingOptions,
    mapping_format: Annotated[
        str | None,
        typer.Option(
            "--mapping-format", metavar="FORMAT", help="Of MAPPING, when its name and content do not tell."
        ),
    ] = None,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Write the files a launcher needs from a stored mapping: map once, launch often."""
    from hopbytes.cli.output import advice_for, launch_lines, tell
    from hopbytes.textio.hostlist import read_hosts

    writing.check(output)
    where = machine.allocation() if machine.given else None
    form = mapping_format or ("json" if where is None else None)
    stored = given_mapping(mapping, form, where)
    hosts = None if machine.hosts is None or where is not None else read_hosts(machine.hosts)
    receipt = writing.write(stored, output, hosts=hosts, **launching.keywords())
    if not quiet:
        advice = advice_for(receipt, writing.format)
        tell(*receipt.notices, *(advice.notices if advice else ()), *launch_lines(advice))
