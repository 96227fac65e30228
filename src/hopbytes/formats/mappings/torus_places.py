"""Coordinates of nodes in a torus or mesh, for launchers that map ranks by coordinates."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Source
from hopbytes.machines.base import Machine
from hopbytes.machines.geometry import torus_geometry_of
from hopbytes.model.allocation import Allocation


def node_coordinates(machine: Machine, form: str, dimensions: tuple[int, ...]) -> Int64:
    """Return int64[nodes, dimensions], the coordinates of every node of a machine."""
    found = torus_geometry_of(machine)
    wanted = " or ".join(map(str, dimensions))
    expected = f"{form} maps ranks by coordinates, expected a torus or mesh of {wanted} dimensions"
    if found is None:
        raise UnsupportedError(f"{expected} (`machine='torus:4x4x4 / core:4'`)")
    nodes = int(machine.node_of_core()[-1]) + 1
    places: Int64 = found.places.T
    if places.shape[1] not in dimensions:
        raise UnsupportedError(f"{expected}, found {places.shape[1]}")
    if len(np.unique(places, axis=0)) != nodes:
        raise UnsupportedError(f"{expected} with one node at each router, found several")
    return places


def nodes_at(
    source: Source, where: Allocation, places: Int64, rows: list[tuple[int, tuple[int, ...]]]
) -> Int64:
    """Return int64[n], the node at the coordinates of every rank."""
    node_of = {tuple(place): node for node, place in enumerate(places.tolist())}
    found = np.empty(len(rows), np.int64)
    for rank, (line, place) in enumerate(rows):
        if place not in node_of:
            sizes = "x".join(str(size + 1) for size in places.max(axis=0).tolist())
            what = f"no node at {place}, expected coordinates in a {sizes} torus"
            raise FormatError(source.name, line, what)
        found[rank] = node_of[place]
    return found


def coordinate_lines(source: Source, pattern: str, expected: str) -> list[tuple[int, tuple[int, ...]]]:
    """Return the line number and the numbers of every line; FormatError for a line of another form."""
    found = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if not re.fullmatch(pattern, text, re.ASCII):
            raise FormatError(source.name, number, f"{text[:40]!r}, expected {expected}")
        found.append((number, tuple(int(word) for word in re.findall(r"[0-9]+", text))))
    return found
