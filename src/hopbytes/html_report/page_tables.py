"""Tables of the report: text in rows and columns, which the template writes as HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.cost.metrics.link_metrics import HotLink
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.figures.heavy_pairs import HeavyPair, heaviest_pairs
from hopbytes.pictures.figures.level_bytes import HopHistogram, LevelBytes
from hopbytes.pictures.figures.link_loads import LinkLoads, LoadHistogram
from hopbytes.report.tables import chosen_rows
from hopbytes.util.quantities import amount, duration, short_amount

#: Pairs and links that are named.
NAMED = 10


@frozen
class Table:
    """A table for people."""

    caption: str  # one sentence that says what the table holds
    head: tuple[str, ...]  # names of the columns
    #: the first cell names the row. A row of one cell is the heading of the rows below it.
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)  # columns that hold words and are aligned left; the others hold numbers


@frozen
class Load:
    """What the load of a link is: its name, and its unit ("" if it has none)."""

    name: str
    unit: str

    def said(self, value: float) -> str:
        """Return a load for people."""
        if self.unit == "s":
            return duration(value)
        small = f"{value:.3g} {self.unit}".rstrip()
        return small if abs(value) < 1 else short_amount(value, self.unit)


def comparison_table(evaluations: dict[str, Evaluation], *, complete: bool, unit: str | None) -> Table:
    """Return the metrics of the launcher's own order and of all mappings, in columns."""
    found = [chosen_rows(one, complete=complete, unit=unit) for one in evaluations.values()]
    first = found[0]
    recorded = any(row.recorded for row in first)
    names = ["in order", *(["as recorded"] if recorded else []), *evaluations]
    rows: list[tuple[str, ...]] = []
    for number, row in enumerate(first):
        if not any(row[1:]):
            rows.append((row.label,))
            continue
        cells = [row.in_order, *([row.recorded] if recorded else [])]
        rows.append((row.label, *cells, *(one[number].mapping for one in found)))
    which = "All metrics" if complete else "Metrics"  # names of regions differ, for readers that list them
    caption = f"{which} of the launcher's own order and of the mappings"
    return Table(caption, ("metric", *names), tuple(rows))


def level_table(found: LevelBytes, unit: str) -> Table:
    """Return the volume per level and mapping, with its share."""
    total = np.maximum(found.volumes.sum(axis=1), 1)
    rows = []
    for at, label in enumerate(found.labels):
        shares = (found.volumes[:, at] / total).tolist()
        cells = zip(found.volumes[:, at].tolist(), shares, strict=True)
        rows.append((label, *(f"{amount(volume, unit)} ({100 * share:.1f} %)" for volume, share in cells)))
    return Table("Volume by level of the machine", ("level", *found.mappings), tuple(rows))


def hop_table(found: HopHistogram, unit: str) -> Table:
    """Return the volume by number of links on the way, for each mapping."""
    rows = [
        (str(hops), *(amount(volume, unit) for volume in found.volumes[:, at].tolist()))
        for at, hops in enumerate(found.hops.tolist())
    ]
    return Table("Volume by number of links on the way", ("links", *found.mappings), tuple(rows))


def load_table(found: LoadHistogram, names: Sequence[str], load: Load) -> Table:
    """Return the number of links by their load, for each mapping."""
    edges = found.edges.tolist()
    rows = [("no traffic", *(f"{count:,}" for count in found.idle.tolist()))]
    rows += [
        (f"{load.said(low)} to {load.said(high)}", *(f"{count:,}" for count in counts))
        for low, high, counts in zip(edges[:-1], edges[1:], found.counts.T.tolist(), strict=True)
        if any(counts)
    ]
    return Table(f"Number of links by {load.name}", (load.name, *names), tuple(rows))


def pair_table(graph: CommGraph, mappings: dict[str, Mapping], unit: str) -> Table:
    """Return the pairs of tasks that exchange most, and where every mapping puts them."""
    found = {name: heaviest_pairs(graph, mapping, NAMED) for name, mapping in mappings.items()}
    pairs = next(iter(found.values()))
    rows = []
    for number, pair in enumerate(pairs):
        volume = amount(pair.volume, unit)
        places = (_place(one[number]) for one in found.values())
        rows.append((f"{pair.first:,} and {pair.second:,}", volume, *places))
    words = (0, *range(2, 2 + len(found)))
    head = ("tasks", "both directions", *found)
    return Table(f"The {len(pairs)} pairs of tasks that exchange most", head, tuple(rows), words)


def _place(pair: HeavyPair) -> str:
    where = "on the same PE" if pair.level == "same PE" else f"between {pair.level}s"
    hops = "" if not pair.hops else f", {pair.hops} {'link' if pair.hops == 1 else 'links'}"
    return f"{where}{hops}: {pair.first_place}, {pair.second_place}"


def link_table(
    loads: dict[str, LinkLoads], places: list[int], hottest: Sequence[HotLink], load: Load
) -> Table:
    """Return the most loaded links of the first mapping, by name, and the tasks whose data they carry."""
    named = {link.name: link for link in hottest}
    rows = []
    for place in places:
        name = next(iter(loads.values())).names[place]
        cells = [load.said(float(one.congestion[place])) for one in loads.values()]
        rows.append((name, *cells, _flows(named.get(name))))
    head = ("link", *(f"{load.name}, {name}" for name in loads), "tasks with the largest flows")
    return Table(f"The {len(rows)} most loaded links", head, tuple(rows), (0, len(head) - 1))


def _flows(link: HotLink | None) -> str:
    if link is None:
        return ""
    more = link.flows - len(link.largest)
    named = ", ".join(f"{source} to {target}" for source, target, _ in link.largest)
    return f"{named} and {more:,} more" if more > 0 else named


def history_table(histories: dict[str, list[tuple[float, int, int]]], most: int = 50) -> Table:
    """Return the improvements of J over time: all of them, or evenly chosen ones with first and last."""
    rows = []
    for name, steps in histories.items():
        keep = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), most)).round().astype(int))
        rows += [
            (name, duration(steps[at][0]), f"{steps[at][1]:,}", f"{steps[at][2]:,}") for at in keep.tolist()
        ]
    return Table("Improvements of J", ("mapping", "time", "scanned edges", "J"), tuple(rows))
