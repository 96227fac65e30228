"""What the report says: verdict, key figures, charts, tables, commands, and how it was made."""

from __future__ import annotations

import re
from typing import Any

from hopbytes._frozen import frozen
from hopbytes._version import __version__
from hopbytes.cost.metrics.evaluation import Evaluation, evaluate
from hopbytes.html_report.launch_advice import Launch, launches
from hopbytes.html_report.page_charts import (
    Chart,
    history_charts,
    level_charts,
    matrix_charts,
    network_charts,
)
from hopbytes.html_report.page_tables import Table, comparison_table, pair_table
from hopbytes.html_report.report_origin import Origin
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.figures.level_bytes import launcher_mapping
from hopbytes.report.predicted_time import GRADES, LIMITS
from hopbytes.report.ranks_text import ranks_per_node
from hopbytes.report.summary import verdict_of
from hopbytes.report.verdict import ORDERS, Verdict, slots_sentence, volume_unit
from hopbytes.util.quantities import amount, duration, number, short_amount

#: Name of the launcher's own order in charts and tables.
IN_ORDER = "in order"
#: Characters of the names in the title; below, they stand in full.
LONGEST_NAME = 80
#: Columns of the lists of ranks per node.
COLUMNS = 110
#: The end of a notice about speeds that are assumed.
OPTION_HINT = re.compile(r" \(`\w+` sets it\)")


@frozen
class Figure:
    """A key figure: its name, its value, the value in order, and the change in words."""

    name: str
    value: str
    before: str
    change: str
    better: bool | None


@frozen
class Judged:
    """A mapping with its verdict: the headline, the sentences below it, key figures, ranks per node."""

    name: str
    headline: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    ranks: tuple[str, ...]


@frozen
class Page:
    """Everything that the template shows."""

    title: str
    subtitle: str
    judged: tuple[Judged, ...]
    matrices: tuple[Chart, ...]
    charts: tuple[Chart, ...]
    comparison: Table
    all_metrics: Table
    pairs: Table
    times: Table | None
    time_notes: tuple[str, ...]
    stores: str
    checks: str
    launches: tuple[Launch, ...]
    origin: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    version: str = __version__


def page_of(graph: CommGraph, mappings: dict[str, Mapping], launcher: str, origin: Origin) -> Page:
    """Return the content of the report; see :func:`hopbytes.write_report`."""
    first = next(iter(mappings.values()))
    evaluations = {
        name: evaluate(graph, one, random_seeds=0, launcher=launcher) for name, one in mappings.items()
    }
    evaluation = next(iter(evaluations.values()))
    unit = volume_unit(graph, first)
    verdicts = {name: verdict_of(graph, one, evaluations[name]) for name, one in mappings.items()}
    everyone = {IN_ORDER: launcher_mapping(graph, first, launcher), **mappings}
    charts = [
        *level_charts(graph, everyone, unit),
        *network_charts(graph, everyone, evaluation, unit),
        *history_charts(everyone),
    ]
    times, time_notes = predicted_times(verdicts)
    total = amount(graph.total_volume, unit or "units of volume")
    return Page(
        title=f"{_short(origin.pattern or graph.name)} on {_short(first.where.machine.spec())}",
        subtitle=f"{graph.n:,} tasks, {graph.m:,} pairs, {total}; {first.where.k:,} {first.where.slot_word}s",
        judged=tuple(
            _judged(name, one, verdicts[name], evaluations[name], unit) for name, one in mappings.items()
        ),
        matrices=tuple(matrix_charts(graph, everyone, unit)),
        charts=tuple(charts),
        comparison=comparison_table(evaluations, complete=False, unit=unit),
        all_metrics=comparison_table(evaluations, complete=True, unit=None),
        pairs=pair_table(graph, everyone, unit),
        times=times,
        time_notes=time_notes,
        stores=origin.stores,
        checks=f"hopbytes verify {origin.stored} -- mpirun -n {graph.n}",
        launches=tuple(launches(first, origin.stored)),
        origin=tuple(_origin(graph, mappings, launcher, origin)),
        notices=tuple(_notices(graph, mappings)),
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _judged(name: str, mapping: Mapping, found: Verdict, evaluation: Evaluation, unit: str) -> Judged:
    sentences = [*([found.remark] if found.remark else []), *found.traffic, slots_sentence(mapping)]
    return Judged(
        name, found.sentence, tuple(filter(None, sentences)), tuple(_figures(evaluation, found, unit)),
        tuple(ranks_per_node(mapping, COLUMNS)),
    )


def _figures(evaluation: Evaluation, verdict: Verdict, unit: str) -> list[Figure]:
    """Return key figures: of this mapping, and in order."""
    own, base = evaluation.mapping, evaluation.in_order
    assert base is not None
    found = []
    if verdict.predicted is not None and verdict.usual is not None:
        name = "Lower bound of the time" if verdict.predicted.grade == "bound" else "Predicted time"
        seconds = verdict.predicted.seconds, verdict.usual.seconds
        found.append(_figure(name, *seconds, duration))
    if own.traffic is not None and base.traffic is not None and base.traffic.inter_node_volume:
        what = "Bytes between nodes" if unit == "B" else "Volume between nodes"
        values = [int(one.traffic.inter_node_volume) for one in (own, base) if one.traffic]
        found.append(_figure(what, values[0], values[1], lambda value: amount(value, unit)))
    found.append(_figure("Communication cost J", own.comm_cost, base.comm_cost, short_amount))
    if own.links is not None and base.links is not None:
        found.append(_figure("Hop-bytes", own.links.hop_bytes, base.links.hop_bytes, short_amount))
        most = own.links.max_congestion, base.links.max_congestion
        found.append(_figure("Busiest link (congestion)", *most, short_amount))
    elif own.weighted_mean_distance or base.weighted_mean_distance:
        mean = [one.weighted_mean_distance for one in (own, base)]
        found.append(_figure("Mean distance of a byte", mean[0], mean[1], lambda value: f"{value:.3g}"))
    return found


def _figure(name: str, own: float, base: float, said: Any) -> Figure:
    change = "" if not base else f"{own / base - 1:+.1%}".replace("%", " %").replace("-", "−")
    if own == base:
        change = "unchanged"
    return Figure(name, said(own), said(base), change, None if own == base else own < base)


def predicted_times(found: dict[str, Verdict]) -> tuple[Table | None, tuple[str, ...]]:
    """Return the predicted time of the messages, or None where nothing can predict it."""
    usual = next(iter(found.values())).usual
    times = {IN_ORDER: usual, **{name: one.predicted for name, one in found.items()}}
    rows = [
        (
            name, duration(one.seconds), _change(one.seconds, usual.seconds), LIMITS[one.limit],
            f"{one.rounds:,}",
        )
        for name, one in times.items()
        if one is not None and usual is not None
    ]
    if not rows or usual is None:
        return None, ()
    head = ("mapping", "all messages", "against in order", "limited by", "rounds")
    table = Table(f"Time of all messages: {GRADES[usual.grade]}", head, tuple(rows), (0, 3))
    # A reader of the page cannot set the options that some notices name.
    notices = (OPTION_HINT.sub("", note) for one in times.values() if one for note in one.notices)
    return table, tuple(dict.fromkeys(notices))


def _change(value: float, base: float) -> str:
    """Return the change in per cent; one that rounds to nothing has no sign."""
    if not base:
        return ""
    change = f"{value / base - 1:+.1%}".replace("%", " %")
    return "0.0 %" if change in ("+0.0 %", "-0.0 %") else change


def _origin(
    graph: CommGraph, mappings: dict[str, Mapping], launcher: str, origin: Origin
) -> list[tuple[str, str]]:
    """Return facts about pattern, machine and mappings."""
    where = next(iter(mappings.values())).where
    facts = [("Pattern", graph.name), ("Machine", where.machine.spec())]
    facts.append(("Compared with", ORDERS.get(launcher, f"the launcher's order {launcher}")))
    for name, mapping in mappings.items():
        info = mapping.info
        parts = [f"preset {info['preset']}"] if info.get("preset") else []
        parts += [] if parts else [f"mapper {info['mapper']}"] if info.get("mapper") else []
        parts += [f"objective {info['objective']}"] if info.get("objective") else []
        parts += [f"seed {info['seed']}"] if "seed" in info else []
        seconds = info.get("seconds")
        parts += [f"{number(seconds['map'])} s"] if seconds else []
        parts += [f"hopbytes {info['version']}"] if info.get("version") else []
        facts.append((f"Mapping {name}", ", ".join(parts) or "does not say how it was made"))
    if origin.command:
        facts.append(("Command", origin.command))
    facts.append(("Report written by", f"hopbytes {__version__}"))
    return facts


def _notices(graph: CommGraph, mappings: dict[str, Mapping]) -> list[str]:
    """Return what a reader should know about the input and the mappings, each sentence once."""
    said = list(graph.meta.get("notices", ()))
    for mapping in mappings.values():
        said += [*mapping.where.notices, *mapping.info.get("notices", ())]
    return list(dict.fromkeys(str(each) for each in said))
