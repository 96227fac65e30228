"""Nodes of a job on a busy machine, as schedulers give them: ``--hosts sfc:nodes=512:holes=0.2:seed=3``."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.machines.geometry import hilbert_order, torus_geometry_of
from hopbytes.machines.tree import shorten
from hopbytes.util.random_numbers import RandomNumbers

#: Methods of sampling, with their keys and defaults; ``nodes`` has none.
METHODS: dict[str, dict[str, str]] = {
    "first": {},
    "scattered": {"seed": "0"},
    "sfc": {"holes": "0", "seed": "0", "run": "16"},
}
DECIMAL = re.compile(r"[0-9]{0,4}(\.[0-9]{1,9})?", re.ASCII)


def sample_nodes(machine: Machine, text: str) -> Bool:
    """bool[nodes]: which nodes a job gets.

    The same seed gives the same nodes. O(nodes log nodes).

    >>> from hopbytes.machines.spec import parse_machine
    >>> sample_nodes(parse_machine("torus:3x3"), "first:nodes=2").astype(int).tolist()
    [1, 1, 0, 0, 0, 0, 0, 0, 0]
    """
    method = text.partition(":")[0]
    count = int(machine.node_of_core()[-1]) + 1
    given = _keys(text)
    wanted = _integer(text, "nodes", given["nodes"], 1, count)
    order = np.arange(count)
    if method != "first":
        rng = RandomNumbers(_integer(text, "seed", given["seed"], 0, 2**63))
        scattered = method == "scattered"
        order = rng.permutation(count) if scattered else _free_along_curve(machine, text, given, rng)
    if len(order) < wanted:
        raise InfeasibleError(f"`hosts={text!r}`: {len(order)} of {count} nodes are free, expected {wanted}")
    used = np.zeros(count, np.bool_)
    used[order[:wanted]] = True
    return used


def numbered(machine: Machine, hosts: str | None) -> str | None:
    """Return ``nodes:0,4,9`` for sampled hosts, other hosts as they are.

    >>> from hopbytes.machines.spec import parse_machine
    >>> numbered(parse_machine("torus:3x3"), "first:nodes=2"), numbered(parse_machine("core:2"), "a")
    ('nodes:0,1', 'a')
    """
    if hosts is None or hosts.partition(":")[0] not in METHODS:
        return hosts
    return "nodes:" + ",".join(map(str, np.flatnonzero(sample_nodes(machine, hosts)).tolist()))


def nodes_along_curve(machine: Machine) -> Int64:
    """int64[nodes]: nodes in the order in which schedulers keep jobs compact.

    That is the order of their routers along a Hilbert curve on tori and meshes, machine order elsewhere.
    """
    found = torus_geometry_of(machine)
    if found is None:
        return np.arange(int(machine.node_of_core()[-1]) + 1, dtype=np.int64)
    order = hilbert_order(found.sizes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.argsort(rank[np.ravel_multi_index(tuple(found.places), found.sizes)], kind="stable")


def _free_along_curve(machine: Machine, text: str, given: dict[str, str], rng: RandomNumbers) -> Int64:
    """Free nodes in the order of the curve, from a random start."""
    if not DECIMAL.fullmatch(given["holes"]) or not given["holes"] or not 0 <= float(given["holes"]) < 1:
        what = f"{shorten(text)}: holes={given['holes'][:20]}, expected 0 <= holes < 1"
        raise FormatError("`hosts`", None, what)
    holes, run = float(given["holes"]), _integer(text, "run", given["run"], 1, 10**6)
    order = nodes_along_curve(machine)
    order = np.roll(order, -rng.below(len(order)))
    if holes == 0:
        return order
    # Runs of both kinds alternate; their mean lengths are in the ratio of the shares.
    taken = np.zeros(len(order), np.bool_)
    at, busy = 0, False
    while at < len(order):
        mean = run if busy else run * (1 - holes) / holes
        length = 1
        while at + length < len(order) and not rng.happens(1 / max(1.0, mean)):
            length += 1
        taken[at : at + length] = busy
        at, busy = at + length, not busy
    return order[~taken]


def _keys(text: str) -> dict[str, str]:
    method, _, rest = text.partition(":")
    known = {"nodes": "N"} | METHODS[method]
    given: dict[str, str] = {}
    for item in rest.split(":"):
        key, equals, value = item.partition("=")
        if not equals or key not in known or key in given:
            listed = ", ".join(f"{name}={default}" for name, default in known.items())
            what = f"{shorten(text)}: {shorten(item)}, expected each once: {listed}"
            raise FormatError("`hosts`", None, what)
        given[key] = value
    if "nodes" not in given:
        raise FormatError("`hosts`", None, f"{shorten(text)}: without nodes=N, expected how many")
    return METHODS[method] | given


def _integer(text: str, key: str, value: str, least: int, most: int) -> int:
    if not (value.isascii() and value.isdigit()) or len(value) > 19 or not least <= int(value) <= most:
        what = f"{key}={value[:20]}, expected an integer from {least} to {most}"
        raise FormatError("`hosts`", None, f"{shorten(text)}: {what}")
    return int(value)
