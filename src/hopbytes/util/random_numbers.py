"""Random numbers of our own, which are the same with every version of every library.

NumPy promises the streams of its bit generators, but not those of ``Generator``: its permutations and
integers may change with a release. These are computed from 64-bit words alone, which are the words of the
compiled core's ``Rng``.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hopbytes._arrays import Bool, Int64

#: What the counter of SplitMix64 advances by.
GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
T = TypeVar("T", bound=np.generic)


class RandomNumbers:
    """SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function.

    >>> random = RandomNumbers(1)
    >>> random.permutation(5).tolist(), random.below(10), random.distinct(100, 3).tolist()
    ([2, 4, 0, 3, 1], 7, [73, 66, 85])
    """

    def __init__(self, seed: int) -> None:
        self._state = int(mixed_words(np.array([seed & _MASK], np.uint64) + np.uint64(GAMMA))[0])

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return uint64[count], uniformly distributed; O(count)."""
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA)
        states = steps + np.uint64(self._state)
        self._state = (self._state + count * GAMMA) & _MASK
        return mixed_words(states)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to `bound` - 1; the bias is below `bound` / 2^64."""
        return int(self.words(1)[0]) * bound >> 64

    def permutation(self, count: int) -> Int64:
        """Return int64[count], the numbers from 0 to `count` - 1 in random order; O(count log count)."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64)

    def shuffled(self, items: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return the rows of an array in random order."""
        return items[self.permutation(len(items))]

    def distinct(self, bound: int, count: int) -> Int64:
        """Return int64[count], different integers from 0 to `bound` - 1; O(bound log bound)."""
        return self.permutation(bound)[:count]

    def coins(self, count: int) -> Bool:
        """Return bool[count], true with probability one half."""
        coins: Bool = self.words(count) >= np.uint64(2**63)
        return coins

    def happens(self, probability: float) -> bool:
        """Return true with a probability; exact to 2^-53."""
        return float(self.words(1)[0] >> np.uint64(11)) < probability * 2.0**53


def mixed_words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the mixing function of SplitMix64 of each word; products wrap around, as they should."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
