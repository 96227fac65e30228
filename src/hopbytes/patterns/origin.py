"""Facts about the run in which a pattern was recorded."""

from __future__ import annotations

from typing import Any

from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.hostlist import HOST_NAME


def recorded_hosts(graph: CommGraph) -> list[str] | None:
    """Return the host of every task in the recorded run, or None if the pattern does not contain it.

    >>> import hopbytes as hb
    >>> from hopbytes.patterns.origin import recorded_hosts
    >>> graph = hb.CommGraph.from_edges([0], [1], n=2, meta={"recorded": {"hosts": ["n1", "n2"]}})
    >>> recorded_hosts(graph)
    ['n1', 'n2']
    >>> recorded_hosts(hb.CommGraph.from_edges([0], [1], n=2)) is None
    True
    """
    facts: Any = graph.meta.get("recorded")
    for hosts in (facts.get("hosts") if isinstance(facts, dict) else None, graph.meta.get("hosts")):
        if isinstance(hosts, (list, tuple)) and len(hosts) == graph.n and all(map(_is_name, hosts)):
            return list(hosts)
    return None


def _is_name(host: Any) -> bool:
    return isinstance(host, str) and HOST_NAME.fullmatch(host) is not None
