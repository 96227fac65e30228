"""Table and figures of ``paper003.py``: geometric means of ratios to DEF beside the published ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench import pictures

METRICS = ("WH", "TH", "MC", "MMC", "AC", "AMC")
#: What the paper reports as change against DEF, over its part counts (percent).
PUBLISHED = {
    "UG": "WH -5..-18, TH -5..-17", "UWH": "WH another -4..-5", "UMC": "MC -27..-37, WH -1..-13",
    "UMMC": "MMC -24..-37", "scotch_gmap": "mostly worse than DEF",
}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of JSON lines; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ratios(rows: list[dict[str, Any]], metric: str) -> dict[tuple[str, int, str], float]:
    """Geometric mean of `metric` over that of DEF for every (order, parts, step)."""
    base = {row["case"]: row[metric] for row in rows if row["step"] == "DEF"}
    logs: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        key = row["order"], row["parts"], row["step"]
        logs.setdefault(key, []).append(float(np.log(row[metric] / base[row["case"]])))
    return {key: float(np.exp(np.mean(found))) for key, found in logs.items()}


def seconds(rows: list[dict[str, Any]]) -> dict[tuple[int, str], float]:
    """Geometric mean of CPU seconds for every (parts, step), DEF left out."""
    logs: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        if row["step"] != "DEF":
            logs.setdefault((row["parts"], row["step"]), []).append(float(np.log(max(row["cpu"], 1e-4))))
    return {key: float(np.exp(np.mean(found))) for key, found in logs.items()}


def table(rows: list[dict[str, Any]]) -> str:
    """Changes against DEF in percent, per order and part count and over all; then mapping times."""
    steps = list(dict.fromkeys(row["step"] for row in rows))
    counts = sorted({row["parts"] for row in rows})
    found = {metric: ratios(rows, metric) for metric in METRICS}
    lines = []
    for order in dict.fromkeys(row["order"] for row in rows):
        cases = len({row["case"] for row in rows if row["order"] == order})
        lines += [f"{order}, {cases} cases: change against DEF in percent",
                  f"{'parts':>6s} {'step':16s} " + " ".join(f"{m:>6s}" for m in METRICS) + "  published"]
        for count in [*counts, 0]:
            for step in steps:
                chosen = counts if count == 0 else [count]
                means = []
                for metric in METRICS:
                    known = [found[metric].get((order, c, step), np.nan) for c in chosen]
                    logs = [np.log(ratio) for ratio in known if not np.isnan(ratio)]
                    means.append(100 * (float(np.exp(np.mean(logs))) - 1) if logs else float("nan"))
                if step != "DEF" and not np.isnan(means[0]):
                    lines.append(f"{count or 'all':>6} {step:16s} " + " ".join(f"{m:6.1f}" for m in means)
                                 + (f"  {PUBLISHED.get(step, '')}" if count == 0 else ""))
    lines.append("CPU seconds of mapping, geometric means")
    lines.append(f"{'step':16s} " + " ".join(f"{c:>8d}" for c in counts))
    times = seconds(rows)
    for step in steps[1:]:
        cells = [f"{times[c, step]:8.3f}" if (c, step) in times else " " * 8 for c in counts]
        lines.append(f"{step:16s} " + " ".join(cells))
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], out: Path) -> list[Path]:
    """Both figures beside `out`: ratios per order, and times; the files written."""
    if not pictures.there():
        print(pictures.MISSING, file=sys.stderr)
        return []
    pyplot = pictures.pyplot()
    steps = [step for step in dict.fromkeys(row["step"] for row in rows) if step != "DEF"]
    counts = sorted({row["parts"] for row in rows})
    written = []
    for order in dict.fromkeys(row["order"] for row in rows):
        figure, axes = pyplot.subplots(2, 2, figsize=(11, 7), sharex=True)
        for axis, metric in zip(axes.flat, ("TH", "WH", "MMC", "MC"), strict=True):
            found = ratios(rows, metric)
            for i, step in enumerate(steps):
                at = [j + (i + 0.5) / len(steps) * 0.85 for j in range(len(counts))]
                heights = [found.get((order, c, step), np.nan) for c in counts]
                axis.bar(at, heights, 0.85 / len(steps), label=step)
            axis.axhline(1, color="black", linewidth=0.8)
            axis.set_ylabel(f"{metric} / DEF")
            axis.set_xticks([j + 0.42 for j in range(len(counts))], [str(c) for c in counts])
        for axis in axes[1]:
            axis.set_xlabel("parts")
        bars, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(bars, names, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(steps))
        figure.suptitle(f"Parts {order}, geometric means")
        written.append(_saved(figure, out.with_name(f"{out.stem}_{order.replace(' ', '_')}.png")))
    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    times = seconds(rows)
    for step in steps:
        axis.plot(counts, [times.get((c, step), np.nan) for c in counts], marker="o", label=step)
    axis.set(xscale="log", yscale="log", xlabel="parts", ylabel="CPU seconds of mapping")
    axis.set_xticks(counts, [str(c) for c in counts])
    axis.legend(fontsize=8)
    written.append(_saved(figure, out.with_name(f"{out.stem}_times.png")))
    return written


def _saved(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    return path
