"""Estimates of the edges that a mapping scans, for progress bars."""

from __future__ import annotations

#: Scanned edges per task and arc, by preset: of partitions; of processes, few and many. Measured on lattices
#: of 64 to 65,536 tasks and 64 to 4,096 PEs; other patterns differ by a factor of two or three.
PARTITION = {"fast": 100, "eco": 220, "strong": 1_400, "best": 4_000, "routed": 1_500}
FEW_PROCESSES = {"fast": 170, "eco": 7_500, "strong": 32_000, "best": 100_000, "routed": 35_000}
MANY_PROCESSES = {"fast": 300, "eco": 800, "strong": 5_000, "best": 20_000, "routed": 6_000}
#: Up to this number of processes presets search much longer.
FEW = 500


def expected_edges(tasks: int, arcs: int, preset: str | None, *, partition: bool) -> float:
    """Return an estimate of the edges that mapping a pattern scans, good enough for a progress bar.

    >>> expected_edges(65536, 261120, "fast", partition=True)
    32665600
    """
    per = PARTITION if partition else FEW_PROCESSES if tasks <= FEW else MANY_PROCESSES
    return per.get(preset or "eco", per["eco"]) * (tasks + arcs)
