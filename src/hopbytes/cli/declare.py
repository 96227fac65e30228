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
    """An option (with names) or an argument (without).

    Parameters
    ----------
    names : tuple of str
        ``--output`` and ``-o``; ``--partition/--processes`` for a choice between two. Empty: an argument.
    metavar : str or None
        The word for the value in help texts.
    help : str
        One or two sentences.
    panel : str
        Heading under which help texts list it.
    least : int or float or None
        Smallest number that is accepted.
    parser : callable or None
        Turns the text into the value; raises BadParameter.
    default : str or None
        Text about the default in help texts if the value itself, such as None, says nothing.
    rare : bool
        Shown by ``--help-all`` only.
    old : tuple of str
        Former names, which are accepted but not shown.
    hidden : bool
        The option is accepted for one more release, but not shown.
    values : str or None
        What shell completion offers, see :func:`hopbytes.cli.completion.candidates`; None: nothing.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    help: str = ""
    panel: str = "Options"
    least: float | None = None
    parser: Callable[[str], Any] | None = None
    default: str | None = None
    rare: bool = False
    old: tuple[str, ...] = ()
    hidden: bool = False
    values: str | None = None


def option(*names: str, **settings: Any) -> Declared:
    """Declare an option; `settings` are the fields of :class:`Declared`."""
    return Declared(names, **settings)


def argument(**settings: Any) -> Declared:
    """Declare an argument; `settings` are the fields of :class:`Declared`."""
    return Declared((), **settings)
