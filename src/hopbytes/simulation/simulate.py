"""simulate(): the predicted time of a communication phase under a mapping."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from hopbytes._frozen import field_names, frozen
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.formats.base import TRACE, WAITING
from hopbytes.formats.files import atomic_write, may_write
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph
from hopbytes.model.mapping import Mapping, check_tasks
from hopbytes.simulation.bound import SECONDS_PER_FLOW, Round, flows_seconds, phase_of, round_on
from hopbytes.simulation.links import USUAL, Speeds, copy_speeds, node_links, speeds_named
from hopbytes.text.open_input import path_text
from hopbytes.util.checks import check_texts, check_truths, positive, whole
from hopbytes.util.quantities import duration, short_amount

if TYPE_CHECKING:
    import scipy.sparse

GRADES = ("bound", "flows", "waiting", "replay")
#: A simulation that may take more seconds than this is announced.
ANNOUNCED = 4.0
ONE_PATH = "the machine spreads flows over several paths; SimGrid sends each over one of them"
EAGER = "messages of up to {:,} bytes are sent before their receive is posted (`eager` sets it)"
IN_ORDER = "the recorded messages follow one another as in the trace; its computation is left out"
#: Fields of a prediction that JSON has in another form, or within others.
LISTED = ("links", "notices", "assumed")


@frozen
class Prediction:
    """Predicted time of the communication of a pattern under one mapping.

    Parameters
    ----------
    grade : str
        How it was computed: ``"bound"``, ``"flows"``, ``"waiting"`` or ``"replay"``.
    seconds : float
        Time of all rounds.
    round_seconds : float
        Time of one round.
    rounds : int
    parts : dict of str to float
        Lower bounds of the time of a round, in seconds: ``link``, the busiest link; ``injection``, the
        busiest node, sending or receiving at the rate of all its links; ``copy``, the busiest PE inside its
        node; ``message``, the longest single message with its latency.
    limit : str
        The part that is largest.
    links : tuple of (str, float, float)
        The busiest links: name, bytes of a round, seconds.
    bytes_between_nodes, bytes_inside_nodes : float
        Bytes of a round.
    flows : int
        Pairs of endpoints that exchange bytes; what grade ``flows`` simulates.
    messages : int
        Messages of a round between different PEs.
    computing_seconds : float
        Time that the simulation itself took.
    notices : tuple of str
        What was assumed.
    assumed : str
        Name of the speeds that were assumed where the machine has none; "" if nothing was.
    posted_seconds : float, optional
        With grade ``"waiting"``, the time if data travel only when their receive is posted, as with other
        protocols of MPI libraries; what a library does lies between the two.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7")
    >>> graph = hb.CommGraph.from_edges([0, 1], [2, 3], [500_000, 500_000])
    >>> hb.simulate(graph, hb.Mapping([0, 1, 2, 3], where), grade="bound").seconds
    0.001
    """

    grade: str
    seconds: float
    round_seconds: float
    rounds: int
    parts: dict[str, float]
    limit: str
    links: tuple[tuple[str, float, float], ...]
    bytes_between_nodes: float
    bytes_inside_nodes: float
    flows: int
    messages: int
    computing_seconds: float = 0.0
    notices: tuple[str, ...] = ()
    assumed: str = ""
    posted_seconds: float | None = None

    def beside(self, usual: Prediction) -> float:
        """Return the ratio to the time of another mapping, the larger one if there are two times."""
        ratio = self.seconds / usual.seconds if usual.seconds else 1.0
        if self.posted_seconds is None or not usual.posted_seconds:
            return ratio
        return max(ratio, self.posted_seconds / usual.posted_seconds)

    def __repr__(self) -> str:
        rounds = f" in {self.rounds:,} rounds" if self.rounds > 1 else ""
        return f"Prediction({duration(self.seconds)} by {self.grade}{rounds}, limited by {self._limit()})"

    def _limit(self) -> str:
        if self.limit == "link" and self.links:
            name, size, _ = self.links[0]
            return f"link {name} with {short_amount(size, 'B')} a round"
        return self.limit

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        rows = [
            ("time of all messages", duration(self.seconds)), ("found by", self.grade),
            ("rounds", self.rounds),
            *((f"lower bound of a round: {name}", duration(value)) for name, value in self.parts.items()),
            ("limited by", self._limit()),
            ("bytes of a round between nodes", short_amount(self.bytes_between_nodes, "B")),
            ("bytes of a round inside nodes", short_amount(self.bytes_inside_nodes, "B")),
            ("messages of a round", self.messages), *(("assumed", notice) for notice in self.notices),
        ]
        return html_table("Prediction", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        links = [dict(zip(("name", "bytes", "seconds"), link, strict=True)) for link in self.links]
        facts = {name: getattr(self, name) for name in field_names(self) if name not in LISTED}
        return facts | {"links": links, "notices": list(self.notices)}


def simulate(
    graph: CommGraph | ArrayLike | os.PathLike[str] | scipy.sparse.sparray | NetworkxGraph,
    mapping: Mapping | str | os.PathLike[str],
    *,
    grade: str | None = None,
    bytes_scale: float = 1.0,
    iterations: int | None = None,
    assume: str = USUAL,
    time_limit: float = 600.0,
    platform: str | os.PathLike[str] | None = None,
    force: bool = False,
    announce: Callable[[str], None] | None = None,
    trace: str | os.PathLike[str] | None = None,
    eager: int | None = None,
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
    grade : {"bound", "flows", "waiting", "replay"}, optional
        ``"bound"``: lower bounds of a round (busiest link, node, PE, and longest message), of which the
        largest counts. ``"flows"`` (the default): the messages between nodes, added up per pair of nodes,
        share the links, in steps of 0.1 % of the time; copies inside nodes are bounded beside it.
        ``"waiting"``: the steps of a trace, in which tasks wait for each other's messages; messages share the
        links, and those of one task to another follow each other. ``"replay"``: all messages, one simulated
        MPI process per task, by SimGrid; those of a trace (``smpirun -trace-ti``, ``hopbytes record
        --trace``) in their own order unless `iterations` is given.
    bytes_scale : float
        Factor for all volumes.
    iterations : int, optional
        Rounds that the pattern is the sum of. By default the median number of messages of its arcs where
        the pattern counts messages, else 1.
    assume : str
        Latencies and bandwidths where the machine has none, by name (``"hdr100"``, ``"ethernet-25g"``,
        ...), or ``"none"`` to refuse such machines.
    time_limit : float
        Seconds after which a simulation is stopped.
    platform : path, optional
        Keep the platform as an XML file for SimGrid there; with up to 256 hosts it has all routes, else those
        of the nodes that exchange messages.
    force : bool
        Overwrite a platform file that hopbytes did not write.
    announce : callable, optional
        Called with a sentence before a simulation that may take minutes.
    trace : path, optional
        Grades ``"waiting"`` and ``"replay"``: the trace of the same recording. Grade ``"waiting"`` finds the
        one that ``hopbytes record`` keeps beside a pattern.
    eager : int, optional
        The same grades: bytes up to which a message is sent before its receive is posted; larger ones wait
        for it, and their senders too. By default the limit of the MPI that recorded; SimGrid's own with
        ``"replay"``, where no data travel before.

    Returns
    -------
    Prediction

    Raises
    ------
    FormatError
        Pattern and mapping have different numbers of tasks.
    WrongTypeError
        An argument has a type that does not fit.
    UnsupportedError
        A number is outside its range; the machine has distances only, or no bandwidths while nothing may be
        assumed; the platform file cannot be written.
    MissingPackageError
        Grade ``"replay"`` needs SimGrid, which is not installed.
    HopbytesError
        SimGrid crashed, or a simulation did not end within the time limit.

    Notes
    -----
    Grade ``"bound"`` takes O(arcs log arcs + links of all routes), grade ``"flows"`` time in proportion of
    the number of flows times the length of their routes. Grade ``"waiting"`` takes time in
    proportion of messages times those under way at once. SimGrid runs in a process of its own; its time grows
    with the square of the number of messages. The model of all three: a message takes the latencies of
    its route plus bytes over its share of the slowest link, and links are shared max-min fairly, in inverse
    proportion of latencies (CM02 without corrections for TCP; Casanova et al., "Versatile, scalable, and
    accurate simulation of distributed applications and platforms", 2014).

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("torus:4:bw=1000000000:lat=1e-6")
    >>> ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1_000_000] * 4)
    >>> round(hb.simulate(ring, hb.Mapping([0, 1, 2, 3], where), grade="bound").seconds, 6)
    0.001001
    """
    check_texts(grade=grade, assume=assume)
    check_truths(force=force)
    bytes_scale, time_limit = positive("bytes_scale", bytes_scale), positive("time_limit", time_limit)
    iterations = None if iterations is None else whole("iterations", iterations, 1)
    eager = None if eager is None else whole("eager", eager, 0)
    graph, mapping, grade = CommGraph.of(graph), Mapping.of(mapping), grade or "flows"
    check_tasks(graph, mapping.n)
    if grade not in GRADES:
        raise unknown_name("grade", grade, GRADES)
    if grade == "replay":
        _simgrid().check_installed()
    began = time.perf_counter()
    speeds = speeds_named(assume)
    path = None if trace is None else path_text(trace)
    if grade == "waiting":
        path = waiting_trace(graph, path)
    elif grade == "replay" and iterations is None:
        path = path or trace_of(graph)
    phase = phase_of(graph, bytes_scale=bytes_scale, iterations=iterations if path is None else 1)
    links = node_links(mapping.where, speeds)
    load = round_on(phase, mapping, links, speeds)
    if platform is not None:
        file = path_text(platform)
        may_write(file, force)
        atomic_write({file: _simgrid().platform_file(_simgrid().platform_of(mapping, load, speeds), load)})
    if grade in ("flows", "replay") and announce is not None:
        _announce(len(load.flows.bytes), len(phase.bytes), grade, announce)
    seconds, waits = max(load.parts.values()), tuple[str, ...]()
    posted: float | None = None
    if grade == "flows":
        seconds = max(flows_seconds(load, time_limit), load.parts["copy"], load.inside.longest)
    elif grade == "waiting":
        assert path is not None
        times, waits = _waiting(graph, mapping, load, speeds, path, eager, bytes_scale, time_limit)
        seconds, posted = times
        waits += (IN_ORDER,)
    elif grade == "replay":
        hosts = _simgrid().platform_of(mapping, load, speeds)
        if path is not None:
            seconds = _simgrid().trace_seconds(hosts, load, path, graph.n, bytes_scale, time_limit, eager)
            waits = (IN_ORDER, *(() if eager is None else (EAGER.format(eager),)))
        else:
            seconds = _simgrid().replay_seconds(hosts, load, phase, mapping, time_limit)
    parts, node, flows = load.parts, load.ports.node, load.flows
    between = node[flows.sources] != node[flows.targets]
    assumed = (*links.notices, *load.inside.notices)
    further = waits + (ONE_PATH,) * (grade == "replay" and load.spread)
    return Prediction(
        grade, seconds * phase.rounds, seconds, phase.rounds, parts, max(parts, key=parts.__getitem__),
        load.hottest(), float(flows.bytes[between].sum()),
        load.inside.bytes + float(flows.bytes[~between].sum()), len(flows.bytes),
        flows.messages + load.inside.messages, time.perf_counter() - began,
        (*phase.notices, *assumed, *further), assume if assumed else "", posted,
    )


def trace_of(graph: CommGraph) -> str | None:
    """Return the path of the trace that a pattern was read from; None if its order is not kept."""
    path = graph.meta.get(TRACE)
    return path if isinstance(path, str) else None


def waiting_trace(graph: CommGraph, trace: str | None = None) -> str:
    """Return the path of the trace that shows who waits for whom; UnsupportedError if there is none."""
    path = trace or graph.meta.get(WAITING) or trace_of(graph)
    if isinstance(path, str):
        return path
    what = "no trace shows who waits for whom"
    raise UnsupportedError(
        f"grade waiting: {what} in {graph.name}, expected the FILE.trace.gz that 'hopbytes record' writes "
        "beside a pattern, or `trace`"
    )


def _waiting(
    graph: CommGraph, mapping: Mapping, load: Round, speeds: Speeds | None, path: str, eager: int | None,
    bytes_scale: float, timeout: float,
) -> tuple[tuple[float, float], tuple[str, ...]]:
    """Return the two times of grade waiting, and what is in the replay."""
    from hopbytes.simulation.waiting import both_times, program_of, recorded_eager

    program = program_of(path, graph.n)
    limit = recorded_eager(graph) if eager is None else eager
    copy = copy_speeds(mapping.where, speeds)
    times = both_times(program, load, copy, limit, bytes_scale=bytes_scale, timeout=timeout)
    share = f"{len(program.bytes):,} messages in {len(program.kinds):,} steps were replayed"
    return times, (share, EAGER.format(limit), *program.notices)


def _simgrid() -> Any:
    """Return the module about SimGrid, whose imports a verdict does without."""
    from hopbytes.simulation import simgrid

    return simgrid


def _announce(flows: int, messages: int, grade: str, announce: Callable[[str], None]) -> None:
    if grade == "flows":
        what, most = f"hopbytes simulates {flows} flows", SECONDS_PER_FLOW * flows
    else:
        what, most = f"SimGrid replays {messages} messages", _simgrid().COST * messages**2
    if most > ANNOUNCED:
        length = f"{most:.0f} seconds" if most < 120 else f"{most / 60:.0f} minutes"
        announce(f"{what}, which takes up to about {length}")
