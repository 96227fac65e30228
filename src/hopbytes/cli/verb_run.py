"""``hopbytes run``: map for this allocation, then launch."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import (
    MethodOptions,
    OutputFile,
    Quiet,
    ReadingOptions,
    SpreadOptions,
    WritingOptions,
)
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import BlockOptions, LaunchingOptions
from hopbytes.cli.machine_options import MachineOptions


def run(
    pattern: Annotated[
        str, typer.Option("--pattern", metavar="FILE", help="Who talks to whom: recorded from this program.")
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
        bool, typer.Option("--dry-run", help="Print the command and keep the files, start nothing.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take options away that also say where ranks go.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Start a probe first; the program only if every rank is right.")
    ] = False,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Map the program for the machine it runs on, write the launch files, and launch it.

    Input, output, signals and exit code are the program's own. Launch files are removed afterwards
    unless -o names them.
    """
    from hopbytes.cli.output import tell
    from hopbytes.launching.command import LaunchCommand
    from hopbytes.launching.launch import launch
    from hopbytes.launching.start import checked_command, machine_said
    from hopbytes.launching.usual import usual_order
    from hopbytes.report.summary import map_summary

    words = command_words(command)
    typed = checked_command(words, None, replace=replace)
    if not typed.program:
        raise typer.BadParameter("say which program to launch, for instance: -- mpirun -n 64 ./app")
    where = machine.or_on(machine_said(LaunchCommand.parse(words))).allocation()
    graph = reading.read(pattern)
    typed.check_count(graph.n)
    options = spread.keywords() | method.keywords() | {"per": machine.tasks_per_unit(), "partition": False}
    mapping = blocks.made_for(typed.launcher.form).map(graph, where, **options)
    if not quiet:
        summary = map_summary(graph, mapping, launcher=usual_order(typed.launcher.form, where))
        tell(*where.notices, *mapping.info["notices"], *summary)
    extra = {"oversubscribe": spread.oversubscribe, **launching.keywords()}
    say = (lambda *sentences: None) if quiet else tell
    code = launch(
        mapping, typed, output, dry_run=dry_run, check=check, force=writing.force, say=say, **extra
    )
    raise typer.Exit(code)
