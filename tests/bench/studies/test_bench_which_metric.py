"""The study of metrics: mappings differ, and the table finds the metric that times were made of."""

import numpy as np

from bench.studies import which_metric as study


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
