"""The entries of ``Mapping.info``, which say how the mapping was computed, with their types."""

from __future__ import annotations

from typing import Any, TypedDict


class Seconds(TypedDict):
    """Wall time of the parts of a run."""

    map: float
    verify: float


class _OfEveryRun(TypedDict):
    problem: str
    mapper: str
    preset: str | None
    refine: list[str]
    objective: str
    objective_value: int | float
    weight: str
    seed: int
    threads: int
    version: str
    deterministic: bool
    work: dict[str, int]
    comm_cost: int
    imbalance: float
    balance: str
    bound_asked: int
    bound_kept: int
    notices: list[str]
    seconds: Seconds
    #: Seconds, scanned edges and J of every mapping that was better than all before.
    history: list[list[int | float]]


class MappingInfo(_OfEveryRun, total=False):
    """Entries of ``Mapping.info`` as :func:`hopbytes.map_tasks` makes them.

    Those listed there under "Returns" are always present, the others if they apply. A mapping made by
    hand, or read from a file that does not say how it was made, has an empty dictionary, or fewer entries.
    """

    #: Which slots fewer processes than slots use, and the best value of the objective under each choice.
    slots: str
    alternatives: dict[str, Any]
    #: Number of tasks whose PE is not that of `initial`, and the cost of their migration.
    migrations: int
    migration_cost: int
    #: With ``weight="time"``: the time of all messages, and by how much the search was off, relatively.
    comm_seconds: float
    search_form_error: float
    #: The launch format whose constraints the mapping meets.
    said_by: str
    #: The mapping was read for a trace, and had been made for another pattern of as many tasks.
    other_pattern: bool
