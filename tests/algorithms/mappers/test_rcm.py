"""Reverse Cuthill-McKee as a mapper."""

import numpy as np

import hopbytes as hb
from helpers.machines import nodes
from hopbytes.solve.map_tasks import map_tasks


def test_rcm_brings_neighbours_of_a_shuffled_chain_together():
    rng = np.random.default_rng(5)
    number = rng.permutation(64)
    chain = hb.CommGraph.from_edges(number[:-1], number[1:], n=64)
    mapping = map_tasks(chain, nodes(8, 8), "rcm")
    assert mapping.info["comm_cost"] == 56 * 1 + 7 * 10  # the seven seams are all that crosses nodes
