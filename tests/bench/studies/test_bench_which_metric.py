"""The study of metrics: mappings differ, and the table finds the metric that times were made of."""

import numpy as np

import hopbytes as hb
from bench.studies import which_metric as study


def test_mappings_differ_and_repeat():
    graph, where = hb.read(study.PATTERNS["stencil 7"]), hb.allocate(study.MACHINES["torus"])
    made = [tuple(study.mapping_number(number, graph, where).pe.tolist()) for number in range(12)]
    assert len(set(made)) > 8
    assert all(sorted(pe) == list(range(64)) for pe in made)
    again = [tuple(study.mapping_number(number, graph, where).pe.tolist()) for number in range(12)]
    assert made == again


def test_the_table_finds_what_times_are_made_of():
    rng = np.random.default_rng(1)
    rows = []
    for number in range(40):
        row = {name: float(rng.random()) for name in study.SYMBOLS}
        row |= {"machine": "torus", "pattern": "stencil 7", "number": number, "bound": 1.0}
        rows.append({**row, "seconds": 1 + row["MC"]})
    fit, _, scores = study.table(rows).partition("\n\n")
    assert "| torus | 40 | 100% | MC 0." in fit
    header, _, torus = scores.splitlines()[:3]
    assert "pattern, 0 cases" in scores
    cells = dict(zip(header.split(" | "), torus.split(" | "), strict=True))
    assert cells["MC"] == "1.00 (1.00)"
    assert abs(float(cells["WH"].split()[0])) < 0.6


def test_cases_in_which_the_busiest_link_fails_are_listed():
    rng = np.random.default_rng(2)
    rows = []
    for number in range(40):
        row = {name: float(rng.random()) for name in study.SYMBOLS} | {"number": number, "bound": 1.0}
        rows.append({**row, "machine": "torus", "pattern": "LULESH", "seconds": 1 + row["WH"]})
    assert study.failures(rows)[2].startswith("| torus | LULESH | ")
    assert "| WH 1.00 |" in study.failures(rows)[2]


def test_what_needs_missing_files_is_left_out():
    assert study.there("torus:4x4")
    assert not study.there(f"ib:{study.SHARED}/nothing / core:4")
