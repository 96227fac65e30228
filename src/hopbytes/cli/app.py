"""The program: its verbs, and its reactions to errors, Ctrl-C and a closed pipe."""

from __future__ import annotations

import codecs
import contextlib
import gc
import importlib
import io
import os
import sys
import threading
from typing import Any

import click

from hopbytes.cli import INTERRUPTED
from hopbytes.cli.declare import Verb, command
from hopbytes.cli.error_line import complain, sentence
from hopbytes.cli.help_text import overview
from hopbytes.cli.signals import Ended, behind, clean_end, handled
from hopbytes.cli.slips import unknown_verb
from hopbytes.cli.verbs import VERBS
from hopbytes.errors import HopbytesError, printable
from hopbytes.util.version import __version__

#: Exit codes.
FAILED, WRONG_USE, PIPE_CLOSED = 1, 2, 141
#: Variable by which a shell asks for completions.
COMPLETE = "_HOPBYTES_COMPLETE"
#: Allocations between collections of garbage; loading makes many objects, of which few become garbage.
COLLECT_EVERY = 100_000


class Program(click.Group):
    """The group of all verbs, which imports a verb when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a verb; None for any other word."""
        if cmd_name in VERBS and cmd_name not in self.commands:
            self.commands[cmd_name] = command_of(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in VERBS and not word.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(unknown_verb(word, VERBS))
        return super().resolve_command(ctx, args)


def command_of(verb: str) -> Verb:
    """Return the command of a verb, whose module is imported."""
    module = importlib.import_module(f"hopbytes.cli.{VERBS[verb].module}")
    return command(verb, getattr(module, verb.replace("-", "_")))


def wrong_use(error: click.UsageError) -> str:
    """Return one line about a wrong command line, with the page that helps."""
    message = " ".join(error.message.split())
    parameter = getattr(error, "param", None)
    if isinstance(error, click.MissingParameter):
        word = (parameter.metavar or parameter.name) if parameter is not None else "an argument"
        names = getattr(parameter, "opts", [word])
        name = max(names, key=len) if names and names[0].startswith("-") else word.rstrip("…")
        message = f"{name} is missing"
    elif isinstance(error, click.BadParameter) and parameter is not None:
        message = f"{'/'.join(sorted(parameter.opts, key=len)[-1:])}: {message}"
    elif getattr(error, "possibilities", None):
        known = " or ".join(error.possibilities)  # type: ignore[attr-defined]
        message = f"{message.rstrip('.')}; did you mean {known}?"
    verb = error.ctx.command.name if error.ctx is not None and error.ctx.parent is not None else None
    page = f"hopbytes {verb} --help" if verb else "hopbytes --help"
    return f"{message.rstrip('.')} (see '{page}')"


def _answer(ctx: click.Context, parameter: click.Parameter, wanted: Any) -> None:
    """Print the version, the help of the program or the script of a shell."""
    if not wanted or ctx.resilient_parsing:
        return
    if parameter.name == "version":
        print(f"hopbytes {__version__}")
    elif parameter.name == "completion":
        from hopbytes.cli.completion import script

        print(script(wanted))
    else:
        print(overview(ctx.command))
    ctx.exit()


def _asking(*names: str, is_flag: bool = True) -> click.Option:
    return click.Option(names, is_flag=is_flag, is_eager=True, expose_value=False, callback=_answer)


app = Program(
    "hopbytes",
    help="Map MPI ranks, GPUs or graph vertices to cores so that communication stays local.",
    params=[_asking("--version"), _asking("--completion", is_flag=False), _asking("-h", "--help")],
    add_help_option=False,
    no_args_is_help=False,
    invoke_without_command=True,
    callback=lambda: None,
)


def answer(arguments: list[str]) -> int:
    """Run a command line; return the exit code."""
    try:
        if not arguments:
            print(overview(app))
            return 0
        with app.make_context("hopbytes", list(arguments)) as ctx:
            app.invoke(ctx)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except click.UsageError as error:
        complain(wrong_use(error))
        return WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        handled()
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone; the interpreter must not report that at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Tell an error and return the exit code; raise it again where a signal is behind it, or a defect."""
    if behind(error, Ended):
        raise error
    if behind(error, KeyboardInterrupt):
        handled()
        complain("interrupted")
        return INTERRUPTED
    if isinstance(error, (HopbytesError, OSError, MemoryError)):
        complain(sentence(error))
    elif isinstance(error, ImportError):  # part of the installation is missing, or has no room in memory
        complain(f"cannot be loaded: {' '.join(str(error).split())[-200:]}")
    else:
        raise error
    return FAILED


def prepare_streams() -> None:
    """Make standard output and error writable, however the program was started.

    A closed stream is replaced by the null device. Otherwise the next file that is opened would get its
    number, and output would end up in that file. A character that the encoding lacks is replaced: an
    ellipsis by ``..``, most others by their numbers.
    """
    codecs.register_error("hopbytes", _plainer)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        with contextlib.suppress(OSError):  # raised when the number is in fact free: open takes the lowest
            os.fstat(descriptor)
            continue
        os.open(os.devnull, os.O_RDWR)
        if name != "stdin":  # readers raise an error without standard input
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115 (stays open)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="hopbytes")


#: Replacements of characters in encodings that lack them.
PLAINER = str.maketrans({"…": "..", "×": "x", "→": "->", "≥": ">=", "≤": "<=", "·": "*", "–": "-"})


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(PLAINER)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def _forget_what_has_no_room() -> None:
    """Discard output that a stream could not take; Python would try again and change the exit code."""
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
            if COMPLETE in os.environ:  # the shell asks for completions, see `hopbytes --completion`
                from hopbytes.cli.completion import complete

                words = complete(app, os.environ[COMPLETE])
                if words is None:
                    sys.exit(FAILED)
                print(printable(words, "\n\t"))
                sys.exit()
            code = answer(sys.argv[1:])
            if code == INTERRUPTED and threading.active_count() > 1:
                # A search that was asked to stop may take seconds more on large graphs. Python would wait.
                _forget_what_has_no_room()
                os._exit(code)
            sys.exit(code)
    except OSError as error:  # output that could not be written at the end
        complain(sentence(error))
        sys.exit(FAILED)
    finally:
        _forget_what_has_no_room()
        gc.freeze()  # the process ends: searching what is left for garbage would take a tenth of a short run
