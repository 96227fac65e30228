"""Links of every generated network join where routes use them one after the other."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric

NETWORKS = (
    "torus:3x4x2:nodes=2", "torus:4x4:order=hilbert", "mesh:5x2", "torus:2", "fattree:3x3:nodes=8",
    "fattree:4x3x2:up=1x2x3:cables=1x2x2", "fattree:2x2x2:up=2x1x2:route=smodk", "dragonfly:4x2x2",
    "dragonfly:3x2x2:global=3:links=palmtree", "dragonfly:1x4x2", "dragonfly:5x1x2", "hyperx:3x4:nodes=2",
    "hyperx:5", "hyperx:1x3",
)


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


@pytest.mark.parametrize("spec", NETWORKS)
def test_routes_follow_the_wiring(spec):
    check_wiring(hb.allocate(spec).machine.network())


def test_files_of_links_and_fabrics_know_their_wiring(tmp_path):
    links = tmp_path / "net.links"
    links.write_text("host a b c\nswitch s t\nlink a s\nlink b s\nlink c t\nlink s t 2 x2\n")
    check_wiring(hb.allocate(f"links:{links}").machine.network(), pairs=20)
    fabric = two_level_fabric(leaves=3, hosts=2).write(tmp_path / "fabric")
    check_wiring(hb.allocate(f"ib:{fabric}").machine.network(), pairs=40)
