"""Verbs that observe: ``record`` a program's communication, ``probe`` the machine of a job."""

from __future__ import annotations

from typing import Annotated, Any

import hopbytes as hb
from hopbytes.cli import options as opt
from hopbytes.cli.declare import Exit, UsageError, option
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.output import tell


def record(
    writing: opt.WritingOptions,
    command: opt.CommandWords = None,
    output: Annotated[str, option(
        "File for the pattern.", "FILE", names=("--output", "-o"), values="files",
    )] = "app.pattern",
    collectives: Annotated[str | None, option(
        "How collective calls become messages: ring, binomial, pairs or ignore.",
        "MODEL", default="what Open MPI itself sends, else ring",
    )] = None,
    skip_first: Annotated[float, option(
        "Ignore what is sent in the first seconds.", "SECONDS", least=0,
    )] = 0.0,
    phase: Annotated[Any, option(
        "Record only what follows MPI_Pcontrol(N); all keeps the pattern of each phase beside their sum.",
        "N|all", parser=opt.phase_number,
    )] = None,
    per_communicator: Annotated[bool, option("Store the bytes of each communicator as well.")] = False,
    compiler: opt.Compiler = None,
    no_hosts: Annotated[bool, option("Omit the second launch that asks for the host of every rank.")] = False,
    launcher: Annotated[str | None, option(
        "Kind of launcher behind a wrapper script: openmpi, hydra, slurm, …, other.", "KIND",
    )] = None,
    trace: Annotated[str | None, option(
        "Keep the order of all messages: a time-independent trace of SimGrid in a new folder. Without it, "
        "the first 65,536 steps of all ranks are kept in FILE.trace.gz beside the pattern; none keeps none.",
        "PATH", values="files",
    )] = None,
    trace_steps: Annotated[int, option(
        "Most sends, receives and collectives per rank of a trace; 32 bytes of memory each.",
        "N", least=1, rare=True,
    )] = 1000000,
    quiet: opt.Quiet = False,
) -> None:
    """Run a program unchanged and record its communication pattern.

    Input, output, signals and exit code are those of the program. The last line says what to do next.
    """
    from hopbytes.cli.error_line import complain
    from hopbytes.cli.option_names import for_terminal
    from hopbytes.formats.exchange import check_target
    from hopbytes.formats.files import may_write
    from hopbytes.formats.kept_trace import kept_trace_path, write_kept_trace
    from hopbytes.record.session import next_step, target_of
    from hopbytes.record.session import record as recorded

    words = opt.command_words(command)
    check_target(output, writing.format, holds="pattern", force=writing.force)
    if output != "-":
        may_write(kept_trace_path(output), writing.force)
    done = recorded(
        words, collectives=collectives, skip_first=skip_first, phase=phase, per_communicator=per_communicator,
        compiler=compiler, hosts=not no_hosts, launcher=launcher, trace=None if trace == "none" else trace,
        trace_steps=trace_steps, waiting=trace != "none" and output != "-",
    )
    if done.graph is None:
        complain(for_terminal(done.problem))
        raise Exit(done.code or 1)
    output = target_of(output, done.graph)
    receipt = hb.write(done.graph, output, writing.format, force=writing.force)
    if done.order:
        write_kept_trace(done.graph, output, done.order, force=writing.force)
    if not quiet:
        graph = done.graph
        size = f"{graph.total_volume:,} bytes in {int(graph.arc_messages().sum()):,} messages"
        tell(*graph.meta.get("notices", ()), *receipt.notices)
        tell(f"recorded: {graph.n} ranks, {graph.m} pairs, {size}: {output}")
        tell(*next_step(output, words, graph, launcher))
    raise Exit(done.code)


def probe(
    machine: MachineOptions,
    command: opt.CommandWords = None,
    measure: Annotated[bool, option(
        "Measure latency and bandwidth of every level of --on by ping-pong: COMMAND starts MPI ranks, one "
        "per slot.",
    )] = False,
    compiler: opt.Compiler = None,
    batches: Annotated[int | None, option(
        "With --measure: measurements per pair and message size; their median counts.",
        "N", least=5, default="5",
    )] = None,
    keep_distances: Annotated[bool, option(
        "With --measure: store latency and bandwidth, but no new distances.",
    )] = False,
    time_limit: Annotated[float | None, option(
        "With --measure: time for the messages of all pairs; slow networks get fewer messages and no large "
        "ones.", "TIME", parser=opt.seconds, default="2m",
    )] = None,
    output: Annotated[str, option(
        "File to write; other verbs take it as --on FILE.",
        "FILE", names=("--output", "-o"), panel="Output", default="standard output", values="files",
    )] = "-",
    force: opt.Force = False,
    quiet: opt.Quiet = False,
) -> None:
    """Ask each node of a job for its cores, allowed CPUs and GPUs, and store them in one file for --on.

    The command starts one process on every node: srun -N16 -n16. With --measure, latency and bandwidth of
    every level of the machine are measured by ping-pong instead, and stored.
    """
    words = opt.command_words(command)
    if measure:
        from hopbytes.launch.measure import TIME_LIMIT, measure_to_file

        summary = measure_to_file(
            words, machine.allocation(), output, force=force, compiler=compiler, batches=batches or 5,
            keep_distances=keep_distances, time_limit=time_limit or TIME_LIMIT,
            announce=None if quiet else tell,
        )
    else:
        from hopbytes.launch.probe import probe_to_file

        if not machine.unsaid or keep_distances or any((compiler, batches, time_limit)):
            raise UsageError("--measure is missing: options about the machine and the measurement need it")
        summary = probe_to_file(words, output, force=force)
    if not quiet:
        tell(summary)
