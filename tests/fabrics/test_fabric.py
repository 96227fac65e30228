"""Routes followed through forwarding tables: loops, pairs without a route, and ibtracert's own answers."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.fabric_text import route, two_level_fabric
from hopbytes.errors import FormatError
from hopbytes.fabrics import fabric as fabrics
from hopbytes.fabrics.fabric import (
    Fabric,
    follow,
    leaf_switches,
    read_fabric,
    unrouted,
    with_shortest_routes,
)
from hopbytes.fabrics.ibnetdiscover import Device


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


@st.composite
def drawn_fabrics(draw):
    """Switches with cables, also parallel ones or none, and adapters at switches, at each other or alone."""
    switches, adapters = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    ends = st.tuples(*[st.integers(0, switches - 1)] * 2).filter(lambda cable: cable[0] != cable[1])
    inner = draw(st.lists(ends, max_size=9))
    cables = [*inner, *inner[: draw(st.integers(0, 2))]]
    free = list(range(adapters))
    while free:
        adapter, place = free.pop(0), draw(st.integers(-2, switches - 1))
        if place >= 0:
            cables.append((switches + adapter, place))
        elif place == -1 and free:
            cables.append((switches + adapter, switches + free.pop()))
    assume(cables)
    links = sorted((*ends, number) for number, cable in enumerate(cables) for ends in (cable, cable[::-1]))
    source, target, _ = np.array(links, np.int32).reshape(-1, 3).T
    devices = [Device(f"d{number}", number < switches, f"d{number}") for number in range(switches + adapters)]
    ports = np.arange(len(links), dtype=np.int32)
    return Fabric(
        tuple(devices[:switches]), tuple(devices[switches:]), source, target, ports, ports,
        np.ones(len(links), np.int64), None,
    )  # fmt: skip


@settings(deadline=None)
@given(drawn_fabrics())
def test_shortest_routes_and_what_arrives_by_their_definitions(fabric):
    switches, adapters = len(fabric.switches), len(fabric.adapters)
    ends = list(zip(fabric.link_source.tolist(), fabric.link_target.tolist(), strict=True))
    apart = {(s, s): 0 for s in range(switches)} | {end: 1 for end in ends if max(end) < switches}
    for middle, one, other in product(range(switches), repeat=3):
        if (one, middle) in apart and (middle, other) in apart:
            length = apart[one, middle] + apart[middle, other]
            apart[one, other] = min(apart.get((one, other), length), length)
    leaf = [next((b for a, b in ends if a == switches + n and b < switches), -1) for n in range(adapters)]
    assert leaf_switches(fabric).tolist() == leaf
    routed = with_shortest_routes(fabric)
    hops = follow(routed)
    for switch, adapter in product(range(switches), range(adapters)):
        goal = leaf[adapter]
        if switch == goal:
            fit = [ends.index((switch, switches + adapter))]
        else:
            fit = [
                number for number, (a, b) in enumerate(ends)
                if a == switch and (a, goal) in apart and apart.get((b, goal), 99) == apart[a, goal] - 1
            ]
        assert routed.forward[switch, adapter] == (fit[adapter % len(fit)] if fit else -1)
        assert hops[switch, adapter] == (apart[switch, goal] + 1 if (switch, goal) in apart else -1)
    lost = []
    for one, other in product(range(adapters), repeat=2):
        together = (switches + one, switches + other) in ends
        if one != other and not together and (leaf[one], leaf[other]) not in apart:
            lost.append([one, other])
    assert unrouted(routed, hops).tolist() == lost


def test_a_long_circle_is_cut(tmp_path):
    for length in (5, 6, 7):
        switches = tuple(Device(f"s{number}", True, f"s{number}") for number in range(length))
        source = np.array([*range(length), length], np.int32)
        target = np.array([*range(1, length), 0, 0], np.int32)
        forward = np.arange(length, dtype=np.int32)[:, None]
        adapters, capacity = (Device("a", False, "a"),), np.ones(length + 1, np.int64)
        fabric = Fabric(switches, adapters, source, target, source, source, capacity, forward)
        with pytest.raises(FormatError) as caught:
            follow(fabric)
        shown = str(caught.value).partition("circle: ")[2].split(" -> ")
        names = [f"'s{number % length}'" for number in range(length + 1)]
        assert shown == (names if length < 6 else [*names[:6], "…"])
        assert np.array_equal(follow(replace(fabric, forward=np.full_like(forward, -1))), [[-1]] * length)


def test_files_of_a_folder(tmp_path, monkeypatch):
    """Tables may lie two folders further in; hidden and empty files, and others further in, do not count."""
    text = two_level_fabric()
    folder = tmp_path / "fabric"
    text.write(folder)
    table = (folder / "dump_fts.txt").read_text()
    (folder / "dump_fts.txt").unlink()
    for place in (".hidden.txt", "a/b/c/far.txt"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(table)
    (folder / "empty.txt").write_text("")
    assert read_fabric(f"{folder}/").forward is None
    (folder / "a/b/near.txt").write_text(table)
    for path, tables in ((folder, None), (folder, "near*"), (folder, "a/*/near.txt"), (folder, "a/b/*"),
                         (folder / "discovery.txt", "near.txt")):  # fmt: skip
        found = read_fabric(str(path), tables)
        assert found.tables[0] == f"{folder}/a/b/near.txt:1"
    far = tmp_path / "elsewhere.txt"
    far.write_text(table)
    assert read_fabric(str(folder), str(far)).tables[3].startswith(f"{far}:")
    assert read_fabric(str(folder / "discovery.txt")).forward is None
    assert read_fabric(str(folder), routed=False).forward is None
    for number in range(4):
        (folder / f"e{number}.txt").write_text(text.discovery())
    with pytest.raises(FormatError, match=mentions("5 discovery files", "and 2 more", "'e0.txt', 'e1.txt'")):
        read_fabric(str(folder))
    monkeypatch.setattr(fabrics, "MAX_FILES", 7)  # of which the hidden and the far one are none
    with pytest.raises(FormatError, match=mentions("5 discovery files")):
        read_fabric(str(folder))
    monkeypatch.setattr(fabrics, "MAX_FILES", 6)
    with pytest.raises(FormatError, match=mentions("6", "one fabric")):
        read_fabric(str(folder))


def test_rates_of_which_some_are_unknown(tmp_path):
    text = two_level_fabric()
    for cable, rate in ((0, "4xEDR"), (1, "4x???"), (2, "4xNDR")):
        text.cables[cable] = (*text.cables[cable][:2], rate)
    fabric = read_fabric(text.write(tmp_path))
    rates = {tuple(sorted(pair)): rate for pair, rate in zip(
        zip(fabric.link_source.tolist(), fabric.link_target.tolist(), strict=True),
        fabric.link_capacity.tolist(), strict=True,
    )}  # fmt: skip
    edr = 12_500_000_000
    assert sorted(rates.values())[:2] == [edr, edr]
    assert sorted(rates.values())[-1] == 50_000_000_000
    assert any("2 of 24 links" in notice and str(edr) in notice for notice in fabric.notices)
    text.cables = [(*cable[:2], "4x???") for cable in text.cables]
    fabric = read_fabric(text.write(tmp_path))
    assert set(fabric.link_capacity.tolist()) == {1}
    assert any("no link has a known rate" in notice for notice in fabric.notices)


@pytest.mark.parametrize("form", [False, True])
def test_adapters_without_an_address_and_the_highest_port(tmp_path, form):
    text = two_level_fabric()
    folder = text.write(tmp_path, ports=form)
    path = tmp_path / "discovery.txt"
    whole = path.read_text()
    lid = text.lid("n8 mlx5_0")
    path.write_text(whole.replace(f"lid {lid} ", "lid 0 ").replace(f"CA {lid:5} ", f"CA {0:5} "))
    fabric = read_fabric(folder)
    assert [notice for notice in fabric.notices if "1 adapters have no LID" in notice and "n8" in notice]
    assert len(unrouted(fabric, follow(fabric))) == 7
    for port in (254, 255):
        text.cables[0][0].port = port
        text.write(tmp_path, ports=form)
        if port == 254:
            assert read_fabric(folder, routed=False).link_source_port.max() == 254
        else:
            with pytest.raises(FormatError, match=r"discovery\.txt:\d+: port 255, expected at most 254"):
                read_fabric(folder, routed=False)
