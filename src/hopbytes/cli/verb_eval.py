"""Verbs that judge mappings: ``eval``, ``report``, ``simulate`` and ``advise``."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import hopbytes as hb
from hopbytes._frozen import frozen
from hopbytes.cli import options as opt
from hopbytes.cli.declare import UsageError, option
from hopbytes.cli.machine_options import AnyMachineOptions, MachineOptions, On, SpreadOptions
from hopbytes.cli.method_options import EffortOptions, Preset
from hopbytes.cli.output import draw_evaluation, print_answer, print_evaluation, tell

if TYPE_CHECKING:
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping

def eval(
    pattern: opt.PatternFile,
    machine: AnyMachineOptions,
    reading: opt.TracedReadingOptions,
    spread: SpreadOptions,
    mappings: opt.Mappings = None,
    order: Annotated[str | None, option(
        f"Evaluate a launcher's own order instead of a MAPPING: {opt.ORDER_HELP}.", "ORDER", values="orders",
    )] = None,
    distributed: Annotated[bool, option(
        "Evaluate a partition on the processes of an MPI job: mpirun -n P hopbytes eval --distributed … "
        "PATTERN and MAPPING are files as 'map --distributed' reads and writes them.", rare=True,
    )] = False,
    compare_with: opt.ComparedOrder = None,
    mapping_format: opt.MappingFormat = None,
    json: opt.Json = False,
    all: opt.All = False,
    output: opt.Picture = None,
    force: opt.Force = False,
) -> None:
    """Evaluate a mapping of PATTERN beside the launcher's own order: a verdict and a table.

    Of several mappings, each is set beside the first one, and the tasks on different slots are counted.
    """
    from hopbytes.formats.mappings.launchers import usual_order
    from hopbytes.machines.allocate.launcher_order import launcher_placement
    from hopbytes.show.verdict import RANDOM_SEEDS

    if bool(mappings) == (order is not None):
        raise UsageError("expected MAPPING or --order ORDER (--compare-with ORDER names the other order)")
    several: dict[str, Any] = {"-o": output, "--all": all, "--compare-with": compare_with}
    if distributed:
        from hopbytes.cli.over_ranks import eval_distributed

        _refuse({**several, "--order": order, "several mappings": (mappings or [])[1:]}, "--distributed")
        return eval_distributed(pattern, str(mappings and mappings[0]), machine, json=json)
    _refuse(several if len(mappings or ()) > 1 else {}, "several mappings")
    if output is not None:
        from hopbytes.show.back_ends import check_picture

        check_picture(output, force=force)
    # A stored mapping contains its machine.
    where = None if mappings and machine.unsaid else machine.allocation(spread)
    graph = reading.read(pattern)
    read = [opt.given_mapping(path, mapping_format, where, graph) for path in mappings or ()]
    if len(read) > 1:
        return _side_by_side(graph, read, mappings or [], json=json)
    tell(*(where.notices if where is not None else ()))
    mapping = read[0] if where is None or read else launcher_placement(where, graph.n, str(order), where.use)
    launcher = compare_with or usual_order(mapping_format, mapping.where)
    seeds = RANDOM_SEEDS * (all or json)
    evaluation = hb.evaluate(graph, mapping, random_seeds=seeds, launcher=launcher)
    print_evaluation(graph, mapping, evaluation, complete=all, json=json)
    return draw_evaluation(graph, mapping, output, launcher=launcher, force=force)


def _refuse(given: dict[str, Any], reason: str) -> None:
    """Raise a usage error for options that have no meaning."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{reason} and {name} exclude each other")


def _side_by_side(graph: CommGraph, mappings: list[Mapping], names: list[str], *, json: bool) -> None:
    """Print the metrics of each mapping beside those of the first one: a table, or a line of JSON."""
    from hopbytes.show.evaluation_text import compare

    first, *others = mappings
    for number, other in enumerate(others, 1):
        comparison = dataclasses.replace(compare(graph, first, other), slot=first.where.slot_word)
        text = "\n" * (number > 1) + comparison.text(names[0], names[number])
        print_answer(comparison.to_dict(), text, json=json)


def report(
    pattern: opt.PatternFile,
    reading: opt.TracedReadingOptions,
    on: On = None,
    preset: Preset = None,
    mappings: opt.Mappings = None,
    output: Annotated[str, option(
        "File to write, one page of HTML; - is standard output.",
        "FILE", names=("--output", "-o"), panel="Output", values="files",
    )] = "report.html",
    mapping_format: opt.MappingFormat = None,
    compare_with: opt.ComparedOrder = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write a page about mappings of PATTERN: verdict, charts, tables, and how to launch.

    Without a MAPPING, PATTERN is mapped first, as 'hopbytes map' does, which has more options and stores the
    mapping. The page is one file, which needs no network, no scripts and no other packages.
    """
    from hopbytes.cli.watching import watched
    from hopbytes.formats.mappings.launchers import usual_order
    from hopbytes.show.page import check_report_target, made_here, names_of, origin_of_files, write_report

    check_report_target(output, force=force)
    typed, effort = sys.argv[1:], EffortOptions(preset)
    where = None if mappings and on is None else MachineOptions(on=on).allocation()
    with watched([pattern], reading, effort, opt.PhaseOptions(), quiet=quiet) as (graph, _, mapped):
        if mappings:
            paths = list(dict.fromkeys(mappings))  # a file that is named twice counts once
            read = [opt.given_mapping(path, mapping_format, where, graph) for path in paths]
            shown = dict(zip(names_of(paths), read, strict=True))
            origin = origin_of_files(pattern, mappings, typed)
        else:
            assert where is not None
            order = (compare_with or usual_order(mapping_format, where)) if effort.leaves_choice() else None
            shown, origin = made_here(pattern, mapped(opt.BlockOptions(), where, {}, order), typed)
    first = next(iter(shown.values()))
    launcher = compare_with or usual_order(mapping_format, first.where)
    write_report(graph, shown, output, launcher=launcher, origin=origin, force=force)
    if not quiet:
        notices = [] if mappings else [f"no MAPPING given: the page is about {next(iter(shown))}"]
        tell(*first.where.notices, *notices, *([] if output == "-" else [f"{output} written"]))


_simulation: opt.Maker = partial(option, panel="Simulation")


@frozen
class SimulationOptions:
    """What is simulated, and what is assumed about the machine."""

    grade: Annotated[str | None, _simulation(
        "How the time is found: bound (lower bounds, at once), flows (messages share links, added up per "
        "pair of nodes), waiting (the steps of a trace, in which tasks wait for each other) or replay "
        "(SimGrid, every message).", "GRADE", values="grades", default="flows",
    )] = None
    bytes_scale: Annotated[float, _simulation("Factor for all volumes.", "X", parser=opt.factor)] = 1.0
    iterations: Annotated[int | None, _simulation(
        "Equal rounds that the pattern is the sum of, one after the other.",
        "N", least=1, default="the median number of messages between two tasks where it is known, else 1",
    )] = None
    assume: Annotated[str, _simulation(
        "Latencies and bandwidths where the machine has none: ethernet-10g, ethernet-25g, ethernet-100g, "
        "hdr100, hdr200, ndr400, slingshot200, or none to refuse such machines.", "NAME", values="speeds",
    )] = "hdr100"
    eager: Annotated[int | None, _simulation(
        "Grades waiting and replay: messages of up to N bytes are sent before their receive is posted.",
        "N", least=0, rare=True, default="that of the MPI that recorded; SimGrid's own with replay",
    )] = None
    time_limit: Annotated[float | None, _simulation(
        "Stop a simulation after this time.", "TIME", parser=opt.seconds, default="10m",
    )] = None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.simulate`."""
        return opt.present(**dataclasses.asdict(self))


def simulate(
    pattern: opt.PatternFile,
    machine: MachineOptions,
    reading: opt.TracedReadingOptions,
    spread: SpreadOptions,
    simulation: SimulationOptions,
    mappings: opt.Mappings = None,
    platform: Annotated[str | None, option(
        "Keep the platform as an XML file of SimGrid (that of the launcher's order).",
        "FILE", panel="Output", values="files",
    )] = None,
    force: opt.Force = False,
    compare_with: opt.ComparedOrder = None,
    mapping_format: opt.MappingFormat = None,
    json: opt.Json = False,
) -> None:
    """Predict how long the messages of PATTERN take, in the launcher's own order and under mappings.

    Without a MAPPING, only the launcher's own order is simulated. All messages of a round start at once, and
    rounds follow one another; computation is not part of it.
    """
    from hopbytes.formats.mappings.launchers import usual_order
    from hopbytes.show.predictions import predict, predicted_text, predictions_record

    if not mappings and machine.unsaid:
        raise UsageError("the machine is missing: give --on SPEC, or a stored MAPPING")
    where = None if machine.unsaid else machine.allocation(spread)
    graph = reading.read(pattern)
    chosen = {path: opt.given_mapping(path, mapping_format, where, graph) for path in mappings or ()}
    where = next((mapping.where for mapping in chosen.values()), where) if where is None else where
    assert where is not None
    order = compare_with or usual_order(mapping_format, where)
    written = {"platform": platform, "force": force}
    settings = {**simulation.keywords(), "announce": tell}
    predictions = predict(graph, where, chosen, order, where.use, settings, written)
    record = predictions_record(predictions, chosen, where)
    tell(*record["notices"])
    text = predicted_text(predictions)
    print_answer(record, text, dict.fromkeys(text.split("\n")[:2], "head"), json=json)


def advise(
    pattern: opt.PatternFile,
    machine: MachineOptions,
    reading: opt.TracedReadingOptions,
    spread: SpreadOptions,
    simulation: SimulationOptions,
    presets: Annotated[list[str] | None, option(
        "Preset to examine; may be repeated.",
        "NAME", names=("--preset",), panel="Method", values="presets",
        default="fast, eco and strong; on networks routed too",
    )] = None,
    seeds: Annotated[int, option("Seeds of every preset to examine.", "N", panel="Method", least=1)] = 3,
    compare_with: opt.ComparedOrder = None,
    json: opt.Json = False,
) -> None:
    """Advise whether another mapping of PATTERN is worth it, by predicted times of its messages.

    Examined are the launcher's own order, other orders of launchers, and what the presets would give. The
    advice may be to keep what you have.
    """
    from hopbytes.formats.mappings.launchers import usual_order
    from hopbytes.show.advice import advice_record, advice_text, table_head
    from hopbytes.show.advice import advise as advised

    where = machine.allocation(spread)
    graph = reading.read(pattern)
    usual = compare_with or usual_order(None, where)
    options: Any = {"seeds": seeds, "announce": tell, **simulation.keywords()}
    advice = advised(graph, where, usual=usual, presets=tuple(presets) if presets else None, **options)
    spec = machine.on or where.machine.spec()
    text = advice_text(advice, pattern, spec)
    if not json:
        tell(*advice.notices)
    marks = {**advice.verdict.marks, table_head(text): "head"}
    print_answer(advice_record(advice, pattern, spec), text, marks, json=json)
