"""Parts that all names of a list share and that therefore tell nothing, such as a domain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

SEPARATORS = " ;:/._-"


def without_shared_end(names: Sequence[str]) -> list[str]:
    """Return names without the end that all of them share, from a separator on.

    >>> without_shared_end(["n1.grid.fr", "n2.grid.fr"]), without_shared_end(["a1", "b1"])
    (['n1', 'n2'], ['a1', 'b1'])
    """
    turned = without_shared_start([name[::-1] for name in names])
    return [name[::-1] for name in turned]


def without_shared_start(names: Sequence[str]) -> list[str]:
    """Return names without the beginning that all of them share, up to a separator.

    >>> without_shared_start(["switch A L1", "switch A L2"]), without_shared_start(["leaf1", "leaf2"])
    (['L1', 'L2'], ['leaf1', 'leaf2'])
    """
    if len(set(names)) < 2:
        return list(names)
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    shared = "".join(letters[0] for letters in same)
    end = max(shared.rfind(separator) for separator in SEPARATORS) + 1
    left = [name[max(0, end) :] for name in names]
    return left if all(left) else list(names)
