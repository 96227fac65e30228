"""Nodes drawn in the terminal and as pictures."""

import pytest

import hopbytes as hb
from helpers.paths import HWLOC_SAMPLES
from hopbytes.errors import UnsupportedError
from hopbytes.show.boxes import boxes_of, drawing, folded
from hopbytes.show.describe import machine_facts, machine_text
from hopbytes.show.machine_picture import layout


def drawn(spec: str) -> str:
    return "\n".join(line for boxed in boxes_of(hb.allocate(spec)) for line in drawing(boxed))


def test_equal_neighbours_are_one_line_and_uneven_ones_are_not():
    assert drawn(f"hwloc:{HWLOC_SAMPLES}/v3_hybrid.xml") == (
        "node (package, numa, l3)  PU 0-7\n"
        "  2 x core (l2)  PU 0-3\n"
        "    2 x pu  PU 0-1\n"
        "  l2  PU 4-7\n"
        "    4 x core  PU 4-7"
    )


def test_alike_nodes_are_drawn_once_with_their_gpus():
    text = drawn(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@n[1-9],hwloc:{HWLOC_SAMPLES}/v3_hybrid.xml@m")
    assert text.startswith("9 x node n1, n2, n3, …  PU 0-6,8-14\n")
    assert "  gpu 2 cuda2  near PU 4-6,12-14\nnode m (package, numa, l3)" in text


def test_plain_trees_are_drawn_as_a_whole():
    assert drawn("node:2 package:2 core:[2,2,3,2]") == (
        "node  PU 0-8\n"
        "  node  PU 0-3\n"
        "    2 x package  PU 0-3\n"
        "      2 x core  PU 0-1\n"
        "  node  PU 4-8\n"
        "    package  PU 4-6\n"
        "      3 x core  PU 4-6\n"
        "    package  PU 7-8\n"
        "      2 x core  PU 7-8"
    )
    with pytest.raises(UnsupportedError, match="expected named levels and at most"):
        drawn("core:70000")


def test_facts_count_cores_not_their_threads():
    facts = machine_facts(hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@a,b", exclude="core=0"))
    wanted = {"pes": 12, "cores": 14, "cores_in_slots": 12, "cores_per_pe": [1, 1], "pus": 28, "packages": 4}
    assert {name: facts[name] for name in wanted} == wanted
    assert (facts["numa"], facts["gpus"]) == (4, 6)
    assert "pus" not in machine_facts(hb.allocate("node:2 core:2"))


def test_text_has_both_the_levels_and_the_tree():
    text = machine_text(hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v1_numa_outside.xml"))
    assert "hardware   2 packages, 2 memory nodes, 7 hardware threads" in text
    assert text.endswith("  package (numa, l3)  PU 4-6\n    3 x core (l2)  PU 4-6")


def inside(one, other):
    """Whether a rectangle lies in another one, borders apart."""
    return (
        other.left < one.left
        and other.top < one.top
        and one.left + one.width < other.left + other.width
        and one.top + one.height < other.top + other.height
    )


def apart(one, other):
    return (
        one.left + one.width < other.left
        or other.left + other.width < one.left
        or one.top + one.height < other.top
        or other.top + other.height < one.top
    )


@pytest.mark.parametrize("sample", sorted(path.name for path in HWLOC_SAMPLES.glob("*.xml")))
def test_boxes_lie_in_boxes_and_never_across(sample):
    (boxed,) = boxes_of(hb.allocate(f"hwloc:{HWLOC_SAMPLES}/{sample}"))
    placed = layout(boxed.box, boxed.gpus)
    leaves = [one for one in placed if one.leaf and one.kind]
    assert sorted(int(one.label) for one in leaves) == sorted(boxed.box.numbers)
    assert sum(not one.kind for one in placed) == len(boxed.gpus)
    for number, one in enumerate(placed):
        for other in placed[number + 1 :]:
            assert inside(other, one) or apart(one, other)


def test_gpus_hang_where_their_cores_are():
    (boxed,) = boxes_of(hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml"))
    placed = layout(boxed.box, boxed.gpus)
    packages = [one for one in placed if one.label.startswith("package")]
    gpus = {one.label: [inside(one, package) for package in packages] for one in placed if not one.kind}
    first, second = [True, False], [False, True]
    assert gpus == {"GPU 0 cuda0": first, "GPU 1 cuda1": first, "GPU 2 cuda2": second}


def test_large_machines_are_folded_from_the_outside():
    (boxed,) = boxes_of(hb.allocate("node:64 package:2 core:64", hosts="n[1-64]"))
    small = folded(boxed.box)
    (node,) = small.inside
    assert (node.title, node.leaves) == ("64 x node n1 … n64", 128)
    (core,) = folded(boxes_of(hb.allocate("core:1000"))[0].box).inside
    assert core.title == "1000 x core 0 … 999"


def test_unlike_units_share_the_leaves_that_may_be_drawn():
    (boxed,) = boxes_of(hb.allocate("node:2 core:[300,301]"))
    assert [node.leaves for node in folded(boxed.box).inside] == [1, 1]


def test_unlike_units_are_not_folded_together():
    (boxed,) = boxes_of(hb.allocate("node:8 core:[64,64,64,64,64,64,64,100]"))
    titles = [node.title for node in folded(boxed.box).inside]
    assert titles == ["7 x node 0 … 6", "node 7"]
