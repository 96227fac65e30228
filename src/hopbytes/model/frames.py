"""Tables of pandas, which is imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.errors import package
from hopbytes.model.allocation import Allocation

if TYPE_CHECKING:
    import pandas


def mapping_frame(pe: Int32, where: Allocation) -> pandas.DataFrame:
    """Return a row for every task; see :meth:`hopbytes.Mapping.to_frame`."""
    library = package("pandas", "to_frame()")
    node = where.node_of_pe[pe]
    hosts = [where.hosts[each] for each in node.tolist()] if where.hosts else [None] * len(pe)
    cpus: dict[int, Any] = {each: where.os_pus(each) for each in np.unique(pe).tolist()}
    frame: pandas.DataFrame = library.DataFrame(
        {
            "task": np.arange(len(pe)), "pe": pe, "node": node, "host": hosts, "core": where.first_core[pe],
            "cpus": [cpus[each] for each in pe.tolist()],
        }
    )
    return frame
