"""The objective that is chosen by kind of machine: its table is that of the study, the answer says why."""

import re

import pytest

import hopbytes as hb
from helpers.paths import ROOT
from hopbytes.solve.map_tasks import OBJECTIVES, TIMES, auto_objective


def test_the_times_are_those_of_the_study():
    """The last table of bench/STUDIES.md; after another run of the study both change."""
    page = (ROOT / "bench/STUDIES.md").read_text()
    table = page.partition("Simulated time of preset `eco` by objective")[2].partition("\n## ")[0]
    names = re.search(r"^\| machine \| (.*) \|$", table, re.MULTILINE)[1].split(" | ")
    assert tuple(names) == OBJECTIVES
    rows = re.findall(r"^\| ([^|]+) \| (\d.*) \|$", table, re.MULTILINE)
    found = {name: tuple(float(cell.split()[0]) for cell in cells.split(" | ")) for name, cells in rows}
    assert found == TIMES


@pytest.mark.parametrize(
    ("machine", "name", "reason"),
    [
        ("torus:4x4 / core:4", "max_congestion", "took 0.54 of the time in order, for comm_cost 0.64"),
        # hybrid takes 0.6 % less, which is not worth its work.
        ("dragonfly:4x2x2 / core:4", "max_congestion", "took 0.66 of the time in order, for comm_cost 0.74"),
        ("fattree:4x4 / core:4", "max_congestion", "took 0.82 of the time in order, for comm_cost 0.89"),
        (f"ib:{ROOT}/examples/fabric", "comm_cost", "took 0.83 of the time in order"),
        ("hyperx:4x4 / core:4", "comm_cost", "no times were simulated on machines of kind hyperx"),
        ("node:16 core:4", "comm_cost", "the machine has no links"),
    ],
)
def test_the_choice_and_its_reason(machine, name, reason):
    found, told = auto_objective(hb.allocate(machine))
    assert found == name
    assert told.startswith(f"objective {name} was chosen: ")
    assert told.endswith(reason)


@pytest.mark.parametrize("machine", ["torus:4x4 / core:4", "node:16 core:4"])
def test_the_mapping_is_that_of_the_named_objective(machine):
    where = hb.allocate(machine)
    name, reason = auto_objective(where)
    own = hb.map_tasks("stencil:8x8", where, objective="auto", seed=3)
    named = hb.map_tasks("stencil:8x8", where, objective=name, seed=3)
    assert own.pe.tolist() == named.pe.tolist()
    assert own.info["objective"] == name
    assert own.info["notices"] == [reason, *named.info["notices"]]


def test_a_smaller_gain_than_two_per_cent_does_not_count(monkeypatch):
    where = hb.allocate("torus:4x4 / core:4")
    monkeypatch.setitem(TIMES, "torus", (0.656, 0.65, 0.9, 0.65, 0.9, 0.9))
    assert auto_objective(where)[0] == "comm_cost"
    monkeypatch.setitem(TIMES, "torus", (0.656, 0.64, 0.9, 0.65, 0.9, 0.9))
    assert auto_objective(where)[0] == "hop_bytes"


def test_weight_time_goes_with_the_communication_cost():
    machine = "torus:4x4:lat=1e-7:bw=10000000000 / core:4:lat=1e-7:bw=9000000000"
    mapping = hb.map_tasks("stencil:8x8", machine, objective="auto", weight="time")
    assert mapping.info["objective"] == "comm_cost"
    assert mapping.info["notices"][0] == "objective comm_cost was chosen: weight time goes with no other"


def test_the_command_line_says_what_was_chosen(hopbytes):
    done = hopbytes("map", "stencil:8x8", "--on", "torus:4x4 / core:4", "--objective", "auto", code=0)
    assert "objective max_congestion was chosen: in simulations" in done.stderr
