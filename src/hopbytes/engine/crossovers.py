"""Crossovers of two permutations of places: what both have in common stays."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._util.random_numbers import RandomNumbers


def uniform(rng: RandomNumbers, one: Int32, other: Int32) -> Int32:
    """Take the place of each task from either permutation; tasks whose places are taken get random ones.

    Parameters
    ----------
    rng : RandomNumbers
    one, other : int32[n]
        The place of each task.

    Returns
    -------
    int32[n]

    Examples
    --------
    >>> uniform(RandomNumbers(1), np.array([0, 1, 2], np.int32), np.array([0, 2, 1], np.int32)).tolist()[0]
    0
    """
    n = len(one)
    order = rng.permutation(n)
    pick = rng.coins(n)
    used, place = np.zeros(n, bool), np.full(n, -1, np.int32)
    same = one == other
    place[same] = one[same]
    used[one[same]] = True
    for task in order[~same[order]]:
        pair = (one[task], other[task]) if pick[task] else (other[task], one[task])
        for choice in pair:
            if not used[choice]:
                place[task], used[choice] = choice, True
                break
    unplaced = np.flatnonzero(place < 0)
    place[unplaced] = rng.shuffled(np.flatnonzero(~used)).astype(np.int32)
    return place


def transplanted(one: Int32, other: Int32, places: Int64) -> Int32:
    """Return `other` with the tasks that `one` has on `places`.

    Notes
    -----
    A task that loses its place gets the one that the new task leaves, so that tasks outside of the block
    stay where they are: the partially mapped crossover of Goldberg and Lingle (1985). If the parents hold
    the same groups of tasks on different groups of places, two whole groups are exchanged.

    Examples
    --------
    >>> one, other = np.array([2, 3, 0, 1], np.int32), np.array([0, 1, 2, 3], np.int32)
    >>> transplanted(one, other, np.array([0, 1])).tolist()
    [2, 3, 0, 1]
    """
    place: Int32 = other.copy()
    at, source = np.empty(len(one), np.int64), np.empty(len(one), np.int64)
    at[other], source[one] = np.arange(len(one)), np.arange(len(one))
    for here in places:
        task, displaced = source[here], at[here]
        there = place[task]
        place[displaced], place[task] = there, here
        at[there], at[here] = displaced, task
    return place


def block(rng: RandomNumbers, flow: Int64, distance: Int64, one: Int32, other: Int32) -> Int32:
    """Take the places of similar tasks, or the tasks of similar places, from one and the rest from the other.

    Parameters
    ----------
    rng : RandomNumbers
    flow, distance : int64[n, n]
    one, other : int32[n]
        The place of each task.

    Returns
    -------
    int32[n]

    Notes
    -----
    Places are similar if their distances to all places differ little, and tasks if their flows do. If tasks
    and places form groups, on several levels, blocks of any size cover whole groups, whose arrangement in a
    good parent the child inherits. A block holds between two and a third of all tasks; O(n^2).
    """
    n = len(one)
    of_tasks = rng.happens(0.5)
    rows = flow if of_tasks else distance
    difference = np.abs(rows - rows[rng.below(n)]).sum(axis=1)
    size = min(n, 2 + rng.below(max(1, n // 3 - 1)))
    # Equally similar ones are drawn at random.
    similar = np.lexsort((rng.words(n), difference))[:size]
    return transplanted(one, other, one[similar].astype(np.int64) if of_tasks else similar)
