"""Networks: links of files join where routes use them one after the other, exact congestion, prices."""

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from hopbytes.cost.metrics.link_metrics import hottest_links, measure_links
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.machines.network import prices_of


def check_wiring(network, pairs=200):
    wiring = network.wiring()
    rng = np.random.default_rng(1)
    sources, targets = rng.integers(0, network.n_endpoints, (2, pairs))
    routes = network.routes(sources, targets)
    assert len(wiring.tail) == len(wiring.head) == network.n_links
    assert max(wiring.tail.max(), wiring.head.max(), wiring.at.max()) < wiring.vertices
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        links = routes.links[routes.indptr[i] : routes.indptr[i + 1]]
        stations = [wiring.at[source], *wiring.head[links]]
        assert stations[:-1] == wiring.tail[links].tolist()
        assert stations[-1] == wiring.at[target] or not len(links)


def test_files_of_links_and_fabrics_know_their_wiring(tmp_path):
    links = tmp_path / "net.links"
    links.write_text("host a b c\nswitch s t\nlink a s\nlink b s\nlink c t\nlink s t 2 x2\n")
    check_wiring(hb.allocate(f"links:{links}").machine.network(), pairs=20)
    fabric = two_level_fabric(leaves=3, hosts=2).write(tmp_path / "fabric")
    check_wiring(hb.allocate(f"ib:{fabric}").machine.network(), pairs=40)


SPEEDS = [("4xFDR", "4xEDR"), ("4xSDR", "4xFDR", "4xNDR"), ("1xSDR", "4xFDR10", "4xFDR", "12xXDR")]


def mixed_fabric(folder, speeds, **options) -> str:
    """The small fabric with the speeds dealt to its cables in turn."""
    text = two_level_fabric(leaves=3, spines=2, hosts=2, **options)
    text.cables = [(one, other, speeds[i % len(speeds)]) for i, (one, other, _) in enumerate(text.cables)]
    return text.write(folder)


def exact_congestion(graph, where, pe) -> dict[int, Fraction]:
    """Congestion of the links in use, flow by flow and link by link."""
    network, found = where.machine.network(), {}
    ends = where.machine.network_use.endpoint_of_core()[where.first_core][pe].tolist()
    for source, target, volume in zip(
        graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist(), strict=True
    ):
        for link in network.routes([ends[source]], [ends[target]]).links.tolist():
            found[link] = found.get(link, 0) + Fraction(volume, int(network.capacity[link]))
    return found


@pytest.mark.parametrize("speeds", SPEEDS)
@pytest.mark.parametrize("size", [1, 2**33, 2**54])
def test_figures_are_those_of_exact_fractions(tmp_path, speeds, size):
    where = hb.allocate(f"ib:{mixed_fabric(tmp_path, speeds)} / core:2")
    rng = np.random.default_rng(size % 97)
    ends = rng.integers(0, 12, (2, 40))
    graph = hb.CommGraph.from_edges(*ends, rng.integers(1, 9, 40) * size, n=12)
    pe = rng.permutation(12).astype(np.int32)
    values = exact_congestion(graph, where, pe)
    found = measure_links(graph, where, pe)
    assert found.used_links == len(values)
    assert found.max_congestion == float(max(values.values()))
    mean = sum(values.values()) / len(values)
    assert found.avg_congestion == float(mean)
    assert found.var_congestion == float(sum((value - mean) ** 2 for value in values.values()) / len(values))
    assert objectives["max_congestion"]().value(graph, where, pe) == found.max_congestion
    hottest = hottest_links(graph, where, pe)
    ranked = sorted(values, key=lambda link: (-values[link], link))
    names = [where.machine.network().name_link(link) for link in ranked]
    assert [one.name for one in hottest] == names[:10]


def test_a_map_that_only_wants_distances_ends_well(tmp_path):
    """It wrote its file and then failed in the summary."""
    folder = mixed_fabric(tmp_path / "fabric", SPEEDS[1])
    out = tmp_path / "out.json"
    pattern = tmp_path / "app.csv"
    volumes = np.where(np.eye(12, dtype=bool), 0, 10**14)
    pattern.write_text("\n".join(",".join(map(str, row)) for row in volumes.tolist()))
    done = subprocess.run(
        [sys.executable, "-m", "hopbytes", "map", str(pattern), "--on", f"ib:{folder} / core:2",
         "--preset", "fast", "--format", "json", "-o", str(out)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["pe"]) == 12


def test_prices_are_as_small_as_they_can_be_and_right():
    fdr, edr, sdr, ndr = 6_818_181_818, 12_500_000_000, 1_000_000_000, 50_000_000_000
    assert prices_of([4, 6]) == (3, 2)
    assert prices_of([fdr, edr]) == (11, 6)
    assert prices_of([sdr, fdr, ndr]) == (150, 22, 3)
    rng = np.random.default_rng(1)
    for count in (2, 3, 8, 40):
        sizes = sorted({int(size) for size in rng.integers(10**8, 10**11, count)})
        prices = prices_of(sizes)
        unit = prices[0] * sizes[0]
        errors = [price * size / unit - 1 for price, size in zip(prices, sizes, strict=True)]
        assert max(map(abs, errors)) < 2**-12
    assert prices_of([1, 10**15])[1] >= 1
    assert max(prices_of([1, 10**15])) <= 2**32
