"""How a verb declares its options and arguments: ``Annotated[int, option("--seed", help="…")]``.

The command line, its help, shell completion, the manual pages and ``docs/cli.md`` are all made from these
declarations; :mod:`hopbytes.cli.commands` turns them into the parameters of click.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click import BadParameter, UsageError
from click.exceptions import Exit

from hopbytes._frozen import frozen

__all__ = ["BadParameter", "Declared", "Exit", "UsageError", "argument", "option"]


@frozen
class Declared:
    """An option (with names) or an argument (without)."""

    #: ``--output`` and ``-o``; ``--partition/--processes`` for a choice between two. Empty: an argument.
    names: tuple[str, ...] = ()
    metavar: str | None = None  # the word for the value in help texts
    help: str = ""  # one or two sentences
    panel: str = "Options"  # heading under which help texts list it
    least: float | None = None  # smallest number that is accepted
    parser: Callable[[str], Any] | None = None  # turns the text into the value; raises BadParameter
    #: text about the default in help texts if the value itself, such as None, says nothing
    default: str | None = None
    rare: bool = False  # shown by ``--help-all`` only
    old: tuple[str, ...] = ()  # former names, which are accepted but not shown
    hidden: bool = False  # the option is accepted for one more release, but not shown
    #: what shell completion offers, see :func:`hopbytes.cli.completion.candidates`; None: nothing.
    values: str | None = None


def option(*names: str, **settings: Any) -> Declared:
    """Declare an option; `settings` are the fields of :class:`Declared`."""
    return Declared(names, **settings)


def argument(**settings: Any) -> Declared:
    """Declare an argument; `settings` are the fields of :class:`Declared`."""
    return Declared((), **settings)
