"""``hopbytes run``: map for this allocation, then launch."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import BlockOptions, LaunchingOptions
from hopbytes.cli.options import (
    MachineOptions,
    MethodOptions,
    OutputFile,
    Quiet,
    ReadingOptions,
    SpreadOptions,
    WritingOptions,
)


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
    from hopbytes.launching.passing import run_through
    from hopbytes.launching.start import checked_command, launch_files, prepare_start
    from hopbytes.launching.verify import verify_launch
    from hopbytes.report.summary import map_summary

    words = command_words(command)
    typed = checked_command(words, None, replace=replace)
    if not typed.program:
        raise typer.BadParameter("say which program to launch, for instance: -- mpirun -n 64 ./app")
    if not machine.given:
        machine = dataclasses.replace(machine, on="job")
    where, per = machine.allocation(), machine.tasks_per_unit()
    graph = reading.read(pattern)
    checked_command(words, graph.n, replace=replace)
    form = dataclasses.replace(blocks, for_format=blocks.for_format or typed.launcher.form)
    options = spread.keywords() | method.keywords() | {"per": per, "partition": False}
    mapping = form.map(graph, where, **options)
    stem = output if output is not None or not dry_run else "hopbytes-run"
    extra = {"oversubscribe": spread.oversubscribe, **launching.keywords()}
    with launch_files(stem) as files:
        prepared = prepare_start(mapping, typed, files, force=writing.force, **extra)
        if not quiet:
            tell(*where.notices, map_summary(graph.weighing(mapping.info["weight"]), mapping))
            tell(f"launch: {prepared.start.text()}")
        if dry_run:
            return
        if check:
            outcome = verify_launch(prepared.placed, typed.words(), stem=None, **extra)
            if outcome.code:
                tell(*outcome.verdict.wrong[:5], f"hopbytes: {outcome.summary()}; nothing was started")
                raise typer.Exit(outcome.code)
        code = run_through(prepared.start.words, dict(prepared.start.environment))
    raise typer.Exit(code)
