"""Random numbers of our own, which are the same with every version of every library.

NumPy promises the streams of its bit generators, but not those of ``Generator``: its permutations and
integers may change with a release. These are computed from 64-bit words alone, which are the words of the
compiled core's ``Rng``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hopbytes._arrays import Bool, Int64, UInt64

UInt32 = npt.NDArray[np.uint32]

_WORD = 0xFFFFFFFF
_POOL = 4
_START_IN, _STEP_IN = 0x43B0D7E5, 0x931E8875
_START_OUT, _STEP_OUT = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = 0xCA01F9DD, 0x4973F715


def derived_seeds(entropy: Sequence[int], count: int) -> UInt64:
    """Return `count` seeds that depend on all integers in `entropy`."""
    return derived_words(entropy, 2 * count).astype("<u4").view("<u8").astype(np.uint64)


def derived_words(entropy: Sequence[int], count: int) -> UInt32:
    """Return `count` unsigned 32-bit words, of which :func:`derived_seeds` makes one seed from two."""
    pool = np.array(_pool_of([word for number in entropy for word in _words(number)]), np.uint32)
    factors = np.full(count + 1, _STEP_OUT, np.uint32)
    factors[0] = _START_OUT
    factors = np.multiply.accumulate(factors, dtype=np.uint32)
    data: UInt32 = (np.resize(pool, count) ^ factors[:-1]) * factors[1:]
    data ^= data >> np.uint32(16)
    return data


def _words(number: int) -> list[int]:
    """Return the 32-bit words of an integer, the lowest first; one word for 0."""
    data = number.to_bytes(4 * max(1, (number.bit_length() + 31) // 32), "little")
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def _pool_of(words: list[int]) -> list[int]:
    """Return the pool of four words, each of which depends on every bit of `words`."""
    factor = _START_IN

    def hashed(word: int) -> int:
        nonlocal factor
        word ^= factor
        factor = factor * _STEP_IN & _WORD
        word = word * factor & _WORD
        return word ^ word >> 16

    def into(target: int, word: int) -> None:
        mixed = (_MIX_LEFT * pool[target] - _MIX_RIGHT * hashed(word)) & _WORD
        pool[target] = mixed ^ mixed >> 16

    pool = [hashed(word) for word in (words + [0] * _POOL)[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if target != source:
                into(target, pool[source])
    for word in words[_POOL:]:
        for target in range(_POOL):
            into(target, word)
    return pool


#: What the counter of SplitMix64 advances by.
GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
T = TypeVar("T", bound=np.generic)


class RandomNumbers:
    """SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function."""

    def __init__(self, seed: int) -> None:
        self._state = int(hashes_of(np.array([seed & _MASK], np.uint64))[0])

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


def hashes_of(words: UInt64) -> UInt64:
    """Return the first word that SplitMix64 gives for each state."""
    return mixed_words(words + np.uint64(GAMMA))


def mixed_words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the mixing function of SplitMix64 of each word; products wrap around, as they should."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
