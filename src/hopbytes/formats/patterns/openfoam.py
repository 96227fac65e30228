"""polymesh: the cells of an OpenFOAM mesh, by ``constant/polyMesh/owner`` and ``neighbour``."""

from __future__ import annotations

import os

import numpy as np

from hopbytes.formats.base import Format, Source
from hopbytes.formats.files import open_source
from hopbytes.formats.parsing import is_label_list, read_labels
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.open_input import plain_name
from hopbytes.util.integers import MAX_TASKS

OTHER = {"owner": "neighbour", "neighbour": "owner"}


class PolyMesh(Format, form="polymesh"):
    """A task per cell and an edge for every pair of cells with a face between them, faces counted."""
    # Face i lies between the cells ``owner[i]`` and ``neighbour[i]``; faces of the boundary come last and
    # have no neighbour. Either file may be named, the other one lies beside it.

    summary = "cells of an OpenFOAM mesh: constant/polyMesh/owner, with neighbour beside it"

    def sniff(self, name: str, head: bytes) -> bool:
        return os.path.basename(name) in OTHER and is_label_list(head)

    def read(self, source: Source) -> CommGraph:
        name = plain_name(source.title)
        if source.path is None or name not in OTHER:
            raise source.error("expected the file owner or neighbour of a mesh")
        labels = {name: read_labels(source.name, source.stream.read())}
        beside = os.path.join(os.path.dirname(source.path), OTHER[name])
        packed = source.title[len(name) :]
        with open_source(beside + (packed if os.path.exists(beside + packed) else ""),
                         max_bytes=source.max_bytes) as other:  # fmt: skip
            labels[OTHER[name]] = read_labels(other.name, other.stream.read())
        owner, neighbour = labels["owner"], labels["neighbour"]
        if len(neighbour) > len(owner):
            what = f"{len(neighbour)} faces with a neighbour and {len(owner)} with an owner"
            raise source.error(f"{what}, expected no more of the former")
        n = int(max(owner.max(initial=-1), neighbour.max(initial=-1))) + 1
        if n > min(MAX_TASKS, 16 * (len(owner) + 1)):
            raise source.error(f"cell {n - 1}, expected fewer cells with {len(owner)} faces")
        title = os.path.basename(os.path.dirname(os.path.abspath(source.path)))
        sides = (part[: len(neighbour)].astype(np.int32) for part in (owner, neighbour))
        return CommGraph.from_edges(*sides, n=n, undirected=True, meta={"name": title, "format": "polymesh"})
