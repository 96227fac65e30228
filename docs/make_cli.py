"""Write docs/cli.md from the options the program has: ``python docs/make_cli.py``."""

from __future__ import annotations

from pathlib import Path

from hopbytes.cli.app import command_of
from hopbytes.cli.help_text import Page, page_of
from hopbytes.cli.verbs import EXIT_CODES, VERBS

PAGE = Path(__file__).with_name("cli.md")

#: What every verb has; the head of the page says it once.
ASKING = ("-h, --help", "--help-all")

HEAD = """\
# The command line

Made by `python docs/make_cli.py` from the options themselves; a test checks that it is current.

Nouns come in a fixed order (PATTERN, then MAPPING), the machine comes by `--on`. An option means the same
in every verb. `-` is standard input or output. Data goes to standard output, messages for people to
standard error. `--help` behind a verb prints the options people use first, `--help-all` all of them.
`hopbytes --completion bash` (or `zsh`, `fish`) prints a script that completes verbs, options and values: put
`eval "$(hopbytes --completion bash)"` into `~/.bashrc`.

| exit code | meaning |
|---|---|
"""


def page() -> str:
    """Return the whole page."""
    codes = [f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES]
    return "\n".join([HEAD + "".join(codes), *(section(page_of(command_of(verb))) for verb in VERBS)])


def section(verb: Page) -> str:
    """Return one verb: what it does, its arguments, its options in their groups, examples."""
    lines = [f"## hopbytes {verb.name}", "", f"`{verb.usage}`", ""]
    lines += [line for paragraph in verb.paragraphs for line in (plain(paragraph), "")]
    for name, entries in verb.panels.items():
        shown = [entry for entry in entries if entry.spelling not in ASKING]
        if shown:
            lines += [f"| {name} | |", "|---|---|"]
            lines += [f"| `{entry.spelling}` | {cell(entry.text)} |" for entry in shown] + [""]
    for purpose, command in verb.examples:
        lines += [purpose if purpose.endswith("?") else f"{purpose}:", "", f"    {command}", ""]
    return "\n".join(lines)


def plain(text: str) -> str:
    """Return a text in which nothing looks like a tag."""
    return text.replace("<", "&lt;")


def cell(text: str) -> str:
    """Return a text that is safe inside a table."""
    return plain(text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
