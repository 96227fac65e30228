"""What the pictures of patterns, machines, mappings and evaluations hold."""

import re
import time
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import HWLOC_SAMPLES
from hopbytes.show.back_ends import svg
from hopbytes.show.bars import hop_panel, level_panel
from hopbytes.show.machine_picture import home_nodes
from hopbytes.show.marks import Panel, Raster, Rectangle, Words, width_of
from hopbytes.show.matrix import matrix_panel, scale_panel
from hopbytes.show.pictures import allocation_picture, evaluation_picture, mapping_picture, pattern_picture
from hopbytes.show.traffic import comm_matrix, hop_histogram, level_bytes

SVG = "{http://www.w3.org/2000/svg}"


def words_of(panel: Panel) -> list[str]:
    """Return the words of a picture, which must be well-formed as SVG."""
    root = ElementTree.fromstring(svg(panel))
    return [one.text for one in root.iter(f"{SVG}text")]


@pytest.fixture
def lammps() -> hb.CommGraph:
    return hb.read("examples/lammps_lj_64.csv")


@pytest.fixture
def mapped(lammps) -> hb.Mapping:
    where = hb.allocate("node:6@10 package:2@3 core:6@1", hosts="n[1-6]")
    return hb.Mapping(np.random.default_rng(1).permutation(72)[:64], where)


def test_a_pattern_is_drawn_cell_by_cell(lammps):
    panel, title = pattern_picture(lammps)
    tips = [mark.tip for mark in panel.marks if isinstance(mark, Rectangle) and mark.tip]
    assert len(tips) == int(np.count_nonzero(lammps.arc_volumes()))
    assert re.fullmatch(r"rank 0 to rank \d+: [\d.]+ [kM]?B", tips[0])
    words = words_of(panel)
    assert title in words
    assert {"0", "16", "32", "48", "sending rank", "receiving rank"} <= set(words)


def test_colours_of_cells_follow_their_volume():
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [1, 1000, 10**6], n=3)
    panel = matrix_panel(comm_matrix(graph), (1, 10**6))
    fills = {mark.tip: mark.fill for mark in panel.marks if isinstance(mark, Rectangle) and mark.tip}
    assert fills["rank 0 to rank 1: 1 B"] == "#e3f1c9"
    assert fills["rank 2 to rank 0: 1 MB"] == "#1d2a62"


def test_before_and_after_have_borders_and_names_of_nodes(lammps, mapped):
    panel, title = evaluation_picture(lammps, mapped)
    words = words_of(panel)
    assert title == "lammps_lj_64.csv: 64 ranks on node:6@10 package:2@3 core:6@1"
    assert [words.count(f"n{number}") for number in range(1, 7)] == [2] * 6
    assert {"before: ranks in order, nodes filled", "after: this mapping", "between nodes"} <= set(words)
    assert "120 MB" in words  # what FIRST_USE and the README say about the launcher's order


def test_a_matrix_of_16384_ranks_is_an_image_made_in_seconds():
    graph = hb.read("stencil:128x128:bytes=1000")
    mapping = hb.Mapping(np.random.default_rng(0).permutation(16384), hb.allocate("node:256 core:64"))
    began = time.process_time()
    panel, _ = evaluation_picture(graph, mapping)
    content = svg(panel)
    assert time.process_time() - began < 30
    assert len(content) < 500_000
    images = [mark for mark in panel.marks if isinstance(mark, Raster)]
    assert [image.cells.shape for image in images[:2]] == [(512, 512)] * 2
    assert images[0].width == 512  # whole units per row


def test_bars_of_nothing_say_so():
    graph = hb.CommGraph.from_edges([0], [1], [0], n=2)
    mapping = {"mine": hb.Mapping([0, 1], hb.allocate("torus:2"))}
    assert "nothing is sent" in words_of(level_panel(level_bytes(graph, mapping)))
    assert "nothing is sent" in words_of(hop_panel(hop_histogram(graph, mapping)))
    matrix = comm_matrix(graph)
    assert "bytes from one rank to another: nothing is sent" in words_of(scale_panel((0, 0), matrix))
    evaluation_picture(graph, mapping["mine"])


def test_nodes_are_drawn_with_their_names_or_numbers():
    def drawn(spec, **options):
        return set(words_of(allocation_picture(hb.allocate(spec, **options))[0]))

    assert {f"node n{i}" for i in range(1, 7)} <= drawn("node:6 core:2", hosts="n[1-6]")
    assert {f"node {i}" for i in range(6)} <= drawn("node:6 core:2")
    assert {f"host {name}" for name in "abc"} <= drawn("host:3 core:2", hosts="a,b,c")
    assert "node" not in " ".join(drawn("package:2 core:2"))
    assert "64 x node n1 … n64" in drawn("node:64 core:64", hosts="n[1-64]")


def test_ranks_stand_on_their_cores(mapped):
    panel, title = mapping_picture(mapped)
    words = words_of(panel)
    assert title == "64 ranks on node:6@10 package:2@3 core:6@1"
    numbers = [word for word in words if word.isdigit()]
    assert sorted(map(int, numbers)) == list(range(64))
    order = [int(rank) for rank in numbers]
    assert [int(mapped.pe[rank]) for rank in order] == sorted(mapped.pe.tolist())  # drawn in machine order
    assert {f"node n{number}" for number in range(1, 7)} <= set(words)


def test_ranks_on_hardware_threads_are_drawn_once_per_core():
    where = hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v2_smt_gpus.xml@a,b")
    mapping = hb.Mapping(np.arange(where.k)[::-1], where)
    numbers = [int(word) for word in words_of(mapping_picture(mapping)[0]) if word.isdigit()]
    assert sorted(numbers) == list(range(where.k))


def test_several_ranks_on_a_core_are_listed():
    mapping = hb.Mapping([0, 0, 0, 1, 1], hb.allocate("node:1 core:2"))
    assert {"0-2", "3-4"} <= set(words_of(mapping_picture(mapping)[0]))


def test_colours_say_where_a_rank_would_be_in_order(mapped):
    assert home_nodes(mapped).tolist() == [rank // 12 for rank in range(64)]
    fills = {}
    marks = list(mapping_picture(mapped)[0].marks)
    for box, label in pairwise(marks):
        if isinstance(label, Words) and label.text.isdigit():
            fills[int(label.text)] = box.fill
    assert len(set(fills.values())) == 6
    assert all(len({fills[rank] for rank in range(64) if rank // 12 == node}) == 1 for node in range(6))


def test_large_mappings_are_a_box_per_node():
    where = hb.allocate("node:128 core:64", hosts="n[1-128]")
    words = words_of(mapping_picture(hb.Mapping(np.arange(where.k), where))[0])
    assert {f"n{number}" for number in range(1, 129)} <= set(words)
    assert {"0-63", "8128-8191"} <= set(words)


def no_words_touch(panel: Panel) -> None:
    """Check that no two texts lie on each other, by their estimated boxes."""
    boxes = []
    for mark in panel.marks:
        if isinstance(mark, Words) and not mark.turned and mark.text.strip():
            wide = width_of(mark.text, mark.size * 0.9)
            left = mark.left - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
            boxes.append((left, mark.base - 0.7 * mark.size, left + wide, mark.base, mark.text))
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


def test_evaluation_on_links_also_has_hops_and_congestion():
    graph = hb.read("stencil:4x4x4:bytes=1000")
    mapping = hb.Mapping(np.random.default_rng(0).permutation(64), hb.allocate("torus:4x4x4"))
    panel, _ = evaluation_picture(graph, mapping)
    words = words_of(panel)
    assert {"Volume by links on the way", "Links by load", "what a link carries", "1 link"} <= set(words)
    no_words_touch(panel)


def test_machines_without_levels_or_too_large_are_refused():
    with pytest.raises(hb.UnsupportedError, match="expected named levels and at most"):
        allocation_picture(hb.allocate("core:70000"))
