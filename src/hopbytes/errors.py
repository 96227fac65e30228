"""What can go wrong, as types. The library raises these and never prints or exits.

A message names arguments as Python does, in backquotes, with or without a value: `hosts`, `pack=True`. The
command line replaces these names by its options (:mod:`hopbytes.cli.option_names`).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable, Iterator
from typing import Any

#: Characters of a message; the middle of longer ones is left out.
LONGEST_MESSAGE = 2000


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with control characters written as escapes, except those to keep.

    Names in files may hold any characters; a terminal would obey some of them.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


class HopbytesError(Exception):
    """Root of all errors a user can cause; ``str(error)`` is one line for people.

    Parameters
    ----------
    message : str
        Line breaks, control characters and undecodable bytes (a file name may hold any) are escaped.
    """

    def __init__(self, message: str = "") -> None:
        if len(message) > LONGEST_MESSAGE:  # a word of a file, or a list of names, can be as long as the file
            kept = LONGEST_MESSAGE // 2
            message = f"{message[:kept]} … {message[-kept:]}"
        super().__init__(printable(message))


class FormatError(HopbytesError, ValueError):
    """A file or a text is not what its format asks for; also a ``ValueError``.

    Parameters
    ----------
    where : str
        File name, or the argument that held the text, in backquotes.
    line : int or None
        1-based line number; None when the fault has no line (an empty file, a binary one).
    what : str
        What was found, then what was expected: ``"weight -3, expected an integer >= 0"``.
    """

    def __init__(self, where: str, line: int | None, what: str) -> None:
        self.where, self.line, self.what = where, line, what
        place = where if line is None else f"{where}:{line}"
        super().__init__(f"{place}: {what}")

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, int | None, str]]:
        """Pickle by what it was made from, so that worker processes can raise it."""
        return type(self), (self.where, self.line, self.what)


@contextlib.contextmanager
def damaged(name: str, expected: str) -> Iterator[None]:
    """Turn what readers and libraries raise on damaged content inside the block into FormatError.

    Numbers of thousands of digits, cut headers and missing fields end in exceptions of any kind.
    """
    try:
        yield
    except (HopbytesError, OSError, MemoryError, Warning):
        raise
    except Exception as error:
        message = " ".join(str(error).split())[:100]
        what = f"damaged ({type(error).__name__}{': ' if message else ''}{message}), expected {expected}"
        raise FormatError(name, None, what) from error


class InfeasibleError(HopbytesError, ValueError):
    """No mapping can satisfy what was asked; the text names the numbers that collide."""


class UnsupportedError(HopbytesError, ValueError):
    """The request is meaningful but not available; the text lists what would work."""


class WrongTypeError(UnsupportedError, TypeError):
    """An argument is of a wrong kind; the text says what it is and what was expected."""


class ScaleError(HopbytesError, OverflowError):
    """Numbers too large for 64-bit sums; the text gives the factor to divide by."""


class MissingPackageError(UnsupportedError, ImportError):
    """A function needs a package that is not installed; the text names it."""


class HopbytesWarning(UserWarning):
    """Something about a result that its reader should know; the same text is in ``info["notices"]``."""


def internal_error(what: str) -> HopbytesError:
    """Return the error for a result that contradicts its definition."""
    return HopbytesError(f"internal error: {what}; please report this")


def no_thread() -> UnsupportedError:
    """Return the error for a process that may not start another thread."""
    return UnsupportedError("no thread can be started, expected a higher limit of processes (ulimit -u)")


def package(name: str, purpose: str) -> Any:
    """Import an optional package, such as pandas, which `purpose` needs; MissingPackageError without it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        whole = name.partition(".")[0]
        what = f"{purpose} needs the package {whole}, which is not installed: pip install {whole}"
        raise MissingPackageError(what) from None


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6, most: int = 1) -> list[str]:
    """Return the known names that are spelled most like a word, at most so many, the nearest first."""
    import difflib  # only for the text of an error

    return difflib.get_close_matches(word, list(known), most, cutoff)


#: Names of algorithms, schedules and metrics in papers, and those of this program.
IN_PAPERS = {
    "mullermerbach": "mueller_merbach", "greedyallc": "greedy_all_c", "topdown": "top_down",
    "bottomup": "bottom_up", "rms": "multisection", "rb": "two_phase", "sharedmap": "multisection",
    "packed": "identity", "roundrobin": "round_robin", "rr": "round_robin",
    "u_g": "ug", "smap": "dual_recursive_bipartitioning",
    "n^2": "n_square", "n2": "n_square", "np": "n_p", "n_c": "n_cd:d=1", "n_1": "n_cd:d=1",
    "n_2": "n_cd:d=2", "n_10": "n_cd:d=10", "n10": "n_cd:d=10", "n_c^d": "n_cd",
    "u_wh": "uwh", "u_mc": "umc", "u_mmc": "ummc", "queue": "queue", "priorityqueue": "queue",
    "nonblockinglayer": "nb_layer", "nblayer": "nb_layer",
    "j": "comm_cost", "wh": "hop_bytes", "hb": "hop_bytes", "hopbytes": "hop_bytes", "th": "hops",
    "mc": "max_congestion", "mmc": "max_messages", "hybridmetric": "hybrid",
}  # fmt: skip


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnsupportedError:
    """Build the error for an unknown name, with the nearest known one."""
    names = sorted(known)
    near = nearest(name, names, 0.5) if isinstance(name, str) else []
    word = "".join(name.lower().replace("ü", "u").split()) if isinstance(name, str) else ""
    meant = IN_PAPERS.get(word.replace("-", ""), "")
    near = [meant] if meant.partition(":")[0] in names else [word] if word in names else near
    hint = f", did you mean {near[0]!r}?" if near else ""
    return UnsupportedError(f"unknown {kind} {name!r}{hint} (known: {', '.join(names)})")
