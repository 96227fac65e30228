"""Results of functions of objects whose hash takes long."""

from hopbytes.util.computed_once import computed_once


class Slow:
    """An object that counts how often it is hashed."""

    def __init__(self, value):
        self.value, self.hashed = value, 0

    def __hash__(self):
        self.hashed += 1
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value


def test_an_object_is_hashed_once_and_equal_ones_share_a_result():
    computed = []

    @computed_once(2)
    def size(thing):
        computed.append(thing.value)
        return [thing.value]

    one, same = Slow(1), Slow(1)
    assert size(one) is size(one) is size(same)
    assert (one.hashed, same.hashed, computed) == (1, 1, [1])


def test_the_latest_results_are_kept_only():
    computed = []

    @computed_once(2)
    def size(thing):
        computed.append(thing.value)
        return thing.value

    things = [Slow(number) for number in range(3)]
    assert [size(thing) for thing in (*things, things[2], things[1], things[0])] == [0, 1, 2, 2, 1, 0]
    assert computed == [0, 1, 2, 0]
