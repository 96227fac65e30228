"""Random numbers: the published stream, and what is drawn from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes.util.random_numbers import GAMMA, RandomNumbers, derived_seeds, derived_words, mixed_words


def test_the_mixing_function_gives_the_published_stream():
    """The first outputs of SplitMix64 from state 0, as its authors print them."""
    states = np.array([GAMMA, 2 * GAMMA & (2**64 - 1), 3 * GAMMA & (2**64 - 1)], np.uint64)
    assert [hex(word) for word in mixed_words(states).tolist()] == [
        "0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"
    ]  # fmt: skip


@given(st.integers(-5, 2**70), st.integers(1, 2**40))
def test_what_is_drawn_is_made_of_the_words_of_splitmix(seed, bound):
    """A plain definition: the state of a seed is mixed once, and every draw takes words in order."""
    def mixed(word):
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    state = mixed((seed % 2**64 + GAMMA) % 2**64)
    words = [mixed((state + step * GAMMA) % 2**64) for step in range(1, 16)]
    random = RandomNumbers(seed)
    assert random.words(2).tolist() == words[:2]
    assert random.below(bound) == words[2] * bound // 2**64
    assert random.coins(2).tolist() == [word >= 2**63 for word in words[3:5]]
    assert random.happens(0.3) == (words[5] / 2**64 < 0.3)
    order = sorted(range(5), key=lambda item: words[6 + item])
    assert random.permutation(5).tolist() == order
    order = sorted(range(4), key=lambda item: words[11 + item])
    assert random.distinct(4, 3).tolist() == order[:3]


def test_shuffled_moves_whole_rows():
    rows = np.arange(20).reshape(10, 2)
    mixed = RandomNumbers(2).shuffled(rows)
    assert not np.array_equal(mixed, rows)
    assert np.array_equal(mixed[np.argsort(mixed[:, 0])], rows)


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=7), st.integers(0, 40))
def test_derived_seeds_are_those_of_numpy(entropy, count):
    expected = np.random.SeedSequence(entropy)
    assert derived_words(entropy, count).tolist() == expected.generate_state(count, np.uint32).tolist()
    seeds = derived_seeds(entropy, count)
    assert seeds.dtype == np.uint64
    assert seeds.tolist() == expected.generate_state(count, np.uint64).tolist()


def test_negative_entropy_is_refused():
    with pytest.raises(OverflowError):
        derived_seeds((-1,), 1)
