"""What every picture keeps to, of hopbytes.show.marks, hopbytes.show.bars, hopbytes.show.matrix,
hopbytes.show.machine_picture, hopbytes.show.network_layouts and hopbytes.show.pictures:
nothing lies outside, no text on another one, boxes are apart or in each other, cables lead to their ends."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.golden import checksum, compare
from hopbytes.show import traffic
from hopbytes.show.back_ends import svg
from hopbytes.show.bars import bar_panel, hop_panel, level_panel, load_panel
from hopbytes.show.marks import (
    Line,
    Panel,
    Raster,
    Rectangle,
    Words,
    below,
    beside,
    framed,
    in_rows,
    sentence_panel,
    width_of,
)
from hopbytes.show.matrix import matrix_panel, scale_panel
from hopbytes.show.network_layouts import network_panel
from hopbytes.show.pictures import allocation_picture, evaluation_picture, mapping_picture, pattern_picture

NETWORKS = ("torus:8", "torus:4x3x3", "torus:2x2x3x2", "mesh:3x3:nodes=2", "hyperx:3x4", "fattree:4x8",
            "fattree:4x4x4", "fattree:2x40", "dragonfly:4x4x2", "dragonfly_plus:4x2x2:spines=2")  # fmt: skip
TREES = ("node:2@10 package:2@3 core:4@1", "node:3 package:[2,1,2] core:[4,3,2,6,1]", "core:17",
         "node:40@10 core:2@1", "rack:2 node:2 package:2 l3:2 core:3")  # fmt: skip


def mapped(spec, seed=1):
    """Return a pattern with some volume between most ranks, and a mapping of it."""
    where = hb.allocate(spec)
    rng, n = np.random.default_rng(seed), min(where.k, 40)
    sources, targets = rng.integers(0, n, (2, 5 * n))
    graph = hb.CommGraph.from_edges(sources, targets, rng.integers(1, 10**7, 5 * n), n=n)
    return graph, hb.Mapping(rng.permutation(where.k)[:n], where, {"problem": "processes"})


def of_machine(spec):
    graph, mapping = mapped(spec)
    both = {"before": traffic.launcher_mapping(graph, mapping), "after": mapping}
    matrix = traffic.comm_matrix(graph, mapping)
    yield matrix_panel(matrix, traffic.common_extremes([matrix]), "traffic")
    yield scale_panel((50, 5 * 10**6), matrix)
    yield level_panel(traffic.level_bytes(graph, both), "levels")
    if mapping.where.machine.network() is not None:
        loads = [traffic.link_loads(graph, one) for one in both.values()]
        yield network_panel(mapping.where, loads=loads[1], mapping=mapping)
        yield hop_panel(traffic.hop_histogram(graph, both), "hops")
        yield load_panel(traffic.load_histogram(loads), tuple(both), "loads", capacity=7)
    yield from (allocation_picture(mapping.where)[0], pattern_picture(graph)[0], mapping_picture(mapping)[0])
    yield evaluation_picture(graph, mapping)[0]


def area(mark):
    """Return left, top, right and bottom of a mark."""
    if isinstance(mark, Line):
        across, down = zip(*mark.points, strict=True)
        return min(across), min(down), max(across), max(down)
    if not isinstance(mark, Words):
        return mark.left, mark.top, mark.left + mark.width, mark.top + mark.height
    long = 0.95 * width_of(mark.text, mark.size)
    before = {"start": 0.0, "middle": long / 2, "end": long}[mark.anchor]
    if mark.turned:  # it begins at the foot
        return mark.left - 0.75 * mark.size, mark.base + before - long, mark.left, mark.base + before
    return mark.left - before, mark.base - 0.75 * mark.size, mark.left - before + long, mark.base


def overlaps(areas, more):
    """Return pairs of areas that overlap in both directions by more than `more`, and if one has the other."""
    at = np.array(areas).reshape(-1, 4)
    low, high = at[:, None, :2], at[:, None, 2:]
    shared = np.minimum(high, at[:, 2:]) - np.maximum(low, at[:, :2])
    within = (low >= at[:, :2] - 0.01).all(axis=2) & (high <= at[:, 2:] + 0.01).all(axis=2)
    pairs = np.argwhere(np.triu((shared > more).all(axis=2), 1))
    return [(areas[a], areas[b], bool(within[a, b] or within[b, a])) for a, b in pairs.tolist()]


def check(panel):
    areas = {mark: area(mark) for mark in panel.marks if not isinstance(mark, Raster)}
    for mark, (left, top, right, foot) in areas.items():
        assert min(left, top) > -1.5, mark
        assert right < panel.width + 1.5, mark
        assert foot < panel.height + 1.5, mark
    assert not overlaps([one for mark, one in areas.items() if isinstance(mark, Words)], 2)
    boxes = overlaps([one for mark, one in areas.items() if isinstance(mark, Rectangle)], 1)
    assert all(within for *_, within in boxes), boxes


@pytest.mark.parametrize("spec", [*NETWORKS, *TREES])
def test_nothing_lies_outside_or_on_another_text_or_across_a_border(spec):
    for panel in of_machine(spec):
        check(panel)


@pytest.mark.parametrize("spec", [*NETWORKS, *TREES])
def test_pictures_are_what_they_were(spec):
    """Why golden: no other test notices a mark that moves, or loses its colour, and still touches nothing."""
    found = [f"{len(panel.marks)} {checksum(svg(panel))}" for panel in of_machine(spec)]
    compare("pictures.txt", {spec: ", ".join(found)})


def test_bars_are_as_long_as_their_values():
    values = {"a": [400, 100, 0], "longer": [50, 800, 50]}
    panel = bar_panel(list(values.items()), ["x", "y", "z"], "title", words=str)
    bars = [mark for mark in panel.marks if isinstance(mark, Rectangle) and mark.tip]
    told = [(name, label, own[row]) for label, own in values.items() for row, name in enumerate("xyz")]
    assert [mark.tip for mark in bars] == [f"{name}: {value} {label}" for name, label, value in told]
    assert len({mark.left for mark in bars}) == 1
    for mark, (*_, value) in zip(bars, told, strict=True):
        assert mark.width / bars[4].width == pytest.approx(value / 800)
    assert [mark.top for mark in bars] == sorted(mark.top for mark in bars)
    texts = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    assert {"400", "100 (75 % less)", "0 (100 % less)", "50", "800 (16 times)"} <= set(texts)


def test_loads_are_counted_upwards_from_left_to_right():
    loads = traffic.LoadHistogram(
        np.array([0, 1, 2, 4.0]), np.array([[8, 0, 2], [4, 4, 0]]), np.array([3, 1234])
    )
    panel = load_panel(loads, ("x", "y"), "loads", capacity=500)
    bars = [mark for mark in panel.marks if isinstance(mark, Rectangle) and mark.tip]
    assert [mark.tip for mark in bars] == ["x: 8 links", "x: 2 links", "y: 4 links", "y: 4 links"]
    foot, tall = bars[0].top + bars[0].height, bars[0].height
    assert [(mark.top + mark.height, mark.height / tall) for mark in bars] == [
        (foot, 1), (foot, 0.25), (foot, 0.5), (foot, 0.5),
    ]  # fmt: skip
    first, last, beside_first, middle = (mark.left for mark in bars)
    assert first < beside_first < middle < last
    assert middle - beside_first == pytest.approx((last - first) / 2)
    texts = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    assert {"x (3 links idle)", "y (1,234 links idle)", "0 B", "1 kB", "2 kB", "8"} <= set(texts)


def test_panels_are_put_together_without_touching():
    sizes = [(30, 10), (50, 40), (20, 5), (45, 9)]
    panels = [
        Panel(
            wide,
            high,
            (
                Rectangle(0, 0, wide, high),
                Raster(0, 0, wide, high, np.zeros((1, 1), np.uint8), ()),
                Line(((0, 0), (wide, high))),
                Words(0, high, "x", 1),
            ),
        )
        for wide, high in sizes
    ]
    for put, across, down in (
        (beside(panels, 7), [0, 37, 94, 121], [0] * 4), (below(panels, 7), [0] * 4, [0, 17, 64, 76]),
        (in_rows(panels, 100, 7), [0, 37, 0, 27], [0, 0, 47, 47]),
        (in_rows(panels, 30, 7), [0] * 4, [0, 17, 64, 76]),
    ):
        corners = [(area(mark)[0], area(mark)[1]) for mark in put.marks]
        for row in (0, 1, 2):
            assert corners[row::4] == list(zip(across, down, strict=True))
        assert put.width == max(left + wide for left, (wide, _) in zip(across, sizes, strict=True))
        assert put.height == max(top + high for top, (_, high) in zip(down, sizes, strict=True))
    assert (beside([]).width, below([]).height, sentence_panel("").width) == (0, 0, 0)
    for title in ("", "a title much longer than the panel"):
        check(framed(panels[1], title))
    assert framed(panels[0]).width == 30 + 2 * 16
