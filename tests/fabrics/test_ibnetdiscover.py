"""InfiniBand discovery: both forms, known answers, and everything that can be wrong."""

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
from hopbytes.fabrics.ibnetdiscover import bytes_per_second, rate_of, read_survey
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
    assert rate_of('"4xSDR host" lid 1 1xEDR') == bytes_per_second(1, "EDR") == 3_125_000_000
    assert (bytes_per_second(8, "HDR"), bytes_per_second(12, "XDR")) == (50_000_000_000, 300_000_000_000)


IBSIM = """\
Switch 8 "S-10" # "one" lid 4 lmc 0
[1] "H-20"[1] # "n1" lid 5 4xEDR
[2] "free"[2]
Switch 8 "S-nohex" # "" lid 0
[1] "Hca-like"[7]
Hca 2 "H-20" # "n1 mlx5_0"
[1](21) "S-10"[1] # lid 65408 lmc 7 "one" lid 4 4xEDR
Switch 4 "free"
[2] "S-10"[2]
Ca 8 "Hca-like" # "n2"
[7] "S-nohex"[1] # lid 0 lmc 0 "" lid 0
"""


def test_devices_as_a_file_names_them(tmp_path):
    (tmp_path / "net").write_text(IBSIM)
    survey = read_discovery(str(tmp_path / "net"))
    assert {key: (d.is_switch, d.name, d.guid, d.node_guid, d.port, d.lid, d.lmc, d.line)
            for key, d in survey.devices.items()} == {
        "S-10": (True, "one", 16, 16, 0, 4, 0, 1), "S-nohex": (True, "S-nohex", 0, 0, 0, 0, 0, 4),
        "H-20[1]": (False, "n1 mlx5_0", 0x21, 0x20, 1, 65408, 7, 7), "free": (True, "free", 0, 0, 0, 0, 0, 8),
        "Hca-like[7]": (False, "n2", 0, 0, 7, 0, 0, 11),
    }  # fmt: skip
    assert {(e.near, e.near_port, e.far, e.far_port, e.rate) for e in survey.ends.values()} == {
        ("S-10", 1, "H-20[1]", 1, 12_500_000_000), ("H-20[1]", 1, "S-10", 1, 12_500_000_000),
        ("S-10", 2, "free", 2, None), ("free", 2, "S-10", 2, None),
        ("S-nohex", 1, "Hca-like[7]", 7, None), ("Hca-like[7]", 7, "S-nohex", 1, None),
    }  # fmt: skip
    assert (survey.one_sided, survey.dropped) == ([], {})


@pytest.mark.parametrize(("old", "new", "words"), [
    ("lid 65408 lmc 7", "lid 65409 lmc 7", "net:7 65409"), ("lid 65408 lmc 7", "lid 0 lmc 8", "net:7 lmc 8"),
    ('Switch 4 "free"\n[2] "S-10"[2]\n', "", "net:3 'free[2]' cut"),
    ('Switch 4 "free"', 'Switch 4 "H-20[1]"\nSwitch 4 "free"', "net:8 was an adapter"),
    ('[2] "S-10"[2]', '[2] "S-10"[1]', "net:3 2 port 1"),
    ('Ca 8 "Hca-like"', 'Ca 8 "H-20"', "net:10 H-20 line 6"),
    ('[2] "free"[2]\n', '[2] "free"[2]\n[2] "free"[3]\n', "net:4 line 3"),
    ('[2] "free"[2]\n', '[2] "free"[2]\n[3] "S-10"[3]\n', "net:4 itself"),
    (IBSIM[: IBSIM.index("[1]")], "", "net:1 header"),
    (IBSIM, "CA 5 1 0x20 4x ??? 'n1 mlx5_0'\n", "net no cable"),
    (IBSIM, 'Switch 8 "S-10"\n[1] "S-11"[1]\nSwitch 8 "S-11"\n[1] "S-10"[1]\n', "net no adapter"),
])  # fmt: skip
def test_faults_of_small_networks(tmp_path, old, new, words):
    assert old in IBSIM
    (tmp_path / "net").write_text(text := IBSIM.replace(old, new, 1))
    with pytest.raises(FormatError) as caught:
        read_survey(str(tmp_path / "net"), text)
    assert all(word in str(caught.value) for word in words.split()), caught.value


def test_what_is_left_out_is_counted(tmp_path):
    """Routers and aggregation nodes, each with the cables that lead to it."""
    text = two_level_fabric()
    text.adapters += [f"Mellanox Technologies Aggregation Node {number}" for number in (1, 2)]
    text.adapters.append("router")
    for number, name in enumerate(text.adapters[-3:]):
        text.cables.append((Plug("spine1", 20 + number), Plug(name, 1), "4xHDR"))
    for ports in (False, True):
        folder = Path(text.write(tmp_path / str(ports), ports=ports))
        found = (folder / "discovery.txt").read_text()
        key = text.key("router")
        lines = [re.sub(rf"\bCA( +\d+ +\d+ 0x{text.guid('router'):016x})", r"RT\1", line).replace(
            f'Ca\t1 "{key}"', f'Rt\t1 "{key}"') for line in found.splitlines()]  # fmt: skip
        (folder / "discovery.txt").write_text("\n".join(lines))
        fabric = read_fabric(str(folder))
        assert (len(fabric.adapters), fabric.n_links) == (8, 24)
        assert fabric.notices == ("2 aggregation nodes left out: no host", "1 router left out: no host")
        (folder / "discovery.txt").write_text("\n".join(lines).replace(text.adapters[-2], "n9 ib0"))
        assert read_fabric(str(folder)).notices[0] == "1 aggregation node left out: no host"


@pytest.mark.parametrize(("pattern", "replacement", "words"), [
    (r"^CA +5 ", "CA 65536 ", "discovery.txt:22 65536"), (r"^CA +5 ", "CA 7 ", "discovery.txt:22 LID 7"),
    (r"^(CA +5 +)1 ", r"\g<1>2 ", "discovery.txt:22 port 2"),
    (r"'leaf1' - 'n1 mlx5_0'", "'leaf1'", "discovery.txt:2 peer"),
    (r"^SW +1 +1 0x\S+ 4x HDR", "SW 1 1 here 4x HDR", "discovery.txt:2 GUID"),
])  # fmt: skip
def test_faults_of_the_ports_report(tmp_path, pattern, replacement, words):
    path = Path(two_level_fabric().write(tmp_path, ports=True)) / "discovery.txt"
    content, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    path.write_text(content)
    with pytest.raises(FormatError) as caught:
        read_fabric(str(tmp_path))
    assert all(word in str(caught.value) for word in words.split()), caught.value


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
