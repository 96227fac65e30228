"""What was measured beside what was predicted: every case, and how far predictions can be trusted."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from hopbytes.simulation.measured import Accuracy

Row = dict[str, Any]
GRADES = ("bound", "flows", "replay", "trace", "waiting", "posted")
#: What is compared with the measured ratio of an order to the launcher's own. By ``verdict`` `hopbytes map`
#: decides: the larger ratio of the two replays of grade waiting.
MEASURES = ("J", "bytes", *GRADES, "verdict")
#: Differences below this are none; a regression is one above this in three quarters of the repetitions.
EQUAL, SLOWER = 0.05, 1.01


class Result(NamedTuple):
    """One order of ranks in one case; ratios are to the launcher's own order in the same case."""

    case: tuple[str, str, str]  # fabric, MPI, program
    order: str  # orders with the same mapping are joined by commas
    seconds: list[float]
    ratios: list[float]  # per repetition
    predicted: dict[str, float]  # J, bytes and seconds by grade
    predicted_ratio: dict[str, float]
    load: float
    decision: str  # of `hopbytes map` in this case; "" where it was not asked

    @property
    def ratio(self) -> float:
        """The measured ratio."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> float:
        """Half of the distance between the fastest and the slowest repetition, relative to the median."""
        return (max(self.seconds) - min(self.seconds)) / 2 / statistics.median(self.seconds)

    @property
    def slower(self) -> bool:
        """Whether the order takes more time than the launcher's own beyond noise."""
        return len(self.ratios) > 1 and statistics.quantiles(self.ratios, n=4)[0] > SLOWER


def results(rows: Iterable[Row]) -> list[Result]:
    """Collect the repetitions of every order; cases without the launcher's own order are left out."""
    cases = defaultdict[tuple[str, str, str], dict[str, list[Row]]](lambda: defaultdict(list))
    for row in rows:
        cases[row["fabric"], row["mpi"], row["program"]][row["order"]].append(row)
    found = []
    for case, orders in cases.items():
        own = next((each for order, each in orders.items() if order.split(",")[0] == "launcher"), None)
        if own is None:
            continue
        base, facts = {row["repetition"]: row["seconds"] for row in own}, _facts(own[0])
        for order, each in orders.items():
            ratios = [row["seconds"] / base[row["repetition"]] for row in each if row["repetition"] in base]
            if not ratios:
                continue
            values = _facts(each[0])
            relative = {name: value / facts[name] for name, value in values.items() if facts.get(name)}
            if "posted" in relative:
                relative["verdict"] = max(relative["waiting"], relative["posted"])
            load, said = statistics.median(row["load"] for row in each), each[0].get("decision", "")
            seconds = [row["seconds"] for row in each]
            found.append(Result(case, order, seconds, ratios, values, relative, load, said))
    return found


def _facts(row: Row) -> dict[str, float]:
    grades = {name: value for name, value in row["predicted"].items() if not isinstance(value, str)}
    return {"J": row["J"], "bytes": row["bytes_between_hosts"], **grades}


def compared(found: Iterable[Result]) -> list[Result]:
    """Return the results of orders that are not the launcher's own."""
    return [result for result in found if not result.order.startswith("launcher")]


def table(found: list[Result]) -> list[str]:
    """Return a line per order of every case, in Markdown."""
    lines = [
        "| fabric | MPI | program | order | J ratio | bytes ratio | seconds (± half range) | flows s "
        "| trace s | measured ratio | flows ratio | trace ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in found:
        predicted, relative = result.predicted, result.predicted_ratio
        mark = "**" if result.slower and result.order != "random" else ""
        cells = [
            *result.case, result.order.replace(",", ", "),
            *(_short(relative.get(name)) for name in ("J", "bytes")),
            f"{statistics.median(result.seconds):.2f} (± {_percent(result.spread)})",
            *(_short(predicted.get(grade)) for grade in ("flows", "trace")),
            f"{mark}{result.ratio:.2f}{mark}",
            *(_short(relative.get(grade)) for grade in ("flows", "trace")),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def trust(found: list[Result]) -> list[str]:
    """Return a line per measure: how far its ratios are from measured ones, how often with the wrong sign."""
    others = compared(found)
    lines = [
        f"| predicted by | cases | ratio off by: median | 90 % within | wrong sign of {len(others)} "
        "| measured / predicted seconds, median |",
        "|---|---|---|---|---|---|",
    ]
    for name in MEASURES:
        known = accuracy(others, name)
        if known is None:
            continue
        seconds = ""
        if name in GRADES:
            times = [
                statistics.median(each.seconds) / each.predicted[name]
                for each in found
                if name in each.predicted
            ]
            seconds = f"{statistics.median(times):.2f}"
        errors = (_percent(known.median_error), _percent(known.nine_in_ten))
        cells = (name, known.cases, *errors, known.wrong, seconds)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def accuracy(others: list[Result], name: str) -> Accuracy | None:
    """Return how far ratios by a measure are from measured ones; None of fewer than two orders."""
    known = [result for result in others if name in result.predicted_ratio]
    if len(known) < 2:
        return None
    off = [abs(result.ratio / result.predicted_ratio[name] - 1) for result in known]
    within = statistics.quantiles(off, n=10, method="inclusive")[-1]
    wrong = sum(wrong_sign(result, name) for result in known)
    return Accuracy(len(known), statistics.median(off), within, wrong)


def wrong_sign(result: Result, name: str) -> bool:
    """Whether an order is measured faster or slower by over 5 %, and is not predicted to be."""
    predicted = result.predicted_ratio[name]
    return (result.ratio < 1 - EQUAL and predicted >= 1) or (result.ratio > 1 + EQUAL and predicted <= 1)


def regressions(found: list[Result]) -> list[str]:
    """Return a line per mapping that takes more time than the launcher's own order beyond noise."""
    lines = []
    for result in compared(found):
        if result.slower and result.order != "random":
            ratios = result.predicted_ratio
            said = ", ".join(f"{name} {ratios[name]:.2f}" for name in MEASURES if name in ratios)
            lines.append(f"{' '.join(result.case)}, {result.order}: {result.ratio:.2f} measured; {said}")
    return lines


def recommendations(found: list[Result]) -> list[str]:
    """Return a line per case of what happens if the verdict of `hopbytes map` is followed, after a sentence.

    The last column has the mapping of the preset where the pattern alone is known.
    """
    cases = sorted((each for each in found if _is(each, "recommended")), key=lambda each: each.case)
    changed = [result for result in cases if not result.order.startswith("launcher")]
    if not changed:
        return []
    slower = sum(result.slower for result in changed)
    lines = [
        f"Of {len(cases)} cases `hopbytes map` changes the order in {len(changed)}, and keeps the launcher's "
        f"own in the others. {sum(each.ratio < 1 - EQUAL for each in changed)} take over 5 % less time then, "
        f"{statistics.median(each.ratio for each in changed):.2f} of it in the median; {slower or 'none'} "
        "take more than 1 % more beyond noise.",
        "",
        "| fabric | MPI | program | verdict | predicted ratio | measured ratio | `eco` without a trace |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in cases:
        same = [each for each in found if each.case == result.case]
        eco: list[float | None] = [each.ratio for each in same if _is(each, "eco")] or [None]
        mark = "**" if result.slower else ""
        cells = [*result.case, result.decision, "", "", *map(_short, eco)]
        if result in changed:
            cells[4:6] = _short(result.predicted_ratio.get("verdict")), f"{mark}{result.ratio:.2f}{mark}"
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _is(result: Result, order: str) -> bool:
    return order in result.order.split(",")


def summary(found: list[Result]) -> str:
    """Say in a sentence how many cases there are, how they spread, and how many mappings were slower."""
    mapped = [result for result in compared(found) if result.order != "random"]
    cases, spreads = {result.case for result in found}, [result.spread for result in found]
    programs, fabrics = len({case[2] for case in cases}), len({case[0] for case in cases})
    loads = [result.load for result in found]
    return (
        f"{len(cases)} cases of {programs} programs on {fabrics} fabrics, {len(found)} orders. Half the "
        f"range of repetitions is {_percent(statistics.median(spreads))} of the time in the median, at most "
        f"5 % for {sum(spread <= EQUAL for spread in spreads)} of {len(spreads)}; the load of the computer "
        f"was {min(loads):.0f} to {max(loads):.0f}. Of {len(mapped)} mappings "
        f"{sum(each.ratio < 1 - EQUAL for each in mapped)} take over 5 % less time than the launcher's own "
        f"order, {len(regressions(found))} take more beyond noise."
    )


def report(rows: Iterable[Row]) -> list[str]:
    """Return everything, as lines of Markdown."""
    found = results(rows)
    if not found:
        return ["no rows of the launcher's own order, expected those of python -m bench.lab --out FILE"]
    slow = [f"- {line}" for line in regressions(found)] or ["- none"]
    slow = ["Mappings that take more time:", "", *slow]
    parts = ([summary(found)], trust(found), recommendations(found), slow, table(found))
    return "\n\n".join("\n".join(part) for part in parts if part).splitlines()
