"""PTRAM's experiments: the arcs of its patterns."""

from bench.papers import ptram


def test_patterns_have_the_arcs_of_the_paper():
    arcs = {name: graph.m for name, graph in ptram.patterns(4096).items()}
    assert arcs["2-D 5-point"] == 2 * 2 * 64 * 63
    assert arcs["3-D 15-point"] == 3 * 2 * 16 * 16 * 15 + 8 * 15**3
    assert arcs["all-to-all"] == 4096 * 63
