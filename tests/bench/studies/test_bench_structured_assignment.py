"""Generated quadratic assignment problems have the structure that the study describes."""

import numpy as np
import pytest

from bench.studies.structured_assignment import BEST_FOUND, SHAPES, instance


@pytest.mark.parametrize("tasks", SHAPES)
def test_problems_repeat_and_have_groups_and_colours(tasks):
    one, again, other = instance(tasks, 1), instance(tasks, 1), instance(tasks, 2)
    assert np.array_equal(one.flow, again.flow)
    assert np.array_equal(one.distance, again.distance)
    assert not np.array_equal(one.flow, other.flow)
    members = SHAPES[tasks][2]
    for values in (one.flow, one.distance):
        assert np.array_equal(values, values.T)
        assert not values.diagonal().any()
        large = np.count_nonzero(values > 10, axis=1)
        # Half of all other places, up to the members of the own group and the odd one of each group.
        assert np.all(np.abs(2 * large - tasks) <= tasks // members + 2 * members)
    place = np.random.default_rng(0).permutation(tasks)
    assert BEST_FOUND[tasks][1] < one.cost(place) // 10
