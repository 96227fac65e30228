"""Reference implementations in plain Python of the kernels whose results are defined; tests compare both.

They are slow and simple. Their signatures are those of the compiled core (arrays are passed in and filled,
and counts are returned).

``HOPBYTES_KERNELS=reference PYTHONPATH=tests hopbytes …`` runs them in place of the compiled ones.
"""

from importlib import import_module
from typing import Any

#: Where a kernel is looked for; the compiled parsers have no definition but the formats.
MODULES = (
    "best_swap_reference", "changing_reference", "cost_reference", "fair_flows_reference", "graph_reference",
    "grouping_reference", "leaders_reference", "routes_reference", "slots_reference", "stream_reference",
    "waiting_reference",
)
PARSERS = ("parse_metis", "parse_real_table", "parse_table")


def __getattr__(name: str) -> Any:
    if name in PARSERS:
        return getattr(import_module("hopbytes._core"), name)
    for module in () if name.endswith("_reference") else MODULES:
        found = getattr(import_module(f"reference.{module}"), name, None)
        if found is not None:
            return found
    raise AttributeError(name)
