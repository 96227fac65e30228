"""Rates of InfiniBand cables: width times the rate of a lane after encoding."""

from __future__ import annotations

import re
from fractions import Fraction

#: Data rate of one lane in bit/s after the line code, by speed name.
#:
#: SDR, DDR and QDR signal 2.5, 5 and 10 Gbit/s with 8b/10b; FDR10, FDR and EDR signal 10.3125, 14.0625 and
#: 25.78125 Gbit/s with 64b/66b; from HDR on (PAM4: 53.125, 106.25 and 212.5 Gbit/s) forward error
#: correction and 256b/257b leave 50, 100 and 200 Gbit/s. Source: InfiniBand Architecture
#: Specification, volume 2, link speeds.
LANE_BITS_PER_SECOND = {
    "SDR": Fraction(2_500_000_000) * Fraction(8, 10),
    "DDR": Fraction(5_000_000_000) * Fraction(8, 10),
    "QDR": Fraction(10_000_000_000) * Fraction(8, 10),
    "FDR10": Fraction(10_312_500_000) * Fraction(64, 66),
    "FDR": Fraction(14_062_500_000) * Fraction(64, 66),
    "EDR": Fraction(25_781_250_000) * Fraction(64, 66),
    "HDR": Fraction(50_000_000_000),
    "NDR": Fraction(100_000_000_000),
    "XDR": Fraction(200_000_000_000),
}
WIDTHS = (1, 2, 4, 8, 12)
RATE = re.compile(r"(?<!\S)([0-9]{1,2})x ?([A-Z][A-Z0-9]{1,5}|\?+)(?!\S)", re.ASCII)


def bytes_per_second(width: int, speed: str) -> int | None:
    """Return the rate of a cable in one direction, in whole bytes per second (rounded down).

    >>> bytes_per_second(4, "QDR"), bytes_per_second(4, "FDR"), bytes_per_second(4, "NDR")
    (4000000000, 6818181818, 50000000000)
    """
    lane = LANE_BITS_PER_SECOND.get(speed)
    if lane is None or width not in WIDTHS:
        return None
    return int(width * lane / 8)


def rate_of(text: str) -> int | None:
    """Return bytes per second of the last rate in a text like ``lid 647 4xNDR``; None without one."""
    found = list(RATE.finditer(text))
    return bytes_per_second(int(found[-1][1]), found[-1][2]) if found else None
