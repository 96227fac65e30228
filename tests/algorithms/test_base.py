"""Options of mappers and refiners that do not take every value of their type."""

import pytest

from helpers.errors import mentions
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.errors import UnsupportedError
from hopbytes.util.options import build

ALLOWED = [
    (registry, name, option)
    for registry in (mappers, refiners) for name, kind in registry.items() for option in kind.allowed
]  # fmt: skip


@pytest.mark.parametrize(("registry", "name", "option"), ALLOWED, ids=[f"{n}:{o}" for _, n, o in ALLOWED])
def test_options_take_the_values_that_they_name_and_no_others(registry, name, option):
    values = registry[name].allowed[option]
    of_numbers = isinstance(values, range)
    for value in (values[0], values[-1]) if of_numbers else values:
        assert getattr(build(registry, f"{name}:{option}={value}"), option) == value
    for value in {values[0] - 1, values[-1] + 1} if of_numbers else ("best",):
        with pytest.raises(UnsupportedError, match=mentions(name, f"{option}={value}", "expected")):
            registry[name](**{option: value})
    assert not of_numbers or (-1 < values[0] <= values[-1] < 2**31)


def test_the_options_that_take_some_values_only():
    found = {name: registry[name].allowed[option] for registry, name, option in ALLOWED}
    assert found["treematch"] == range(1001)  # of `credit`; a longer list of groups takes too much memory
    assert mappers["treematch"].allowed["list_up_to"] == range(1_000_001)
    assert found["n_p"] == range(2, 2**31)
    assert set(found) >= {"curve", "multi_jagged", "round_robin", "ug", "two_phase", "n_cd", "umc", "routed"}
