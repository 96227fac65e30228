"""Colours on white that people with colour blindness can tell apart, also when printed in grey."""

from __future__ import annotations

from functools import lru_cache

#: Anchors of the scale for amounts: their lightness falls evenly, so that order is seen without hue.
SCALE = ("#e3f1c9", "#a5d8b1", "#5cb4b2", "#2f86ad", "#2a5694", "#1d2a62")
#: Nothing at all, as opposed to little.
NOTHING = "#ffffff"
#: Series of a chart: the launcher's own order, the mapping, further ones.
SERIES = ("#a9b4c0", "#1f6fb2", "#d9822b", "#2b8a6b", "#8e5ea2", "#5d4a3a", "#c2185b", "#3d9be0")
#: Pale fills for groups that lie beside each other, such as the nodes that ranks come from.
TINTS = (
    "#cfe3f5", "#fbe3c4", "#d3ecd9", "#f6d5dc", "#e4dbf2", "#f4efc0", "#d3eeee", "#ead9cd",
    "#dfe6ec", "#ffd9b8", "#c9e6b8", "#f2cfe6",
)  # fmt: skip
#: Pale anchors for an order of many groups.
RAINBOW = ("#f9d5c0", "#f6ebb5", "#cfe9c2", "#b5e0de", "#bcd5f4", "#d6caf0", "#f0c9e2")
#: A link that carries nothing.
IDLE = "#dfe3e8"


@lru_cache(maxsize=1)
def scale_colours() -> tuple[str, ...]:
    """Return the 256 colours of shades: nothing, then the lightest to the darkest.

    >>> colours = scale_colours()
    >>> len(colours), colours[0], colours[1], colours[255]
    (256, '#ffffff', '#e3f1c9', '#1d2a62')
    """
    return (NOTHING, *(scaled(place / 254) for place in range(255)))


def scaled(part: float) -> str:
    """Return the colour at a part, 0 to 1, of the scale."""
    place = min(1.0, max(0.0, part)) * (len(SCALE) - 1)
    first = min(int(place), len(SCALE) - 2)
    return between(SCALE[first], SCALE[first + 1], place - first)


def between(first: str, second: str, part: float) -> str:
    """Return the colour at a part, 0 to 1, of the way between two.

    >>> between("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``, 0 to 255 each."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
