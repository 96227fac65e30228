"""Partitioners from elsewhere: what they are called, which settings they have, what they may be given.

Each is an optional package; everything works without them. They run in worker processes that can be
killed (:mod:`hopbytes.workers`), get whole numbers and bounds per block, and are checked afterwards
(:mod:`hopbytes.partition`).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass

from hopbytes.errors import UnsupportedError, unknown_name


@dataclass(frozen=True, slots=True)
class Backend:
    """One partitioner.

    Parameters
    ----------
    title : str
        Its own name.
    settings : mapping of str to int
        What it calls its presets, with the rough cost of one call relative to the fastest there is.
    repeatable : tuple of str
        Settings under which the same seed gives the same partition. Measured, see ``docs/partitioners.md``.
    equal_blocks : bool
        It knows one bound for all blocks only.
    heaviest_share : int
        No vertex may weigh more than this part of the smallest block; 0: any may.
    many_threads : bool
        One call uses all threads; otherwise calls run side by side with one each.
    """

    title: str
    settings: Dictionary[str, int]
    repeatable: tuple[str, ...]
    equal_blocks: bool = False
    heaviest_share: int = 0
    many_threads: bool = False


BACKENDS: dict[str, Backend] = {
    # It gives up the bounds silently when single vertices are too heavy for its balancing.
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
    """Tell whether a partitioner is installed and not hidden (``HOPBYTES_WITHOUT_KAMINPAR=1`` and alike)."""
    if os.environ.get(f"HOPBYTES_WITHOUT_{name.upper()}") == "1":
        return False
    return importlib.util.find_spec(name) is not None


def check_backend(name: str, setting: str, *, required: bool) -> None:
    """Raise UnsupportedError unless partitioner and setting exist and, if `required`, are installed."""
    if name not in BACKENDS:
        raise unknown_name("partitioner", name, list(BACKENDS))
    if setting not in BACKENDS[name].settings:
        raise unknown_name(f"{BACKENDS[name].title} setting", setting, list(BACKENDS[name].settings))
    if required and not available(name):
        raise UnsupportedError(
            f"{BACKENDS[name].title} is not installed: pip install 'hopbytes[partitioners]' "
            f"(or {name} alone), or leave the option 'partitioner' out to use the built-in one"
        )


def repeats_itself(name: str, setting: str) -> bool:
    """Whether the same seed gives the same partition, for any number of threads."""
    return setting in BACKENDS[name].repeatable
