"""Verbs as commands of click, made from the annotations of their functions."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import types
import typing
import warnings
from typing import Any

import click

from hopbytes.cli import slips
from hopbytes.cli.declare import Declared
from hopbytes.cli.help_text import help_for_terminal
from hopbytes.cli.spread import spread_options

#: Types of click. A value of any other type is passed on as it was typed.
PLAIN: dict[Any, Any] = {int: click.INT, float: click.FLOAT, str: click.STRING, bool: click.BOOL}


class Verb(click.Command):
    """A command that loads NumPy before it runs and explains options that it does not have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options; an error names what was probably meant."""
        typed = list(args)
        try:
            slips.check(typed)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            names = {name for parameter in self.params for name in parameter.opts}
            slips.explain(error, typed, names)
            error.ctx = ctx
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the words that can follow, without former names of options."""
        declared = (parameter.declared for parameter in self.params)  # type: ignore[attr-defined]
        former = {name for each in declared for name in each.old}
        return [item for item in super().shell_complete(ctx, incomplete) if item.value not in former]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
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


def command_of(verb: str) -> Verb:
    """Return the command of a verb, whose function is ``verb_<name>.<name>`` with underscores for dashes."""
    name = verb.replace("-", "_")
    function = getattr(importlib.import_module(f"hopbytes.cli.verb_{name}"), name)
    spread = spread_options(function)
    parameters = [
        parameter_of(name, parameter.annotation, parameter.default)
        for name, parameter in inspect.signature(spread).parameters.items()
    ]
    # The width of the terminal, not the docstring, determines where lines end.
    text = "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))
    parameters += help_options()
    return Verb(verb, callback=spread, params=parameters, help=text, add_help_option=False)


def parameter_of(name: str, annotation: Any, default: Any) -> click.Parameter:
    """Return the option or argument of click for one parameter of a verb's function.

    Its attribute ``declared`` is the declaration from which it was made.
    """
    kind, declared = typing.get_args(annotation)[:2]
    assert isinstance(declared, Declared), f"{name}: not declared by option() or argument()"
    several, length, plain = _shape(kind)
    value_type = _value_type(plain, declared)
    required = default is inspect.Parameter.empty
    if not declared.names:
        optional = {} if required or several else {"default": default}
        found: click.Parameter = click.Argument(
            [name], type=value_type, required=required, nargs=-1 if several else 1, metavar=declared.metavar,
            **optional,
        )
    elif plain is bool:
        names = [*declared.names, *declared.old]
        found = click.Option([name, *names], is_flag=True, default=False if required else default)
    else:
        found = click.Option(
            [name, *declared.names, *declared.old], type=value_type, required=required, multiple=several,
            nargs=length, metavar=declared.metavar, hidden=declared.hidden,
            **({} if required else {"default": default}),
        )
    found.declared = declared  # type: ignore[attr-defined]
    if declared.values is not None:
        found._custom_shell_complete = _completer(declared.values)
    return found


def _completer(values: str) -> Any:
    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from hopbytes.cli.completion import candidates

        return candidates(values, incomplete)

    return complete


def _shape(kind: Any) -> tuple[bool, int, Any]:
    """Return whether a parameter may be repeated, how many words it takes each time, and of which type."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
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


def help_options() -> list[click.Parameter]:
    """Return ``--help`` and ``--help-all``."""

    def answer(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            # Bold headings contain control sequences, which must reach the terminal.
            sys.stdout.write(help_for_terminal(ctx.command, complete=parameter.name == "help_all") + "\n")
            ctx.exit()

    options: list[click.Parameter] = []
    for names, text in ((["help", "-h", "--help"], "Print this page and stop."),
                        (["help_all", "--help-all"], "Print every option and stop.")):  # fmt: skip
        option = click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=answer)
        option.declared = Declared(tuple(names[1:]), help=text)  # type: ignore[attr-defined]
        options.append(option)
    return options
