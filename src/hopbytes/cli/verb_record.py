"""``hopbytes record``: run a program and record its communication pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hopbytes.cli.common_options import Quiet, WritingOptions
from hopbytes.cli.declare import Exit, option
from hopbytes.cli.launch_words import CommandWords, command_words

if TYPE_CHECKING:
    from hopbytes.model.comm_graph import CommGraph


def record(
    writing: WritingOptions,
    command: CommandWords = None,
    output: Annotated[
        str, option("--output", "-o", metavar="FILE", help="File for the pattern.", values="files")
    ] = "app.pattern",
    collectives: Annotated[
        str | None,
        option(
            "--collectives", metavar="MODEL",
            help="How collective calls become messages: ring, binomial, pairs or ignore.",
            default="what Open MPI itself sends, else ring",
        ),
    ] = None,
    skip_first: Annotated[
        float,
        option("--skip-first", metavar="SECONDS", least=0, help="Ignore what is sent in the first seconds."),
    ] = 0.0,
    phase: Annotated[
        int | None,
        option("--phase", metavar="N", least=2, help="Record only what follows MPI_Pcontrol(N)."),
    ] = None,
    per_communicator: Annotated[
        bool, option("--per-communicator", help="Store the bytes of each communicator as well.")
    ] = False,
    compiler: Annotated[
        str | None,
        option(
            "--cc", metavar="MPICC", values="files",
            help="MPI compiler to build the counting library with.",
        ),
    ] = None,
    no_hosts: Annotated[
        bool, option("--no-hosts", help="Omit the second launch that asks for the host of every rank.")
    ] = False,
    launcher: Annotated[
        str | None,
        option(
            "--launcher", metavar="KIND",
            help="Kind of launcher behind a wrapper script: openmpi, hydra, slurm, …, other.",
        ),
    ] = None,
    trace: Annotated[
        str | None,
        option(
            "--trace", metavar="FOLDER", values="files",
            help="Keep the order of messages, too: a time-independent trace of SimGrid in a new FOLDER.",
        ),
    ] = None,
    trace_steps: Annotated[
        int,
        option(
            "--trace-steps", metavar="N", least=1, rare=True,
            help="Most sends, receives and collectives per rank of a trace; 32 bytes of memory each.",
        ),
    ] = 1_000_000,
    quiet: Quiet = False,
) -> None:
    """Run a program unchanged and record its communication pattern.

    Input, output, signals and exit code are those of the program. The last line says what to do next.
    """
    import hopbytes as hb
    from hopbytes.cli.app import complain
    from hopbytes.cli.option_names import for_terminal
    from hopbytes.cli.output import tell
    from hopbytes.formats.exchange import check_target
    from hopbytes.record.session import next_step, target_of
    from hopbytes.record.session import record as recorded

    words = command_words(command)
    check_target(output, writing.format, holds="pattern", force=writing.force)
    done = recorded(
        words, collectives=collectives, skip_first=skip_first, phase=phase, per_communicator=per_communicator,
        compiler=compiler, hosts=not no_hosts, launcher=launcher, trace=trace, trace_steps=trace_steps,
    )
    if done.graph is None:
        complain(for_terminal(done.problem))
        raise Exit(done.code or 1)
    output = target_of(output, done.graph)
    receipt = hb.write(done.graph, output, writing.format, force=writing.force)
    if not quiet:
        tell(*done.graph.meta.get("notices", ()), *receipt.notices)
        tell(_size_line(done.graph, output))
        tell(*next_step(output, words, done.graph, launcher))
    raise Exit(done.code)


def _size_line(graph: CommGraph, output: str) -> str:
    messages = int(graph.arc_messages().sum())
    size = f"{graph.total_volume:,} bytes in {messages:,} messages"
    return f"recorded: {graph.n} ranks, {graph.m} pairs, {size}: {output}"
