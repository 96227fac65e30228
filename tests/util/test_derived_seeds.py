"""Seeds are those of NumPy, so that mappings stay as they were when NumPy derived them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes.util.random_numbers import derived_seeds, derived_words


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
