"""Machines that several tests use, and what they ask of them."""

import numpy as np

import hopbytes as hb
from hopbytes.machines.base import Level
from hopbytes.machines.spec import parse_machine
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes_laboratory.sampled_hosts import numbered


def nodes(count, cores):
    """Return nodes at distance 10 with cores at distance 1, all of them."""
    return Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (count, cores)))


def round_trip(spec):
    """Return the machine of a text; the text it gives of itself must make the same machine."""
    machine = parse_machine(spec)
    again = parse_machine(machine.spec())
    assert again == machine
    assert again.spec() == machine.spec()
    assert np.array_equal(again.distance().matrix(), machine.distance().matrix())
    return machine


def link_names(machine, source, target):
    """Return the names of the links on the route between two endpoints."""
    network = machine.network()
    return [network.name_link(int(link)) for link in network.routes([source], [target]).links]


def shares(machine, source, target):
    """Return the share of a flow on every link that it crosses, by the name of the link."""
    network = machine.network()
    routes = network.routes([source], [target])
    found = {}
    for link, above, below in zip(routes.links, routes.numerators, routes.denominators, strict=True):
        name = network.name_link(int(link))
        found[name] = found.get(name, 0) + above / below
    return found


def allocated(spec, hosts="", **use):
    """Slots of a machine, of sampled hosts where they are given as the laboratory understands them."""
    machine = parse_machine(spec)
    return hb.allocate(machine, hosts=numbered(machine, hosts or None), **use)
