"""simulate(): the predicted time of a communication phase under a mapping."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from hopbytes.errors import FormatError, WrongTypeError, unknown_name
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.assumed_speeds import USUAL, speeds_named
from hopbytes.simulation.bound import Round, round_on
from hopbytes.simulation.node_links import node_links
from hopbytes.simulation.phase import Phase, phase_of
from hopbytes.simulation.prediction import Prediction

if TYPE_CHECKING:
    import scipy.sparse

GRADES = ("bound",)


def simulate(
    graph: CommGraph | ArrayLike | scipy.sparse.sparray | NetworkxGraph,
    mapping: Mapping,
    *,
    grade: str | None = None,
    bytes_scale: float = 1.0,
    iterations: int | None = None,
    assume: str = USUAL,
    oversubscription: float = 1.0,
) -> Prediction:
    """Predict how long the communication of a pattern takes under a mapping.

    In every round each arc of the pattern is one message, and all messages start at once; rounds follow one
    another. Computation is not part of it.

    Parameters
    ----------
    graph : CommGraph, or a matrix or graph that :meth:`hopbytes.CommGraph.of` takes
        Volumes are bytes.
    mapping : Mapping
        With as many tasks as the graph.
    grade : {"bound"}, optional
        ``"bound"``, the default: lower bounds of a round (busiest link, node, PE, and longest message), of
        which the largest counts.
    bytes_scale : float
        Factor for all volumes.
    iterations : int, optional
        Rounds that the pattern is the sum of. By default the median number of messages of its arcs where
        the pattern counts messages, else 1.
    assume : str
        Latencies and bandwidths where the machine has none, by name (``"hdr100"``, ``"ethernet-25g"``,
        ...), or ``"none"`` to refuse such machines.
    oversubscription : float
        On machines of levels, a unit above the nodes sends 1/N of what its nodes could send together.

    Returns
    -------
    Prediction

    Raises
    ------
    FormatError
        Pattern and mapping have different numbers of tasks; a number outside its range.
    UnsupportedError
        The machine has distances only, or no bandwidths while nothing may be assumed.

    Notes
    -----
    Grade ``"bound"`` takes O(arcs log arcs + links of all routes).

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.machine("torus:4:bw=1000000000:lat=1e-6")
    >>> ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1_000_000] * 4)
    >>> round(simulate(ring, hb.Mapping([0, 1, 2, 3], where), grade="bound").seconds, 6)
    0.001001
    """
    graph, grade = CommGraph.of(graph), grade or GRADES[0]
    _check(graph, mapping, grade, oversubscription)
    began = time.perf_counter()
    speeds = speeds_named(assume)
    phase = phase_of(graph, bytes_scale=bytes_scale, iterations=iterations)
    links = node_links(mapping.where, speeds, oversubscription)
    there = round_on(phase, mapping, links, speeds)
    seconds = max(there.parts.values())
    return predicted(phase, there, grade, seconds, time.perf_counter() - began)


def predicted(phase: Phase, there: Round, grade: str, seconds: float, took: float) -> Prediction:
    """Return the prediction of a round that takes `seconds`."""
    parts = there.parts
    return Prediction(
        grade=grade,
        seconds=seconds * phase.rounds,
        round_seconds=seconds,
        rounds=phase.rounds,
        parts=parts,
        limit=max(parts, key=parts.__getitem__),
        links=there.hottest(),
        bytes_between_nodes=float(there.flows.bytes.sum()),
        bytes_inside_nodes=there.inside.bytes,
        flows=there.flows.count,
        messages=there.flows.messages + there.inside.messages,
        computing_seconds=took,
        notices=(*phase.notices, *there.links.notices, *there.inside.notices),
    )


def _check(graph: CommGraph, mapping: Mapping, grade: str, oversubscription: float) -> None:
    if not isinstance(mapping, Mapping):
        kind = type(mapping).__name__
        raise WrongTypeError(f"the mapping is a {kind}, expected a Mapping such as Mapping(pe, where)")
    if mapping.n != graph.n:
        raise FormatError("mapping", None, f"{mapping.n} tasks, expected the {graph.n} of {graph.name}")
    if grade not in GRADES:
        raise unknown_name("grade", grade, GRADES)
    if not (math.isfinite(oversubscription) and oversubscription >= 1):
        raise FormatError("`oversubscription`", None, f"{oversubscription}, expected a number >= 1")
