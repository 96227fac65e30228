"""Verbs about launches: ``run``, ``verify``, ``write`` and ``bench-pattern``."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import hopbytes as hb
from hopbytes.cli import options as opt
from hopbytes.cli.declare import Exit, UsageError, argument, option
from hopbytes.cli.machine_options import Hosts, MachineOptions, On, Oversubscribe, SpreadOptions
from hopbytes.cli.method_options import EffortOptions, MethodOptions, Preset
from hopbytes.cli.output import judged_for, print_answer, print_text, tell, tell_mapping

if TYPE_CHECKING:
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping


#: Ranks that are named which are not where they belong.
MOST_WRONG = 20


def run(
    machine: MachineOptions,
    spread: SpreadOptions,
    blocks: opt.BlockOptions,
    method: MethodOptions,
    reading: opt.TracedReadingOptions,
    writing: opt.WritingOptions,
    launching: opt.LaunchingOptions,
    pattern: Annotated[str | None, option(
        "Communication pattern, recorded from this program. With --inside it may be a stored mapping, or be "
        "left out.", "FILE", values="patterns",
    )] = None,
    command: opt.CommandWords = None,
    inside: Annotated[bool, option(
        "Leave the processes where the launcher puts them, and give them other ranks in the program: in "
        "MPI_COMM_WORLD, and in topologies with reorder = 1. For any launcher.",
    )] = False,
    compiler: opt.Compiler = None,
    dry_run: Annotated[bool, option("Write the files and print the command, but start nothing.")] = False,
    replace: Annotated[bool, option("Remove conflicting options from the command.")] = False,
    programs: Annotated[bool, option(
        "Start the programs that the pattern's file names, if the command names none.",
    )] = False,
    check: Annotated[bool, option(
        "Start a probe first, and the program only if every rank is where it belongs.",
    )] = False,
    output: opt.OutputFile = None,
    quiet: opt.Quiet = False,
) -> None:
    """Map a program, or several, for the machine it runs on, write the launch files and start it.

    Input, output, signals and exit code are those of the program. Launch files are removed afterwards
    unless -o names them.
    """
    from hopbytes.launch.launch import launch
    from hopbytes.launch.start import checked_command, machine_of_command, parsed, with_programs_of

    words = opt.command_words(command)
    if inside:
        fixed = blocks, writing, launching, replace, programs, check
        if fixed != (opt.BlockOptions(), opt.WritingOptions(), opt.LaunchingOptions(), False, False, False):
            raise UsageError("--inside changes no option of the launcher: use it without those that do")
        return _inside(words, pattern, machine, spread, method, reading, output, compiler, dry_run, quiet)
    if pattern is None:
        raise UsageError("--pattern is missing: give --pattern FILE")
    typed = checked_command(words, None, replace=replace, several=True)
    graph = reading.read(pattern)
    typed = with_programs_of(typed, graph, programs=programs)
    if not typed.program:
        raise UsageError("the program to launch is missing, for instance: -- mpirun -n 64 ./app")
    where = machine.or_on(machine_of_command(parsed(words))).allocation(spread)
    typed.check_count(graph.n)
    mapping = _mapped(graph, where, method, typed.launcher.form, blocks, quiet=quiet)
    extra: Any = {"oversubscribe": spread.oversubscribe, **launching.keywords()}
    say = (lambda *sentences: None) if quiet else tell
    extra |= {"dry_run": dry_run, "check": check, "force": writing.force, "say": say}
    raise Exit(launch(mapping, typed, output, **extra))


def _inside(
    words: list[str], pattern: str | None, machine: MachineOptions, spread: SpreadOptions,
    method: MethodOptions, reading: opt.ReadingOptions, output: str | None, compiler: str | None,
    dry_run: bool, quiet: bool,
) -> None:
    """Start a program whose rank 0 calls this command again for the order of ranks, or answer that call."""
    from hopbytes.launch.command import LaunchCommand
    from hopbytes.mpi.inside.start import ANSWER, start_inside

    if pattern == "-":
        raise UsageError("--inside reads the pattern when the program runs, expected a file")
    if ANSWER in os.environ:
        return _answer(pattern, machine, spread, method, reading, quiet=quiet)
    if pattern is not None:  # errors in it are found before the program starts
        content: Any = hb.read(pattern, reading.input_format, max_bytes=opt.max_bytes())
        LaunchCommand.parse(words, several=True).check_count(content.n)
    options = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    options += ["--", "true"]
    code, line = start_inside(words, options, output, compiler=compiler, dry_run=dry_run)
    if dry_run:
        tell(f"launch: {line}")
    raise Exit(code)


def _answer(
    pattern: str | None, machine: MachineOptions, spread: SpreadOptions, method: MethodOptions,
    reading: opt.ReadingOptions, *, quiet: bool,
) -> None:
    """Read a question from standard input and print the new rank of every process, or an error."""
    from hopbytes.cli.error_line import sentence
    from hopbytes.errors import HopbytesError
    from hopbytes.mpi.inside.answer import Question, new_order
    from hopbytes.mpi.inside.start import ANSWER

    method = dataclasses.replace(method, threads=method.threads or 1)  # the other ranks use their cores
    try:
        question = Question.read(sys.stdin.read())
        content: Any = None
        if pattern is not None and question.topology is None:
            content = hb.read(pattern, reading.input_format, max_bytes=opt.max_bytes())
        found = new_order(
            question, content, machine.allocation(spread) if machine.given else None,
            lambda graph, where, constraints: hb.map_tasks(
                graph, where, **method.keywords(), constraints=constraints, partition=False
            ),
            keep_first=os.environ[ANSWER] == "first",
        )
    except HopbytesError as error:
        return print_text(f"error {sentence(error)}")
    if not quiet and found.before:
        asked = "MPI_COMM_WORLD" if question.topology is None else "a topology"
        tell(f"order of ranks in {asked}: J {found.before:,} as launched, {found.after:,} now")
    print_text("\n".join(map(str, found.ranks.tolist())))


def verify(
    machine: MachineOptions,
    writing: opt.WritingOptions,
    launching: opt.LaunchingOptions,
    mapping: Annotated[str | None, argument(
        "Stored by 'map -o FILE.json'; with --on, a file of any mapping format. Without it, the mapping that "
        "the launch makes is written.", "[MAPPING]", values="files",
    )] = None,
    command: opt.CommandWords = None,
    as_typed: Annotated[bool, option("Run the command as it is, with its own launch files.")] = False,
    mapping_format: opt.MappingFormat = None,
    output: opt.OutputFile = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check that a launch puts every rank where the mapping puts it.

    A small probe starts in place of the program and reports host, CPUs and GPUs of every rank. Launch
    files are written for MAPPING and put into the command, which need not name a program. The exit code
    is 0 if every rank is where it belongs, 1 if not, else that of the launcher.

    Without MAPPING, the command runs as it is, and the mapping that it makes is written.
    """
    from hopbytes.launch.launch import verify_launch

    words = opt.command_words(command)
    if mapping is None:
        if json or mapping_format is not None:
            raise UsageError("the mapping is missing: --json and --mapping-format are about a MAPPING")
        return _locate(words, machine, writing, output, quiet=quiet)
    where = machine.allocation() if machine.given else None
    form = mapping_format or writing.format or ("json" if where is None else None)
    stored, hosts = opt.given_mapping(mapping, form, where), machine.named_hosts(where)
    options = {"as_typed": as_typed, "hosts": hosts, "force": writing.force, **launching.keywords()}
    outcome = verify_launch(stored, words, stem=output, **options)
    wrong = list(outcome.verdict.wrong)
    if len(wrong) > MOST_WRONG:
        wrong = [*wrong[:MOST_WRONG], f"… and {len(wrong) - MOST_WRONG} more"]
    if json or wrong:
        print_answer(outcome.to_dict(), "\n".join(wrong), json=json)
    if not (json or quiet):
        tell(outcome.summary())
    if outcome.code:
        raise Exit(outcome.code)


def _locate(
    words: list[str], machine: MachineOptions, writing: opt.WritingOptions, output: str | None, *, quiet: bool
) -> None:
    from hopbytes.launch.command import LaunchCommand
    from hopbytes.launch.launch import mapping_launched
    from hopbytes.launch.start import machine_of_command

    writing.check(output)
    where = machine.or_on(machine_of_command(LaunchCommand.parse(words))).allocation()
    mapping = mapping_launched(where, words)
    receipt = writing.write(mapping, output)
    if not quiet:
        tell(*mapping.info.get("notices", ()), *receipt.notices)


def write(
    source: Annotated[str, argument(
        "A mapping, stored by 'map -o FILE.json' (with --on: of any mapping format), or a pattern; - is "
        "standard input.", "FILE", values="patterns",
    )],
    machine: MachineOptions,
    reading: opt.ReadingOptions,
    writing: opt.WritingOptions,
    launching: opt.LaunchingOptions,
    mapping_format: opt.MappingFormat = None,
    symmetrize: Annotated[bool, option(
        "Give both directions of a pair the same volume, as METIS files of patterns need.", panel="Output",
    )] = False,
    blocks: Annotated[str | None, option(
        "Write the graph of the blocks of a partition of the pattern: what they send to each other. FILE has "
        "the block of each task in its line, or a mapping (with --on: of any format).",
        "FILE", panel="Output", values="files",
    )] = None,
    output: opt.OutputFile = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write launch files from a stored mapping (map once, launch often), or a pattern in another format."""
    from hopbytes.cli.output import advice_for, launch_lines
    from hopbytes.formats.recognition import format_named
    from hopbytes.model.mapping import Mapping

    holds = "pattern" if blocks else "mapping" if machine.given or mapping_format else None
    if holds is None:
        named = None if writing.format is None else format_named(writing.format).holds
        holds = "pattern" if symmetrize or reading.input_format else named
    if holds == "mapping":
        writing.check(output)
        where = machine.allocation() if machine.given else None
        form = mapping_format or ("json" if where is None else None)
        content = opt.given_mapping(source, form, where)
    else:
        where, content = None, hb.read(source, reading.input_format, holds=holds, max_bytes=opt.max_bytes())
    if isinstance(content, hb.CommGraph):
        options: Any = {"force": writing.force, "symmetrize": symmetrize}
        graph = _of_blocks(content, blocks, mapping_format, machine)
        receipt = hb.write(graph, "-" if output is None else output, writing.format, **options)
    elif isinstance(content, Mapping):
        receipt = writing.write(content, output, hosts=machine.named_hosts(where), **launching.keywords())
    else:
        raise opt.unknown_machine(source)
    if not quiet:
        advice = advice_for(receipt, writing.format)
        tell(*receipt.notices, *(advice.notices if advice else ()), *launch_lines(advice))


def _of_blocks(graph: CommGraph, path: str | None, form: str | None, machine: MachineOptions) -> CommGraph:
    """Return the graph of the blocks of the partition in a file, if there is one."""
    if path is None:
        return graph
    from hopbytes.errors import FormatError
    from hopbytes.model.mapping import Mapping

    where = machine.allocation() if machine.given else None
    partition = hb.read(path, form, holds="mapping", n=graph.n, where=where)
    try:
        if isinstance(partition, Mapping):
            return graph.quotient(partition.pe, partition.where.k)
        return graph.quotient(partition)
    except FormatError as error:
        raise FormatError(path, None, error.what) from None


def env(
    source: Annotated[str, argument(
        "A pattern, which is mapped, or a mapping stored by 'map -o FILE.json'.", "PATTERN|MAPPING",
        values="patterns",
    )],
    writing: opt.WritingOptions,
    on: On = None,
    hosts: Hosts = None,
    oversubscribe: Oversubscribe = False,
    preset: Preset = None,
    allowed: opt.Allowed = None,
    no_file: Annotated[bool, option(
        "Write no file: the cheapest order that the launcher can be told in words.", panel="Output",
    )] = False,
    output: opt.OutputFile = None,
    quiet: opt.Quiet = False,
) -> None:
    """Print environment variables that make a launcher follow a mapping: eval "$(hopbytes env …)".

    They are for launchers inside scripts and tests; --format names one of openmpi, slurm, cray, hydra and
    intel. The file that they name is -o, or hopbytes.FORMAT in this folder. 'hopbytes map' has all options
    of a mapping, and stores it.
    """
    from hopbytes.formats.mappings.launchers import SLURM_JOB
    from hopbytes.launch.variables import in_words, mapping_variables, table_of
    from hopbytes.model.mapping import Mapping

    form = writing.format or ("slurm" if SLURM_JOB in os.environ else "openmpi")
    table_of(form)  # refuses other launchers before any work
    writing, path = dataclasses.replace(writing, format=form), output or f"hopbytes.{form}"
    content = hb.read(source, max_bytes=opt.max_bytes())
    machine, spread = MachineOptions(on=on, hosts=hosts), SpreadOptions(oversubscribe=oversubscribe)
    if (stored := isinstance(content, Mapping)) and no_file:
        raise UsageError("--no-file looks for an order for a PATTERN, expected no MAPPING")
    if no_file:
        found = in_words(content, machine.allocation(spread), form)
    else:
        writing.check(path)
        mapping = content
        if not stored:
            where = writing.restricted(machine.allocation(spread))
            mapping = _mapped(content, where, EffortOptions(preset), form, opt.BlockOptions(), quiet=quiet)
        extra: Any = {"oversubscribe": oversubscribe, "allowed": allowed, "force": writing.force}
        extra |= {"hosts": machine.named_hosts(None)} if stored else {"graph": content}
        found = mapping_variables(mapping, form, path, **extra)
    print_text(found.script())
    if not quiet:
        tell(*found.notices)


def _mapped(
    graph: CommGraph, where: Allocation, effort: EffortOptions, form: str | None,
    blocks: opt.BlockOptions, *, quiet: bool,
) -> Mapping:
    """Map a pattern as the launcher of a format can express it, and tell what is gained."""
    from hopbytes.formats.mappings.launchers import usual_order

    if blocks.for_format is None:
        blocks = dataclasses.replace(blocks, for_format=form)
    order = usual_order(form, where) if effort.leaves_choice() else None
    mapping = blocks.choose(graph, where, order, **effort.keywords(), partition=False)
    if not quiet:
        notices = [*where.notices, *mapping.info["notices"]]
        tell_mapping(graph, mapping, judged_for(graph, mapping, form), notices)
    return mapping


def bench_pattern(
    pattern: opt.PatternFile,
    mapping: Annotated[str, argument(
        "Stored mapping (.json, see 'hopbytes write'), or - for the order of the launcher alone.",
        "MAPPING", values="files",
    )],
    reading: opt.ReadingOptions,
    launching: opt.LaunchingOptions,
    command: opt.CommandWords = None,
    rounds: Annotated[int, option("Number of measured rounds.", "N", least=1)] = 20,
    most: Annotated[int, option(
        "Maximum number of bytes that a rank sends in a round; larger patterns are scaled down.",
        "N", names=("--round-bytes",), least=1,
    )] = 64 * 2 ** 20,
    compiler: opt.Compiler = None,
    json: opt.Json = False,
) -> None:
    """Benchmark the communication pattern alone under real MPI.

    The ranks send the messages of PATTERN in rounds, without any computation: with the mapping, then in the
    launcher's own order. Both times and their ratio are printed. A small C program does it, which the MPI
    compiler builds; without a compiler, mpi4py and hopbytes have to be installed on the compute nodes.
    """
    from hopbytes.launch.replay import BothReplayed, Replayed, replay, replay_both

    words = opt.command_words(command)
    graph = reading.read(pattern)
    options = {"rounds": rounds, "most": most, "compiler": compiler, **launching.keywords()}
    measured: Replayed | BothReplayed
    if mapping == "-":
        measured = replay(graph, None, words, **options)
    else:
        measured = replay_both(graph, opt.given_mapping(mapping, "json", None, graph), words, **options)
    print_answer(measured.to_dict(), measured.summary(), json=json)
