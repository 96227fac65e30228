"""How a verb declares its options and arguments, and the command of click that is made of them.

``seed: Annotated[int, option("Seed of …", "N")]`` declares an option. A parameter whose type is a dataclass
stands for a group: each of its fields is an option. The command line, its help, shell completion, the manual
pages and ``docs/cli.md`` are all made from these declarations.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import sys
import types
import typing
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from click import BadParameter, UsageError
from click.exceptions import Exit

from hopbytes._frozen import frozen
from hopbytes.cli import slips

__all__ = ["BadParameter", "Declared", "Exit", "UsageError", "argument", "command", "option"]

#: Types of click. A value of any other type is passed on as it was typed.
PLAIN: dict[Any, Any] = {int: click.INT, float: click.FLOAT, str: click.STRING, bool: click.BOOL}


@frozen
class Declared:
    """An option or an argument."""

    help: str  # one or two sentences
    metavar: str | None = None  # the word for the value in help texts
    #: ``--output`` and ``-o``; ``--partition/--processes`` for a choice between two. Empty: an argument;
    #: None: the name of the parameter.
    names: tuple[str, ...] | None = None
    panel: str = "Options"  # heading under which help texts list it
    least: float | None = None  # smallest number that is accepted
    parser: Callable[[str], Any] | None = None  # turns the text into the value; raises BadParameter
    #: text about the default in help texts if the value itself, such as None, says nothing
    default: str | None = None
    rare: bool = False  # shown by ``--help-all`` only
    #: what shell completion offers, see :func:`hopbytes.cli.completion.candidates`; None: nothing.
    values: str | None = None

    @property
    def is_command(self) -> bool:
        """Whether it is the command to launch, which stands behind ``--``."""
        return (self.metavar or "").startswith("-- ")


option = Declared
argument = partial(Declared, names=())


class Verb(click.Command):
    """A command that loads NumPy before it runs and explains options that it does not have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options; an error names what was probably meant."""
        typed, behind = list(args), []
        declared: list[Any] = self.params
        words = next((str(item.name) for item in declared if item.declared.is_command), None)
        if words is not None and "--" in args:
            end = args.index("--")
            args, behind = args[:end], args[end + 1 :]
        try:
            slips.check(typed)
            left = super().parse_args(ctx, args)
        except click.UsageError as error:
            names = {name for parameter in self.params for name in parameter.opts}
            slips.explain(error, typed, names)
            error.ctx = ctx
            raise
        if words is not None:
            ctx.params[words] = [*(ctx.params[words] or ()), *behind]
        return left

    def invoke(self, ctx: click.Context) -> Any:
        load_numpy()
        from hopbytes.errors import HopbytesWarning

        with warnings.catch_warnings():  # verbs print notices themselves, with the names of options
            warnings.simplefilter("ignore", HopbytesWarning)
            return super().invoke(ctx)


def load_numpy() -> None:
    """Import NumPy without a thread per core for linear algebra, because the few matrices here are small."""
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        return
    os.environ[name] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[name]  # the programs that a verb starts must not inherit it


def command(verb: str, function: Callable[..., None]) -> Verb:
    """Return the command of a verb, which calls a function with what was typed."""
    groups: dict[str, type[Any]] = {}
    parameters: list[click.Parameter] = []
    # typing.get_type_hints of Python 3.10 wraps the types of parameters with the default None in Optional.
    hints = inspect.get_annotations(function, eval_str=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            fields = typing.get_type_hints(kind, include_extras=True)
            parameters += [_parameter(f.name, fields[f.name], f.default) for f in dataclasses.fields(kind)]
        else:
            parameters.append(_parameter(name, kind, parameter.default))

    def with_groups(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in dataclasses.fields(kind)})
        function(**values)

    # The width of the terminal, not the docstring, determines where lines end.
    text = "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))
    return Verb(
        verb, callback=with_groups, params=parameters + _help_options(), help=text, add_help_option=False
    )


def _parameter(name: str, annotation: Any, default: Any) -> click.Parameter:
    """Return the option or argument of click; its attribute ``declared`` is its declaration."""
    kind, declared = typing.get_args(annotation)[:2]
    assert isinstance(declared, Declared), f"{name}: not declared by option() or argument()"
    if declared.names is None:
        declared = dataclasses.replace(declared, names=(f"--{name.replace('_', '-')}",))
    several, length, plain = _shape(kind)
    required = default is inspect.Parameter.empty or default is dataclasses.MISSING
    settings: dict[str, Any] = {"type": _value_type(plain, declared), "metavar": declared.metavar}
    if not required and (declared.names or not several):
        settings["default"] = default
    made: Any
    if not declared.names:
        made = click.Argument([name], required=required, nargs=-1 if several else 1, **settings)
    elif plain is bool:
        made = click.Option([name, *declared.names], is_flag=True, default=False if required else default)
    else:
        names = [name, *declared.names]
        made = click.Option(names, required=required, multiple=several, nargs=length, **settings)
    made.declared = declared
    if declared.values is not None:
        made._custom_shell_complete = _completer(declared.values)
    parameter: click.Parameter = made
    return parameter


def _completer(values: str) -> Any:
    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from hopbytes.cli.completion import candidates

        return candidates(values, incomplete)

    return complete


def _shape(kind: Any) -> tuple[bool, int, Any]:
    """Return whether a parameter may be repeated, how many words it takes each time, and of which type."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    if typing.get_origin(kind) is list:
        return True, 1, typing.get_args(kind)[0]
    if typing.get_origin(kind) is tuple:
        words = typing.get_args(kind)
        return False, len(words), words[0]
    return False, 1, kind


def _value_type(plain: Any, declared: Declared) -> Any:
    if declared.parser is not None:
        return click.types.FuncParamType(declared.parser)
    if declared.least is not None:
        return click.IntRange(min=int(declared.least)) if plain is int else click.FloatRange(declared.least)
    return PLAIN.get(plain, click.STRING)


def _help_options() -> list[click.Parameter]:
    def answer(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            from hopbytes.cli.help_text import help_for_terminal

            # Bold headings contain control sequences, which must reach the terminal.
            sys.stdout.write(help_for_terminal(ctx.command, complete=parameter.name == "help_all") + "\n")
            ctx.exit()

    options: list[click.Parameter] = []
    for names, text in ((["help", "-h", "--help"], "Print this page and stop."),
                        (["help_all", "--help-all"], "Print every option and stop.")):  # fmt: skip
        made = click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=answer)
        made.declared = Declared(text, names=tuple(names[1:]))  # type: ignore[attr-defined]
        options.append(made)
    return options
