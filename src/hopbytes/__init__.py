"""Map MPI ranks, GPUs or graph vertices to the cores of a machine so that communication stays local.

The public names are imported when they are first asked for, so that ``import hopbytes`` costs nothing.
"""

from __future__ import annotations

from hopbytes.util.version import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it for true; `typing` would cost more than all else here
if TYPE_CHECKING:
    import typing as _typing

    from hopbytes.algorithms import mappers as mappers
    from hopbytes.algorithms import refiners as refiners
    from hopbytes.algorithms.base import Bounds as Bounds
    from hopbytes.algorithms.base import Effort as Effort
    from hopbytes.algorithms.base import Mapper as Mapper
    from hopbytes.algorithms.base import Refiner as Refiner
    from hopbytes.cost.metrics.evaluation import Evaluation as Evaluation
    from hopbytes.cost.metrics.evaluation import evaluate as evaluate
    from hopbytes.errors import FormatError as FormatError
    from hopbytes.errors import HopbytesError as HopbytesError
    from hopbytes.errors import HopbytesWarning as HopbytesWarning
    from hopbytes.errors import InfeasibleError as InfeasibleError
    from hopbytes.errors import MissingPackageError as MissingPackageError
    from hopbytes.errors import ScaleError as ScaleError
    from hopbytes.errors import UnsupportedError as UnsupportedError
    from hopbytes.errors import WrongTypeError as WrongTypeError
    from hopbytes.formats.exchange import Receipt as Receipt
    from hopbytes.formats.exchange import convert as convert
    from hopbytes.formats.exchange import read as read
    from hopbytes.formats.exchange import read_mapping as read_mapping
    from hopbytes.formats.exchange import read_pattern as read_pattern
    from hopbytes.formats.exchange import write as write
    from hopbytes.machines.base import Machine as Machine
    from hopbytes.model.allocation import Allocation as Allocation
    from hopbytes.model.comm_graph import CommGraph as CommGraph
    from hopbytes.model.mapping import Mapping as Mapping
    from hopbytes.model.mapping import MappingInfo as MappingInfo
    from hopbytes.show import plot as plot
    from hopbytes.show.evaluation_text import MappingComparison as MappingComparison
    from hopbytes.show.evaluation_text import compare as compare
    from hopbytes.show.page import write_report as write_report
    from hopbytes.simulation.simulate import Prediction as Prediction
    from hopbytes.simulation.simulate import simulate as simulate
    from hopbytes.solve import presets as presets
    from hopbytes.solve.changing import BatchReport as BatchReport
    from hopbytes.solve.map_arrays import ArrayMapping as ArrayMapping
    from hopbytes.solve.map_arrays import map_arrays as map_arrays
    from hopbytes.solve.map_phases import map_phases as map_phases
    from hopbytes.solve.map_stream import map_stream as map_stream
    from hopbytes.solve.map_tasks import map_tasks as map_tasks
    from hopbytes.solve.presets import Chain as Chain
    from hopbytes.solve.problem import Constraints as Constraints
    from hopbytes.solve.remapper import Remapper as Remapper
    from hopbytes.util.limits import Limits as Limits

#: Public name → module that defines it, or that it is (see _MODULES).
_MODULE_OF = {
    "Allocation": "hopbytes.model.allocation",
    "ArrayMapping": "hopbytes.solve.map_arrays",
    "BatchReport": "hopbytes.solve.changing",
    "Bounds": "hopbytes.algorithms.base",
    "Chain": "hopbytes.solve.presets",
    "CommGraph": "hopbytes.model.comm_graph",
    "Constraints": "hopbytes.solve.problem",
    "Effort": "hopbytes.algorithms.base",
    "Evaluation": "hopbytes.cost.metrics.evaluation",
    "FormatError": "hopbytes.errors",
    "HopbytesError": "hopbytes.errors",
    "HopbytesWarning": "hopbytes.errors",
    "InfeasibleError": "hopbytes.errors",
    "Limits": "hopbytes.util.limits",
    "Machine": "hopbytes.machines.base",
    "Mapper": "hopbytes.algorithms.base",
    "Mapping": "hopbytes.model.mapping",
    "MappingComparison": "hopbytes.show.evaluation_text",
    "MappingInfo": "hopbytes.model.mapping",
    "MissingPackageError": "hopbytes.errors",
    "Prediction": "hopbytes.simulation.simulate",
    "Receipt": "hopbytes.formats.exchange",
    "Refiner": "hopbytes.algorithms.base",
    "Remapper": "hopbytes.solve.remapper",
    "ScaleError": "hopbytes.errors",
    "UnsupportedError": "hopbytes.errors",
    "WrongTypeError": "hopbytes.errors",
    "allocate": "hopbytes.machines.allocate.allocate",
    "compare": "hopbytes.show.evaluation_text",
    "convert": "hopbytes.formats.exchange",
    "evaluate": "hopbytes.cost.metrics.evaluation",
    "map_arrays": "hopbytes.solve.map_arrays",
    "map_phases": "hopbytes.solve.map_phases",
    "map_stream": "hopbytes.solve.map_stream",
    "map_tasks": "hopbytes.solve.map_tasks",
    "mappers": "hopbytes.algorithms.mappers",
    "plot": "hopbytes.show.plot",
    "presets": "hopbytes.solve.presets",
    "read": "hopbytes.formats.exchange",
    "read_mapping": "hopbytes.formats.exchange",
    "read_pattern": "hopbytes.formats.exchange",
    "refiners": "hopbytes.algorithms.refiners",
    "simulate": "hopbytes.simulation.simulate",
    "write": "hopbytes.formats.exchange",
    "write_report": "hopbytes.show.page",
}
_MODULES = ("mappers", "plot", "presets", "refiners")

__all__ = [*_MODULE_OF, "__version__"]


#: Names that people try, and what does it; others are compared with the public names.
_MEANT = {
    "map": "map_tasks", "machine": "allocate",
    "load": "read", "save": "write", "Graph": "CommGraph", "report": "write_report",
    "pattern": "read_pattern", "generate": "read_pattern", "predict": "simulate", "show": "print()",
    "list_mappers": "list(hopbytes.mappers)", "list_refiners": "list(hopbytes.refiners)",
    "list_presets": "list(hopbytes.presets)", "from_networkx": "CommGraph.of", "from_scipy": "CommGraph.of",
}  # fmt: skip


def __getattr__(name: str) -> _typing.Any:
    if name not in _MODULE_OF:
        near = _MEANT.get(name)
        if near is None and name[:1] != "_":
            from hopbytes.errors import nearest

            near = next(iter(nearest(name, __all__, 0.7)), None)
        hint = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"module 'hopbytes' has no attribute {name!r}{hint}")
    import importlib

    module = importlib.import_module(_MODULE_OF[name])
    value: _typing.Any = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def _connect() -> None:
    """Tell the model what reads files and specs, and what draws for notebooks: higher packages."""
    import hopbytes.model as model
    from hopbytes.model.given_as_text import readers

    def partition_of(graph: CommGraph, parts: int) -> _typing.Any:
        return __getattr__("map_tasks")(graph, f"core:{parts}", "fast", partition=True).pe

    def svg_of(thing: _typing.Any) -> str | None:
        from hopbytes.show.pictures import svg_of

        return svg_of(thing)

    model.picture = svg_of
    readers.update(
        pattern=lambda text, **options: __getattr__("read_pattern")(text, **options),
        mapping=lambda text: __getattr__("read_mapping")(text),
        machine=lambda text: __getattr__("allocate")(text),
        parts=lambda path: __getattr__("read")(path, "plain", holds="mapping"),
        partition=lambda graph: partition_of(*graph),
    )


_connect()


def __dir__() -> list[str]:
    return sorted(__all__)
