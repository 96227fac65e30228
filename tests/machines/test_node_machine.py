"""Uneven nodes under one tree: distances are those of the smallest unit that holds two PUs."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import refused
from helpers.strategies import check_groupings
from hopbytes.errors import UnsupportedError
from hopbytes.machines.allocate.units import units_of
from hopbytes.machines.node.hardware_kinds import aligned, base_kind
from hopbytes.machines.node.node_tree import NodeInventory, Part, node_tree
from hopbytes.machines.node_machine import NodeMachine, tree_of_nodes
from hopbytes.model.allocation import Allocation

KINDS = ("package", "numa", "l3", "l2", "core")


@st.composite
def nodes(draw, max_pus=40):
    """A node whose parts leave out any kinds."""
    numbers = itertools.count()

    def part(depth: int) -> Part:
        deeper = list(range(depth + 1, len(KINDS) + 1))
        inside = []
        for _ in range(draw(st.integers(1, 3))):
            chosen = draw(st.sampled_from(deeper))
            if chosen == len(KINDS):
                inside.append(Part("pu", next(numbers)))
            else:
                inside.append(part(chosen))
        return Part(KINDS[depth] if depth >= 0 else "machine", 0, tuple(inside))

    return part(-1)


def outermost_kind_that_parts(root: Part, a: int, b: int) -> str:
    """The outermost kind among the parts of the smallest part that holds both PUs."""

    def holds(part: Part, pu: int) -> bool:
        return part.os_index == pu if part.kind == "pu" else any(holds(inner, pu) for inner in part.inside)

    here = root
    while True:
        deeper = [part for part in here.inside if holds(part, a) and holds(part, b)]
        if not deeper:
            break
        here = deeper[0]
    order = (*KINDS, "pu")
    return min((part.kind for part in here.inside), key=order.index)


@given(nodes())
def test_distance_is_by_the_smallest_common_unit(root):
    tree = node_tree(root)
    whole, same_as = tree_of_nodes([tree], (0,))
    lowered = whole.distance()
    rank = {tier.name: len(whole.tiers) - place for place, tier in enumerate(whole.tiers)}
    for a, b in itertools.combinations(range(len(tree.os_pus)), 2):
        kind = outermost_kind_that_parts(root, int(tree.os_pus[a]), int(tree.os_pus[b]))
        name = same_as.get(kind, kind)
        width = (int(lowered.labels[a]) ^ int(lowered.labels[b])).bit_length()
        assert int(lowered.level_of_bit[width]) == rank[name], (kind, name)


def test_cores_of_a_package_without_dies_are_not_torn_apart_by_another_with_dies():
    plain = node_tree(Part("machine", 0, tuple(
        Part("package", p, tuple(Part("l3", 2 * p + c, (Part("core", 0, (Part("pu", 4 * p + 2 * c),)),
             Part("core", 1, (Part("pu", 4 * p + 2 * c + 1),)))) for c in range(2))) for p in range(2)
    )))  # fmt: skip
    with_dies = node_tree(Part("machine", 0, tuple(
        Part("die", d, tuple(Part("l3", 2 * d + c, (Part("core", 0, (Part("pu", 4 * d + 2 * c),)),
             Part("core", 1, (Part("pu", 4 * d + 2 * c + 1),)))) for c in range(2))) for d in range(2)
    )))  # fmt: skip
    machine = NodeMachine("test:", NodeInventory((plain, with_dies), (0, 1)))
    apart = machine.distance()
    assert [apart.between(0, other) for other in (1, 2, 4)] == [1, 3, 10]
    assert [apart.between(8, 8 + other) for other in (1, 2, 4)] == [1, 3, 5]


def test_a_level_of_several_kinds_has_the_name_that_tells_most():
    """Memory nodes are packages here, and a core has one thread."""
    packages = tuple(
        Part("package", p, (Part("numa", p, tuple(
            Part("l2", c, (Part("core", c, (Part("pu", 2 * p + c),)),)) for c in range(2)
        )),)) for p in range(2)
    )  # fmt: skip
    whole, same_as = tree_of_nodes([node_tree(Part("machine", 0, packages))], (0,))
    assert [tier.name for tier in whole.tiers] == ["package", "core"]
    assert same_as == {"numa": "package", "l2": "core", "pu": "core"}


def test_orders_of_kinds():
    order, _ = aligned([["numa", "package", "core"], ["package", "l3", "core"]])
    assert order == ["numa", "package", "l3", "core"]


@given(st.lists(st.permutations(KINDS), min_size=1, max_size=5))
def test_kinds_nested_in_any_way_have_an_order(chains):
    order, names = aligned(chains)
    for chain in chains:
        own = names[tuple(chain)]
        assert [base_kind(name) for name in own] == list(chain)
        places = [order.index(name) for name in own]
        assert places == sorted(set(places))
    assert names[min(map(tuple, chains))] == list(min(map(tuple, chains)))  # the first keeps its names


@st.composite
def heterogeneous_nodes(draw):
    """A node whose packages nest caches, memory nodes and groups each in a way of its own."""
    numbers = itertools.count()
    packages = []
    for _ in range(draw(st.integers(1, 3))):
        inner: tuple[Part, ...] = tuple(
            Part("core", 0, (Part("pu", next(numbers)), Part("pu", next(numbers)))) for _ in range(2)
        )
        for kind in draw(st.permutations(("numa", "group", "l3"))):
            inner = (Part(kind, 0, inner), Part(kind, 1, (Part("core", 0, (Part("pu", next(numbers)),)),)))
        packages.append(Part("package", 0, inner))
    return Part("machine", 0, tuple(packages))


@given(st.lists(heterogeneous_nodes(), min_size=1, max_size=2))
def test_heterogeneous_memory_is_no_reason_to_refuse_a_node(roots):
    trees = tuple(node_tree(root) for root in roots)
    machine = NodeMachine("test:", NodeInventory(trees, tuple(range(len(trees)))))
    packages = [tree.units[:, tree.kinds.index("package")].max() + 1 for tree in trees]
    assert len(set(units_of(machine, "package").tolist())) == sum(packages)
    cores = sum(int(tree.cores[-1]) + 1 for tree in trees)
    assert len(set(units_of(machine, "core").tolist())) == cores
    where = Allocation.whole(machine)
    check_groupings(where.groups(), where.k)


@given(st.lists(nodes(), min_size=1, max_size=3))
def test_unlike_nodes_make_a_machine_that_keeps_its_promises(roots):
    trees = tuple(node_tree(root) for root in roots)
    machine = NodeMachine("test:", NodeInventory(trees, tuple(range(len(trees)))))
    where = Allocation.whole(machine)
    check_groupings(where.groups(), where.k)
    assert machine.n_cores == sum(len(tree.os_pus) for tree in trees)
    for node, tree in enumerate(trees):
        places = (machine.node_of_core() == node).nonzero()[0]
        cpus = machine.inventory.os_cpus()
        assert cpus[places].tolist() == tree.os_pus.tolist()


@pytest.mark.parametrize("hosts", ["", "@n[1-2]"])
def test_the_distance_of_what_a_node_has_once_is_not_that_of_nodes(hosts):
    """As in a job that has one package of every node: what is farther apart than packages are nodes."""
    spec = f"synthetic:pack:1 l3:2 core:2{hosts}"
    plain, given = hb.allocate(spec), hb.allocate(spec, distance="l3=4,package=12")
    for where in (given, hb.allocate(f"{spec}:l3=4:package=12"), hb.allocate(given.machine.spec())):
        levels = {level.name: level.distance for level in where.machine.levels}
        assert levels == {level.name: level.distance for level in plain.machine.levels} | {"l3": 4}
        assert len([notice for notice in where.notices if "package" in notice]) == 1
    assert not [notice for notice in plain.notices if "package" in notice]
    with refused(UnsupportedError, "packagges"):
        hb.allocate(spec, distance="packagges=12")
