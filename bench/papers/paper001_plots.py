"""Figures 2 to 6 of bench/papers/paper001.py as pictures: performance profiles and sorted speed-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.pictures import pyplot

MOST_IN_A_ROW = 3


def draw(drawn: dict[int, Any], folder: Path) -> None:
    """Write one file per figure."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    for number, what in drawn.items():
        if not what:
            continue
        count = 2 if "ratio" in what else len(what)
        rows, columns = -(-count // MOST_IN_A_ROW), min(count, MOST_IN_A_ROW)
        figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 4 * rows), squeeze=False)
        if "ratio" in what:
            profile(axes[0][0], what)
            sorted_speeds(axes[0][1], what, "speed-up")
        else:
            for axis, (label, part) in zip(axes.flat, what.items(), strict=True):
                sorted_speeds(axis, part, label)
        figure.tight_layout()
        figure.savefig(folder / f"paper001_fig{number}.png", dpi=120)
        plt.close(figure)


def profile(axis: Any, what: dict[str, Any]) -> None:
    """Share of instances (y) on which J is at most x times the best of all."""
    limits = np.linspace(1, max(1.05, float(np.quantile(what["ratio"], 0.98))), 400)
    for name, ratio in zip(what["names"], what["ratio"], strict=True):
        axis.step(limits, [float(np.mean(ratio <= limit)) for limit in limits], where="post", label=name)
    axis.set_xlabel("J / best")
    axis.set_ylabel("share of instances")
    axis.legend(fontsize=7)


def sorted_speeds(axis: Any, what: dict[str, Any], label: str) -> None:
    """Speed-ups of each contender over the instances, from the least to the most."""
    for name, speed in zip(what["names"], what["speed"], strict=True):
        axis.plot(np.sort(speed), label=name)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("{x:g}")
    axis.set_title(label, fontsize=9)
    axis.set_xticks(range(len(what["speed"][0])))
    axis.set_xlabel("instances, sorted")
    axis.set_ylabel("times as fast")
    axis.legend(fontsize=7)
