"""What a simulation of a communication phase found."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from hopbytes._frozen import field_names, frozen
from hopbytes.util.quantities import duration, short_amount

#: Fields that JSON has in another form, or within others.
LISTED = ("links", "notices", "assumed")


@frozen
class Prediction:
    """Predicted time of the communication of a pattern under one mapping.

    Parameters
    ----------
    grade : str
        How it was found: ``"bound"``, ``"flows"`` or ``"replay"``.
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
        Pairs of places that exchange bytes; what grade ``flows`` simulates.
    messages : int
        Messages of a round between different PEs.
    computing_seconds : float
        Time that the simulation itself took.
    notices : tuple of str
        What was assumed.
    assumed : str
        Name of the speeds that were assumed where the machine has none; "" if nothing was.

    Examples
    --------
    >>> import hopbytes as hb
    >>> from hopbytes.simulation.simulate import simulate
    >>> where = hb.allocate("node:2@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7")
    >>> graph = hb.CommGraph.from_edges([0, 1], [2, 3], [500_000, 500_000])
    >>> simulate(graph, hb.Mapping([0, 1, 2, 3], where), grade="bound").seconds
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
    notices: tuple[str, ...] = field(default=())
    assumed: str = ""

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
        named = [dict(zip(("name", "bytes", "seconds"), link, strict=True)) for link in self.links]
        facts = {name: getattr(self, name) for name in field_names(self) if name not in LISTED}
        return facts | {"links": named, "notices": list(self.notices)}
