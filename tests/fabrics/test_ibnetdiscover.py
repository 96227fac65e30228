"""InfiniBand discovery: both forms, known answers, and everything that can be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.fabric_text import Plug, device_of, route, two_level_fabric
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError
from hopbytes.fabrics.fabric import follow, leaf_switches, read_discovery, read_fabric
from hopbytes.fabrics.ibnetdiscover import bytes_per_second, rate_of
from hopbytes.fabrics.ibtables import read_tables

SHARED = SHARED_SAMPLES / "infiniband"


def links_by_name(fabric):
    """(device, port, device, port, capacity) of every link."""
    return {
        (device_of(fabric, int(a)).name, int(p), device_of(fabric, int(b)).name, int(q), int(c))
        for a, p, b, q, c in zip(
            fabric.link_source,
            fabric.link_source_port,
            fabric.link_target,
            fabric.link_target_port,
            fabric.link_capacity,
            strict=True,
        )
    }


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2),
)
def test_both_forms_say_the_same(tmp_path_factory, leaves, spines, hosts, parallel, rails, lmc):
    text = two_level_fabric(leaves, spines, hosts, parallel, min(rails, leaves), lmc)
    one = read_fabric(text.write(tmp_path_factory.mktemp("discovery")))
    # The ports report has no lmc: it reads the same when only first LIDs matter.
    other = read_fabric(text.write(tmp_path_factory.mktemp("ports"), ports=True))
    assert links_by_name(one) == links_by_name(other)
    for name in ("link_source", "link_target", "link_source_port", "link_capacity", "forward"):
        if lmc == 0 or name != "forward":
            assert np.array_equal(getattr(one, name), getattr(other, name))
    for fabric in (one, other):
        arrival = follow(fabric)
        leaf = leaf_switches(fabric)
        for a in range(len(fabric.adapters)):
            for b in range(len(fabric.adapters)):
                path = route(fabric, a, b)
                assert len(path) == (0 if a == b else 1 + int(arrival[leaf[a], b]))
                assert len(path) in ((0,) if a == b else (2, 4))


def test_parallel_cables_stay_apart(tmp_path):
    fabric = read_fabric(two_level_fabric(parallel=3).write(tmp_path))
    up = [
        link
        for link in range(fabric.n_links)
        if device_of(fabric, int(fabric.link_source[link])).name == "leaf1"
        and device_of(fabric, int(fabric.link_target[link])).name == "spine1"
    ]
    assert len(up) == 3
    used = {route(fabric, a, b)[1] for a in range(4) for b in range(4, 8)}
    assert len(used) > 1


def test_aggregation_nodes_are_no_hosts(tmp_path):
    text = two_level_fabric()
    text.adapters.append("Mellanox Technologies Aggregation Node")
    text.cables.append((Plug("spine1", 20), Plug(text.adapters[-1], 1), "4xHDR"))
    for ports in (False, True):
        fabric = read_fabric(text.write(tmp_path / str(ports), ports=ports))
        assert (len(fabric.adapters), fabric.n_links) == (8, 24)
        assert fabric.notices == ("1 aggregation node left out: no host",)


FAULTS = [
    (r"^Switch\t40 .*$", "Switch what", "expected a header"),
    (r"^\[1\]\t.*$", "[1] nowhere", "expected a cable"),
    (r'"S-0002c90000001010"\[1\]', '"S-0002c90000009999"[1]', "never described|leads"),
    (r"enhanced port 0 lid 1 ", "enhanced port 0 lid 70000 ", "lid 70000"),
    (r"lmc 0$", "lmc 9", "lmc 9"),
    (r"lid 5 lmc 0", "lid 6 lmc 0", "LID 6 of .* belongs to"),
    (r"^\[1\]\t", "[300]\t", "port 300|leads"),
]


@pytest.mark.parametrize(("pattern", "replacement", "message"), FAULTS)
def test_faults_of_discovery_name_the_line(tmp_path, pattern, replacement, message):
    text = two_level_fabric()
    folder = Path(text.write(tmp_path))
    content, count = re.subn(pattern, replacement, text.discovery(), count=1, flags=re.MULTILINE)
    assert count == 1
    (folder / "discovery.txt").write_text(content)
    with pytest.raises(FormatError, match=rf"discovery\.txt:\d+: .*({message})"):
        read_fabric(str(folder))


def test_a_switch_listed_twice_is_refused(tmp_path):
    text = two_level_fabric()
    block = text.discovery().split("\n\n")[1]
    (tmp_path / "d.txt").write_text(text.discovery() + "\n" + block + "\n")
    with pytest.raises(FormatError, match=r"d\.txt:\d+: Switch 'S-\w+1000' a second time, first at line 9"):
        read_discovery(str(tmp_path / "d.txt"))
    text.write(tmp_path / "p", ports=True)
    lines = (tmp_path / "p/discovery.txt").read_text().splitlines()
    (tmp_path / "p/discovery.txt").write_text("\n".join([*lines, lines[1]]))
    with pytest.raises(FormatError, match=mentions("1", "0x0002c90000001000", "2")):
        read_discovery(str(tmp_path / "p/discovery.txt"))


def test_a_folder_without_a_fabric(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(FormatError, match="no discovery file, expected"):
        read_fabric(str(tmp_path))
    with pytest.raises(FormatError, match=r"neither form of ibnetdiscover"):
        read_fabric(str(tmp_path / "notes.txt"))
    with pytest.raises(FormatError, match="cannot be read"):
        read_fabric(str(tmp_path / "missing"))


@pytest.mark.shared
@pytest.mark.parametrize(("folder", "tables", "switches", "adapters", "links", "one_hop"), [
    ("avakas", None, 25, 281, 1138, 4660), ("avakas_sim", None, 25, 281, 1138, 4660),
    ("ndr_dgx_40sw", "dump_fts_dfsssp.txt.gz", 40, 542, 2148, 8954),
    ("ndr_dgx_40sw", "dump_fts_minhop.txt.gz", 40, 542, 2148, 8954),
])  # fmt: skip
def test_real_fabrics_arrive_in_one_or_three_hops(folder, tables, switches, adapters, links, one_hop):
    fabric = read_fabric(str(SHARED / folder), tables)
    assert (len(fabric.switches), len(fabric.adapters), fabric.n_links) == (switches, adapters, links)
    hops = follow(fabric)[leaf_switches(fabric)]
    np.fill_diagonal(hops, 0)
    found = dict(zip(*np.unique(hops, return_counts=True), strict=True))
    # On avakas 4660 + 74 020 = 78 680 ordered pairs, all there are.
    assert found == {0: adapters, 1: one_hop, 3: adapters * (adapters - 1) - one_hop}


@pytest.mark.shared
@pytest.mark.parametrize(("name", "adapters"), [("ibsim_net", 2), ("ibsim_net.2sw2path4hca", 4)])
def test_network_files_of_ibsim(name, adapters):
    fabric = read_fabric(str(SHARED / name))
    assert (len(fabric.switches), len(fabric.adapters)) == (2, adapters)
    assert fabric.forward is None
    assert len(read_tables(str(SHARED / "avakas/ibroutes/ibroute-1.txt"))[0].lids) > 300


def test_unknown_rates(tmp_path):
    text = two_level_fabric()
    text.cables[0] = (*text.cables[0][:2], "4x???")
    fabric = read_fabric(text.write(tmp_path))
    assert set(fabric.link_capacity.tolist()) == {25_000_000_000}
    assert "2 of 24 links have no known rate" in fabric.notices[0]


@pytest.mark.parametrize(
    ("rate", "bits"),
    [  # data rates of InfiniBand as vendors publish them, in Mbit/s
        ("4xSDR", 8_000),
        ("4xDDR", 16_000),
        ("4xQDR", 32_000),
        ("4xFDR10", 40_000),
        ("4xEDR", 100_000),
        ("4xHDR", 200_000),
        ("2xHDR", 100_000),
        ("4xNDR", 400_000),
        ("4xXDR", 800_000),
        ("12x QDR", 96_000),
        ("1xSDR", 2_000),
    ],
)
def test_rates(rate, bits):
    assert rate_of(f"lid 3 {rate}") == bits * 10**6 // 8


def test_odd_rates():
    assert rate_of("4xFDR") == 6_818_181_818  # 4 x 14.0625 Gbit/s x 64/66, rounded down
    assert rate_of("4x ???") is None
    assert rate_of("no rate") is None
    assert bytes_per_second(3, "SDR") is None
