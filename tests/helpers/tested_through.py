from typing import NamedTuple


class Group(NamedTuple):
    reason: str
    tests: tuple[str, ...]
    modules: tuple[str, ...]
TESTED_THROUGH: tuple[Group, ...] = ()
