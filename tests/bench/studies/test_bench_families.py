"""Generated families: simple symmetric graphs, the same from the same seed; the table says what is odd."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bench.instances import family_graphs
from bench.studies import families


@pytest.mark.parametrize("name", family_graphs.FAMILIES)
def test_every_family_is_symmetric_without_loops(name: str) -> None:
    made, again = (family_graphs.FAMILIES[name](np.random.default_rng([5, 3]), 800) for _ in range(2))
    assert made.digest() == again.digest()
    assert 400 <= made.n <= 2500
    volumes = np.ones(len(made.targets), np.int64) if made.volumes is None else made.volumes
    matrix = sp.csr_array((volumes, made.targets, made.indptr), shape=(made.n, made.n))
    assert (matrix != matrix.T).nnz == 0
    assert not matrix.diagonal().any()
    assert volumes.min() > 0


def test_a_run_is_judged_and_the_table_names_what_is_out_of_line(capsys: pytest.CaptureFixture[str]) -> None:
    graph = family_graphs.FAMILIES["grid2"](np.random.default_rng(1), 2000)
    facts = {
        "seed": 1, "case": 0, "family": "grid2", "label": "", "n": graph.n, "arcs": len(graph.targets),
        "hierarchy": "4:4", "distance": "1:10", "imbalance": 0.03, "tool_seed": 1,
        "hash": graph.digest()[:12],
    }
    row = families.run("hopbytes:fast", graph, facts, 60)
    assert row["said"] == "met"
    assert row["J"] == row["levels"][1] + 10 * row["levels"][2]
    assert "error" in families.run("hopbytes:none", graph, facts, 60)
    families.table([row, {**row, "tool": "hopbytes:eco", "J": 2 * row["J"]}])
    said = capsys.readouterr().out
    assert "| grid2 | 2.000 (1) |" in said
    assert "hopbytes:eco: 2.000 of hopbytes:fast" in said
