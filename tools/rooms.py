"""Count the rooms of the source and draw them: ``python tools/rooms.py [--svg docs/architecture.svg]``.

A room is a package below ``hopbytes`` or a module beside them. A room stands on the floor above all rooms it
imports, so an arrow of the picture always points down; arrows that follow from others are not drawn. A
circle is a set of modules, or of packages beside each other, that import each other in a loop, for types too.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import grimp

SOURCE = Path(__file__).parents[1] / "src" / "hopbytes"
#: What each room is for, in the words that ARCHITECTURE.md uses.
PURPOSE = {
    "cli": "commands", "mpi": "inside a running MPI program", "record": "what a program sends",
    "launch": "launch, verify, probe", "report": "tables and verdicts",
    "pictures": "figures: data, drawing", "solve": "map_tasks, feasibility",
    "algorithms": "mappers and refiners", "simulation": "predicted time",
    "discover": "probe, measure nodes", "cost": "objectives and metrics",
    "formats": "files, read and written", "machines": "levels, networks, nodes, slots",
    "fabrics": "output of network tools", "partitioners": "k-way partitions", "patterns": "generated graphs",
    "engine": "compiled searches", "model": "graph, allocation, mapping", "text": "bounded text input",
    "kernels": "compiled functions", "util": "registries, options", "reference": "Python twins of kernels",
}  # fmt: skip
WIDTH, HEIGHT, GAP, ROW = 176, 46, 20, 92

Rooms = dict[str, set[str]]


def imports() -> Rooms:
    """Return for every module the modules it imports, all names below ``hopbytes``."""
    graph = grimp.build_graph("hopbytes", exclude_type_checking_imports=False, cache_dir=None)
    names = [name for name in graph.modules if name != "hopbytes"]
    cut = len("hopbytes.")
    return {
        name[cut:]: {other[cut:] for other in graph.find_modules_directly_imported_by(name) if "." in other}
        for name in names
    }


def between(modules: Rooms, depth: int, below: str = "") -> Rooms:
    """Return the imports between the children of `below`, whose names have `depth` + 1 parts."""
    found: Rooms = defaultdict(set)
    for name, others in modules.items():
        if not f"{name}.".startswith(below):
            continue
        child = ".".join(name.split(".")[: depth + 1])
        found[child] |= set()
        for other in others:
            if other.startswith(below):
                target = ".".join(other.split(".")[: depth + 1])
                if target != child:
                    found[child].add(target)
    return dict(found)


def circles(rooms: Rooms) -> list[set[str]]:
    """Return the sets of rooms that reach each other; none where imports only look down."""
    reached = {name: _reached(rooms, name) for name in rooms}
    found: list[set[str]] = []
    for name in rooms:
        together = {other for other in reached[name] if name in reached.get(other, ())}
        if together and together not in found:
            found.append(together)
    return found


def _reached(rooms: Rooms, start: str) -> set[str]:
    seen: set[str] = set()
    ahead = list(rooms.get(start, ()))
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead += rooms.get(name, ())
    return seen


def all_circles(modules: Rooms) -> list[set[str]]:
    """Return the circles between siblings at every depth of the source."""
    packages = {""} | {name.rpartition(".")[0] + "." for name in modules if "." in name}
    return [
        circle
        for package in sorted(packages)
        for circle in circles(between(modules, package.count("."), package))
    ]


def floors(rooms: Rooms) -> dict[str, int]:
    """Return the floor of every room, 1 for those that import no other."""
    floor: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in floor:
            floor[name] = 1 + max((of(other) for other in rooms[name]), default=0)
        return floor[name]

    for name in rooms:
        of(name)
    return floor


def needed(rooms: Rooms) -> Iterable[tuple[str, str]]:
    """Yield the arrows that do not follow from others."""
    for name, others in sorted(rooms.items()):
        for other in sorted(others):
            if not any(other in _reached(rooms, third) for third in others - {other}):
                yield name, other


def drawn(rooms: Rooms, floor: dict[str, int]) -> str:
    """Return the picture as SVG: rooms in rows, the highest floor on top."""
    rows: dict[int, list[str]] = defaultdict(list)
    for name in sorted(rooms):
        rows[floor[name]].append(name)
    width = max(len(row) for row in rows.values()) * (WIDTH + GAP) + GAP
    height = len(rows) * ROW + GAP
    place = {}
    for number, row in rows.items():
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for column, name in enumerate(row):
            place[name] = (left + column * (WIDTH + GAP), GAP + (len(rows) - number) * ROW)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif">',
        "<title>Packages of hopbytes: arrows point at what is imported</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name, other in needed(rooms):
        (x, y), (to_x, to_y) = place[name], place[other]
        start, end = (x + WIDTH / 2, y + HEIGHT), (to_x + WIDTH / 2, to_y)
        middle = (start[1] + end[1]) / 2
        parts.append(
            f'<path d="M{start[0]:g} {start[1]:g}C{start[0]:g} {middle:g} {end[0]:g} {middle:g} '
            f'{end[0]:g} {end[1]:g}" fill="none" stroke="#8899aa"/>'
        )
    for name, (x, y) in sorted(place.items()):
        parts += [
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="#eef3f8" '
            'stroke="#456"/>',
            f'<text x="{x + WIDTH / 2:g}" y="{y + 20:g}" font-size="14" text-anchor="middle">{name}</text>',
            f'<text x="{x + WIDTH / 2:g}" y="{y + 36:g}" font-size="10" text-anchor="middle" fill="#345">'
            f"{PURPOSE.get(name, '')}</text>",
        ]
    return "\n".join([*parts, "</svg>\n"])


def counted(modules: Rooms) -> dict[str, int]:
    """Return the numbers that the architecture is held to."""
    rooms = between(modules, 0)
    at_root = [name for name in rooms if (SOURCE / f"{name}.py").is_file()]
    return {
        "rooms": len(rooms),
        "floors": max(floors(rooms).values()),
        "arrows": sum(map(len, rooms.values())),
        "circles": len(all_circles(modules)),
        "modules in the root": len(at_root) + 1,  # and __init__
    }


def picture(modules: Rooms) -> str:
    """Return the picture of all packages; modules of the root are left out, since nearly all import them."""
    rooms = {name: others for name, others in between(modules, 0).items() if name in PURPOSE}
    rooms = {name: {other for other in others if other in PURPOSE} for name, others in rooms.items()}
    return drawn(rooms, floors(rooms))


def main() -> int:
    """Print the counts and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, help="write the picture here")
    options = parser.parse_args()
    modules = imports()
    print(", ".join(f"{count} {what}" for what, count in counted(modules).items()))
    for circle in all_circles(modules):
        print("circle:", " ".join(sorted(circle)))
    if options.svg:
        options.svg.write_text(picture(modules), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
