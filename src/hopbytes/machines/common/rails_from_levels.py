"""Levels with rails, ``node:32 gpu:8:rails``, as the machine ``rails:32x8``."""

from __future__ import annotations

from collections.abc import Sequence

from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.network_hierarchy import NetworkHierarchy
from hopbytes.machines.common.spec_fields import bad
from hopbytes.machines.common.tree import Tree, shorten
from hopbytes.machines.topology import GPU_NAMES, NODE_NAMES, Level

#: Names of levels whose hosts share NVLink.
DOMAIN_NAMES = ("domain", "nvlink", "nvl")


def rails_from_levels(
    tiers: Sequence[Level], counts: Sequence[int | tuple[int, ...]], marked: Sequence[bool],
    given: Sequence[bool],
) -> Machine:
    """Return the machine of levels of which that of GPUs has rails.

    A level above the hosts is a pod, whose hosts share leaf switches; hosts of one named ``domain`` or
    ``nvlink`` share NVLink. The distance of the level of hosts is that of GPUs on one rail of a pod; others
    are twice as far. Bandwidths of the levels of GPUs, hosts and pods are those of NVLink, adapters and links
    to spine switches.

    >>> from hopbytes.machines.spec import parse_machine
    >>> parse_machine("node:4@20 gpu:2@1:rails").distance().matrix()[0].tolist()
    [0, 1, 20, 40, 20, 40, 20, 40]
    """
    names = [level.name for level in tiers]
    place = next(number for number, mark in enumerate(marked) if mark)
    if sum(marked) > 1 or names[place] not in GPU_NAMES:
        raise bad(f"rails of level {shorten(names[place])}, expected them at gpu: node:32 gpu:8:rails")
    if not place or names[place - 1] not in NODE_NAMES:
        raise bad("gpu with rails without hosts right above, expected levels like node:32 gpu:8:rails")
    above = list(zip(tiers[: place - 1], counts[: place - 1], strict=True))
    domains = [one for one in above if one[0].name in DOMAIN_NAMES]
    pods = [one for one in above if one[0].name not in DOMAIN_NAMES]
    if len(domains) > 1 or len(pods) > 1 or (domains and above[-1] != domains[0]):
        found = " ".join(names[: place - 1])
        raise bad(f"rails under levels {shorten(found)}, expected at most pods and, inside, NVLink domains")
    if any(isinstance(count, tuple) for count in counts[: place + 1]):
        raise bad("rails with unequal counts, expected the same number of hosts and GPUs everywhere")
    if any(given[: place - 1]):
        raise bad("rails: a distance above the hosts, expected none: it is twice that of the level of hosts")
    return _machine(tiers, counts, place, pods, domains, given[place - 1])


def _machine(
    tiers: Sequence[Level], counts: Sequence[int | tuple[int, ...]], place: int,
    pods: list[tuple[Level, int | tuple[int, ...]]], domains: list[tuple[Level, int | tuple[int, ...]]],
    given: bool,
) -> Machine:
    sizes = [count for count in counts[: place + 1] if isinstance(count, int)]
    rails, per_unit, hosts = sizes[place], sizes[place - 1], 1
    for size in sizes[:place]:
        hosts *= size
    node, gpu = tiers[place - 1], tiers[place]
    if given and (node.distance % 2 or not node.distance):
        raise bad(f"rails: distance {node.distance} of hosts, expected an even number for two hops")
    text = f"{hosts}x{rails}" + (f":domain={per_unit}" if domains else "")
    pod = hosts // sizes[0] if pods else hosts
    text += f":pod={pod}"
    speeds = [level.bandwidth for level in (gpu, node, pods[0][0] if pods else node)]
    if node.bandwidth is not None:
        fast, adapter, up = (speed or node.bandwidth for speed in speeds)
        text += f":bw={int(fast)}x{int(adapter)}x{int(up)}"
    text += f"@{node.distance // 2}" if given else ""
    machine = machines["rails"].parse(text)
    assert isinstance(machine, NetworkHierarchy)
    if len(tiers) == place + 1 and gpu == Level(gpu.name, 1):
        return machine  # what is inside hosts may follow: node:4 gpu:8:rails / hwloc:node.xml
    return machine.nested(Tree(tuple(tiers[place:]), tuple(counts[place:])))
