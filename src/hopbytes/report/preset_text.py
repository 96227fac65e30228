"""The algorithms of a preset, its use, and its time compared with other presets."""

from __future__ import annotations

import dataclasses
from typing import Any

#: When to use a preset, and its time beside `eco`: of seconds on lattices of 1,024 processes and of 16,384
#: vertices in 64 blocks (``map_tasks(stencil, …, threads=1)``). The time of `turbo` is of three graphs
#: of half a million to a million vertices: Delaunay, circuit and lattice.
USE = {
    "fast": ("the mapping is needed at once, or the graph is very large", "half to two thirds of eco"),
    "eco": ("nothing else is known", "the unit for the others"),
    "strong": ("the program runs for hours", "4 to 11 times eco"),
    "best": ("there is time: --time-limit, --work-limit or Ctrl-C end it", "until a limit or Ctrl-C ends it"),
    "routed": (
        "the machine has links (torus:, fattree:, ib: …) and congestion matters",
        "that of strong, or more",
    ),
    "turbo": ("the graph has 100,000 tasks or more", "a tenth to a fifth of fast there, otherwise the same"),
}


def preset_facts(name: str) -> dict[str, Any]:
    """Return the chain of a preset and when to use it, with keys for JSON.

    >>> facts = preset_facts("fast")
    >>> facts["chain"][0].split(",")[0], facts["time"]
    ('multisection:repetitions=2', 'half to two thirds of eco')
    """
    from hopbytes.solve.presets import presets

    chain = presets[name]()
    use, time = USE.get(name, ("", ""))
    return {"chain": [step_text(step) for step in (chain.mapper, *chain.refiners)], "use": use, "time": time}


def step_text(step: Any) -> str:
    """Return an algorithm as ``--mapper`` takes it, with the options that differ from the defaults."""
    from hopbytes.algorithms.base import mappers, refiners

    name = mappers.name_of(type(step)) or refiners.name_of(type(step)) or type(step).__name__.lower()
    options = [
        f"{field.name}={_typed(getattr(step, field.name))}"
        for field in dataclasses.fields(step)
        if getattr(step, field.name) != field.default
    ]
    return ":".join([name, *([",".join(options)] if options else [])])


def _typed(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
