"""simulate(): the predicted time of a communication phase under a mapping."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from hopbytes.errors import FormatError, unknown_name
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.assumed_speeds import USUAL, speeds_named
from hopbytes.simulation.bound import Round, round_on
from hopbytes.simulation.fair_sharing import COST, flows_seconds
from hopbytes.simulation.node_links import node_links
from hopbytes.simulation.phase import Phase, phase_of
from hopbytes.simulation.prediction import Prediction
from hopbytes.simulation.recorded_order import SAID, trace_of

if TYPE_CHECKING:
    import scipy.sparse

GRADES = ("bound", "flows", "replay")
#: A simulation that may take more seconds than this is announced.
ANNOUNCED = 4.0
ONE_PATH = "the machine spreads flows over several paths; SimGrid sends each over one of them"


def simulate(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mapping: Mapping | str | os.PathLike[str],
    *,
    grade: str | None = None,
    bytes_scale: float = 1.0,
    iterations: int | None = None,
    assume: str = USUAL,
    oversubscription: float = 1.0,
    time_limit: float = 600.0,
    platform: str | os.PathLike[str] | None = None,
    force: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Prediction:
    """Predict how long the communication of a pattern takes under a mapping.

    In every round each arc of the pattern is one message, and all messages start at once; rounds follow one
    another. Computation is not part of it.

    Parameters
    ----------
    graph : CommGraph, or what :meth:`hopbytes.CommGraph.of` takes: a matrix, another graph, or a text
        Volumes are bytes.
    mapping : Mapping, or the name of a file that holds one
        With as many tasks as the graph.
    grade : {"bound", "flows", "replay"}, optional
        ``"bound"``: lower bounds of a round (busiest link, node, PE, and longest message), of which the
        largest counts. ``"flows"`` (the default): the messages between nodes, added up per pair of nodes,
        share the links, in steps of 0.1 % of the time; copies inside nodes are bounded beside it.
        ``"replay"``: all messages, one simulated MPI process per task, by SimGrid; those of a trace
        (``smpirun -trace-ti``, ``hopbytes record --trace``) in their own order unless `iterations` is given.
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
    time_limit : float
        Seconds after which a simulation is stopped.
    platform : path, optional
        Keep the platform as an XML file for SimGrid there; with up to 256 hosts it has all routes, else those
        of the nodes that exchange messages.
    force : bool
        Overwrite a platform file that hopbytes did not write.
    tell : callable, optional
        Called with a sentence before a simulation that may take minutes.

    Returns
    -------
    Prediction

    Raises
    ------
    FormatError
        Pattern and mapping have different numbers of tasks; a number outside its range.
    UnsupportedError
        The machine has distances only, or no bandwidths while nothing may be assumed; the platform file
        cannot be written.
    MissingPackageError
        Grade ``"replay"`` needs SimGrid, which is not installed.
    HopbytesError
        SimGrid crashed, or a simulation did not end within the time limit.

    Notes
    -----
    Grade ``"bound"`` takes O(arcs log arcs + links of all routes), grade ``"flows"`` time in proportion of
    the number of flows times the length of their routes. SimGrid runs in a process of its own; its time grows
    with the square of the number of messages. The model of both: a message takes the sum of the latencies of
    its route plus bytes over its share of the slowest link, and links are shared max-min fairly, in inverse
    proportion of latencies (CM02 without corrections for TCP; Casanova et al., "Versatile, scalable, and
    accurate simulation of distributed applications and platforms", 2014).

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("torus:4:bw=1000000000:lat=1e-6")
    >>> ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1_000_000] * 4)
    >>> round(simulate(ring, hb.Mapping([0, 1, 2, 3], where), grade="bound").seconds, 6)
    0.001001
    """
    graph, mapping, chosen = CommGraph.of(graph), Mapping.of(mapping), grade or "flows"
    _check(graph, mapping, chosen, oversubscription)
    if chosen == "replay":
        _simgrid().check_installed()
    began = time.perf_counter()
    speeds = speeds_named(assume)
    in_order = chosen == "replay" and iterations is None and trace_of(graph) is not None
    phase = phase_of(graph, bytes_scale=bytes_scale, iterations=1 if in_order else iterations)
    links = node_links(mapping.where, speeds, oversubscription)
    there = round_on(phase, mapping, links, speeds)
    if platform is not None:
        path = os.fspath(platform)
        may_write(path, force)
        hosts = _simgrid().platform_of(mapping, there, speeds)
        atomic_write({path: _simgrid().platform_file(hosts, there)})
    seconds = max(there.parts.values())
    if chosen != "bound" and tell is not None:
        _announce(there.flows.count, len(phase.bytes), chosen, tell)
    if chosen == "flows":
        inside = max(there.parts["copy"], there.inside.longest)
        seconds = max(flows_seconds(there, time_limit), inside)
    elif chosen == "replay":
        hosts = _simgrid().platform_of(mapping, there, speeds)
        if in_order:
            seconds = _simgrid().trace_seconds(hosts, there, graph, mapping, bytes_scale, time_limit)
        else:
            seconds = _simgrid().replay_seconds(hosts, there, phase, mapping, time_limit)
    found = predicted(phase, there, chosen, seconds, time.perf_counter() - began)
    said = {SAID: in_order, ONE_PATH: chosen == "replay" and there.spread}
    more = tuple(each for each, holds in said.items() if holds)
    named = assume if there.links.notices or there.inside.notices else ""
    return dataclasses.replace(found, notices=(*found.notices, *more), assumed=named)


def _simgrid() -> Any:
    """Return the module about SimGrid, whose imports a verdict does without."""
    from hopbytes.simulation import simgrid_replay

    return simgrid_replay


def _announce(flows: int, messages: int, grade: str, tell: Callable[[str], None]) -> None:
    own = grade == "flows"
    number, most = (flows, COST * flows) if own else (messages, _simgrid().expected_seconds(messages))
    if most > ANNOUNCED:
        length = f"{most:.0f} seconds" if most < 120 else f"{most / 60:.0f} minutes"
        what = f"hopbytes simulates {number} flows" if own else f"SimGrid replays {number} messages"
        tell(f"{what}, which takes up to about {length}")


def predicted(phase: Phase, there: Round, grade: str, seconds: float, took: float) -> Prediction:
    """Return the prediction of a round that takes `seconds`."""
    parts, node, flows = there.parts, there.places.node, there.flows
    outside = node[flows.sources] != node[flows.targets]
    return Prediction(
        grade=grade,
        seconds=seconds * phase.rounds,
        round_seconds=seconds,
        rounds=phase.rounds,
        parts=parts,
        limit=max(parts, key=parts.__getitem__),
        links=there.hottest(),
        bytes_between_nodes=float(flows.bytes[outside].sum()),
        bytes_inside_nodes=there.inside.bytes + float(flows.bytes[~outside].sum()),
        flows=there.flows.count,
        messages=there.flows.messages + there.inside.messages,
        computing_seconds=took,
        notices=(*phase.notices, *there.links.notices, *there.inside.notices),
    )


def _check(graph: CommGraph, mapping: Mapping, grade: str, oversubscription: float) -> None:
    if mapping.n != graph.n:
        raise FormatError("mapping", None, f"{mapping.n} tasks, expected the {graph.n} of {graph.name}")
    if grade not in GRADES:
        raise unknown_name("grade", grade, GRADES)
    if not (math.isfinite(oversubscription) and oversubscription >= 1):
        raise FormatError("`oversubscription`", None, f"{oversubscription}, expected a number >= 1")
