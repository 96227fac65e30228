"""Routes followed through forwarding tables: loops, pairs without a route, and ibtracert's own answers."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.fabric_text import route, two_level_fabric
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError
from hopbytes.fabrics.fabric import follow, read_fabric, unrouted

SHARED = SHARED_SAMPLES / "infiniband"


def test_loops_are_named(tmp_path):
    text = two_level_fabric()
    lid = text.lid("n8 mlx5_0")
    text.tables["spine1"][lid] = 1  # back to leaf1 instead of down to leaf2
    fabric = read_fabric(text.write(tmp_path))
    with pytest.raises(FormatError, match=mentions("n8", "mlx5_0", "'leaf1'")):
        follow(fabric)


def test_unrouted_pairs_are_found(tmp_path):
    text = two_level_fabric()
    del text.tables["leaf1"][text.lid("n8 mlx5_0")]
    text.tables["leaf2"][text.lid("n1 mlx5_0")] = 39  # no cable there
    fabric = read_fabric(text.write(tmp_path))
    names = [adapter.name.split()[0] for adapter in fabric.adapters]
    lost = {(names[a], names[b]) for a, b in unrouted(fabric, follow(fabric))}
    assert lost == {(f"n{i}", "n8") for i in (1, 2, 3, 4)} | {(f"n{i}", "n1") for i in (5, 6, 7, 8)}
    with pytest.raises(FormatError, match=mentions("n1", "mlx5_0", "n8")):
        route(fabric, names.index("n1"), names.index("n8"))


def test_delivered_to_the_wrong_host_is_not_delivered(tmp_path):
    text = two_level_fabric()
    text.tables["leaf2"][text.lid("n8 mlx5_0")] = text.tables["leaf2"][text.lid("n7 mlx5_0")]
    fabric = read_fabric(text.write(tmp_path))
    assert len(unrouted(fabric, follow(fabric))) == 7
