"""Nodes drawn in the terminal and as pictures."""

import builtins
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import HWLOC_SAMPLES
from hopbytes.errors import UnsupportedError
from hopbytes.report.box_layout import layout
from hopbytes.report.boxes import boxes_of, drawing
from hopbytes.report.picture import draw, write_picture
from hopbytes.report.show import machine_facts, machine_text
from hopbytes.report.svg import Shape, svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(spec: str) -> str:
    return "\n".join(line for boxed in boxes_of(hb.machine(spec)) for line in drawing(boxed))


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
        drawn("core:5000")


def test_facts_count_cores_not_their_threads():
    facts = machine_facts(hb.machine(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@a,b", exclude="core=0"))
    wanted = {"pes": 12, "cores": 14, "cores_in_slots": 12, "cores_per_pe": [1, 1], "pus": 28, "packages": 4}
    assert {name: facts[name] for name in wanted} == wanted
    assert (facts["numa"], facts["gpus"]) == (4, 6)
    assert "pus" not in machine_facts(hb.machine("node:2 core:2"))


def test_text_has_both_the_levels_and_the_tree():
    text = machine_text(hb.machine(f"hwloc:{HWLOC_SAMPLES}/v1_numa_outside.xml"))
    assert "hardware   2 packages, 2 memory nodes, 7 hardware threads" in text
    assert text.endswith("  package (numa, l3)  PU 4-6\n    3 x core (l2)  PU 4-6")


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures(tmp_path, suffix, start):
    if suffix != "svg":
        pytest.importorskip("matplotlib")
    where = hb.machine(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@a,b,hwloc:{HWLOC_SAMPLES}/v3_hybrid.xml@m")
    target = str(tmp_path / f"tree.{suffix}")
    write_picture(where, target)
    content = Path(target).read_bytes()
    assert content.startswith(start)
    assert content == draw(where, target)[target], "the same machine, the same bytes"
    if suffix == "svg":
        words = ("package (numa)", "core (l2)", "GPU 0 cuda0", "2 x node a, b")
        assert all(word in content.decode() for word in words)
        write_picture(where, target)  # ours, so it may be overwritten
    (tmp_path / f"theirs.{suffix}").write_text("precious")
    with pytest.raises(UnsupportedError, match="does not say 'written by hopbytes'"):
        write_picture(where, str(tmp_path / f"theirs.{suffix}"))


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
    (boxed,) = boxes_of(hb.machine(f"hwloc:{HWLOC_SAMPLES}/{sample}"))
    placed = layout(boxed.box, boxed.gpus)
    leaves = [one for one in placed if one.leaf and one.kind]
    assert sorted(int(one.label) for one in leaves) == sorted(boxed.box.numbers)
    assert sum(not one.kind for one in placed) == len(boxed.gpus)
    for number, one in enumerate(placed):
        for other in placed[number + 1 :]:
            assert inside(other, one) or apart(one, other)


def test_gpus_hang_where_their_cores_are():
    (boxed,) = boxes_of(hb.machine(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml"))
    placed = layout(boxed.box, boxed.gpus)
    packages = [one for one in placed if one.label.startswith("package")]
    gpus = {one.label: [inside(one, package) for package in packages] for one in placed if not one.kind}
    first, second = [True, False], [False, True]
    assert gpus == {"GPU 0 cuda0": first, "GPU 1 cuda1": first, "GPU 2 cuda2": second}


def test_pictures_that_cannot_be(monkeypatch):
    where = hb.machine("node:2 core:2")
    with pytest.raises(UnsupportedError, match=r"a picture is written as \.svg"):
        draw(where, "tree.bmp")
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnsupportedError, match=mentions("'.[plot]'")):
        draw(where, "tree.png")
    assert draw(where, "tree.svg")["tree.svg"].startswith(b"<?xml")


def texts_of(spec, **options):
    """Rectangles and words of a picture as SVG, which must be well-formed."""
    content = draw(hb.machine(spec, **options), "x.svg")["x.svg"]
    root = ElementTree.fromstring(content)
    inside = {"x", "y", "width", "height"}
    boxes = [{key: float(one.get(key)) for key in inside} for one in root.iter(f"{SVG}rect") if one.get("x")]
    return root, boxes, [one.text for one in root.iter(f"{SVG}text")]


def test_svg_holds_every_box_inside_the_picture():
    root, boxes, words = texts_of("node:6 package:2 core:6")
    width, height = (float(root.get(side)) for side in ("width", "height"))
    assert len(boxes) == 1 + 6 + 12 + 72
    assert all(0 <= one["x"] <= one["x"] + one["width"] <= width for one in boxes)
    assert all(0 <= one["y"] <= one["y"] + one["height"] <= height for one in boxes)
    assert {str(core) for core in range(72)} <= set(words)


def test_nodes_are_drawn_with_their_names_or_numbers():
    assert {f"node n{i}" for i in range(1, 7)} <= set(texts_of("node:6 core:2", hosts="n[1-6]")[2])
    assert {f"node {i}" for i in range(6)} <= set(texts_of("node:6 core:2")[2])
    assert {f"host {name}" for name in "abc"} <= set(texts_of("host:3 core:2", hosts="a,b,c")[2])
    assert "node" not in " ".join(texts_of("package:2 core:2")[2])
    named = texts_of("torus:2x2x2", hosts="h[1-8]")[2]
    assert {f"h{i}" for i in range(1, 9)} <= set(named)
    assert named[-1] == "numbers: nodes in machine order"


def test_words_of_a_picture_are_only_words():
    picture = svg([Shape(0, 0, 1, 1, "#fff", 'a<b>&"\x1b[0m')], (0, 1, "]]>"), (1, 1), 1.0)
    assert [one.text for one in ElementTree.fromstring(picture).iter(f"{SVG}text")] == ['a<b>&"?[0m', "]]>"]
