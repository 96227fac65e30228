"""Tables and figures of ``ptram.py``: ratios to tasks in order beside what the paper has, and times."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench import pictures

METRICS = ("hop_bytes", "max_congestion", "avg_congestion", "var_congestion")
SHORT = ("HB", "MC", "NZCA", "NZCV")
#: MC over that of tasks in order, as the paper reports it.
PUBLISHED = {"2-D 5-point": 0.32, "3-D 15-point": 0.50, "all-to-all": 0.50}
#: CPU seconds asked for 4096 processes.
ASKED = {"2-D 5-point": 1, "3-D 15-point": 2, "all-to-all": 5}
BASES = {"machine": "DEF", "list": "DEF listed"}

Ratios = dict[tuple[str, str, str, str], dict[str, list[float]]]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of JSON lines; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ratios(rows: list[dict[str, Any]]) -> Ratios:
    """Return ratios by (pattern, nodes, step, base) and metric, one for every draw."""
    found: Ratios = {}
    for row in rows:
        if row["what"] != "quality":
            continue
        kind = "scattered" if row["draw"] else "first 512"
        for step, values in row["rows"].items():
            for base, name in BASES.items():
                if step in BASES.values():
                    continue
                cell = found.setdefault((row["pattern"], kind, step, base), {})
                for metric in METRICS:
                    cell.setdefault(metric, []).append(values[metric] / row["rows"][name][metric])
                cell.setdefault("cpu", []).append(values.get("cpu", 0.0))
    return found


def mean(values: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def table(rows: list[dict[str, Any]]) -> str:
    """Return both tables as text."""
    lines = []
    found = ratios(rows)
    if found:
        head = "HB    MC  (least-most)   NZCA  NZCV"
        lines += ["Ratios to tasks in order: of the machine | of a host list that knows nothing of switches",
                  f"{'':41s}{head} | {head}   cpu s  MC of the paper"]
    for pattern, kind, step in dict.fromkeys(known[:3] for known in found):
        sides = []
        for base in BASES:
            cell = found[pattern, kind, step, base]
            mc = cell["max_congestion"]
            means = [mean(cell[metric]) for metric in METRICS]
            sides.append(f"{means[0]:5.2f} {means[1]:5.2f} ({min(mc):4.2f}-{max(mc):4.2f})  "
                         f"{means[2]:5.2f} {means[3]:5.2f}")
        cpu = float(np.mean(found[pattern, kind, step, "machine"]["cpu"]))
        lines.append(f"{pattern:13s} {kind:10s} {step:15s} {sides[0]} | {sides[1]}  {cpu:5.1f}  "
                     f"{PUBLISHED[pattern]:.2f}")
    timed = [row for row in rows if row["what"] == "time"]
    if timed:
        steps = list(timed[0]["seconds"])
        heads = " ".join(f"{step:>10s}" for step in steps)
        lines += ["CPU seconds of mapping", f"{'processes':>9s} {'pattern':13s} {heads}  asked"]
    for row in sorted(timed, key=lambda one: one["processes"]):
        asked = f"{ASKED[row['pattern']]:7d}" if row["processes"] == 4096 else ""
        lines.append(f"{row['processes']:9d} {row['pattern']:13s} "
                     + " ".join(f"{seconds:10.2f}" for seconds in row["seconds"].values()) + asked)
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], out: Path) -> list[Path]:
    """Draw what there is beside `out`: metrics per pattern, and times; the files written."""
    if not pictures.there():
        print(pictures.MISSING, file=sys.stderr)
        return []
    pyplot = pictures.pyplot()
    written = []
    found = ratios(rows)
    for kind in dict.fromkeys(known[1] for known in found):
        names = dict.fromkeys(known[0] for known in found if known[1] == kind)
        figure, panels = pyplot.subplots(1, len(names), figsize=(4.5 * len(names), 4), squeeze=False)
        for panel, pattern in zip(panels[0], names, strict=True):
            steps = list(dict.fromkeys(known[2] for known in found if known[:2] == (pattern, kind)))
            for i, step in enumerate(steps):
                heights = [mean(found[pattern, kind, step, "list"][metric]) for metric in METRICS]
                at = np.arange(len(METRICS)) + 0.85 * (i + 0.5) / len(steps)
                panel.bar(at, heights, 0.85 / len(steps), label=step)
            panel.axhline(PUBLISHED[pattern], color="black", linestyle=":", label="MC in the paper")
            panel.set(title=f"{pattern}, {kind}", ylabel="over tasks in order of a host list", ylim=(0, 1.5))
            panel.set_xticks(np.arange(len(METRICS)) + 0.42, SHORT)
        panels[0][0].legend(fontsize=7)
        written.append(_saved(figure, out.with_name(f"{out.stem}_{kind.replace(' ', '_')}.png")))
    timed = sorted((row for row in rows if row["what"] == "time"), key=lambda one: one["processes"])
    if timed:
        names = dict.fromkeys(row["pattern"] for row in timed)
        figure, panels = pyplot.subplots(1, len(names), figsize=(4.5 * len(names), 4), squeeze=False)
        for panel, pattern in zip(panels[0], names, strict=True):
            own = [row for row in timed if row["pattern"] == pattern]
            for step in own[0]["seconds"]:
                panel.plot([row["processes"] for row in own], [row["seconds"][step] for row in own],
                           marker="o", label=step)
            panel.set(title=pattern, xlabel="processes", ylabel="CPU seconds of mapping")
        panels[0][0].legend(fontsize=7)
        written.append(_saved(figure, out.with_name(f"{out.stem}_times.png")))
    return written


def _saved(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    return path
