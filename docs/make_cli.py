"""Write docs/cli.md from the options the program has: ``python docs/make_cli.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.main

from hopbytes.cli import app

PAGE = Path(__file__).with_name("cli.md")

HEAD = """\
# The command line

Made by `python docs/make_cli.py` from the options themselves; a test checks that it is current.

Nouns come in a fixed order (PATTERN, then MAPPING), the machine comes by `--on`. An option means the same
in every verb. `-` is standard input or output. Data goes to standard output, everything said to people
to standard error.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | an error of the input, one line `hopbytes: …` on standard error |
| 2 | the command line itself is wrong |
| 130 | interrupted by Ctrl-C; nothing is half-written |
| 141 | whoever read the output has closed it |
"""


def page() -> str:
    """Return the whole page."""
    root: Any = typer.main.get_command(app)
    verbs = [(name, root.get_command(None, name)) for name in root.list_commands(None)]
    return "\n".join([HEAD, *(section(name, verb) for name, verb in verbs)])


def section(name: str, verb: Any) -> str:
    """Return one verb: what it does, its arguments, its options in their groups."""
    arguments = [p for p in verb.params if p.param_type_name == "argument"]
    options = [p for p in verb.params if p.param_type_name == "option"]
    words = " ".join(p.metavar or p.name.upper() for p in arguments)
    lines = [f"## hopbytes {name} {words}".rstrip(), "", *paragraphs(verb.help), ""]
    lines += [f"- `{p.metavar}`: {sentence(p)}" for p in arguments]
    groups: dict[str, list[Any]] = {}
    for option in options:
        groups.setdefault(getattr(option, "rich_help_panel", None) or "Options", []).append(option)
    for group, members in groups.items():
        lines += ["", f"| {group} | |", "|---|---|"]
        lines += [f"| `{spelling(p)}` | {sentence(p)} |" for p in members]
    return "\n".join(lines) + "\n"


def paragraphs(text: str) -> list[str]:
    """Return a docstring's paragraphs, each on one line."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).split("\n")


def spelling(option: Any) -> str:
    """Return how an option is typed: ``-o, --output FILE``; with its opposite where it has one."""
    ways = [spelt for spelt in (option.opts, option.secondary_opts) if spelt]
    names = " / ".join(", ".join(sorted(spelt, key=len)) for spelt in ways)
    return f"{names} {option.metavar}" if option.metavar else names


def sentence(parameter: Any) -> str:
    """Return the help text with the default, safe inside a table."""
    text = " ".join((parameter.help or "").split()).replace("|", "\\|").replace("\\[", "[")
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
