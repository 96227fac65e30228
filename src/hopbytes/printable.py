"""Text from files made fit for a terminal: nothing in it moves the cursor, changes colours or hides."""

from __future__ import annotations

import re

#: Control characters but tab and line end, and marks that change the direction or the lines of a text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return a text with every character that a terminal would obey written as its number.

    Host names, descriptions of switches, names of levels and patterns come from files of others. All that
    the program prints goes through this function; JSON does the same by itself.

    Examples
    --------
    >>> printable("leaf\x1b[2J1\tport 3")
    'leaf\\x1b[2J1\tport 3'
    """
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
