"""``hopbytes map``: map the tasks of a pattern to a machine."""

from __future__ import annotations

from hopbytes.cli import options as opt
from hopbytes.cli.large_graphs import LargeGraphOptions
from hopbytes.cli.machine_options import AnyMachineOptions, SpreadOptions
from hopbytes.cli.method_options import MethodOptions, ProblemOptions


def map(
    pattern: opt.PatternFiles,
    machine: AnyMachineOptions,
    problem: ProblemOptions,
    phases: opt.PhaseOptions,
    spread: SpreadOptions,
    method: MethodOptions,
    large: LargeGraphOptions,
    reading: opt.TracedReadingOptions,
    writing: opt.WritingOptions,
    blocks: opt.BlockOptions,
    launching: opt.LaunchingOptions,
    output: opt.OutputFile = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    all: opt.All = False,
    compare_with: opt.ComparedOrder = None,
) -> None:
    """Map every task of PATTERN to the machine, verify the mapping and write it.

    The mapping goes to -o FILE, otherwise to standard output unless --json is given; a summary goes to
    standard error. With a limit or with preset best, Ctrl-C (or SIGTERM) ends the search and writes the
    best mapping found; a second one gives up.
    """
    from hopbytes.cli.output import advice_for, judged_for, launch_lines, print_json, tell_mapping, written
    from hopbytes.cli.watching import watched
    from hopbytes.formats.mappings.launchers import usual_order

    groups = (problem, spread, method, reading, writing, blocks, launching, phases)
    if large.wanted(*groups, all=all, compare_with=compare_with):
        return large.map(pattern, machine, problem, method, reading, writing, output, json=json, quiet=quiet)
    phases.check(pattern)
    writing = writing.checked(blocks.for_format, output)
    where = writing.restricted(machine.allocation(spread), launching.launched)
    with watched(pattern, reading, method, phases, quiet=quiet) as watch:
        graph, launches = watch.graph, writing.launches(output)
        order = None
        if method.leaves_choice() and not problem.constrained:
            order = compare_with or usual_order(writing.format, where)
        mapping = watch.map(blocks, where, problem.keywords(graph, where, launches=launches), order)
    extra = {"graph": graph, "oversubscribe": spread.oversubscribe, **launching.keywords()}
    receipt, form = written(writing, mapping, output, extra, json=json), writing.format
    if quiet and not json:
        return None  # without what only the summary needs, such as the version of the installed MPI
    from hopbytes.solve.map_record import map_record

    judged = None if quiet else judged_for(graph, mapping, form, compare_with, chance=all)
    facts = judged and judged.verdict.to_dict()
    record = map_record(graph, mapping, watch.read_seconds, receipt, facts, form)
    advice = advice_for(receipt, form, record)
    if json:
        return print_json(record)
    return tell_mapping(graph, mapping, judged, record["notices"], launch_lines(advice))
