"""``hopbytes run``: map to the nodes of this job, then launch."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import (
    OutputFile,
    Quiet,
    ReadingOptions,
    SpreadOptions,
    WritingOptions,
)
from hopbytes.cli.declare import Exit, UsageError, option
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import BlockOptions, LaunchingOptions
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.method_options import MethodOptions


def run(
    pattern: Annotated[
        str,
        option(
            "--pattern", metavar="FILE", values="patterns",
            help="Communication pattern, recorded from this program.",
        ),
    ],
    machine: MachineOptions,
    spread: SpreadOptions,
    blocks: BlockOptions,
    method: MethodOptions,
    reading: ReadingOptions,
    writing: WritingOptions,
    launching: LaunchingOptions,
    command: CommandWords = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Write the files and print the command, but start nothing.")
    ] = False,
    replace: Annotated[
        bool,
        option("--replace", help="Remove conflicting placement options from the command."),
    ] = False,
    programs: Annotated[
        bool,
        option(
            "--programs", help="Start the programs that the pattern's file names, if the command names none."
        ),
    ] = False,
    check: Annotated[
        bool,
        option(
            "--check", help="Start a probe first, and the program only if every rank is where it belongs."
        ),
    ] = False,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Map a program, or several, for the machine it runs on, write the launch files and start it.

    Input, output, signals and exit code are those of the program. Launch files are removed afterwards
    unless -o names them.
    """
    from hopbytes.cli.output import judged_for, tell, tell_mapping
    from hopbytes.launch.launch import launch
    from hopbytes.launch.start import checked_command, machine_of_command, parsed, with_programs_of

    words = command_words(command)
    typed = checked_command(words, None, replace=replace, several=True)
    graph = reading.read(pattern)
    typed = with_programs_of(typed, graph, programs=programs)
    if not typed.program:
        raise UsageError("the program to launch is missing, for instance: -- mpirun -n 64 ./app")
    where = machine.or_on(machine_of_command(parsed(words))).allocation(spread)
    typed.check_count(graph.n)
    blocks = blocks.made_for(typed.launcher.form)
    mapping = blocks.map(graph, where, partition=False, **method.keywords())
    if not quiet:
        found = judged_for(graph, mapping, typed.launcher.form)
        tell_mapping(graph, mapping, found, [*where.notices, *mapping.info["notices"]])
    extra = {"oversubscribe": spread.oversubscribe, **launching.keywords()}
    say = (lambda *sentences: None) if quiet else tell
    code = launch(
        mapping, typed, output, dry_run=dry_run, check=check, force=writing.force, say=say, **extra
    )
    raise Exit(code)
