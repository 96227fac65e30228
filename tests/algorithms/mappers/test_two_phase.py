"""The two-phase pipeline of paper 000: partition, then map blocks to PEs."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.algorithms.mappers.two_phase import TwoPhase
from hopbytes.errors import UnsupportedError
from hopbytes.solve.map_tasks import map_tasks


def cube(side):
    """Grid of side^3 tasks, every edge in both directions."""
    number = np.arange(side**3).reshape(side, side, side)
    near, far = [], []
    for axis in range(3):
        low = np.take(number, range(side - 1), axis).ravel()
        high = np.take(number, range(1, side), axis).ravel()
        near += [low, high]
        far += [high, low]
    return hb.CommGraph.from_edges(np.concatenate(near), np.concatenate(far), n=side**3)


def test_identity_on_multisection_model_is_multisection():
    graph, where = cube(8), nodes(4, 4)
    plain = map_tasks(graph, where, "multisection", seed=3, partition=True)
    model = map_tasks(
        graph, where, "two_phase:model=rms,mapping=identity,refine=none", seed=3, partition=True
    )
    assert model.pe.tolist() == plain.pe.tolist()


@pytest.mark.parametrize(
    "options",
    [{"model": "kway"}, {"mapping": "no_such"}, {"mapping": "two_phase"}, {"refine": "no_such"}],
)
def test_two_phase_refuses_what_it_cannot_do(options):
    with pytest.raises(UnsupportedError):
        TwoPhase(**options)


@pytest.mark.parametrize("choice", ["n_p:block=1", "n_cd:d=0"])
def test_neighbourhoods_without_pairs_are_refused(choice):
    with pytest.raises(UnsupportedError):
        map_tasks(cube(2), nodes(2, 4), ["identity", choice])
