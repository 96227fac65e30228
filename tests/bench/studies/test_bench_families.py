"""Generated families: simple symmetric graphs, the same from the same seed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bench.instances import family_graphs


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
