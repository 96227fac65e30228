"""write_report(): the report of one or several mappings as one file."""

from __future__ import annotations

import os
import re
import urllib.parse
from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from hopbytes.errors import FormatError, UnsupportedError, WrongTypeError, printable
from hopbytes.formats.base import MARK
from hopbytes.formats.files import atomic_write, check_writable
from hopbytes.html_report.chart_style import altair
from hopbytes.html_report.page_content import IN_ORDER, Page, page_of
from hopbytes.html_report.report_origin import Origin
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping
from hopbytes.textio.open_input import path_text

if TYPE_CHECKING:
    import scipy.sparse

#: Folder with the template of the page, its style sheet and its script.
PAGE_FOLDER = os.path.join(os.path.dirname(__file__), "page")


def write_report(
    graph: CommGraph | ArrayLike | scipy.sparse.sparray | NetworkxGraph,
    mappings: Mapping | Dictionary[str, Mapping],
    path: str | os.PathLike[str],
    *,
    launcher: str = "fill",
    origin: Origin | None = None,
    force: bool = False,
) -> str:
    """Write a report about mappings of a pattern as one HTML file, which needs no network.

    The page begins with the verdict: the bytes between nodes beside those of the launcher's own order, and
    whether the gain is worthwhile. Charts, each beside a table with the same numbers, follow: the
    communication matrix before and after, bytes by level, links on the way, loads of links, J over time;
    then the metrics, the heaviest pairs, and the commands that start a program on the mapping.

    Parameters
    ----------
    graph : CommGraph, or a matrix or graph that :meth:`hopbytes.CommGraph.of` takes
    mappings : Mapping or dictionary of str to Mapping
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
    MissingPackageError
        A package of the extra ``report`` is missing.
    UnsupportedError
        The mappings are for different machines, or the file cannot be written.
    WrongTypeError
        `mappings` are no mappings.

    Notes
    -----
    O(m log m + links) per mapping, and seconds for the charts. The browser draws them by Vega, which is in
    the file (0.9 MB); see docs/report.md for sizes.

    Examples
    --------
    >>> import hopbytes as hb
    >>> graph = hb.read("stencil:4x4")
    >>> mapping = hb.map_tasks(graph, hb.machine("node:4@10 core:4@1"))
    >>> hb.write_report(graph, mapping, "report.html")   # doctest: +SKIP
    'report.html'
    """
    altair()  # before any work: is everything installed?
    path = path_text(path)
    check_report_target(path, force=force)
    graph, named = CommGraph.of(graph), _named(mappings)
    _check(graph, named)
    page = page_of(graph, named, launcher, origin or Origin())
    atomic_write({path: rendered(page)})
    return path


def check_report_target(path: str, *, force: bool) -> None:
    """Raise UnsupportedError before any work if the report cannot be written to `path`."""
    if path != "-":
        check_writable(path, force)


def rendered(page: Page) -> str:
    """Return the page as HTML."""
    import jinja2
    import vl_convert

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_FOLDER), autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_without_controls,
    )  # fmt: skip
    environment.filters["address"] = _address
    vega: Any = vl_convert  # its types ask for an argument that has a default
    library = vega.javascript_bundle()
    template = environment.get_template("report.html")
    text: str = template.render(page=page, library=library, mark=MARK)
    return text


def _without_controls(value: Any) -> Any:
    """Escape control characters, which names in files may hold; marked HTML stays marked."""
    return type(value)(printable(value, keep="\n\t")) if isinstance(value, str) else value


def _address(svg: str) -> str:
    """Return a picture as an address that contains it; few characters need to be escaped."""
    short = re.sub(r"(\d\.\d\d)\d{3,}", r"\1", svg)  # hundredths of a pixel are enough
    return "data:image/svg+xml," + urllib.parse.quote(short, safe=" =:/;,()+-.!*'@$&?[]")


def _named(mappings: Mapping | Dictionary[str, Mapping]) -> dict[str, Mapping]:
    if isinstance(mappings, Mapping):
        return {"mapping": mappings}
    if not isinstance(mappings, Dictionary) or not mappings or not _are_mappings(mappings.values()):
        kind = type(mappings).__name__
        raise WrongTypeError(f"mappings are a {kind}, expected a Mapping, or a dictionary with some by name")
    return {str(name): mapping for name, mapping in mappings.items()}


def _are_mappings(values: Iterable[object]) -> bool:
    return all(isinstance(each, Mapping) for each in values)


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
