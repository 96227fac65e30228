"""Sets of CPU numbers as text: the lists of Linux and the words of hwloc."""

from __future__ import annotations

import re
from collections.abc import Collection

from hopbytes.errors import FormatError

#: No node has as many hardware threads.
MAX_PUS = 2**16
RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
#: A word of 32 bits of hwloc, perhaps empty.
WORD = re.compile(r"(?:0x)?([0-9a-fA-F]{1,8})?", re.ASCII)


def number_range(word: str, digits: int = 9) -> range | None:
    """Return the numbers of ``N`` or ``N-M``, N <= M, of at most so many digits; None for other words."""
    match = RANGE.fullmatch(word.strip())
    if match is None or max(len(match[1]), len(match[2] or "")) > digits:
        return None
    return range(int(match[1]), int(match[2] or match[1]) + 1) or None


def parse_list(text: str, where: str, line: int | None = None) -> set[int]:
    """Return the numbers of a list as kernels write them: ``0-3,8``; empty for an empty text."""
    numbers: set[int] = set()
    for word in filter(str.strip, text.split(",")):
        run = number_range(word)
        if run is None or run.stop > MAX_PUS:
            raise FormatError(where, line, f"list {text[:40]!r}, expected CPU numbers like 0-3,8")
        numbers.update(run)
    return numbers


def format_list(numbers: Collection[int]) -> str:
    """Return the shortest text from which :func:`parse_list` makes `numbers`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in runs)


def parse_cpuset(text: str, where: str, line: int | None = None) -> set[int]:
    """Return the members of a set of hwloc: words of 32 bits in hexadecimal, the highest first.

    A first word ``0xf...f`` stands for all higher numbers up to 65535."""
    words = text.split(",")
    infinite = words[0] == "0xf...f"
    words = words[infinite:]
    if len(words) > MAX_PUS // 32:
        raise FormatError(where, line, f"a set of {len(words)} words, expected at most {MAX_PUS // 32}")
    value = 0
    for word in words:
        match = WORD.fullmatch(word.strip())
        if match is None:
            raise FormatError(where, line, f"set {text[:40]!r}, expected words like 0x0000ffff,0xffffffff")
        value = value << 32 | int(match[1] or "0", 16)
    if infinite:
        value |= ((1 << MAX_PUS) - 1) ^ ((1 << 32 * len(words)) - 1)
    members = set()
    while value:  # lowest bit first, so that sparse sets cost what they hold
        low = value & -value
        members.add(low.bit_length() - 1)
        value ^= low
    return members
