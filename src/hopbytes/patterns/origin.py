"""Where a pattern came from, as far as it says so itself."""

from __future__ import annotations

from typing import Any

from hopbytes.model.comm_graph import CommGraph
from hopbytes.textio.hostlist import HOST_NAME


def recorded_hosts(graph: CommGraph) -> list[str] | None:
    """Return the host of every task while the pattern was recorded, or None where nobody said it.

    Parameters
    ----------
    graph : CommGraph
        From ``hopbytes record``, or from the report of a tool that names hosts (IPM, mpiP).

    Returns
    -------
    list of str or None
        n names, as MPI or the launcher called the hosts; with or without their domain, so compare them by
        :func:`hopbytes.machines.node.job_environment.same_host`. None unless there is a proper name for every
        task: facts of a pattern come from a file and may be anything.

    Notes
    -----
    O(n). Where on its host a task ran is not recorded.

    Examples
    --------
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
