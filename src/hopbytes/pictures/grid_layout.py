"""Tori, meshes and HyperX networks as slices: rows and columns of routers, further dimensions in turn."""

from __future__ import annotations

import itertools

import numpy as np

from hopbytes.pictures.canvas.marks import GREY, Line, Mark, Panel, Rectangle, Words, cut, moved
from hopbytes.pictures.figures.network_figure import NetworkFigure
from hopbytes.pictures.machine_picture import in_rows
from hopbytes.pictures.network_look import Look

#: Distance of routers, size of their boxes, and margin of a slice, which has room for links over its border.
STEP_X, STEP_Y, WIDE, HIGH, MARGIN = 62.0, 46.0, 42.0, 24.0, 26.0

Place = tuple[int, ...]


def slices(look: Look) -> Panel:
    """Draw a slice of the first two dimensions for every place in the others.

    Links over the border of a ring are stubs on both sides. Links of the third dimension are stubs at
    corners: to the next slice at the right top, to the one before at the left bottom. Links of further
    dimensions are not drawn.
    """
    figure = look.figure
    assert figure.geometry is not None
    sizes = figure.geometry.sizes
    place_of = _places(figure)
    marks: dict[Place, list[Mark]] = {
        rest: [] for rest in itertools.product(*(range(size) for size in sizes[2:]))
    }
    routers = _routers(figure)
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        a, b = routers.get(first, first), routers.get(second, second)
        if a != b:
            _draw(look, cable, place_of[a], place_of[b], marks)
    at_router: dict[int, list[int]] = {}
    for vertex, own in enumerate(figure.nodes):
        for node in own:
            at_router.setdefault(routers.get(vertex, vertex), []).append(node)
    for vertex, place in place_of.items():
        marks[place[2:]] += _router(look, at_router.get(vertex, []), figure.names[vertex], place)
    width = (sizes[0] - 1) * STEP_X + WIDE + 2 * MARGIN
    height = ((sizes[1] if len(sizes) > 1 else 1) - 1) * STEP_Y + HIGH + 2 * MARGIN
    names = figure.geometry.names[2:]
    panels = []
    for rest, own_marks in marks.items():
        title = ", ".join(f"{name} = {value}" for name, value in zip(names, rest, strict=True))
        words = [Words(MARGIN, 12, title, 11, colour=GREY, bold=True)] if title else []
        head = 16.0 if title else 0.0
        panels.append(Panel(width, height + head, (*words, *(moved(mark, 0, head) for mark in own_marks))))
    return in_rows(panels, max(1300.0, width))


def _places(figure: NetworkFigure) -> dict[int, Place]:
    """Return the coordinates of every router."""
    assert figure.geometry is not None
    places = figure.geometry.places.T.tolist()
    routers = _routers(figure)
    return {
        routers.get(vertex, vertex): tuple(place)
        for vertex, place in zip(figure.vertex_of_endpoint.tolist(), places, strict=True)
    }


def _routers(figure: NetworkFigure) -> dict[int, int]:
    """Return the router of every host that is a vertex of its own; empty where routers hold the hosts."""
    if int(figure.layers.max()) < 1:
        return {}
    return {
        int(low): int(high)
        for low, high in np.sort(figure.ends, axis=1).tolist()
        if figure.layers[low] == 0 and figure.layers[high] == 1
    }


def _corner(place: Place) -> tuple[float, float]:
    return MARGIN + place[0] * STEP_X, MARGIN + (place[1] if len(place) > 1 else 0) * STEP_Y


def _router(look: Look, nodes: list[int], name: str, place: Place) -> list[Mark]:
    left, top = _corner(place)
    said = [look.node(node) for node in nodes]
    tip = "; ".join([f"router {','.join(map(str, place))}", *(text for _, text in said)])
    fill = said[0][0] if said else "#ffffff"
    label = cut(look.figure.hosts[nodes[0]].removeprefix("node "), WIDE - 2, 9) if nodes else ""
    if len(nodes) > 1:
        label = cut(f"{label}–{look.figure.hosts[nodes[-1]].removeprefix('node ')}", WIDE - 2, 9)
    return [
        Rectangle(left, top, WIDE, HIGH, fill, GREY, tip, 3),
        Words(left + WIDE / 2, top + HIGH / 2 + 3, label, 9, "middle"),
    ]


def _draw(look: Look, cable: int, a: Place, b: Place, marks: dict[Place, list[Mark]]) -> None:
    """Add the line of a cable between two routers that differ in one dimension."""
    assert look.figure.geometry is not None
    dimension = next(each for each, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
    if a[dimension] > b[dimension]:
        a, b = b, a
    if dimension > 1:
        if dimension == 2:
            over = b[2] - a[2] > 1  # closes the ring: the last slice comes before the first
            marks[a[2:]].append(_stub(look, cable, a, forward=not over))
            marks[b[2:]].append(_stub(look, cable, b, forward=over))
        return
    (x, y), (u, v) = _corner(a), _corner(b)
    apart = b[dimension] - a[dimension]
    middle = (x + WIDE / 2, y + HIGH / 2), (u + WIDE / 2, v + HIGH / 2)
    if apart == 1:
        marks[a[2:]].append(look.cable(cable, middle, 1.6))
        if look.figure.geometry.sizes[dimension] == 2 and look.figure.links[cable] > 2:
            marks[a[2:]] += _over_the_border(look, cable, middle, dimension)
    elif look.figure.geometry.wrapped[dimension]:
        marks[a[2:]] += _over_the_border(look, cable, middle, dimension)
    else:
        marks[a[2:]].append(look.cable(cable, _bow(middle, dimension, apart), 1.2))


def _over_the_border(
    look: Look, cable: int, middle: tuple[tuple[float, float], tuple[float, float]], dimension: int
) -> list[Line]:
    """Return the two stubs of a link that closes a ring."""
    long = (WIDE if dimension == 0 else HIGH) / 2 + 14
    lines = []
    for (x, y), way in zip(middle, (-1, 1), strict=True):
        end = (x + way * long, y) if dimension == 0 else (x, y + way * long)
        lines.append(look.cable(cable, ((x, y), end), 1.6))
    return lines


def _stub(look: Look, cable: int, place: Place, *, forward: bool) -> Line:
    left, top = _corner(place)
    if forward:
        return look.cable(cable, ((left + WIDE - 2, top + 2), (left + WIDE + 8, top - 8)), 1.6)
    return look.cable(cable, ((left + 2, top + HIGH - 2), (left - 8, top + HIGH + 8)), 1.6)


def _bow(
    ends: tuple[tuple[float, float], tuple[float, float]], dimension: int, apart: int
) -> list[tuple[float, float]]:
    """Return a bow between two routers in a row or column, the higher the farther they are apart."""
    (x, y), (u, v) = ends
    high = min(MARGIN - 4, 5.0 + 4.0 * apart)
    side = (0.0, -high) if dimension == 0 else (high + WIDE / 4, 0.0)
    points = []
    for step in range(13):
        part = step / 12
        lift = 4 * part * (1 - part)
        points.append((x + (u - x) * part + side[0] * lift, y + (v - y) * part + side[1] * lift))
    return points
