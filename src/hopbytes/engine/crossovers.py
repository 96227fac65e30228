"""Crossovers of two permutations of places: what both have in common stays."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.util.random_numbers import RandomNumbers


def uniform(rng: RandomNumbers, one: Int32, other: Int32) -> Int32:
    """Take the place of each task from either permutation; tasks whose places are taken get random ones.

    >>> uniform(RandomNumbers(1), np.array([0, 1, 2], np.int32), np.array([0, 2, 1], np.int32)).tolist()[0]
    0
    """
    n = len(one)
    order = rng.permutation(n)
    pick = rng.coins(n)
    same = one == other
    used = np.zeros(n, bool)
    used[one[same]] = True
    place = np.where(same, one, np.int32(-1))
    first, second = np.where(pick, one, other).tolist(), np.where(pick, other, one).tolist()
    taken, chosen = used.tolist(), place.tolist()
    for task in order[~same[order]].tolist():
        for choice in (first[task], second[task]):
            if not taken[choice]:
                chosen[task], taken[choice] = choice, True
                break
    place = np.array(chosen, np.int32)
    unplaced = np.flatnonzero(place < 0)
    place[unplaced] = rng.shuffled(np.flatnonzero(~np.array(taken))).astype(np.int32)
    return place


def transplanted(one: Int32, other: Int32, places: Int64) -> Int32:
    """Return `other` with the tasks that `one` has on `places`.

    A task that loses its place gets the one that the new task leaves, so that tasks outside of the block
    stay where they are: the partially mapped crossover of Goldberg and Lingle (1985). If the parents hold
    the same groups of tasks on different groups of places, two whole groups are exchanged.

    >>> one, other = np.array([2, 3, 0, 1], np.int32), np.array([0, 1, 2, 3], np.int32)
    >>> transplanted(one, other, np.array([0, 1])).tolist()
    [2, 3, 0, 1]
    """
    place, at = other.tolist(), np.argsort(other).tolist()
    source = np.argsort(one)[places].tolist()
    for here, task in zip(places.tolist(), source, strict=True):
        there, displaced = place[task], at[here]
        place[displaced], place[task] = there, here
        at[there], at[here] = displaced, task
    return np.array(place, np.int32)


def differences(rows: Int64) -> Int64:
    """Return by how much each two rows of a matrix differ, as int64[n, n]; O(n^3).

    >>> differences(np.array([[0, 1], [3, 1]])).tolist()
    [[0, 3], [3, 0]]
    """
    return np.stack([np.abs(rows - row).sum(axis=1) for row in rows])


def block(rng: RandomNumbers, of_tasks: Int64, of_places: Int64, one: Int32, other: Int32) -> Int32:
    """Take the places of similar tasks, or the tasks of similar places, from one and the rest from the other.

    Places are similar if their distances to all places differ little, and tasks if their flows do. If tasks
    and places form groups, on several levels, blocks of any size cover whole groups, whose arrangement in a
    good parent the child inherits. A block holds between two and a third of all tasks; O(n log n).
    """
    n = len(one)
    by_tasks = rng.happens(0.5)
    difference = (of_tasks if by_tasks else of_places)[rng.below(n)]
    size = min(n, 2 + rng.below(max(1, n // 3 - 1)))
    # Equally similar ones are drawn at random.
    similar = np.lexsort((rng.words(n), difference))[:size]
    return transplanted(one, other, one[similar].astype(np.int64) if by_tasks else similar)
