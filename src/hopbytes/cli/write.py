"""``hopbytes write``: launch files from a stored mapping."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.options import Hosts, Launched, OutputFile, Quiet, WritingOptions


def write(
    mapping: Annotated[
        str, typer.Argument(metavar="MAPPING", help="A mapping stored by 'map -o FILE.json'.")
    ],
    writing: WritingOptions,
    output: OutputFile = None,
    hosts: Hosts = None,
    launched: Launched = None,
    quiet: Quiet = False,
) -> None:
    """Write the files a launcher needs from a stored mapping: map once, launch often."""
    import hopbytes as hb
    from hopbytes.cli.output import tell, tell_launch
    from hopbytes.hostlist import read_hosts

    writing.check(output)
    stored = hb.read(mapping, "json", holds="placement")
    receipt = writing.write(
        stored, output, hosts=None if hosts is None else read_hosts(hosts), launched=launched
    )
    if not quiet:
        tell(*receipt.notices)
        tell_launch(receipt.launch)
