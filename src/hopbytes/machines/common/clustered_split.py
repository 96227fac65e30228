"""Where to cut places of which nothing but their distances is known."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.common.table import clusters_below, two_halves


def split_by_distance(distance: Int64) -> Int64:
    """Return the part of each place: clusters at the largest distance from each other, else two halves.

    >>> import numpy as np
    >>> split_by_distance(np.array([[0, 2, 4], [2, 0, 4], [4, 4, 0]])).tolist()
    [0, 0, 1]
    """
    own = np.array(distance, np.int64)
    np.fill_diagonal(own, 0)
    clusters = clusters_below(own, int(own.max()))
    if clusters is None or int(clusters.max()) == 0:
        clusters = two_halves(own)
    if int(clusters.max()) == 0:  # all places at distance 0
        clusters = np.arange(len(own), dtype=np.int64)
    return clusters
