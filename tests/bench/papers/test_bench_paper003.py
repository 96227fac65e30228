"""The torus experiments: patterns of products by hand, the values that parts send."""

import numpy as np

import hopbytes as hb
from bench.papers import paper003


def test_a_value_goes_once_to_every_other_part():
    # 0 is the centre of a star; 1, 2 and 3 lie in another part, 4 in a third.
    ends = np.array([[0, 0, 0, 0], [1, 2, 3, 4]])
    graph = hb.CommGraph.from_edges(*np.concatenate([ends, ends[::-1]], axis=1), n=5)
    found = paper003.product_pattern(graph, np.array([0, 1, 1, 1, 2]), 3)
    ends = zip(found.sources().tolist(), found.targets.tolist(), strict=True)
    arcs = dict(zip(ends, found.volumes.tolist(), strict=True))
    assert arcs == {(0, 1): 1, (0, 2): 1, (1, 0): 3, (2, 0): 1}
    assert set(found.messages.tolist()) == {1}
