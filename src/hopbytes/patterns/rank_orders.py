"""Orders in which training frameworks number the ranks of a grid of parallelism."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.patterns.ml import MachineLearning

#: Orders of Megatron-LM that need no change of its source, and the option that selects them.
MEGATRON_OPTIONS = {"tp-cp-ep-dp-pp": "the default", "tp-cp-ep-pp-dp": "--use-tp-pp-dp-mapping"}


def rank_orders(training: MachineLearning) -> dict[str, Int64]:
    """Return every order of ranks: its name, and int64[n], the rank of each task.

    >>> orders = rank_orders(MachineLearning(tp=2, pp=1, dp=2, order="dp-tp-cp-ep-pp"))
    >>> {name: rank.tolist() for name, rank in orders.items()}
    {'tp-cp-ep-dp-pp': [0, 2, 1, 3], 'cp-ep-dp-tp-pp': [0, 1, 2, 3]}
    """
    names, sizes = training.grid()
    place = dict(zip(names, np.unravel_index(np.arange(int(np.prod(sizes))), sizes), strict=True))
    size = dict(zip(names, sizes, strict=True))
    found: dict[str, Int64] = {}
    seen: set[bytes] = set()
    for order in _orders():
        outward = order[::-1]
        rank = np.ravel_multi_index([place[kind] for kind in outward], [size[kind] for kind in outward])
        rank = rank.astype(np.int64)
        if rank.tobytes() not in seen:
            seen.add(rank.tobytes())
            found["-".join(order).replace("dp", "ep-dp").replace("tp-cp-pp-ep-dp", "tp-cp-ep-pp-dp")] = rank
    return found


def _orders() -> list[tuple[str, ...]]:
    first = [("tp", "cp", "dp", "pp"), ("tp", "cp", "pp", "dp")]
    return first + [each for each in permutations(("tp", "cp", "dp", "pp")) if each not in first]
