"""openfoam: the processor of every cell, for decomposePar's method ``manual``."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.errors import FormatError
from hopbytes.formats.base import Capabilities, Format, Source, Written, formats
from hopbytes.formats.mappings.mapping_plain import lines_of
from hopbytes.formats.patterns.openfoam import is_label_list, read_labels
from hopbytes.model.mapping import Mapping

HEADER = """FoamFile
{
    version     2.0;
    format      ascii;
    class       labelList;
    location    "constant";
    object      cellDecomposition;
}

"""


class OpenFoam(Format):
    """A list of labels in the folder ``constant`` of a case: cell i belongs to processor ``list[i]``.

    decomposePar reads it by ``method manual`` and writes one like it with ``-cellDist``. Processor i becomes
    rank i, which has to start on PE i, as launchers place ranks that fill the nodes in order.

    Source: OpenFOAM, annotated ``decomposeParDict`` and ``manualDecomp``; decomposePar 1912 has read it.
    """

    holds = "mapping"
    summary = "OpenFOAM's processor of every cell, for decomposePar with method manual"
    comment = "//"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
    )

    def read(self, source: Source) -> Mapping | Int32:
        """Return a Mapping if the option `where` (an Allocation) is given, else int32[n].

        The option `n` is the expected number of cells. FormatError for no such list, a processor outside
        0..k-1, or another number of cells.
        """
        where, n = source.options.get("where"), source.options.get("n")
        labels = read_labels(source.name, source.stream.read())
        limit = where.k if where is not None else 2**31 - 1
        if len(labels) and int(labels.max()) >= limit:
            cell = int(np.argmax(labels >= limit))
            what = f"cell {cell} on processor {labels[cell]}, expected one of 0..{limit - 1}"
            raise FormatError(source.name, None, what)
        if n is not None and len(labels) != n:
            raise FormatError(source.name, None, f"{len(labels)} cells, expected {n}, one for each task")
        pe = labels.astype(np.int32)
        return pe if where is None else Mapping(pe, where)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the list, and what decomposeParDict needs."""
        k = mapping.where.k
        notice = (
            f"in system/decomposeParDict: numberOfSubdomains {k}; method manual; manualCoeffs {{ dataFile "
            '"NAME"; } with the name of this file in the folder constant'
        )
        return Written({"": f"{HEADER}{mapping.n}\n(\n{lines_of(mapping.pe)})\n"}, notices=(notice,))

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file is a list of labels, and not one of a mesh."""
        return is_label_list(head) and os.path.basename(name) not in ("owner", "neighbour")


formats.register("openfoam")(OpenFoam())
