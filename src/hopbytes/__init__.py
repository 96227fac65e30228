"""Topology-aware process mapping: who talks to whom and a machine in, a verified placement out.

The public names are imported when they are first asked for, so that ``import hopbytes`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hopbytes._version import __version__ as __version__

if TYPE_CHECKING:
    from hopbytes.cost.metrics.evaluation import evaluate as evaluate
    from hopbytes.cost.metrics.regression import explain_times as explain_times
    from hopbytes.cost.metrics.regression import metric_columns as metric_columns
    from hopbytes.errors import FormatError as FormatError
    from hopbytes.errors import HopbytesError as HopbytesError
    from hopbytes.errors import InfeasibleError as InfeasibleError
    from hopbytes.errors import ScaleError as ScaleError
    from hopbytes.errors import UnsupportedError as UnsupportedError
    from hopbytes.formats.exchange import convert as convert
    from hopbytes.formats.exchange import read as read
    from hopbytes.formats.exchange import write as write
    from hopbytes.machines.selection.allocate import machine as machine
    from hopbytes.model.allocation import Allocation as Allocation
    from hopbytes.model.comm_graph import CommGraph as CommGraph
    from hopbytes.model.mapping import Mapping as Mapping
    from hopbytes.solve.map_tasks import map_tasks as map_tasks

#: Public name → module that defines it.
_HOME = {
    "Allocation": "hopbytes.model.allocation",
    "CommGraph": "hopbytes.model.comm_graph",
    "FormatError": "hopbytes.errors",
    "HopbytesError": "hopbytes.errors",
    "InfeasibleError": "hopbytes.errors",
    "Mapping": "hopbytes.model.mapping",
    "ScaleError": "hopbytes.errors",
    "UnsupportedError": "hopbytes.errors",
    "convert": "hopbytes.formats.exchange",
    "evaluate": "hopbytes.cost.metrics.evaluation",
    "explain_times": "hopbytes.cost.metrics.regression",
    "machine": "hopbytes.machines.selection.allocate",
    "map_tasks": "hopbytes.solve.map_tasks",
    "metric_columns": "hopbytes.cost.metrics.regression",
    "read": "hopbytes.formats.exchange",
    "write": "hopbytes.formats.exchange",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hopbytes' has no attribute {name!r}")
    value: Any = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
