"""Count the rooms of the source, draw them and list their layers: ``python tools/rooms.py [--write]``.

A room is a package below ``hopbytes`` or a module beside them. A room stands on the floor above all rooms it
imports, so an arrow of the picture always points down; arrows that follow from others are not drawn. A
circle is a set of modules, or of packages beside each other, that import each other in a loop. Imports for
types and those that name a module in a text (``import_module("hopbytes.…")``) count as well. The registries
and the public names of ``hopbytes/__init__.py``, which look modules up in tables, do not.

With ``--write``, docs/architecture.svg is drawn anew, and the lists of layers in AGENTS.md and in
ARCHITECTURE.md are written from ``pyproject.toml``.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import grimp
from importlinter.api import read_configuration

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hopbytes"
PICTURE = ROOT / "docs" / "architecture.svg"
#: Documents with a list of the layers, which stands between these two lines.
LISTS = (ROOT / "AGENTS.md", ROOT / "ARCHITECTURE.md")
BEGIN, END = "<!-- layers: python tools/rooms.py --write -->\n", "<!-- end of layers -->\n"
#: What each room is for, in the words that ARCHITECTURE.md uses.
PURPOSE = {
    "cli": "commands", "mpi": "inside a running MPI program", "record": "what a program sends",
    "launch": "nodes of a job; start, verify, measure a launch", "show": "texts, pictures, reports",
    "solve": "map_tasks, map_stream, Remapper", "algorithms": "mappers and refiners",
    "simulation": "predicted times",
    "cost": "objectives and metrics", "formats": "files, read and written",
    "machines": "kinds, networks, nodes, slots", "fabrics": "output of network tools",
    "patterns": "generated patterns", "engine": "compiled searches", "model": "graph, allocation, mapping",
    "text": "bounded text input", "kernels": "compiled functions", "util": "registries, options, checks",
}
#: The modules beside the packages; nearly all import them, so that the picture leaves them out.
BESIDE = {"errors": "errors", "_arrays": "types of arrays", "_frozen": "immutable classes and arrays"}
WIDTH, HEIGHT, GAP, ROW = 176, 46, 20, 92

Rooms = dict[str, set[str]]


def imports() -> Rooms:
    """Return for every module the modules it imports, all names below ``hopbytes``."""
    graph = grimp.build_graph("hopbytes", exclude_type_checking_imports=False, cache_dir=None)
    names = [name for name in graph.modules if name != "hopbytes"]
    cut = len("hopbytes.")
    found: Rooms = {}
    for name in names:
        others = graph.find_modules_directly_imported_by(name) | _by_text(name, names)
        found[name[cut:]] = {other[cut:] for other in others if "." in other}
    return found


def _by_text(name: str, names: list[str]) -> set[str]:
    """Return what a module loads by ``import_module`` of a text; of one with a variable end, all that fit."""
    path = SOURCE.parent.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():  # the compiled core
        return set()
    loaded = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = node.args[0]
        text = given.values[0] if isinstance(given, ast.JoinedStr) else given
        word = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
        if function in ("import_module", "__import__") and word.startswith("hopbytes."):
            whole = given is text
            loaded |= {other for other in names if (other == word if whole else other.startswith(word))}
    return loaded - {name}


def layers() -> str:
    """Return the layers of pyproject.toml as a block of text, the highest first, with purposes."""
    contracts = read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    listed = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    purpose = PURPOSE | BESIDE
    width = max(map(len, listed)) + 2
    lines = [
        f"{line:<{width}}{'; '.join(purpose[room.strip()] for room in line.split('|'))}" for line in listed
    ]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def with_layers(document: str) -> str:
    """Return a document with the present list of layers."""
    before, _, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}{layers()}{end}{after}"


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
    corner = {}
    for number, row in rows.items():
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for column, name in enumerate(row):
            corner[name] = (left + column * (WIDTH + GAP), GAP + (len(rows) - number) * ROW)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif">',
        "<title>Packages of hopbytes: arrows point at what is imported</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name, other in needed(rooms):
        (x, y), (to_x, to_y) = corner[name], corner[other]
        start, end = (x + WIDTH / 2, y + HEIGHT), (to_x + WIDTH / 2, to_y)
        middle = (start[1] + end[1]) / 2
        parts.append(
            f'<path d="M{start[0]:g} {start[1]:g}C{start[0]:g} {middle:g} {end[0]:g} {middle:g} '
            f'{end[0]:g} {end[1]:g}" fill="none" stroke="#8899aa"/>'
        )
    for name, (x, y) in sorted(corner.items()):
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
    """Return the picture of all packages, without the modules beside them."""
    rooms = {name: others for name, others in between(modules, 0).items() if name in PURPOSE}
    rooms = {name: {other for other in others if other in PURPOSE} for name, others in rooms.items()}
    return drawn(rooms, floors(rooms))


def main() -> int:
    """Print the counts; write the picture and the lists."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the picture and the lists of layers")
    options = parser.parse_args()
    modules = imports()
    print(", ".join(f"{count} {what}" for what, count in counted(modules).items()))
    for circle in all_circles(modules):
        print("circle:", " ".join(sorted(circle)))
    if options.write:
        PICTURE.write_text(picture(modules), encoding="utf-8")
        for path in LISTS:
            path.write_text(with_layers(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
