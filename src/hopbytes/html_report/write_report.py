"""write_report(): the report of one or several mappings as one file."""

from __future__ import annotations

import os
from collections.abc import Mapping as Dictionary
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from hopbytes.errors import FormatError, UnsupportedError, WrongTypeError
from hopbytes.formats.files import atomic_write, check_writable
from hopbytes.html_report.page_content import IN_ORDER, page_of
from hopbytes.html_report.page_html import page_html
from hopbytes.html_report.report_origin import Origin
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping
from hopbytes.text.open_input import path_text

if TYPE_CHECKING:
    import scipy.sparse


def write_report(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mappings: Mapping | str | os.PathLike[str] | Dictionary[str, Mapping | str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    launcher: str = "fill",
    origin: Origin | None = None,
    force: bool = False,
) -> str:
    """Write a report about mappings of a pattern as one HTML file, which needs no network.

    The page begins with the verdict: the bytes between nodes beside those of the launcher's own order, and
    the predicted time of the messages. Charts, each beside a table with the same numbers, follow: the
    communication matrix before and after, bytes by level, links on the way, loads of links, J over time;
    then the metrics, the heaviest pairs, and the commands that start a program on the mapping.

    Parameters
    ----------
    graph : CommGraph, or what :meth:`hopbytes.CommGraph.of` takes: a matrix, another graph, or a text
    mappings : Mapping, or the name of a file that holds one, or a dictionary of them by name
        Mappings of the graph to one machine. The keys are the names in the report; the first one is the
        mapping that the commands use.
    path : path or ``"-"``
        File to write; ``-`` is standard output. It is written completely or not at all.
    launcher : str
        The launcher's own order to compare with, see :func:`hopbytes.evaluate`.
    origin : Origin, optional
        The commands by which the report and its mappings were made, for the page.
    force : bool
        Overwrite a file that hopbytes did not write.

    Returns
    -------
    str
        The path.

    Raises
    ------
    FormatError
        Graph and mapping have different numbers of tasks.
    UnsupportedError
        The mappings are for different machines, or the file cannot be written.
    WrongTypeError
        `mappings` are no mappings.

    Notes
    -----
    O(m log m + links) per mapping. Charts are SVG with the numbers as tool tips; see docs/report.md for
    sizes.

    Examples
    --------
    >>> import hopbytes as hb
    >>> graph = hb.read("stencil:4x4")
    >>> mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:4@1"))
    >>> hb.write_report(graph, mapping, "report.html")   # doctest: +SKIP
    'report.html'
    """
    path = path_text(path)
    check_report_target(path, force=force)
    graph, named = CommGraph.of(graph), _named(mappings)
    _check(graph, named)
    page = page_of(graph, named, launcher, origin or Origin())
    atomic_write({path: page_html(page)})
    return path


def check_report_target(path: str, *, force: bool) -> None:
    """Raise UnsupportedError before any work if the report cannot be written to `path`."""
    if path != "-":
        check_writable(path, force)


def _named(mappings: Any) -> dict[str, Mapping]:
    if isinstance(mappings, Dictionary) and mappings:
        return {str(name): Mapping.of(mapping) for name, mapping in mappings.items()}
    if isinstance(mappings, (Mapping, str, os.PathLike)):
        return {"mapping": Mapping.of(mappings)}
    kind = type(mappings).__name__
    raise WrongTypeError(f"mappings are a {kind}, expected a Mapping, or a dictionary with some by name")


def _check(graph: CommGraph, mappings: dict[str, Mapping]) -> None:
    """Raise an error if mappings do not fit the graph or each other."""
    machine = next(iter(mappings.values())).where.machine.spec()
    for name, mapping in mappings.items():
        if name == IN_ORDER:
            raise UnsupportedError(f"a mapping is called {name!r}, the name of the launcher's own order")
        if mapping.n != graph.n:
            raise FormatError(name, None, f"{mapping.n} tasks, expected the {graph.n} of {graph.name}")
        spec = mapping.where.machine.spec()
        if spec != machine:
            what = f"a mapping to {spec[:80]}, expected one to {machine[:80]}, as the first mapping"
            raise UnsupportedError(f"{name}: {what}")
