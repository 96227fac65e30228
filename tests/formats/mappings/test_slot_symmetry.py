"""Renumbering of slots that are alike: it changes no distance and makes nodes equal."""

import numpy as np
from hypothesis import given, settings

from helpers.placements import mappings, place, write
from hopbytes.formats.mappings.launch_files import renumbered


@given(mappings())
@settings(deadline=None, max_examples=100)
def test_renumbering_changes_no_distance(mapping):
    if mapping.n < 2:
        return
    distance, after = mapping.where.distance.matrix(), renumbered(mapping)
    assert np.array_equal(distance[np.ix_(mapping.pe, mapping.pe)], distance[np.ix_(after, after)])


def test_renumbering_makes_alike_nodes_equal():
    """Both nodes hold the pairs (first, third) and (second, fourth) of their ranks, on different slots."""
    mapping = place("node:2@10 package:2@3 core:2@1", [2, 0, 3, 1, 5, 7, 4, 6], hosts=("a", "b"))
    written = write("slurm", mapping)
    assert "--cpu-bind=map_cpu:0,2,1,3 " in written.launch
    assert list(written.files) == [""]
