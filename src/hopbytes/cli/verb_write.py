"""``hopbytes write``: launch files from a stored mapping."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import MappingFormat, OutputFile, Quiet, WritingOptions
from hopbytes.cli.declare import argument
from hopbytes.cli.launching_options import LaunchingOptions, given_mapping
from hopbytes.cli.machine_options import MachineOptions


def write(
    mapping: Annotated[
        str,
        argument(
            metavar="MAPPING", values="files",
            help="Stored by 'map -o FILE.json'; with --on, a file of any mapping format.",
        ),
    ],
    machine: MachineOptions,
    writing: WritingOptions,
    launching: LaunchingOptions,
    mapping_format: MappingFormat = None,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Write launch files from a stored mapping: map once, launch often."""
    from hopbytes.cli.output import advice_for, launch_lines, tell
    from hopbytes.text.hostlist import read_hosts

    writing.check(output)
    where = machine.allocation() if machine.given else None
    form = mapping_format or ("json" if where is None else None)
    stored = given_mapping(mapping, form, where)
    hosts = None if machine.hosts is None or where is not None else read_hosts(machine.hosts)
    receipt = writing.write(stored, output, hosts=hosts, **launching.keywords())
    if not quiet:
        advice = advice_for(receipt, writing.format)
        tell(*receipt.notices, *(advice.notices if advice else ()), *launch_lines(advice))
