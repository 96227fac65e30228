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

#: Module → the public names that it defines, or that it is (see _MODULES).
_NAMES_IN = {
    "hopbytes.algorithms.base": "Bounds Effort Mapper Refiner",
    "hopbytes.algorithms.mappers": "mappers",
    "hopbytes.algorithms.refiners": "refiners",
    "hopbytes.cost.metrics.evaluation": "Evaluation evaluate",
    "hopbytes.errors":
        "FormatError HopbytesError HopbytesWarning InfeasibleError MissingPackageError "
        "ScaleError UnsupportedError WrongTypeError",
    "hopbytes.formats.exchange": "Receipt convert read read_mapping read_pattern write",
    "hopbytes.machines.allocate.allocate": "allocate",
    "hopbytes.machines.base": "Machine",
    "hopbytes.model.allocation": "Allocation",
    "hopbytes.model.comm_graph": "CommGraph",
    "hopbytes.model.mapping": "Mapping MappingInfo",
    "hopbytes.show.evaluation_text": "MappingComparison compare",
    "hopbytes.show.page": "write_report",
    "hopbytes.show.plot": "plot",
    "hopbytes.simulation.simulate": "Prediction simulate",
    "hopbytes.solve.changing": "BatchReport",
    "hopbytes.solve.map_arrays": "ArrayMapping map_arrays",
    "hopbytes.solve.map_phases": "map_phases",
    "hopbytes.solve.map_stream": "map_stream",
    "hopbytes.solve.map_tasks": "map_tasks",
    "hopbytes.solve.presets": "Chain presets",
    "hopbytes.solve.problem": "Constraints",
    "hopbytes.solve.remapper": "Remapper",
    "hopbytes.util.limits": "Limits",
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names.split()}
_MODULES = ("mappers", "plot", "presets", "refiners")

__all__ = [*sorted(_MODULE_OF), "__version__"]


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
