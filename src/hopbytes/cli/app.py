"""The program: its verbs, and what becomes of errors, Ctrl-C and a closed pipe."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hopbytes._version import __version__
from hopbytes.cli import slips
from hopbytes.cli.ending import clean_end
from hopbytes.cli.spread import spread_options
from hopbytes.errors import HopbytesError, HopbytesWarning, printable

#: Exit codes; 2 (usage) comes from the option parser.
FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141

#: What keeps text from a stream.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

#: Allocations between collections of garbage: loading makes many objects, and hardly any becomes garbage.
COLLECT_EVERY = 100_000

#: Verbs in the order of ``--help``; the function of verb `name` is ``hopbytes.cli.verb_<name>.<name>``.
VERBS = (
    "map", "eval", "write", "run", "verify", "where", "replay", "record", "probe", "measure",
    "show", "list", "convert", "compare",
)  # fmt: skip


class GuardedGroup(TyperGroup):
    """Import a verb when it is asked for; turn what it raises into one line on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a verb; None for any other word."""
        if cmd_name in VERBS and cmd_name not in self.commands:
            self.commands[cmd_name] = _command(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb; a wrong word is compared with all of them."""
        if args and args[0] not in VERBS:
            for verb in VERBS:
                self.get_command(ctx, verb)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            complain("interrupted")
            code = INTERRUPTED
        except BrokenPipeError:
            # Whoever read our output has gone; the interpreter must not complain about it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = PIPE_CLOSED
        except (HopbytesError, OSError, MemoryError) as error:
            complain(sentence(error))
            code = FAILED
        except ImportError as error:  # part of the installation is missing, or has no room in memory
            complain(f"cannot be loaded: {' '.join(str(error).split())[-200:]}")
            code = FAILED
        raise typer.Exit(code)


class Verb(TyperCommand):
    """A verb, about to run: load NumPy for it; say what was probably meant by options it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options; an error names what was probably meant."""
        typed = list(args)
        try:
            slips.check(typed)
            return super().parse_args(ctx, args)
        except slips.UsageError as error:
            slips.explain(error, typed, {name for parameter in self.params for name in parameter.opts})
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        load_numpy()
        with warnings.catch_warnings():  # verbs print notices themselves, in the words of the command line
            warnings.simplefilter("ignore", HopbytesWarning)
            return super().invoke(ctx)


def load_numpy() -> None:
    """Import NumPy without a thread per core for its linear algebra: the few matrices here are small."""
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        return
    os.environ[name] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[name]  # programs that a verb starts are not to see it


def sentence(error: BaseException) -> str:
    """Return one line for people about an error."""
    if isinstance(error, HopbytesError):
        from hopbytes.cli.option_names import as_options

        return as_options(" ".join(str(error).splitlines()))
    if isinstance(error, MemoryError):
        return "not enough memory for this problem"
    assert isinstance(error, OSError)
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {reason}"
    if reason == os.strerror(errno.ENOENT):  # a missing file has a name, the folder we are in has none
        return "the current folder is gone, expected one that exists"
    # Writers of files name them; what had no room and no name was on its way to standard output.
    return f"standard output: {reason}" if error.errno in NO_ROOM else reason


def complain(text: str) -> None:
    """Say on stderr why the program stops; a closed stderr is nobody's concern."""

    with contextlib.suppress(OSError):
        print(printable(f"hopbytes: {text}"), file=sys.stderr, flush=True)


app = typer.Typer(
    cls=GuardedGroup,
    name="hopbytes",
    help="Topology-aware process mapping: who talks to whom and a machine in, a verified placement out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hopbytes {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    pass


def _command(verb: str) -> Any:
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=app.rich_markup_mode,
        context_settings=app.info.context_settings,
    )
    function = getattr(importlib.import_module(f"hopbytes.cli.verb_{verb}"), verb)
    # Typer keeps the line ends of a docstring, which fit no terminal but the author's.
    told = "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))
    alone.command(verb, cls=Verb, help=told)(spread_options(function))
    return typer.main.get_command(alone)


def prepare_streams() -> None:
    """Make standard output and error fit to be written to, whoever started the program, and however.

    A stream that was closed goes nowhere; were it left closed, the next file opened would take its
    number, and what others print would end in that file. A character that the encoding lacks is
    written as its number.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        with contextlib.suppress(OSError):  # raised when the number is in fact free: open takes the lowest
            os.fstat(descriptor)
            continue
        os.open(os.devnull, os.O_RDWR)
        if name != "stdin":  # readers say themselves that there is no standard input
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115 (stays open)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_what_has_no_room() -> None:
    """Drop what a stream could not take: at its end Python would try again, and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main() -> None:
    """Run the program with the process's arguments; never returns."""
    prepare_streams()
    gc.set_threshold(COLLECT_EVERY)
    try:
        with clean_end():
            app(prog_name="hopbytes")  # also under `python -m hopbytes`
    except OSError as error:  # --help and --version, printed before any verb
        complain(sentence(error))
        sys.exit(FAILED)
    finally:
        _forget_what_has_no_room()
        gc.freeze()  # the process ends: searching what is left for garbage would take a tenth of a short run
