"""Fields of a network's spec: sizes, ``key=value``, the distance per hop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hopbytes.errors import FormatError
from hopbytes.machines.common.tree import MAX_CORES, MAX_DISTANCE, shorten


def bad(what: str) -> FormatError:
    """Return the error about a spec."""
    return FormatError("machine", None, what)


def network_fields(kind: str, text: str, keys: dict[str, str]) -> tuple[str, dict[str, str], int | None]:
    """Take what follows ``kind:`` apart: what comes first, ``key=value`` fields, the distance per hop."""
    per_hop: int | None = None
    head, *fields = text.split(":")
    found: dict[str, str] = {}
    words = [head, *fields]
    for place, word in enumerate(words):
        value, at, number = word.partition("@")
        if not at:
            continue
        if per_hop is not None or not number.isdigit() or len(number) > 19:
            raise bad(f"{shorten(kind + ':' + text)}: {shorten('@' + number)}, expected one integer >= 0")
        per_hop, words[place] = int(number), value
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or key not in keys or key in found:
            known = ", ".join(f"{name}={example}" for name, example in keys.items())
            raise bad(f"{shorten(kind + ':' + text)}: {shorten(word)}, expected each at most once: {known}")
        found[key] = value
    return words[0], found, per_hop


def sizes_of(kind: str, text: str, most: int = MAX_CORES) -> tuple[int, ...]:
    """Read ``17x8x24``: integers >= 1 whose product is at most `most`."""
    sizes = []
    product = 1
    for word in text.split("x"):
        if not (word.isascii() and word.isdigit()) or len(word) > 9 or int(word) < 1:
            raise bad(f"{kind}: {shorten(word)} in {shorten(text)}, expected integers >= 1 like 16x12x8")
        sizes.append(int(word))
        product *= sizes[-1]
    if len(sizes) > 16 or product > most:
        raise bad(f"{kind}: {shorten(text)}, expected at most 16 sizes and {most} in all")
    return tuple(sizes)


def number_of(kind: str, key: str, text: str, least: int = 1, most: int = MAX_DISTANCE) -> int:
    """Read one integer from `least` to `most`; 12.5e9 is one too."""
    value: int | None = None
    if text.isascii() and text.isdigit() and len(text) <= 19:
        value = int(text)
    elif re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?e[0-9]{1,2}", text, re.ASCII):
        exact = float(text)
        value = int(exact) if exact.is_integer() else None
    if value is None or not least <= value <= most:
        raise bad(f"{kind}: {key}={shorten(text)}, expected an integer from {least} to {most}")
    return value


def bandwidths_of(kind: str, text: str, count: int, expected: str) -> tuple[int, ...]:
    """Read ``bw=``: one capacity for all of `count` sorts of links, or one for each."""
    words = text.split("x")
    if len(words) not in (1, count):
        raise bad(f"{kind}: bw={shorten(text)}, expected {expected}")
    widths = tuple(number_of(kind, "bw", word) for word in words)
    return widths * count if len(widths) == 1 else widths


def bandwidth_field(bandwidth: Sequence[int]) -> str:
    """Write ``:bw=`` with the capacities, a single number where all are equal; nothing where all are 1."""
    if set(bandwidth) == {1}:
        return ""
    return f":bw={bandwidth[0] if len(set(bandwidth)) == 1 else joined(bandwidth)}"


def joined(numbers: Iterable[int]) -> str:
    """Write sizes as ``17x8x24``."""
    return "x".join(map(str, numbers))
