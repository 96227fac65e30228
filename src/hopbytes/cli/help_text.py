"""Help texts: one description per verb, from which --help, its manual page and docs/cli.md are made."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from hopbytes.cli import colour
from hopbytes.cli.verbs import START, VERBS
from hopbytes.text.columns import entry_lines, width

#: Headings in the order in which they appear.
PANELS = (
    "Arguments", "Options", "Machine", "Problem", "Method", "Simulation", "Launching", "Input", "Output",
)
#: The options of the program itself.
OPTIONS = (
    ("-h, --help", "Print this page; after a verb, the page of the verb."),
    ("--help-all", "After a verb: print all of its options."),
    ("--completion SHELL", "Print a script by which bash, zsh or fish completes words."),
    ("--version", "Print the version."),
)
#: Widths of the column of names: of options, and of verbs.
NAMES, VERB_NAMES = 26, 22


@dataclass
class Entry:
    """The syntax and meaning of an argument or option."""

    spelling: str
    text: str
    rare: bool = False


@dataclass
class Page:
    """The description of a verb."""

    name: str
    usage: str
    paragraphs: list[str]
    panels: dict[str, list[Entry]]
    examples: tuple[tuple[str, str], ...]


def page_of(command: Any) -> Page:
    """Return the description of a command made by :func:`hopbytes.cli.app.command_of`."""
    panels: dict[str, list[Entry]] = {}
    for parameter in command.params:
        declared = parameter.declared
        panel = declared.panel if declared.names else "Arguments"
        panels.setdefault(panel, []).append(Entry(spelling(parameter), sentence(parameter), declared.rare))
    ordered = {name: panels[name] for name in sorted(panels, key=PANELS.index)}
    paragraphs = (command.help or "").split("\n\n")
    return Page(command.name, usage(command), paragraphs, ordered, VERBS[command.name].examples)


def usage(command: Any) -> str:
    """Return the usage of a command; the words behind ``--`` come last."""
    words: list[str] = []
    last: list[str] = []
    for parameter in command.params:
        declared = parameter.declared
        if not declared.names:
            (last if declared.is_command else words).append(declared.metavar or "")
        elif parameter.required:
            words.append(f"{declared.names[0]} {declared.metavar}")
    return " ".join(["hopbytes", command.name, *words, "[OPTIONS]", *last])


def spelling(parameter: Any) -> str:
    """Return the syntax of a parameter: ``-o, --output FILE``."""
    declared = parameter.declared
    if not declared.names:
        return str(declared.metavar or parameter.name.upper())
    names = ", ".join(sorted(declared.names, key=len)).replace("/", " / ")
    return f"{names} {declared.metavar}" if declared.metavar else names


def sentence(parameter: Any) -> str:
    """Return the meaning of a parameter and its default."""
    declared = parameter.declared
    default = declared.default
    if default is None and declared.names and not parameter.required:
        value = parameter.default
        if isinstance(value, (int, float, str)) and not isinstance(value, bool) and value != "":
            default = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{declared.help} [default: {default}]" if default is not None else str(declared.help)


def help_for_terminal(command: Any, *, complete: bool = False) -> str:
    """Return the help text of a command; rarely needed options are included only if it is `complete`."""
    return terminal_text(page_of(command), width(), complete=complete, bold=colour.wanted(sys.stdout))


def terminal_text(page: Page, columns: int, *, complete: bool, bold: bool = False) -> str:
    """Return a description as text for a terminal."""
    head = heading("Usage", bold)
    lines = textwrap.wrap(f"{head} {page.usage}", columns, subsequent_indent="         ")
    for paragraph in page.paragraphs:
        lines += ["", *textwrap.wrap(paragraph, columns)]
    left_out = 0
    for name, entries in page.panels.items():
        shown = [entry for entry in entries if complete or not entry.rare]
        left_out += len(entries) - len(shown)
        if shown:
            lines += ["", heading(name, bold)]
            for entry in shown:
                lines += entry_lines(entry.spelling, entry.text, columns, NAMES)
    if page.examples:
        lines += ["", heading("Examples", bold)]
        for text, command in page.examples:
            text += "" if text.endswith("?") else ":"
            lines += textwrap.wrap(text, columns, initial_indent="  ", subsequent_indent="  ")
            lines += [f"    {command}"]
    if left_out:
        lines += ["", f"{left_out} more options: hopbytes {page.name} --help-all"]
    return "\n".join(lines)


def heading(text: str, bold: bool) -> str:
    """Return the heading of a block."""
    return f"\x1b[1m{text}:\x1b[0m" if bold else f"{text}:"


def overview(program: Any) -> str:
    """Return the purpose of the program, the first commands, and the verbs in the order of use."""
    columns, bold = width(), colour.wanted(sys.stdout)
    lines = [f"{heading('Usage', bold)} hopbytes VERB [OPTIONS]", "", *textwrap.wrap(program.help, columns)]
    lines += ["", heading("Start here", bold)]
    for text, command in START:
        lines += [f"  {text}:", f"    {command}"]
    lines += ["", heading("Verbs", bold)]
    for verb, described in VERBS.items():
        lines += entry_lines(verb, described.summary, columns, VERB_NAMES)
    lines += ["", heading("Options", bold)]
    for option, text in OPTIONS:
        lines += entry_lines(option, text, columns, VERB_NAMES)
    return "\n".join(lines)
