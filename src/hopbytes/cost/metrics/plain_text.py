"""An evaluation as rows of text, for terminals and for print()."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
from hopbytes.cost.metrics.measurements import Measurements

HEADINGS = ("", "mapping", "in order", "as recorded", "random, mean", "random, range")
#: Rows that only the complete table has: metrics of specific papers, and numbers that rarely differ.
ONLY_COMPLETE = (
    "mean distance by arc", "largest load", "  messages (MNRM)", "  pairs (MNRM)", "most sent by a PE (MSV)",
    "  messages (MSM)", "  pairs (MSM)", "  most messages (MMC)", "  mean messages (AMC)",
    "  mean congestion (AC)",
    "  variance of congestion (NZCV)", "  hybrid, in order = 4", "  cut",
)


class Row(NamedTuple):
    """One line of the table: a cell for each heading. A line with empty cells names a level."""

    label: str
    mapping: str = ""
    in_order: str = ""
    recorded: str = ""
    random_mean: str = ""
    random_range: str = ""


def rows(
    evaluation: Measurements, complete: bool = True, volume: Callable[[float], str] | None = None
) -> list[Row]:
    """Return the lines of the table, the most important ones first; all lines, or only those.

    `volume` formats volumes; without it they are exact.
    """
    volume = volume or _count
    table = [
        _row(evaluation, "communication cost J", lambda one: one.comm_cost, _count),
        _against_in_order(evaluation),
        *_seconds_row(evaluation),
        _row(evaluation, "edge cut", lambda one: one.edge_cut, _count),
        _row(evaluation, "mean distance by volume", lambda one: one.weighted_mean_distance, _decimal),
        _row(evaluation, "mean distance by arc", lambda one: one.mean_distance, _decimal),
        _row(evaluation, "imbalance", lambda one: one.imbalance, _percent),
        _row(evaluation, "largest load", lambda one: one.max_load, _count),
        _row(evaluation, "PEs used", lambda one: one.used_pes, _count),
        _tasks_per_pe(evaluation),
        *_block_rows(evaluation),
    ]
    table += _traffic_rows(evaluation, volume) + _link_rows(evaluation)
    for number in range(len(evaluation.mapping.levels)):
        table += _level_rows(evaluation, number, volume)
    return [row for row in table if row is not None and (complete or row.label not in ONLY_COMPLETE)]


def _block_rows(evaluation: Measurements) -> list[Row]:
    """Return the rows of partitions, with several tasks on a PE; they are not measured of random mappings."""
    if evaluation.mapping.blocks is None:
        return []
    ones = [evaluation.mapping, evaluation.in_order, evaluation.recorded]
    found = [one.blocks if one is not None else None for one in ones]
    return [
        Row("communication volume (totalv)", *(_count(one.comm_volume) if one else "" for one in found)),
        Row(
            "neighbours of a PE, mean, most",
            *(f"{one.mean_neighbours:.1f}, {one.max_neighbours:,}" if one else "" for one in found),
        ),
    ]


def _seconds_row(evaluation: Measurements) -> list[Row | None]:
    """Return the row of the message time if the machine's levels have latency and bandwidth."""
    if evaluation.mapping.comm_seconds is None:
        return []
    return [_row(evaluation, "seconds of all messages", lambda one: one.comm_seconds or 0.0, _seconds_text)]


def _seconds_text(value: float) -> str:
    return f"{value:.4g}"


def _picker(part: str, name: str) -> Callable[[MappingMetrics], float]:
    """Return a function that selects the metric `name` of one part, ``traffic`` or ``links``."""

    def pick(one: MappingMetrics) -> float:
        value: float = getattr(getattr(one, part), name)
        return value

    return pick


def _traffic_rows(evaluation: Measurements, volume: Callable[[float], str]) -> list[Row]:
    """Return the rows of volumes and messages between nodes; none on a single node."""
    if not evaluation.mapping.traffic or int(evaluation.mapping.traffic.inter_node_volume) == 0:
        return []
    messages = "messages" if evaluation.messages_known else "pairs"
    columns = [
        ("volume between nodes (ICV)", "inter_node_volume"), ("volume inside nodes", "intra_node_volume"),
        (f"{messages} between nodes (ICM)", "inter_node_messages"),
        ("most received by a node (MNRV)", "max_node_receive_volume"),
        (f"  {messages} (MNRM)", "max_node_receive_messages"),
        ("most sent by a PE (MSV)", "max_send_volume"), (f"  {messages} (MSM)", "max_send_messages"),
    ]
    return [
        _row(evaluation, label, _picker("traffic", name), volume if name.endswith("volume") else _count)
        for label, name in columns
    ]


def _link_rows(evaluation: Measurements) -> list[Row]:
    """Return the rows of link metrics; none on machines without links."""
    if evaluation.mapping.links is None:
        return []
    columns: list[tuple[str, str, Callable[[float], str]]] = [
        ("  hops of all messages (TH)", "hops", _count),
        ("  hop-bytes (WH)", "hop_bytes", _count),
        ("  most messages (MMC)", "max_messages", _count),
        ("  highest congestion (MC)", "max_congestion", _measure),
        ("  mean messages (AMC)", "avg_messages", _decimal),
        ("  mean congestion (AC)", "avg_congestion", _measure),
        ("  variance of congestion (NZCV)", "var_congestion", _measure),
        ("  hybrid, in order = 4", "hybrid", _decimal),
        ("  links used", "used_links", _count),
    ]
    if evaluation.mapping.links.hybrid is None:
        columns = [column for column in columns if column[1] != "hybrid"]
    return [Row("links")] + [
        _row(evaluation, label, _picker("links", name), show) for label, name, show in columns
    ]


def _level_rows(evaluation: Measurements, number: int, volume: Callable[[float], str]) -> list[Row]:
    messages = "messages" if evaluation.messages_known else "pairs"
    level = evaluation.mapping.levels[number]
    return [
        Row(f"{level.name} (distance {level.distance})"),
        _row(evaluation, "  share of J", lambda one: one.levels[number].cost_share, _percent),
        _row(evaluation, "  volume", lambda one: one.levels[number].volume, volume),
        _row(evaluation, "  cut", lambda one: one.levels[number].cut, _count),
        _row(evaluation, "  " + messages, lambda one: one.levels[number].messages, _count),
    ]


def notes(evaluation: Measurements) -> list[str]:
    """Return notes that explain the numbers of the table."""
    sentences = []
    if evaluation.dilation:
        steps = (f"{one.hops} hops: {one.flows:,}" for one in evaluation.dilation)
        sentences.append("arcs between nodes by distance: " + ", ".join(steps))
    for place, link in enumerate(evaluation.hottest, start=1):
        flows = ", ".join(f"{source} to {target}" for source, target, _ in link.largest)
        more = ", …" if link.flows > len(link.largest) else ""
        sentences.append(
            f"hottest link {place}: {link.name}, congestion {_measure(link.congestion)}, "
            f"{link.flows:,} arcs (tasks {flows}{more})"
        )
    for unit in evaluation.tasks_per_unit:
        held = str(unit.fewest) if unit.fewest == unit.most else f"{unit.fewest} to {unit.most}"
        sentences.append(f"tasks per {unit.level}: {held} on {unit.used:,} of {unit.units:,}")
    if evaluation.diagonal_share:
        share = f"{evaluation.diagonal_share:.2%}"
        sentences.append(f"{share} of the volume is left out, which tasks send to themselves")
    if evaluation.scale != 1:
        sentences.append(f"volumes are the numbers of the source times {evaluation.scale:,}")
    return sentences


def plain_table(evaluation: Measurements, complete: bool = True) -> str:
    """Return the table as text, with columns aligned by blanks."""
    lines = [HEADINGS, *rows(evaluation, complete)]
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    text = []
    for label, *numbers in zip(*columns, strict=True):
        aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        text.append("  ".join([label.ljust(widths[0]), *aligned]).rstrip())
    return "\n".join(text + notes(evaluation))


def _row(
    evaluation: Measurements,
    label: str,
    pick: Callable[[MappingMetrics], float],
    show: Callable[[float], str],
) -> Row:
    sample = [pick(one) for one in evaluation.random]
    varies = len(set(sample)) > 1
    return Row(
        label,
        show(pick(evaluation.mapping)),
        show(pick(evaluation.in_order)) if evaluation.in_order else "",
        show(pick(evaluation.recorded)) if evaluation.recorded else "",
        show(_mean(sample) if varies else sample[0]) if sample else "",
        f"{show(min(sample))} … {show(max(sample))}" if varies else "",
    )


def _mean(sample: list[float]) -> float:
    """Return the mean, rounded to an integer if the sample consists of large counts."""
    mean = sum(sample) / len(sample)
    return round(mean) if mean >= 100 and all(isinstance(one, int) for one in sample) else mean


def _tasks_per_pe(evaluation: Measurements) -> Row:
    def cell(mappings: tuple[MappingMetrics, ...]) -> str:
        if not mappings:
            return ""
        fewest = min(one.min_tasks_per_pe for one in mappings)
        most = max(one.max_tasks_per_pe for one in mappings)
        return _count(fewest) if fewest == most else f"{fewest:,} … {most:,}"

    base = (evaluation.in_order,) if evaluation.in_order else ()
    then = (evaluation.recorded,) if evaluation.recorded else ()
    columns = ((evaluation.mapping,), base, then, evaluation.random)
    return Row("tasks on a PE", *(cell(column) for column in columns))


def _against_in_order(evaluation: Measurements) -> Row | None:
    """Return J as a relative change from the in order mapping, or None if J is 0 there."""
    base = evaluation.in_order.comm_cost if evaluation.in_order else 0
    if not base:
        return None
    return _row(evaluation, "  against in order", lambda one: one.comm_cost / base - 1, _signed_percent)


def _signed_percent(change: float) -> str:
    """Return a relative change such as ``-33.1 %``."""
    return f"{change:+.1%}".replace("%", " %")


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _decimal(value: float) -> str:
    return f"{value:,.3f}"


def _measure(value: float) -> str:
    """Format a congestion: integers and large values without decimals, others with six significant digits."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1e6 else f"{value:,.6g}"


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
