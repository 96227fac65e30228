"""``hopbytes where``: the mapping of a real launch."""

from __future__ import annotations

from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.options import MachineOptions, OutputFile, Quiet, WritingOptions


def where(
    machine: MachineOptions,
    writing: WritingOptions,
    command: CommandWords = None,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Start a tiny probe in place of the program and write where the launcher puts every rank."""
    from hopbytes.cli.output import tell
    from hopbytes.launching.verify import placement_launched

    writing.check(output)
    mapping = placement_launched(machine.or_on("job").allocation(), command_words(command))
    receipt = writing.write(mapping, output)
    if not quiet:
        tell(*receipt.notices)
