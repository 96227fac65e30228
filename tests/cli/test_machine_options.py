"""Machines that are not what was typed: each slip is understood, refused with the right text, or said."""

import json

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError

ONE_HOST = "no level is called node, host or server: the machine is taken as ONE host with all"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("nodes:8 cores:8", "node:8@10 core:8@1"),
        ("Node:8 Core:8", "node:8@10 core:8@1"),
        ("HOSTS:2@9 Sockets:2@4 L3s:2@2 Cores:3@1", "host:2@9 socket:2@4 l3:2@2 core:3@1"),
        ("servers:2 NUMANodes:2 cores:[2,2,2,3] PUs:2", "server:2@1000 numa:2@100 core:[2,2,2,3]@10 pu:2@1"),
        ("Racks:2 switches:2 nodes:2 GPUs:4", "rack:2@1000 switch:2@100 node:2@10 gpu:4@1"),
        ("torus:2x2 / Packages:2 Cores:2", "torus:2x2 / package:2 core:2"),
        ("MyBoxes:2 core:2", "MyBoxes:2@10 core:2@1"),  # unknown words stay as they are
    ],
)
def test_plurals_and_capitals_are_the_levels_they_name(typed, meant):
    spec = hb.allocate(typed).machine.spec()
    assert spec == hb.allocate(meant).machine.spec()
    assert hb.allocate(spec).machine.spec() == spec


def test_plurals_in_options_that_name_levels(hopbytes):
    on = ("--on", "node:2@10 l3:2@4 core:4@1")
    facts = []
    for options in (("--exclude", "l3.core=0", "--distance", "node=30"),
                    ("--exclude", "L3.cores=0", "--distance", "Nodes=30")):  # fmt: skip
        done = hopbytes("map", "stencil:4x3", *on, *options, "--json", code=0)
        found = json.loads(done.stdout)
        facts.append((found["machine"], found["k"], found["comm_cost"]))
    assert facts[0] == facts[1]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("core:6 package:2 node:6",
         "node stands inside core: levels are written outermost first, 'node:6 package:2 core:6'"),
        ("core:6@1 package:2@3 node:6@10",
         "node stands inside core: levels are written outermost first, 'node:6@10 package:2@3 core:6@1'"),
        ("Cores:6 Nodes:2", "node stands inside core: levels are written outermost first, 'Nodes:2 Cores:6'"),
        ("package:2 node:4 core:8", "written outermost first, 'node:4 package:2 core:8'"),
        ("node:4 pu:2 core:8", "levels are written outermost first, 'node:4 core:8 pu:2'"),
        ("node:4 rack:2 core:8", "'rack:2 node:4 core:8'"),
        ("node:2 core:4 l3:2", "'node:2 l3:2 core:4'"),
        ("node:6@10,package:2@3,core:6@1", "separated by blanks: 'node:6@10 package:2@3 core:6@1'"),
        ("node:6,package:2, core:6", "'node:6 package:2 core:6'"),
        ("node:2;core:[2,3]", "'node:2 core:[2,3]'"),
    ],
)  # fmt: skip
def test_levels_in_the_wrong_order_or_by_commas_are_refused_with_the_right_text(hopbytes, typed, words):
    done = hopbytes("map", "stencil:8x9", "--on", typed)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert words in done.stderr
    right = done.stderr.split("'")[-2]
    assert hb.allocate(right).k > 0


@pytest.mark.parametrize(
    "spec",
    [
        "node:2 numa:2 package:2 core:2", "node:2 package:2 l3:2 numa:2 core:2", "node:2 l2:2 core:2 l1:1",
        "rack:2 island:2 node:2 core:2", "node:2 core:4 a:2", "group:2 group-2:2 core:2",
    ],
)  # fmt: skip
def test_orders_that_hardware_has_are_taken(spec):
    names = [word.split(":")[0] for word in spec.split()]
    assert [word.split(":")[0] for word in hb.allocate(spec).machine.spec().split()] == names


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ("rack:2 blade:4 core:8", "64 cores"), ("boxes:2 stuff:2 core:4", "16 cores"),
        ("nod:8 core:2", "16 cores (did you mean node by 'nod'?)"),
    ],
)  # fmt: skip
def test_a_machine_without_nodes_is_said_to_be_one_host(hopbytes, spec, more):
    for verb in (("map", "stencil:2x2"), ("eval", "stencil:2x2", "--order", "default:block")):
        done = hopbytes(*verb, "--on", spec, code=0)
        assert f"{ONE_HOST} {more}\n" in done.stderr


def test_one_host_that_is_meant_is_not_talked_about(hopbytes):
    for spec in ("package:2 core:8", "core:16", "numa:2 l3:2 core:4", "node:2 box:2 thing:2 core:2",
                 "Nodes:8 cores:8"):  # fmt: skip
        done = hopbytes("map", "stencil:4x4", "--on", spec, code=0)
        assert "ONE host" not in done.stderr, spec


def test_launch_files_of_one_host_say_so(hopbytes):
    done = hopbytes("map", "stencil:4x4", "--on", "package:2 core:8", "-o", "f", "--format", "openmpi")
    assert done.returncode == 0
    assert done.stderr.count(f"{ONE_HOST} 16 cores\n") == 1
    done = hopbytes("map", "stencil:4x4", "--on", "rack:2 blade:4 core:2", "-o", "g", "--format", "openmpi")
    assert done.returncode == 0
    assert done.stderr.count(ONE_HOST) == 1
    done = hopbytes("map", "stencil:4x4", "--on", "node:2 core:8", "-o", "h", "--format", "openmpi", code=0)
    assert ONE_HOST not in done.stderr


def test_a_hierarchy_without_distances_says_what_is_assumed(hopbytes):
    done = hopbytes("map", "stencil:4x4", "--hierarchy", "4:2:2", code=0)
    assert done.stderr.startswith(
        "--hierarchy 4:2:2: distances 1:10:100 (--distance gives others); its levels have no names, so the "
        "machine is taken as ONE host (nodes: --on 'node:2@100 package:2@10 core:4@1')\n"
    )
    same = hb.allocate("node:2@100 package:2@10 core:4@1")
    assert (same.distance.matrix() == hb.allocate(hierarchy="4:2:2").distance.matrix()).all()
    done = hopbytes("map", "stencil:4x4", "--hierarchy", "4:2:2", "--distance", "1:10:100", code=0)
    assert "--hierarchy" not in done.stderr


def test_trees_in_trees_are_one_tree_with_growing_distances():
    for parts, whole in (
        ("node:8 / core:8", "node:8@10 core:8@1"),
        ("rack:2 node:2 / package:2 core:2", "rack:2@1000 node:2@100 package:2@10 core:2@1"),
        ("node:2@7 / core:2", "node:2@7 core:2@1"),
    ):
        assert hb.allocate(parts).machine.spec() == whole
    with pytest.raises(FormatError, match="node stands inside core"):
        hb.allocate("core:2 / node:2")


def test_plurals_say_what_a_slot_is():
    for typed, meant in (("Cores", "core"), ("PUs", "pu"), ("L3s", "l3")):
        slots = [hb.allocate("node:2 l3:2 core:2 pu:2", per=per).k for per in (typed, meant)]
        assert slots[0] == slots[1]
    with pytest.raises(HopbytesError) as typed:
        hb.allocate("node:2 core:2", per="GPUs")
    with pytest.raises(HopbytesError) as meant:
        hb.allocate("node:2 core:2", per="gpu")
    assert str(typed.value) == str(meant.value)
