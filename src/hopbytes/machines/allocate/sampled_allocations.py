"""Sampled allocations, as schedulers give them: ``--hosts sfc:nodes=512:holes=0.2:seed=3``."""

from __future__ import annotations

import re

import numpy as np

from hopbytes._arrays import Bool, Int64
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.base import Machine
from hopbytes.machines.geometry import nodes_along_curve
from hopbytes.machines.tree import shorten
from hopbytes.util.random_numbers import RandomNumbers

#: Methods of sampling, with their keys and defaults; ``nodes`` has none.
METHODS: dict[str, dict[str, str]] = {
    "first": {},
    "scattered": {"seed": "0"},
    "sfc": {"holes": "0", "seed": "0", "run": "16"},
}
LISTED = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?", re.ASCII)
DECIMAL = re.compile(r"[0-9]{0,4}(\.[0-9]{1,9})?", re.ASCII)


def is_sampled(hosts: object) -> bool:
    """Tell whether hosts are sampled (``sfc:…``) or numbered (``nodes:0-15``) instead of named."""
    return isinstance(hosts, str) and hosts.partition(":")[0] in (*METHODS, "nodes") and ":" in hosts


def sample_nodes(machine: Machine, text: str) -> Bool:
    """bool[nodes]: which nodes a job gets.

    The same seed gives the same nodes. O(nodes log nodes).

    >>> from hopbytes.machines.spec import parse_machine
    >>> sample_nodes(parse_machine("torus:3x3"), "nodes:0-1,8").astype(int).tolist()
    [1, 1, 0, 0, 0, 0, 0, 0, 1]
    """
    method, _, rest = text.partition(":")
    count = int(machine.node_of_core()[-1]) + 1
    used = np.zeros(count, np.bool_)
    if method == "nodes":
        used[_numbers(text, rest, count)] = True
        return used
    given = _keys(text, method, rest)
    wanted = _integer(text, "nodes", given["nodes"], 1, count)
    order = np.arange(count)
    if method != "first":
        rng = RandomNumbers(_integer(text, "seed", given["seed"], 0, 2**63))
        scattered = method == "scattered"
        order = rng.permutation(count) if scattered else _free_along_curve(machine, text, given, rng)
    if len(order) < wanted:
        raise InfeasibleError(f"`hosts={text!r}`: {len(order)} of {count} nodes are free, expected {wanted}")
    used[order[:wanted]] = True
    return used


def _free_along_curve(machine: Machine, text: str, given: dict[str, str], rng: RandomNumbers) -> Int64:
    """Free nodes in the order of the curve, from a random start."""
    if not DECIMAL.fullmatch(given["holes"]) or not given["holes"] or not 0 <= float(given["holes"]) < 1:
        raise FormatError(
            "`hosts`", None, f"{shorten(text)}: holes={given['holes'][:20]}, expected 0 <= holes < 1"
        )
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


def _keys(text: str, method: str, rest: str) -> dict[str, str]:
    known = {"nodes": "N"} | METHODS[method]
    given: dict[str, str] = {}
    for item in rest.split(":"):
        key, equals, value = item.partition("=")
        if not equals or key not in known or key in given:
            listed = ", ".join(f"{name}={default}" for name, default in known.items())
            raise FormatError(
                "`hosts`", None, f"{shorten(text)}: {shorten(item)}, expected each once: {listed}"
            )
        given[key] = value
    if "nodes" not in given:
        raise FormatError("`hosts`", None, f"{shorten(text)}: without nodes=N, expected how many")
    return METHODS[method] | given


def _integer(text: str, key: str, value: str, least: int, most: int) -> int:
    if not (value.isascii() and value.isdigit()) or len(value) > 19 or not least <= int(value) <= most:
        what = f"{key}={value[:20]}, expected an integer from {least} to {most}"
        raise FormatError("`hosts`", None, f"{shorten(text)}: {what}")
    return int(value)


def _numbers(text: str, rest: str, count: int) -> Int64:
    found = []
    for word in rest.split(","):
        low, _, high = word.partition("-")
        if not LISTED.fullmatch(word) or not int(low) <= int(high or low) < count:
            what = f"{shorten(word)}, expected numbers like 0-15,40 below {count}"
            raise FormatError("`hosts`", None, f"{shorten(text)}: {what}")
        found.append(np.arange(int(low), int(high or low) + 1))
    return np.concatenate(found)
