"""External partitioners: their names, their settings and the restrictions on their inputs.

Each partitioner is an optional package. It runs in worker processes that can be killed
(``pool.py``), gets integer weights and maximum block weights, and its partitions are
checked (``dispatch.py``).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping as Dictionary

from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError, unknown_name


@frozen
class Backend:
    """The description of one external partitioner."""

    title: str  # the partitioner's own name
    #: names of its presets, with the approximate cost of a call relative to the fastest setting of all
    #: partitioners
    settings: Dictionary[str, int]
    #: settings for which the same seed gives the same partition. Measured, see ``docs/partitioners.md``.
    repeatable: tuple[str, ...]
    equal_blocks: bool = False  # the partitioner supports a single maximum block weight for all blocks only
    #: no vertex may weigh more than 1/`heaviest_share` of the smallest maximum block weight; 0: no limit
    heaviest_share: int = 0
    #: one call uses all threads; otherwise several calls with one thread each run in parallel
    many_threads: bool = False


BACKENDS: dict[str, Backend] = {
    # KaMinPar silently violates the maximum block weights if vertices are too heavy for its balancer.
    "kaminpar": Backend(
        "KaMinPar", {"fast": 1, "default": 1, "eco": 1, "strong": 3}, ("fast", "default", "eco", "strong"),
        heaviest_share=4,
    ),
    "kahip": Backend(
        "KaFFPa", {"fast": 2, "eco": 5, "strong": 40}, ("fast", "eco", "strong"), equal_blocks=True
    ),
    "mtkahypar": Backend(
        "Mt-KaHyPar",
        {"deterministic": 3, "deterministic_quality": 6, "default": 2, "quality": 4, "highest_quality": 15},
        ("deterministic", "deterministic_quality"), many_threads=True,
    ),
}  # fmt: skip


def available(name: str) -> bool:
    """Tell whether a partitioner is installed and not disabled, as by ``HOPBYTES_WITHOUT_KAMINPAR=1``."""
    if os.environ.get(f"HOPBYTES_WITHOUT_{name.upper()}") == "1":
        return False
    return importlib.util.find_spec(name) is not None


def check_backend(name: str, setting: str, *, required: bool) -> None:
    """Raise UnsupportedError for an unknown partitioner or setting, or if `required` and not installed."""
    if name not in BACKENDS:
        raise unknown_name("partitioner", name, list(BACKENDS))
    if setting not in BACKENDS[name].settings:
        raise unknown_name(f"{BACKENDS[name].title} setting", setting, list(BACKENDS[name].settings))
    if required and not available(name):
        raise UnsupportedError(
            f"{BACKENDS[name].title} is missing: pip install {name}, "
            "or omit the option 'partitioner' to use the built-in partitioner"
        )


def repeats_itself(name: str, setting: str) -> bool:
    """Tell whether the same seed gives the same partition for any number of threads."""
    return setting in BACKENDS[name].repeatable
