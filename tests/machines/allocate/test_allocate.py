"""From machine to allocation: exclusions, slots of several cores, hosts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.paths import hwloc_sample
from helpers.strategies import machines
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, UnsupportedError, WrongTypeError
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.kinds.table import Table
from hopbytes.show.describe import machine_facts, machine_text


def rows(where):
    return [where.cores_of(pe).tolist() for pe in range(where.k)]


def test_papers_notation():
    assert hb.allocate(hierarchy="4:2:3", distance="1:10:100").machine == hb.allocate(
        "level3:3@100 level2:2@10 level1:4@1"
    ).machine
    with pytest.raises(FormatError, match="expected one of them"):
        hb.allocate("core:2", hierarchy="2")
    with pytest.raises(FormatError, match="expected one of them"):
        hb.allocate()


# node:3 with l3s of 4+2, 3+3 and 2+2 cores: cores 0-5, 6-11, 12-15
UNEVEN = "node:3@10 l3:2@3 core:[4,2,3,3,2,2]@1"


@pytest.mark.parametrize(("exclude", "gone"), [
    ("node=1", [6, 7, 8, 9, 10, 11]), ("node=0,2", [0, 1, 2, 3, 4, 5, 12, 13, 14, 15]),
    ("core=0", [0, 6, 12]), ("core=4-5", [4, 5, 10, 11]), ("l3=1", [4, 5, 9, 10, 11, 14, 15]),
    ("l3.core=0", [0, 4, 6, 9, 12, 14]), ("l3.core=2-3", [2, 3, 8, 11]),
    (["node=2", "core=0"], [0, 6, 12, 13, 14, 15]),
])  # fmt: skip
def test_exclusions(exclude, gone):
    where = hb.allocate(UNEVEN, exclude=exclude)
    assert where.cores.tolist() == [core for core in range(16) if core not in gone]
    assert where.notices == (f"{len(gone)} of 16 cores are excluded or reserved",)


def test_exclusions_without_nodes_count_over_the_machine():
    assert hb.allocate("l3:2 core:2", exclude="core=3").cores.tolist() == [0, 1, 2]
    assert hb.allocate("l3:2 core:2", exclude="l3.core=1").cores.tolist() == [0, 2]
    table = Table(np.array([[0, 1], [1, 0]]))
    assert hb.allocate(table, exclude="core=0").cores.tolist() == [1]


def test_reserving_takes_the_first_allowed_core_of_each_unit():
    assert hb.allocate("node:2 l3:2 core:3", reserve="1/l3").cores.tolist() == [1, 2, 4, 5, 7, 8, 10, 11]
    where = hb.allocate("node:2 l3:2 core:3", exclude="core=0", reserve="1/l3,1/node")
    assert where.cores.tolist() == [4, 5, 10, 11]
    assert hb.allocate("node:2 core:2 pu:2", reserve="1/node").cores.tolist() == [2, 3, 6, 7]


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"exclude": "core"}, FormatError, "expected LEVEL=0-2,5"),
    ({"exclude": "a.b.c=1"}, FormatError, "expected LEVEL=0-2,5"),
    ({"exclude": "core=x"}, FormatError, "'x' in 'core=x', expected N or N-M"),
    ({"exclude": "core=2-1"}, FormatError, "'2-1'"),
    ({"exclude": "node=3"}, FormatError, "'3' in 'node=3', expected numbers from 0 to 2"),
    ({"exclude": "l3.core=4"}, FormatError, "expected numbers from 0 to 3"),
    ({"exclude": "nod=1"}, UnsupportedError, "unknown level 'nod', did you mean 'node'?"),
    ({"exclude": "node=0-2"}, InfeasibleError, "all 16 cores are excluded"),
    ({"reserve": "0/l3"}, FormatError, "expected N/LEVEL"),
    ({"reserve": "l3"}, FormatError, "expected N/LEVEL"),
    ({"reserve": "1/socket"}, UnsupportedError, "unknown level 'socket'"),
    ({"reserve": "4/l3"}, InfeasibleError, "all 16 cores"),
    ({"cores_per_task": 0}, FormatError, "0, expected an integer >= 1"),
    ({"cores_per_task": 7}, InfeasibleError, "the 7 free cores"),
    ({"per": "socket"}, UnsupportedError, "unknown level 'socket'"),
    ({"per": "l3=2"}, FormatError, "expected a level"),
    ({"per": "node", "cores_per_task": 7}, InfeasibleError, "7 free cores"),
    ({"hosts": "n[1-2]"}, FormatError, "2 hosts for 3 nodes"),
    ({"hosts": "a,b,a"}, FormatError, "host 'a' twice"),
])  # fmt: skip
def test_errors(options, error, words):
    with refused(error, words):
        hb.allocate(UNEVEN, **options)


@pytest.mark.parametrize(("spec", "size", "slots", "left", "straddling"), [
    ("node:2 core:3", 1, [[0], [1], [2], [3], [4], [5]], "", ""),
    ("node:1 package:2 l3:2 core:4", 3, [[0, 1, 2], [4, 5, 6], [8, 9, 10], [12, 13, 14]], "4 of 16", ""),
    ("node:1 package:2 l3:2 core:4", 6, [[*range(6)], [*range(8, 14)]], "4 of 16", "2 slots"),
    ("node:1 l3:4 core:4", 8, [[*range(8)], [*range(8, 16)]], "", ""),
    (UNEVEN, 4, [[0, 1, 2, 3], [6, 7, 8, 9], [12, 13, 14, 15]], "4 of 16", "1 slot"),
    (Table(1 - np.eye(5, dtype=np.int64)), 2, [[0, 1], [2, 3]], "1 of 5", ""),
])  # fmt: skip
def test_slots_lie_in_the_smallest_unit_with_room(spec, size, slots, left, straddling):
    where = hb.allocate(spec, cores_per_task=size)
    assert rows(where) == slots
    said = f"{left} allowed cores are left over: they make no slot of {size} cores"
    straddle = f"{straddling} of {size} cores straddle units too small for one"
    assert where.notices == (said,) * bool(left) + (straddle,) * bool(straddling)


def test_one_slot_per_unit_of_a_level():
    assert rows(hb.allocate("node:2 l3:2 core:2", per="l3", exclude="core=3")) == [[0, 1], [2], [4, 5], [6]]
    where = hb.allocate("node:2 l3:2 core:2", per="l3", cores_per_task=2, exclude="core=3")
    assert rows(where) == [[0, 1], [4, 5]]
    assert "left over: they make no slot of 2 cores per l3" in where.notices[1]
    with pytest.raises(InfeasibleError, match="would span several nodes"):
        hb.allocate("island:1 node:2 core:2", per="island")


def test_a_core_is_all_of_its_hardware_threads():
    spec = "node:1 core:2 pu:2"
    assert rows(hb.allocate(spec)) == rows(hb.allocate(spec, per="core")) == [[0, 1], [2, 3]]
    assert rows(hb.allocate(spec, per="pu")) == [[0], [1], [2], [3]]
    assert rows(hb.allocate(spec, cores_per_task=2)) == [[0, 1, 2, 3]]


@given(machines(max_cores=80), st.integers(1, 9), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_what_slots_promise(tree, size, random):
    excluded = [f"core={core}" for core in range(9) if random.random() < 0.2]
    try:
        where = hb.allocate(tree, cores_per_task=size, exclude=[e for e in excluded if core_exists(tree, e)])
    except InfeasibleError:
        return
    slots = [where.cores_of(pe) for pe in range(where.k)]
    assert all(len(slot) == size and np.all(np.diff(slot) > 0) for slot in slots)
    assert len(np.unique(where.cores)) == len(where.cores)
    assert np.all(np.diff(where.first_core) > 0)
    allowed = np.ones(tree.n_cores, bool)
    for text in excluded:
        if core_exists(tree, text):
            allowed &= ~np.isin(np.arange(tree.n_cores), core_numbers(tree, int(text[5:])))
    assert np.all(allowed[where.cores])
    assert all(len(np.unique(tree.node_of_core()[slot])) == 1 for slot in slots)
    node = tree.level_named(NODE_NAMES) or 0
    for level in range(node, len(tree.levels) - 1):
        unit = tree.ancestors(level)
        room = np.bincount(unit, weights=allowed)
        for slot in slots:
            touched = np.unique(unit[slot])
            assert len(touched) == 1 or np.all(room[touched] < size)


def core_numbers(tree, number):
    """Core `number` of every node."""
    node = tree.node_of_core()
    return [core for core in range(tree.n_cores) if core - np.flatnonzero(node == node[core])[0] == number]


def core_exists(tree, text):
    return bool(core_numbers(tree, int(text[5:])))


def test_hosts_name_the_nodes():
    where = hb.allocate("node:3 core:2", hosts="n[08-10]")
    assert where.hosts == ("n08", "n09", "n10")
    assert where.select(np.array([0, 3])).hosts == where.hosts
    assert hb.allocate("core:4", hosts=["login"]).hosts == ("login",)


def test_show_tells_what_is_there():
    where = hb.allocate(UNEVEN, cores_per_task=4, hosts="n[1-3]", exclude="core=0")
    facts = machine_facts(where)
    assert (facts["pes"], facts["cores"], facts["cores_in_slots"], facts["nodes"]) == (2, 16, 8, 3)
    assert facts["hosts"] == ["n1", "n2", "n3"]
    assert facts["levels"][1] == {
        "name": "l3", "units": 6, "units_in_use": 4, "children": [2, 2], "distance": 3,
        "bandwidth": None, "latency": None,
    }
    assert hb.allocate(facts["spec"]).machine == where.machine
    text = machine_text(where)
    assert text.startswith(f"machine    {UNEVEN}\nslots      2, 4 cores each, 1 per node\n")
    assert "cores      16, 8 not in use" in text
    assert all(f"notice     {notice}" in text for notice in where.notices)


words = st.lists(
    st.sampled_from(["node", "l3", "core", "pu", ".", "=", "0", "1", "2-3", ",", "/", "9", "-", "é", " "]),
    max_size=6,
).map("".join)


@given(words, words, st.none() | words, st.integers(-1, 20))
@settings(deadline=None)
def test_any_options_give_an_allocation_or_an_error_of_ours(exclude, reserve, per, size):
    for options in ({"exclude": exclude}, {"reserve": reserve}, {"per": per, "cores_per_task": size}):
        try:
            where = hb.allocate(UNEVEN, **options)
        except HopbytesError as error:
            assert "\n" not in str(error)  # noqa: PT017 - both outcomes are fine, no raise is required
        else:
            assert 1 <= where.k <= 16


@pytest.mark.parametrize(("exclude", "said"), [
    (["core=0"], "1 of 6 cores is excluded or reserved"),
    (["l2.core=0"], "3 of 6 cores are excluded or reserved"),
    (["pu=0"], "1 of 8 hardware threads is excluded or reserved"),
    (["pu=0", "core=1"], "1 of 6 cores and 1 more hardware thread are excluded or reserved"),
])  # fmt: skip
def test_what_was_taken_away_counts_cores_not_their_threads(exclude, said):
    sample = hwloc_sample("v3_hybrid.xml")
    assert hb.allocate(f"hwloc:{sample}", exclude=exclude).notices == (said,)


def test_an_unknown_level_is_told_the_merged_ones_too():
    sample = hwloc_sample("v3_hybrid.xml")
    with pytest.raises(UnsupportedError, match=mentions("'l9'", "l2", "l3")):
        hb.allocate(f"hwloc:{sample}", exclude="l9=0")


@pytest.mark.parametrize(("spec", "options", "gone", "left"), [
    ("node:4 core:2", {"hosts": "n[001-004]"}, "node=n003", ["n001", "n002", "n004"]),
    ("node:4 core:2", {"hosts": "n[001-004]"}, "host=n[001-002].site.org,n004", ["n003"]),
    ("node:4 core:2", {"hosts": "n[001-004]"}, "node=0,2-3", ["n002"]),
    ("torus:3 / core:2", {}, "node=n[0,2]", ["n1"]),
    ("torus:3 / core:2", {"hosts": "a,b,c"}, "node=b", ["a", "c"]),
    ("synthetic:core:2@m[1-3]", {"hosts": "m[1-2]"}, "node=m1,m3", ["m2"]),
])  # fmt: skip
def test_hosts_are_left_out_by_name(spec, options, gone, left):
    where = hb.allocate(spec, exclude=gone, **options)
    names = where.hosts or tuple(f"n{node}" for node in range(3))
    assert [names[node] for node in sorted(set(where.node_of_pe.tolist()))] == left


def test_hosts_that_cannot_be_left_out():
    with pytest.raises(FormatError, match="`exclude`: 1 of 1 hosts are not among the machine's 2"):
        hb.allocate("node:2 core:2", hosts="a,b", exclude="node=c")
    with pytest.raises(FormatError, match="the nodes have no names, expected numbers"):
        hb.allocate("node:2 core:2", exclude="node=a")
    sizes = hb.allocate("node:2 core:2", hosts="a,b", capacity="node=b:3").capacity
    assert sizes.tolist() == [1, 1, 3, 3]


def path(n):
    return hb.CommGraph.from_edges(range(n - 1), range(1, n))


@pytest.mark.parametrize(("spec", "options", "capacity"), [
    ("node:2@10:cap=[1,3] core:2@1", (), [1, 1, 3, 3]), ("node:2@10 core:2@1:cap=[1,2]", (), [1, 2, 1, 2]),
    ("node:2@10 core:2@1:cap=[1,2,3,4]", (), [1, 2, 3, 4]),
    ("node:2@10:cap=[1,3] core:2@1:cap=[1,2]", (), [1, 2, 3, 6]),
    ("node:2@10 core:2@1", ("node=1:3",), [1, 1, 3, 3]),
    ("node:2@10 core:2@1", ("node=0-1:2", "core=1:3"), [2, 6, 2, 6]),
    ("node:2@10:cap=4 core:2@1", (), None),
])  # fmt: skip
def test_ways_to_say_it(spec, options, capacity):
    where = hb.allocate(spec, capacity=options)
    assert (where.capacity is None) if capacity is None else where.capacity.tolist() == capacity
    assert where.machine.spec() == spec


@pytest.mark.parametrize(("spec", "option", "what"), [
    ("node:2:cap=[1,2,3] core:2", (), "3 2"), ("node:2:cap=0 core:2", (), ">= 1"),
    ("node:2:cap=1:cap=2 core:2", (), "each once"), ("node:2:cap=2000000 core:2", (), "1 to 1000000"),
    ("node:2 core:2", "node=0", "expected LEVEL=NUMBERS:N"),
    ("node:2 core:2", "3", "'3', expected LEVEL=NUMBERS:N"),
    ("node:2 core:2", "node=0:0", "expected LEVEL=NUMBERS:N"),
    ("node:2 core:2", "node=0:-2", "expected LEVEL=NUMBERS:N"),
    ("node:2 core:2", "node=5:2", "`capacity`"),
    ("node:2:cap=[1,999999] core:2", "node=1:999999", "at most 1000000"),
])  # fmt: skip
def test_ways_to_get_it_wrong(spec, option, what):
    with pytest.raises(FormatError, match=mentions(*what.split())):
        hb.allocate(spec, capacity=option)


def test_slots_follow_capacities_when_there_are_more_processes():
    where = hb.allocate("node:2@10:cap=[1,3] core:2@1")
    mapping = hb.map_tasks(path(17), hb.allocate(where, oversubscribe=True))
    assert mapping.tasks_per_pe().tolist() == [2, 2, 7, 6]


def test_selecting_pes_keeps_their_cores():
    where = hb.allocate("node:2 core:4", cores_per_task=2)
    some = where.select(np.array([1, 2]))
    assert rows(some) == [[2, 3], [4, 5]]
    assert some.notices == where.notices


@pytest.mark.parametrize("preset", ["fast", "eco", "strong"])
def test_loads_follow_capacities(preset):
    where = hb.allocate("node:2@10:cap=[1,3] core:2@1")
    mapping = hb.map_tasks(path(400), where, preset)
    assert mapping.info["balance"] == "met"
    assert np.all(mapping.tasks_per_pe() <= np.array([51, 51, 154, 154]))
    loads = np.random.default_rng(1).integers(1, 9, 400)
    weighted = hb.CommGraph.from_edges(range(399), range(1, 400), loads=loads)
    held = np.bincount(hb.map_tasks(weighted, where, preset).pe, loads, minlength=4)
    assert np.all(held <= 1.03 * loads.sum() * np.array([1, 1, 3, 3]) / 8 + 1)


def test_an_excluded_part_keeps_the_capacities_of_the_rest():
    where = hb.allocate("node:3@10:cap=[1,2,3] core:2@1", exclude="node=1")
    assert where.capacity.tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize("machine", [4, ["node:2", "core:2"], b"core:4", {"core": 4}, np.ones((2, 2))])
def test_what_is_no_machine_is_said_by_its_type(machine):
    with refused(WrongTypeError, f"the machine is a {type(machine).__name__}"):
        hb.allocate(machine)


def test_hosts_are_a_file_by_its_path_or_names_in_an_order(tmp_path):
    """Sets of texts have another order in every process."""
    path = tmp_path / "hosts"
    path.write_text("b\na\n")
    assert hb.allocate("node:2 core:1", hosts=path).hosts == ("b", "a")
    assert hb.allocate("node:2 core:1", hosts=["b", "a"]).hosts == ("b", "a")
    with refused(WrongTypeError, "hosts", "order"):
        hb.allocate("node:2 core:1", hosts={"b", "a"})
