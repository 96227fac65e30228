"""Named latencies and bandwidths for machines that do not have their own."""

from __future__ import annotations

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError, unknown_name


@frozen
class Speeds:
    """What is assumed of a machine where it says nothing itself.

    The bandwidths are the nominal rates of the cables; the latencies are round figures of the kind that
    vendors print, not measurements.
    """

    name: str  # empty: the machine says everything itself
    bandwidth: float  # bytes per second of a cable, in each direction
    message: float  # seconds that a message between nodes takes beside its hops: software and adapters
    hop: float  # seconds per link of the route
    #: bytes per second and seconds of a message between two processes of a node, one of them copying
    copy_bandwidth: float = 10e9
    copy_latency: float = 3e-7


#: What is assumed if the caller says nothing.
USUAL = "hdr100"
NAMED = {
    speeds.name: speeds
    for speeds in (
        Speeds("ethernet-10g", 1.25e9, 1e-5, 5e-7),
        Speeds("ethernet-25g", 3.125e9, 5e-6, 5e-7),
        Speeds("ethernet-100g", 12.5e9, 3e-6, 5e-7),
        Speeds("hdr100", 12.5e9, 1e-6, 1e-7),
        Speeds("hdr200", 25e9, 1e-6, 1e-7),
        Speeds("ndr400", 50e9, 1e-6, 1e-7),
        Speeds("slingshot200", 25e9, 1.5e-6, 2e-7),
    )
}


def speeds_named(name: str) -> Speeds | None:
    """Return the speeds of a name, None for ``"none"``; UnsupportedError for other names."""
    if name == "none":
        return None
    if name not in NAMED:
        raise unknown_name("speeds", name, [*NAMED, "none"])
    return NAMED[name]


def missing(what: str) -> UnsupportedError:
    """Return the error about a machine that lacks `what` while nothing may be assumed."""
    return UnsupportedError(
        f"simulate: there is no {what}, expected one in the machine (node:8@10:bw=12.5e9:lat=1e-6, "
        f"torus:4x4:bw=10000000000:lat=1e-7, 'hopbytes measure') or `assume` with one of {', '.join(NAMED)}"
    )
