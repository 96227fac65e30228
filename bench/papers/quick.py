"""The short form of the scripts of papers: the paper's numbers beside ours, and why some cannot be had.

``python -m bench.papers.NAME --quick`` for NAME in paper000, paper001, paper002, paper003 and ptram takes at
most two minutes of one core each, on small inputs that are generated. Numbers of the papers are those of
their tables and texts; figures without numbers are named.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass, field


def cpu_seconds() -> float:
    """Return the processor seconds of this process and of children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


@dataclass
class Report:
    """Rows of numbers, and reasons for those that are missing."""

    title: str
    began: float = field(default_factory=cpu_seconds)
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def row(self, figure: str, what: str, paper: object, ours: object) -> None:
        """Add a number of the paper ("" if it has none) and ours."""
        self.rows.append((figure, what, str(paper), str(ours)))

    def missing(self, figure: str, why: str) -> None:
        """Say why something of the paper is not there."""
        self.reasons.append((figure, why))

    def text(self) -> str:
        """Return a table, the reasons and the time."""
        table = [("", "", "paper", "ours"), *self.rows]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines += [f"{figure}: not here: {why}" for figure, why in self.reasons]
        return "\n".join([self.title, *lines, f"{cpu_seconds() - self.began:.0f} CPU seconds"])
