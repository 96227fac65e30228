"""``hopbytes record``: run a program and keep who sends what to whom."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Quiet, WritingOptions
from hopbytes.cli.launch_words import CommandWords, command_words


def record(
    writing: WritingOptions,
    command: CommandWords = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the pattern goes.")
    ] = "app.pattern",
    collectives: Annotated[
        str | None,
        typer.Option(
            "--collectives", metavar="MODEL",
            help="Expand collective calls: ring, binomial, pairs, ignore (Open MPI's own, else ring).",
        ),
    ] = None,
    skip_first: Annotated[
        float, typer.Option("--skip-first", metavar="SECONDS", min=0, help="Do not count the beginning.")
    ] = 0.0,
    phase: Annotated[
        int | None, typer.Option("--phase", metavar="N", min=2, help="Only what follows MPI_Pcontrol(N).")
    ] = None,
    per_communicator: Annotated[
        bool, typer.Option("--per-communicator", help="Keep bytes per communicator as well.")
    ] = False,
    compiler: Annotated[
        str | None,
        typer.Option("--cc", metavar="MPICC", help="Count by an interposer built with this compiler."),
    ] = None,
    no_hosts: Annotated[
        bool, typer.Option("--no-hosts", help="Do not ask for the host of every rank by one more launch.")
    ] = False,
    launcher: Annotated[
        str | None,
        typer.Option(
            "--launcher", metavar="KIND",
            help="Kind of launcher that a wrapper stands for: openmpi, hydra, slurm, …, other.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run a program unchanged and write its communication pattern.

    Input, output, signals and exit code are the program's own. The last line says what to do next.
    """
    import hopbytes as hb
    from hopbytes.cli.app import complain
    from hopbytes.cli.output import tell
    from hopbytes.formats.exchange import check_target
    from hopbytes.record.next_step import next_step, target_of
    from hopbytes.record.session import record as recorded

    words = command_words(command)
    check_target(output, writing.format, holds="pattern", force=writing.force)
    done = recorded(
        words, collectives=collectives, skip_first=skip_first, phase=phase, per_communicator=per_communicator,
        compiler=compiler, hosts=not no_hosts, launcher=launcher,
    )
    if done.graph is None:
        complain(done.problem)
        raise typer.Exit(done.code or 1)
    output = target_of(output, done.graph)
    receipt = hb.write(done.graph, output, writing.format, force=writing.force)
    if not quiet:
        graph = done.graph
        messages = int(graph.arc_messages().sum())
        tell(*graph.meta.get("notices", ()), *receipt.notices)
        size = f"{graph.total_volume:,} bytes in {messages:,} messages"
        tell(f"recorded: {graph.n} ranks, {graph.m} pairs, {size}: {output}")
        tell(*next_step(output, words, graph, launcher))
    raise typer.Exit(done.code)
