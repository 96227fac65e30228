"""Topology-aware process mapping: who talks to whom and a machine in, a verified placement out.

The public names are imported when they are first asked for, so that ``import hopbytes`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopbytes.allocation import Allocation as Allocation
    from hopbytes.errors import FormatError as FormatError
    from hopbytes.errors import HopbytesError as HopbytesError
    from hopbytes.errors import InfeasibleError as InfeasibleError
    from hopbytes.errors import ScaleError as ScaleError
    from hopbytes.errors import UnsupportedError as UnsupportedError
    from hopbytes.formats.exchange import convert as convert
    from hopbytes.formats.exchange import read as read
    from hopbytes.formats.exchange import write as write
    from hopbytes.graph import CommGraph as CommGraph
    from hopbytes.machines.slots import machine as machine
    from hopbytes.mapping import Mapping as Mapping
    from hopbytes.metrics.evaluation import evaluate as evaluate
    from hopbytes.metrics.regression import explain_times as explain_times
    from hopbytes.metrics.regression import metric_columns as metric_columns
    from hopbytes.run import map_tasks as map_tasks

__version__ = "0.1.0"

#: Public name → module that defines it.
_HOME = {
    "Allocation": "hopbytes.allocation",
    "CommGraph": "hopbytes.graph",
    "FormatError": "hopbytes.errors",
    "HopbytesError": "hopbytes.errors",
    "InfeasibleError": "hopbytes.errors",
    "Mapping": "hopbytes.mapping",
    "ScaleError": "hopbytes.errors",
    "UnsupportedError": "hopbytes.errors",
    "convert": "hopbytes.formats.exchange",
    "evaluate": "hopbytes.metrics.evaluation",
    "explain_times": "hopbytes.metrics.regression",
    "machine": "hopbytes.machines.slots",
    "map_tasks": "hopbytes.run",
    "metric_columns": "hopbytes.metrics.regression",
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
