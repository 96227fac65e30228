"""Independent seeds from a few integers, the same as those of ``numpy.random.SeedSequence``.

Nothing else of ``numpy.random`` is used, and loading it takes longer than mapping a small pattern should.
Source of the hash: M. O'Neill, "Developing a seed_seq alternative", 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hopbytes._arrays import UInt64

UInt32 = npt.NDArray[np.uint32]

_WORD = 0xFFFFFFFF
_POOL = 4
_START_IN, _STEP_IN = 0x43B0D7E5, 0x931E8875
_START_OUT, _STEP_OUT = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = 0xCA01F9DD, 0x4973F715


def derived_seeds(entropy: Sequence[int], count: int) -> UInt64:
    """Return `count` seeds that depend on all integers in `entropy`.

    >>> derived_seeds((7, 1), 2)
    array([6635463128224577688, 5133392297773249075], dtype=uint64)
    """
    return derived_words(entropy, 2 * count).astype("<u4").view("<u8").astype(np.uint64)


def derived_words(entropy: Sequence[int], count: int) -> UInt32:
    """Return `count` unsigned 32-bit words, of which :func:`derived_seeds` makes one seed from two."""
    pool = np.array(_mixed([word for number in entropy for word in _words(number)]), np.uint32)
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


def _mixed(words: list[int]) -> list[int]:
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
