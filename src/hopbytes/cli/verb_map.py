"""``hopbytes map``: map the tasks of a pattern to a machine."""

from __future__ import annotations

from hopbytes.cli.common_options import (
    All,
    ComparedOrder,
    Json,
    OutputFile,
    PatternFile,
    ProblemOptions,
    Quiet,
    ReadingOptions,
    SpreadOptions,
    WritingOptions,
)
from hopbytes.cli.launching_options import BlockOptions, LaunchingOptions
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.method_options import MethodOptions
from hopbytes.cli.place_options import PlaceOptions
from hopbytes.cli.stream_options import StreamOptions


def map(
    pattern: PatternFile,
    machine: MachineOptions,
    problem: ProblemOptions,
    spread: SpreadOptions,
    places: PlaceOptions,
    method: MethodOptions,
    stream: StreamOptions,
    reading: ReadingOptions,
    writing: WritingOptions,
    blocks: BlockOptions,
    launching: LaunchingOptions,
    output: OutputFile = None,
    json: Json = False,
    quiet: Quiet = False,
    all: All = False,
    compare_with: ComparedOrder = None,
) -> None:
    """Map every task of PATTERN to the machine, verify the mapping and write it.

    The mapping goes to -o FILE, otherwise to standard output unless --json is given; a summary goes to
    standard error. With a limit or with preset best, Ctrl-C (or SIGTERM) ends the search and writes the
    best mapping found; a second one gives up.
    """
    from hopbytes.cli.output import advice_for, judged_for, launch_lines, print_json, tell_mapping, written
    from hopbytes.cli.watching import watched

    if stream.given(problem, spread, places, method, blocks, launching, all=all, compare_with=compare_with):
        return stream.run(pattern, machine, problem, method, reading, writing, output, json=json, quiet=quiet)
    where, writing = machine.allocation(), writing.checked(blocks.for_format, output)
    with watched(pattern, reading, method, quiet=quiet) as watch:
        graph = watch.graph
        options = problem.keywords(launches=writing.launches(output)) | method.keywords() | spread.keywords()
        options |= places.keywords(graph, where) | {"per": machine.tasks_per_unit()}
        options |= writing.constraints(options, launching.launched)
        mapping = watch.map(blocks, where, options)
    extra = {"graph": graph, "oversubscribe": spread.oversubscribe, **launching.keywords()}
    receipt = written(writing, mapping, output, extra, json=json)
    if quiet and not json:
        return  # without what only the summary needs, such as the version of the installed MPI
    from hopbytes.show.verdict import map_record
    found = None if quiet else judged_for(graph, mapping, writing.format, compare_with, chance=all)
    record = map_record(graph, mapping, watch.read_seconds, receipt, found and found.verdict)
    advice = advice_for(receipt, writing.format, record)
    if json:
        return print_json(record)
    tell_mapping(graph, mapping, found, record["notices"], launch_lines(advice))
