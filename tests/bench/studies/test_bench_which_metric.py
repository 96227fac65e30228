"""The study of metrics: mappings differ, and the table finds the metric that times were made of."""

import numpy as np

import hopbytes as hb
from bench.studies import which_metric as study


def test_mappings_differ_and_repeat():
    graph, where = hb.read(study.PATTERNS[0]), hb.machine(study.MACHINES["torus"])
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
        row |= {"machine": "torus", "pattern": study.PATTERNS[0], "number": number, "bound": 1.0}
        rows.append({**row, "seconds": 1 + row["MC"]})
    fit, _, scores = study.table(rows).partition("\n\n")
    assert "| torus | 40 | 100% | MC 0." in fit
    header, _, torus = scores.splitlines()[:3]
    cells = dict(zip(header.split(" | "), torus.split(" | "), strict=True))
    assert cells["MC"] == "1.00 (1.00)"
    assert abs(float(cells["WH"].split()[0])) < 0.6
