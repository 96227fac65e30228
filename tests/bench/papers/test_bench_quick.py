"""The short forms of the scripts of papers: tables, bins, and metrics of partitions by definition."""

import numpy as np
import pytest

import hopbytes as hb

pytest.importorskip("hopbytes_laboratory", reason="no laboratory: pip install ./bench")

from bench.papers import paper000, paper002, paper003
from bench.papers.quick import Report


def test_a_report_has_both_numbers_and_reasons():
    report = Report("Title")
    report.row("Fig. 1", "what", 1.5, 2)
    report.missing("Fig. 2", "no machine")
    lines = report.text().splitlines()
    assert lines[0] == "Title"
    assert [cell.strip() for cell in lines[1].split("|")] == ["", "", "paper", "ours"]
    assert [cell.strip() for cell in lines[2].split("|")] == ["Fig. 1", "what", "1.5", "2"]
    assert lines[3] == "Fig. 2: not here: no machine"
    assert lines[4].endswith(" CPU seconds")


@pytest.mark.parametrize("seed", range(10))
def test_bins_and_shares_are_counted(seed):
    ratios = np.random.default_rng(seed).choice([0.5, 0.9, 0.95, 1.0, 1.05, 1.1, 1.3, 2.0, 9.0], 50)
    bins = [
        sum(low <= ratio < high for ratio in ratios.tolist())
        for low, high in zip(paper002.BINS, paper002.BINS[1:], strict=False)
    ]
    assert paper002.histogram(ratios) == bins
    assert sum(bins) == 50
    shares = [sum(ratio <= at for ratio in ratios.tolist()) / 50 for at in paper002.SHOWN]
    assert paper002.cumulative(ratios) == pytest.approx(shares)


@pytest.mark.parametrize("seed", range(5))
def test_metrics_of_a_partition_are_those_of_the_definition(seed):
    """A vertex is sent once to every other part that has a neighbour of it."""
    rng = np.random.default_rng(seed)
    graph = hb.read("stencil:6x5:points=9")
    part = rng.integers(0, 4, graph.n)
    sent = {
        (v, int(part[u]))
        for v in range(graph.n)
        for u in graph.targets[graph.indptr[v] : graph.indptr[v + 1]].tolist() if part[u] != part[v]
    }
    volume, partners = [0] * 4, [set() for _ in range(4)]
    for v, to in sent:
        volume[part[v]] += 1
        partners[part[v]].add(to)
    found = paper003.partition_metrics(graph, part, 4)
    assert found["TV"] == sum(volume) == len(sent)
    assert found["MSV"] == max(volume)
    assert found["TM"] == sum(map(len, partners))
    assert found["MSM"] == max(map(len, partners))
    assert found["cut"] == sum(part[graph.sources()] != part[graph.targets])
    assert found["balance"] == np.bincount(part, minlength=4).max() * 4 / graph.n


def test_sizes_of_the_paper_are_all_of_them():
    assert paper000.sizes_of("all") == [64 * k for k in range(1, 129)]
    assert paper000.sizes_of("64,192") == [64, 192]
