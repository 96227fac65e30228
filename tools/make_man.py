"""Write the manual pages from the options the program has: ``python tools/make_man.py``."""

from __future__ import annotations

import re
from pathlib import Path

from hopbytes.cli.app import app, command_of
from hopbytes.cli.help_text import Page, page_of
from hopbytes.cli.verbs import EXIT_CODES, START, VERBS

FOLDER = Path(__file__).parents[1] / "docs/man"


def pages() -> dict[str, str]:
    """Return the text of all manual pages by their file names."""
    verbs = {f"hopbytes-{verb}.1": manual(page_of(command_of(verb))) for verb in VERBS}
    return {"hopbytes.1": overview(), **verbs}


def overview() -> str:
    """Return the page of the program: what it is for, where to start, its verbs."""
    lines = [title("hopbytes"), *name_lines("hopbytes", str(app.help))]
    lines += [".SH SYNOPSIS", ".B hopbytes", ".I VERB", "[OPTIONS]"]
    lines += [".SH DESCRIPTION", escaped(str(app.help)), "To begin:"]
    for purpose, command in START:
        lines += example(purpose, command)
    lines += [".SH VERBS"]
    for verb in VERBS:
        lines += tagged(f"hopbytes-{verb}(1)", VERBS[verb].summary)
    return "\n".join([*lines, *exit_codes()]) + "\n"


def manual(page: Page) -> str:
    """Return the page of one verb."""
    name = f"hopbytes-{page.name}"
    lines = [title(name), *name_lines(name, VERBS[page.name].summary)]
    program, verb, *words = page.usage.split()
    lines += [".SH SYNOPSIS", f".B {escaped(program)} {escaped(verb)}", escaped(" ".join(words))]
    lines += [".SH DESCRIPTION"]
    for number, paragraph in enumerate(page.paragraphs):
        lines += [*([".PP"] if number else []), escaped(paragraph)]
    for panel, entries in page.panels.items():
        lines.append(f".SH {escaped(panel.upper())}")
        for entry in entries:
            lines += tagged(entry.spelling, entry.text)
    lines.append(".SH EXAMPLES")
    for purpose, command in page.examples:
        lines += example(purpose, command)
    return "\n".join([*lines, *exit_codes(), ".SH SEE ALSO", ".BR hopbytes (1)"]) + "\n"


def title(name: str) -> str:
    """Return the first lines of a page."""
    made = '.\\" Made by python tools/make_man.py from the options themselves.'
    return f'{made}\n.TH {name.upper()} 1 "" hopbytes'


def name_lines(name: str, summary: str) -> list[str]:
    """Return the section that whatis(1) reads."""
    return [".SH NAME", f"{escaped(name)} \\- {escaped(summary.rstrip('.'))}"]


def tagged(name: str, text: str) -> list[str]:
    """Return a name and its meaning, indented."""
    return [".TP", f".B {escaped(name)}", escaped(text)]


def example(purpose: str, command: str) -> list[str]:
    """Return what a command does, and the command as it is typed."""
    return [".PP", escaped(purpose if purpose.endswith("?") else f"{purpose}:"), ".PP", ".RS 4", ".nf",
            escaped(command), ".fi", ".RE"]  # fmt: skip


def exit_codes() -> list[str]:
    """Return the section of exit codes."""
    return [".SH EXIT STATUS", *(line for code, text in EXIT_CODES for line in tagged(code, text))]


def escaped(text: str) -> str:
    """Return a text in which nothing is an order to roff, and dashes can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace('"', "\\(dq").replace("^", "\\(ha").replace("~", "\\(ti")
    text = re.sub(r"[^\x00-\x7f]", lambda sign: f"\\[u{ord(sign[0]):04X}]", text)
    return f"\\&{text}" if text.startswith(".") else text


def main() -> None:
    """Write all pages and remove those of verbs that are gone."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for old in FOLDER.glob("*.1"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
