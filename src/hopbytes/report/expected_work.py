"""About how many edges a mapping will scan: what a progress bar takes for the whole."""

from __future__ import annotations

#: Scanned edges per task and arc, by preset: of partitions; of processes, few and many. Measured on lattices
#: of 64 to 65,536 tasks and 64 to 4,096 PEs; other patterns differ by a factor of two or three.
PARTITION = {"fast": 100, "eco": 220, "strong": 1_400, "best": 4_000, "routed": 1_500}
FEW_PROCESSES = {"fast": 170, "eco": 7_500, "strong": 32_000, "best": 100_000, "routed": 35_000}
MANY_PROCESSES = {"fast": 300, "eco": 800, "strong": 5_000, "best": 20_000, "routed": 6_000}
#: Up to so many processes small machines are searched much harder.
FEW = 500


def expected_edges(tasks: int, arcs: int, preset: str | None, *, partition: bool) -> float:
    """Return about how many edges mapping a pattern scans; a progress bar needs no more.

    Parameters
    ----------
    tasks, arcs : int
        Of the pattern.
    preset : str or None
        None is ``eco``; names that are not known count as it.
    partition : bool
        Many tasks on each PE.

    Examples
    --------
    >>> expected_edges(65536, 261120, "fast", partition=True)
    32665600
    """
    per = PARTITION if partition else FEW_PROCESSES if tasks <= FEW else MANY_PROCESSES
    return per.get(preset or "eco", per["eco"]) * (tasks + arcs)
