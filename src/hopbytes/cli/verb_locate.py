"""``hopbytes locate``: the mapping of a real launch."""

from __future__ import annotations

from hopbytes.cli.common_options import OutputFile, Quiet, WritingOptions
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.machine_options import MachineOptions


def locate(
    machine: MachineOptions,
    writing: WritingOptions,
    command: CommandWords = None,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Find out where a launcher puts every rank, and write it as a mapping.

    A small probe starts in place of the program.
    """
    from hopbytes.cli.output import tell
    from hopbytes.launch.command import LaunchCommand
    from hopbytes.launch.start import machine_of_command
    from hopbytes.launch.verify import placement_launched

    writing.check(output)
    words = command_words(command)
    where = machine.or_on(machine_of_command(LaunchCommand.parse(words))).allocation()
    mapping = placement_launched(where, words)
    receipt = writing.write(mapping, output)
    if not quiet:
        tell(*mapping.info.get("notices", ()), *receipt.notices)
