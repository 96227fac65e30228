"""Tables and pictures of ``paper_times.py``: simulated times over those in order, with the published ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import pictures
from bench.papers.ptram_table import METRICS

Rows = Sequence[dict[str, Any]]
STEPS = ("UG", "UWH", "UMC", "UMMC", "congestion")
#: Table I, geometric means over allocations and part counts, DEF = 1.
PUBLISHED = {
    "communication": {"UG": "0.93, 0.86", "UWH": "0.86, 0.80", "UMC": "0.94, 0.81", "UMMC": "1.17, 0.86"},
    "product": {"UG": "0.95", "UWH": "0.91", "UMC": "0.97", "UMMC": "0.99"},
}
FIGURES = {"communication": ("4", "WH", "MC"), "product": ("5", "TH", "MMC")}
CHAINS = ("PTRAM raw", "PTRAM", "ours")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of JSON lines; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-300)))))


def over_default(rows: Rows, what: str, step: str) -> dict[str, float]:
    """Return the values of a step over those of DEF, by case."""
    base = {row["case"]: row[what] for row in rows if row["step"] == "DEF"}
    return {row["case"]: row[what] / base[row["case"]] for row in rows if row["step"] == step}


def table_one(rows: Rows) -> list[str]:
    """Table I: time of DEF and of each step over it, per allocation and in the mean."""
    lines = [f"| what | allocation | DEF | {' | '.join(STEPS)} |", f"|---|---|---|{'---|' * len(STEPS)}"]
    for what, published in PUBLISHED.items():
        for draw in [*sorted({row["draw"] for row in rows}), None]:
            held = [row for row in rows if draw in (None, row["draw"])]
            default = geometric([row[what] for row in held if row["step"] == "DEF"])
            cells = [f"{geometric([*over_default(held, what, step).values()]):.2f}" for step in STEPS]
            name = "mean" if draw is None else draw
            lines.append(f"| {what} | {name} | {default * 1e3:.3f} ms | {' | '.join(cells)} |")
        cells = [published.get(step, "-") for step in STEPS]
        lines.append(f"| {what} | published | | {' | '.join(cells)} |")
    return lines


def per_graph(rows: Rows, what: str) -> list[str]:
    """Figures 4 and 5: time and two metrics of every step over DEF, per matrix, both allocations."""
    figure, *metrics = FIGURES[what]
    lines = [f"Figure {figure} ({what}), time ({', '.join(metrics)}) over DEF:", ""]
    lines += [f"| matrix | {' | '.join(STEPS)} |", f"|---|{'---|' * len(STEPS)}"]
    for graph in dict.fromkeys(row["graph"] for row in rows):
        held = [row for row in rows if row["graph"] == graph]
        cells = []
        for step in STEPS:
            time, *others = (
                geometric([*over_default(held, each, step).values()]) for each in (what, *metrics)
            )
            cells.append(f"{time:.2f} ({', '.join(f'{each:.2f}' for each in others)})")
        lines.append(f"| {graph} | {' | '.join(cells)} |")
    return lines


def by_size(rows: Rows) -> list[str]:
    """Figure 7: change of the time against DEF for every size of messages; 9: metrics and time."""
    lines = [f"| pattern | nodes | bytes | DEF | {' | '.join(CHAINS)} |", f"|---|---|---|---|{'---|' * 3}"]
    applications = []
    for case in dict.fromkeys(row["case"] for row in rows):
        held = {row["step"]: row for row in rows if row["case"] == case}
        default = held["DEF"]
        nodes = "scattered" if default["draw"] else "first ones"
        for size, usual in default["times"].items():
            changes = [f"{held[chain]['times'][size] / usual - 1:+.0%}" for chain in CHAINS]
            if len(default["times"]) > 1:
                row = f"| {default['pattern']} | {nodes} | {size} | {usual * 1e6:.1f} us |"
                lines.append(f"{row} {' | '.join(changes)} |")
                continue
            shares = [
                f"{change} ({', '.join(f'{held[chain][name] / default[name]:.2f}' for name in METRICS)})"
                for chain, change in zip(CHAINS, changes, strict=True)
            ]
            row = f"| {default['pattern']} | {nodes} | {usual * 1e3:.3g} ms |"
            applications.append(f"{row} {' | '.join(shares)} |")
    cells = " | ".join(f"{chain}: time (HB, MC, NZCA, NZCV)" for chain in CHAINS)
    lines += ["", f"| application | nodes | DEF | {cells} |", f"|---|---|---|{'---|' * 3}"]
    return [*lines, *applications]


def tables(rows: Rows, out: Path) -> str:
    """Return all tables, and draw them beside `out`."""
    first = [row for row in rows if row["case"].startswith("umpa")]
    second = [row for row in rows if row["case"].startswith("ptram")]
    lines: list[str] = []
    if first:
        lines += [*table_one(first), "", *per_graph(first, "communication"), ""]
        lines += [*per_graph(first, "product"), ""]
    if second:
        lines += by_size(second)
    draw(first, second, out)
    return "\n".join(lines)


def draw(first: Rows, second: Rows, out: Path) -> None:
    """Draw figures 4, 5 and 9 as bars and 7 as lines."""
    if not pictures.there():
        print(pictures.MISSING, file=sys.stderr)
        return
    plt = pictures.pyplot()
    figure, axes = plt.subplots(2, 3, figsize=(13, 6), layout="constrained")
    for axis, what in zip(axes[:, 0], FIGURES, strict=True):
        graphs = list(dict.fromkeys(row["graph"] for row in first))
        for number, step in enumerate(STEPS):
            held = [[row for row in first if row["graph"] == graph] for graph in graphs]
            shares = [geometric([*over_default(rows, what, step).values()]) for rows in held]
            axis.bar(np.arange(len(graphs)) + number / 6, shares, 1 / 6, label=step)
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set_xticks(np.arange(len(graphs)) + 1 / 3, graphs, rotation=60, fontsize=7)
        axis.set_title(f"UMPA, figure {FIGURES[what][0]}: {what}", fontsize=9)
        axis.set_ylabel("time / DEF")
    axes[0, 0].legend(fontsize=6)
    patterns = [row for row in second if len(row["times"]) > 1 and row["step"] != "DEF"]
    base = {row["case"]: row["times"] for row in second if row["step"] == "DEF"}
    for draw_number, line in enumerate(axes[:, 1:].reshape(-1)[:4]):
        names = list(dict.fromkeys(row["pattern"] for row in patterns))
        if draw_number >= len(names):
            draw_applications(line, [row for row in second if len(row["times"]) == 1])
            break
        for row in (row for row in patterns if row["pattern"] == names[draw_number]):
            sizes = [int(size) for size in row["times"]]
            shares = [value / base[row["case"]][size] for size, value in row["times"].items()]
            style = "--" if row["draw"] else "-"
            where = "scattered" if row["draw"] else "first nodes"
            colour = f"C{CHAINS.index(row['step'])}"
            label = f"{row['step']}, {where}"
            line.plot(sizes, shares, style, color=colour, marker="o", markersize=3, label=label)
        line.set_xscale("log")
        line.axhline(1, color="grey", linewidth=0.8)
        line.set_title(f"PTRAM, figure 7: {names[draw_number]}", fontsize=9)
        line.set_xlabel("bytes of a message")
        line.legend(fontsize=6)
    figure.savefig(out.with_suffix(".svg"))
    plt.close(figure)


def draw_applications(axis: Any, rows: Rows) -> None:
    """Draw the times of recorded applications over DEF, first nodes and scattered ones."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    held = {(row["case"], row["step"]): next(iter(row["times"].values())) for row in rows}
    for number, chain in enumerate(CHAINS):
        shares = [held[case, chain] / held[case, "DEF"] for case in cases]
        axis.bar(np.arange(len(cases)) + number / 4, shares, 1 / 4, label=chain)
    names = [case.split("|")[1].removeprefix("mpi_") for case in cases]
    ends = [", scattered" if case.endswith("|1") else "" for case in cases]
    labels = [f"{name}{end}" for name, end in zip(names, ends, strict=True)]
    axis.set_xticks(np.arange(len(cases)) + 1 / 4, labels, rotation=60, fontsize=7)
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_title("PTRAM, figure 9 (recorded applications)", fontsize=9)
    axis.legend(fontsize=6)
