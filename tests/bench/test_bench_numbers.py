"""Numbers of the page from rows made by hand."""

import pytest

from bench.pages.numbers import NUMBERS, compute
from bench.studies.best_known import Store


def run_row(instance, tool, preset, cost, wall=1.0, **more):
    """A row of bench/run.py."""
    setting = {"hierarchy": "4", "distance": "1", "problem": "partition", "imbalance": 0.03, "threads": 1}
    seconds = {"wall_seconds": wall, "inner_seconds": wall, "cpu_seconds": wall, "other_cpu_seconds": 0.0}
    return {
        "instance": instance, "input_hash": instance, "seed": 1, "tool": tool, "preset": preset,
        "comm_cost": cost, "error": None, "over_bound": False,
        "over_rounded_down": False, "family": "2-D", **setting, **seconds, **more,
    }  # fmt: skip


def recorded(recording, n, tool, cost, in_order, seconds):
    """A row of bench/studies/mpi_patterns.py."""
    facts = {"machines": "m", "recording": recording, "n": n, "tool": tool, "most": 1}
    return {**facts, "comm_cost": cost, "in_order": in_order, "cpu_seconds": seconds}


BESIDE = [
    run_row("a", "sharedmap", "strong", 100, 4.0, over_rounded_down=True),
    run_row("b", "sharedmap", "strong", 100, 1.0, family="3-D"),
    run_row("a", "hopbytes", "fast", 50, 1.0),
    run_row("b", "hopbytes", "fast", 200, 1.0, family="3-D"),
]
RECORDED = [
    recorded("r", 64, "eco", 80, 100, 0.5), recorded("r", 64, "scotch default 0", 40, 100, 0.1),
    recorded("s", 2048, "eco", 50, 250, 9.0), recorded("s", 2048, "scotch default 0", 100, 250, 0.1),
]  # fmt: skip
GROWN = [
    {"family": "2-D", "preset": "fast", "n": 20, "m": 20, "inner_seconds": 3.0, "peak_rss_bytes": 1},
    {"family": "2-D", "preset": "fast", "n": 10, "m": 10, "inner_seconds": 1.0, "peak_rss_bytes": 1},
    {"family": "3-D", "preset": "fast", "n": 99, "m": 10, "inner_seconds": 9.0, "peak_rss_bytes": 1},
]
DEEP = [
    {"instance": "del17", "preset": "fast", "error": None, "comm_cost": 1_714_080},
    {"instance": "grid50", "preset": "fast", "error": None, "comm_cost": 2 * 4_597_818},
    {"instance": "rgg17", "preset": "eco", "error": None, "comm_cost": 10**9},
]
GAPS = [{"gap": 0.001}, {"gap": 0.003}]
STARTED = [{"command": "x", "cpu_seconds": value} for value in (3.0, 1.0, 2.0)]
UNIT = [
    {"over_bound": False, "empty": 0, "wrong_cost": False, "relaxed": False},
    {"over_bound": True, "empty": 3, "wrong_cost": False, "relaxed": False},
]
NETWORKED = [
    {"case": case, "contender": who, "objective": goal, "hop_bytes": value, "max_congestion": 1}
    for case, who, goal, value in (
        ("1", "ug+uwh", "", 10), ("1", "eco", "hop_bytes", 11), ("2", "ug+uwh", "", 10),
        ("2", "eco", "hop_bytes", 10), ("2", "fast", "hop_bytes", 12),
    )
]  # fmt: skip
THREADED = [
    {"graph": "box", "tool": tool, "seed": 1, "threads": threads, "wall_seconds": seconds}
    for tool, walls in {"fast": (6.0, 2.0), "eco": (10.0, 4.0), "strong": (9.0, 9.0)}.items()
    for threads, seconds in zip((1, 4), walls, strict=True)
]
CUTS = [
    {"graph": graph, "tool": tool, "seed": seed, "cut": cut, "cpu_seconds": seconds}
    for graph, tool, seed, cut, seconds in (
        ("a", "metis", 0, 10, 1.0), ("a", "metis", 1, 30, 2.0), ("a", "fast", 0, 40, 16.0),
        ("b", "metis", 0, 10, 1.0), ("b", "fast", 0, 2, 9.0), ("b", "fast", 1, 2, 4.0),
    )
]  # fmt: skip
ON_GPU = [{"n": 4, "J": [2, 8]}, {"n": 4, "J": [3]}, {"n": 5, "J": [9]}]
BY_HAND = [
    (BESIDE, {"what": "ratio", "contender": "hopbytes:fast", "measure": "comm_cost"}, 1.0),
    (BESIDE, {"what": "ratio", "contender": "hopbytes:fast", "measure": "wall_seconds"}, 0.5),
    (BESIDE, {"what": "worst_family", "contender": "hopbytes:fast"}, 2.0),
    (BESIDE, {"what": "ahead", "contender": "hopbytes:fast"}, 50.0),
    (BESIDE, {"what": "over_bound", "tool": "sharedmap"}, 1.0),
    (BESIDE, {"what": "over_bound", "tool": "hopbytes"}, 0.0),
    (RECORDED, {"what": "recordings", "preset": "eco", "against": "in order", "of": "largest"}, 0.8),
    (RECORDED, {"what": "recordings", "preset": "eco", "against": "in order", "of": "mean"}, 0.4),
    (RECORDED, {"what": "recordings", "preset": "eco", "against": "scotch", "of": "mean"}, 1.0),
    (RECORDED, {"what": "slowest", "preset": "eco", "ranks": 1024}, 0.5),
    (GROWN, {"what": "time_growth", "family": "2-D"}, 1.5),
    (DEEP, {"what": "over_kahip", "preset": "fast"}, 2.0),
    (GAPS, {"what": "mean_gap"}, 0.2),
    (GAPS, {"what": "largest_gap"}, 0.3),
    (STARTED, {"what": "median", "name": "x", "of": "cpu_seconds"}, 2.0),
    (UNIT, {"what": "broken"}, 1.0),
    (NETWORKED, {"what": "behind", "contender": "eco", "objective": "hop_bytes"}, 1.0),
    (THREADED, {"what": "least_speed_up", "presets": ["fast", "eco"], "threads": 4}, 2.5),
    (CUTS, {"what": "beside_metis", "preset": "fast", "of": "cut"}, (2 * 0.2) ** 0.5),
    (CUTS, {"what": "beside_metis", "preset": "fast", "of": "cpu"}, 8.0),
    (CUTS, {"what": "beside_metis", "preset": "fast", "of": "largest"}, 2.0),
    (ON_GPU, {"what": "on_gpu", "of": "J", "vertices": 4}, 4.0),
]


@pytest.mark.parametrize(("rows", "computed", "expected"), BY_HAND, ids=lambda value: str(value)[:60])
def test_numbers_by_hand(rows, computed, expected):
    assert compute(rows, {"from": "nowhere", **computed}) == pytest.approx(expected)


def test_the_gap_of_the_best_mapping_known_is_zero():
    known = next(iter(Store().rows().values()))
    same = {name: known[name] for name in ("hierarchy", "distance", "imbalance")}
    row = {**run_row(known["instance"], "hopbytes", "fast", known["comm_cost"]), **same}
    asked = {"from": "nowhere", "what": "gap", "contender": "hopbytes:fast"}
    assert compute([row], asked) == 0
    assert compute([{**row, "comm_cost": 2 * known["comm_cost"]}], asked) == 100


def test_no_number_is_left_without_a_case():
    assert {computed["what"] for _, computed, _ in BY_HAND} | {"gap"} == set(NUMBERS)
