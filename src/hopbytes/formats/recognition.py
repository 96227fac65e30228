"""Determine the format of a file: by its name, by the suffix of the file, by the content."""

from __future__ import annotations

import os
import re

from hopbytes.errors import FormatError, UnsupportedError, nearest, unknown_name
from hopbytes.formats.base import PATTERNS, Format, Source, formats
from hopbytes.patterns.base import patterns
from hopbytes.text.open_input import path_text, plain_name

#: Beginnings of files that hold a pattern in a format without a reader, and the program that converts them.
INSTEAD = {rb"\xff\xaa\xddDUMPI": "a binary DUMPI trace, expected a text trace; convert it by dumpi2ascii"}
#: Suffixes of files that are not graphs although their numbers look like one, and what makes a graph of them.
NO_GRAPH = {
    ".mesh": "a mesh (nodes of elements), expected a graph; m2gmetis FILE new.graph makes the one of METIS",
    ".hmetis": "a hypergraph, expected a graph",
    ".hgr": "a hypergraph, expected a graph; where all nets have two pins, write an edge list counted from 0",
}
#: Suffixes that one format has alone, so that the others need not be loaded to find that out.
ALONE = {
    ".csv": "csv", ".pattern": "pattern", ".npz": "npz", ".graph": "metis", ".metis": "metis",
    ".parhip": "parhip", ".bgf": "parhip", ".mtx": "mm", ".mm": "mm", ".edges": "edges", ".el": "edges",
    ".grf": "scotch",
}  # fmt: skip
OTF2 = "a part of an OTF2 archive, expected the file NAME.otf2 beside it"
#: Characters that no text has. Blanks, line ends, and what terminals interpret in logs are text.
NOT_IN_TEXT = bytes([*range(7), *range(14, 27), *range(28, 32), 127])


#: Frameworks, and the formats by which their ranks are placed.
FRAMEWORKS = {
    "pytorch": "torchrun, which orders nodes, or mesh, which orders the ranks of a device mesh",
    "deepspeed": "hosts, whose order its hostfile takes, or mesh, which orders the ranks of a device mesh",
    "megatron": "mesh, which orders ranks; 'hopbytes map' names the option of Megatron-LM for a pattern ml:…",
    "jax": "mesh, which orders the devices of a mesh",
}  # fmt: skip


def format_named(name: str, holds: str | None = None) -> Format:
    """Return the format called `name`; for an unknown name the error suggests one of the same kind."""
    if isinstance(name, str) and name.lower() in FRAMEWORKS and holds != "pattern":
        raise UnsupportedError(f"{name!r} is not a format, expected {FRAMEWORKS[name.lower()]}")
    if isinstance(name, str) and name not in formats:
        raise unknown_name("format", name, [key for key, f in formats.items() if holds in (None, f.holds)])
    return formats[name]


def recognise(source: Source, holds: str | None = None) -> Format:
    """Return the format of an opened file by its suffix, or by its content if several formats share it."""
    name = plain_name(os.path.basename(source.name)).lower()
    alone = next((key for suffix, key in ALONE.items() if name.endswith(suffix)), None)
    if alone is not None and holds == "pattern":
        return formats[alone]
    other = next((what for suffix, what in NO_GRAPH.items() if name.endswith(suffix)), None)
    if other is not None and holds in (None, "pattern"):
        raise FormatError(source.name, None, f"{other} (`read(format)` reads it all the same)")
    package = PATTERNS if holds == "pattern" else ""
    known, candidates = _known(name, holds, package)
    if package and not candidates:
        # Only a suffix that no format here has is worth the search among installed packages.
        formats.load_elsewhere()
        known, candidates = _known(name, holds, package)
    # Traces and mappings share the suffix .txt: if either is accepted, the content decides.
    if len(candidates) == 1 and (holds or candidates[0][1].holds == "pattern"):
        return candidates[0][1]
    if name.endswith((".def", ".evt")):
        raise FormatError(source.name, None, OTF2)
    head = source.head()
    if len(candidates) == 1:
        only = candidates[0][1]
        others = [] if fits(only, name, head) else [f for _, f in known if fits(f, name, head)]
        return others[0] if len(others) == 1 else only
    fitting = [(key, f) for key, f in candidates or known if fits(f, name, head)]
    if len(fitting) == 1:
        return fitting[0][1]
    if not fitting:
        _refuse_other_kind(source, name, head, holds)
    possible = [(key, f) for key, f in known if f.binary] if is_binary(head) else known
    names = ", ".join(key for key, _ in fitting or possible or known)
    what = "content that is not text" if is_binary(head) else "unknown format"
    why = f"the format could be any of: {names}" if fitting else f"{what}, expected one of {names}"
    option = "`read_mapping(format)`" if holds == "mapping" else "`read(format)`"
    raise FormatError(source.name, None, f"{why} (name it with {option})")


def is_binary(head: bytes) -> bool:
    """Tell whether the start of a file contains characters that no text has."""
    return len(head.translate(None, NOT_IN_TEXT)) < len(head)


def fits(format: Format, name: str, head: bytes) -> bool:
    """Tell whether a file looks like a format; only binary ones are asked about content that is not text."""
    return (format.binary or not is_binary(head)) and format.sniff(name, head)


def _known(name: str, holds: str | None, package: str) -> tuple[list[tuple[str, Format]], ...]:
    """Return the formats of a kind, and those of them that have the suffix of a file called `name`."""
    known = [(key, f) for key, f in formats.items(package) if holds in (None, f.holds)]
    return known, [(key, f) for key, f in known if name.endswith(tuple(f.suffixes) or ("\0",))]


def _refuse_other_kind(source: Source, name: str, head: bytes, holds: str | None) -> None:
    """Raise FormatError for a known format without a reader, and for a mapping in place of a pattern."""
    instead = next((hint for beginning, hint in INSTEAD.items() if re.match(beginning, head)), None)
    if instead is not None:
        raise FormatError(source.name, None, instead)
    for key, other in formats.items() if holds is not None else ():
        named = name.endswith(tuple(other.suffixes) or ("\0",))
        if other.holds != holds and named and fits(other, name, head):
            is_what = "a stored mapping" if key == "json" else f"a {other.holds} ({key})"
            raise source.error(f"{is_what}, expected a {holds}: the order is PATTERN MAPPING")


def check_generator(path: str | os.PathLike[str]) -> None:
    """Raise FormatError for a text like ``mlp:tp=8`` that is neither a file nor names a generator."""
    name, colon, _ = path_text(path).partition(":")
    if not colon or not re.fullmatch("[A-Za-z_]{2,30}", name) or os.path.exists(path):
        return
    near = nearest(name.lower(), patterns)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(patterns)}"
    what = f"no such file, and {name!r} is not a pattern generator ({hint})"
    raise FormatError(path_text(path), None, what)


def format_to_write(path: str, format: str | None, holds: str) -> Format:
    """Return the format to write: by name, else by suffix."""
    if format is None:
        known, fitting = _known(plain_name(os.path.basename(path)).lower(), holds, "")
        if len(fitting) == 1:
            return fitting[0][1]
        what = f"the suffix does not determine a {holds} format"
        names = ", ".join(key for key, _ in known)
        raise UnsupportedError(f"{path}: {what}, expected `write(format)` with one of {names}")
    chosen = format_named(format, holds)
    if chosen.holds != holds:
        names = ", ".join(key for key, f in formats.items() if f.holds == holds)
        what = f"holds a {chosen.holds}, expected a format for a {holds}: {names}"
        raise UnsupportedError(f"format {format!r} {what}")
    return chosen
