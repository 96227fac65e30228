"""Fat trees and real fabrics by layers: hosts below their leaf switches, further switches above."""

from __future__ import annotations

import itertools
import re

import numpy as np

from hopbytes.pictures.canvas.marks import GREY, Line, Mark, Panel, Rectangle, Words, cut, width_of
from hopbytes.pictures.network_look import Look
from hopbytes.text.cpu_lists import format_list

#: Up to this many leaf switches hosts have names; more are small squares.
NAMED_LEAVES = 24
#: Width of a column, height of a host, of a switch, and of the gap between layers.
NAMED, SMALL, ROW, SQUARE, HIGH, GAP = 118.0, 48.0, 15.0, 10.0, 22.0, 92.0
#: Width in which a shortened name still says something.
SHORTEST = 40.0
#: Most that names of hosts take below their squares.
LONGEST = 300.0
#: Names of hosts below a leaf switch.
MOST_NAMES = 40


def layers(look: Look) -> Panel:
    """Draw switches in rows by layer, joined by lines, and hosts in columns below by leaf switch."""
    figure = look.figure
    top = int(figure.layers.max())
    leaf_of = _leaves(look)
    leaves = [vertex for vertex in range(len(figure.names)) if figure.layers[vertex] == 1]
    leaves.sort(key=lambda leaf: (min(leaf_of.get(leaf, [(1 << 40, 0)]))[0], leaf))
    named = len(leaves) <= NAMED_LEAVES
    labels = dict(zip(leaves, _apart([figure.names[leaf] for leaf in leaves]), strict=True))
    longest = max((width_of(label, 10) for label in labels.values()), default=0.0)
    column = NAMED if named else min(max(SMALL, longest + 10), NAMED)
    width = max(len(leaves) * (column + 8), 300.0)
    across = {leaf: (place + 0.5) * width / len(leaves) for place, leaf in enumerate(leaves)}
    for layer in range(2, top + 1):
        across |= _row(look, layer, across, width)
    down = {vertex: 12 + (top - int(figure.layers[vertex])) * GAP for vertex in across}
    lines: list[Mark] = []
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        if first in across and second in across:
            lower, upper = sorted((first, second), key=lambda vertex: figure.layers[vertex])
            ends = (across[lower], down[lower]), (across[upper], down[upper] + HIGH)
            lines.append(look.cable(cable, ends))
    lines.sort(key=lambda line: line.width if isinstance(line, Line) else 0)  # busy links above idle ones
    boxes: list[Mark] = []
    in_row = np.bincount(figure.layers[list(across)])
    for vertex, x in across.items():
        room = width / float(in_row[figure.layers[vertex]]) - 2
        widest = column if figure.layers[vertex] == 1 else 1.6 * NAMED
        name = figure.names[vertex]
        short = name if width_of(name, 10) + 4 <= min(room, widest) else labels.get(vertex, name)
        boxes += _switch(name, short, x, down[vertex], min(room, widest))
    foot = 12 + (top - 1) * GAP + HIGH
    columns: list[Mark] = []
    deepest = 0.0
    for leaf in leaves:
        draw = _columns if named else _squares
        added, deep = draw(look, sorted(leaf_of.get(leaf, [])), across[leaf], foot)
        columns += added
        deepest = max(deepest, deep)
    return Panel(width, foot + deepest + 8, (*lines, *boxes, *columns))


def _leaves(look: Look) -> dict[int, list[tuple[int, int]]]:
    """Return for every leaf switch its hosts: the node, and the cable. A node may be on several."""
    figure, found = look.figure, dict[int, list[tuple[int, int]]]()
    for cable, (first, second) in enumerate(figure.ends.tolist()):
        host, switch = sorted((first, second), key=lambda vertex: figure.layers[vertex])
        if figure.layers[host] == 0 and figure.nodes[host]:
            found.setdefault(switch, []).append((figure.nodes[host][0], cable))
    return found


def _row(look: Look, layer: int, across: dict[int, float], width: float) -> dict[int, float]:
    """Return evenly spaced places for the switches of a layer, in the order of their mean neighbour below."""
    figure = look.figure
    below: dict[int, list[float]] = {}
    for first, second in figure.ends.tolist():
        lower, upper = sorted((first, second), key=lambda vertex: figure.layers[vertex])
        if figure.layers[upper] == layer and lower in across:
            below.setdefault(upper, []).append(across[lower])
    order = sorted(below, key=lambda vertex: (float(np.mean(below[vertex])), vertex))
    return {vertex: (place + 0.5) * width / len(order) for place, vertex in enumerate(order)}


def _apart(names: list[str]) -> list[str]:
    """Return names without the parts that all of them share; unchanged where their parts differ in number."""
    parts = [re.split(r"[-_.:; ]+", name) for name in names]
    if len(set(names)) < len(names) or len(names) < 2 or len(set(map(len, parts))) > 1:
        return names
    differing = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    return ["-".join(itertools.compress(each, differing)) for each in parts]


def _first_to_last(first: str, last: str, count: int) -> str:
    """Return the names of the first and the last of several hosts, their common beginning once."""
    if count == 1:
        return first
    same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return f"{first} … {last[same:] if same > 2 else last} ({count})"


def _switch(name: str, short: str, x: float, y: float, most: float) -> list[Mark]:
    text = cut(short, most - 4, 10) if most >= SHORTEST or width_of(short, 10) <= most - 4 else ""
    wide = min(most, max(22.0, width_of(text, 10) + 8))
    return [
        Rectangle(x - wide / 2, y, wide, HIGH, "#f4f1ea", GREY, f"switch {name}", 3),
        Words(x, y + HIGH / 2 + 3.5, text, 10, "middle"),
    ]


def _squares(
    look: Look, hosts: list[tuple[int, int]], x: float, top: float
) -> tuple[list[Mark], float]:
    """Return the hosts of a leaf switch as squares with the first and the last name, and their height."""
    marks: list[Mark] = []
    for place, (node, cable) in enumerate(hosts):
        row, column = divmod(place, 4)
        fill, tip = look.node(node)
        if look.figure.congestion is not None:
            fill = look.cable(cable, ()).colour
        left = x - 2 * SQUARE + column * SQUARE
        marks.append(Rectangle(left, top + 8 + row * SQUARE, SQUARE - 2, SQUARE - 2, fill, GREY, tip))
    deep = 8 + -(-len(hosts) // 4) * SQUARE
    if hosts:
        first, last = (look.figure.hosts[node] for node in (hosts[0][0], hosts[-1][0]))
        text = cut(_first_to_last(first, last, len(hosts)), LONGEST, 9)
        long = width_of(text, 9)
        marks.append(Words(x + 3, top + deep + 6 + long, text, 9, "start", GREY, turned=True))
        deep += 10 + long
    return marks, deep


def _columns(
    look: Look, hosts: list[tuple[int, int]], x: float, top: float
) -> tuple[list[Mark], float]:
    """Return the hosts of a leaf switch by name, and their height."""
    marks: list[Mark] = []
    left = x - NAMED / 2
    for place, (node, cable) in enumerate(hosts[:MOST_NAMES]):
        y = top + 8 + place * ROW
        fill, tip = look.node(node)
        marks.append(look.cable(cable, ((left + 2, y + 6), (left + 14, y + 6))))
        marks.append(Rectangle(left + 14, y, NAMED - 18, ROW - 2, fill, "none", tip, 2))
        said = look.figure.hosts[node]
        if look.ranks.get(node):
            said = f"{said}: {format_list(look.ranks[node])}"
        marks.append(Words(left + 18, y + 10, cut(said, NAMED - 24, 9), 9))
    if hosts:
        spine = left + 2
        end = top + 8 + (min(len(hosts), MOST_NAMES) - 1) * ROW + 6
        marks.insert(0, Line(((spine, top), (spine, end)), "#c3cad2", 1))
        marks.insert(0, Line(((x, top), (spine, top)), "#c3cad2", 1))
    deep = 8 + min(len(hosts), MOST_NAMES) * ROW
    if len(hosts) > MOST_NAMES:
        more = f"{len(hosts) - MOST_NAMES} more"
        marks.append(Words(left + 18, top + deep + 10, more, 9, colour=GREY))
        deep += ROW
    return marks, deep
