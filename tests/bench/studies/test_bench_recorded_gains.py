"""What recordings gain: means and shares of known rows, and machines that hold all ranks."""

import pytest

import hopbytes as hb
from bench.studies import recorded_gains as study


def test_means_and_shares():
    rows = [
        {"recording": "a/one.prof", "ranks": 16, "machine": "cluster", "strong": [0.5, 0.25]},
        {"recording": "a/two.prof", "ranks": 16, "machine": "cluster", "strong": [1.0, 1.0]},
        {"recording": "a/two.prof", "ranks": 16, "machine": "torus", "strong": [1, 0.5], "routed": [1, 0.5]},
    ]
    lines = study.table(rows).splitlines()
    assert "| cluster | `strong` | 2 | 0.707 | 50% | 0.500 (0.25, 1.00) | 50% |" in lines
    assert "| all | `strong` | 3 | 0.794 | 67% | 0.500 (0.25, 1.00) | 33% |" in lines
    assert "| all | `routed` | 1 | 1.000 | 100% | 0.500 (0.50, 0.50) | 0% |" in lines
    assert "| two | 16 | 1.00 / - / - / - | 0.50 / 0.50 / - / - |" in lines


@pytest.mark.parametrize("ranks", sorted(study.SHAPES))
def test_machines_have_room_for_all_ranks(ranks):
    sizes = {hb.allocate(spec).k for spec in study.machines(ranks).values()}
    assert len(sizes) == 1
    assert ranks <= sizes.pop() < 1.1 * ranks


def test_routed_needs_links():
    graph = hb.read("stencil:4x4")
    machines = study.machines(16)
    assert study.mapped(graph, hb.allocate(machines["cluster"]), "routed") is None
    mapping = study.mapped(graph, hb.allocate(machines["torus"]), "eco, objective max_congestion")
    assert (mapping.info["preset"], mapping.info["objective"]) == ("eco", "max_congestion")
