"""Control characters and escape sequences of files reach no terminal: in results, notices and errors."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

import hopbytes
from helpers.paths import EXAMPLES, PROGRAM
from hopbytes.errors import printable

#: Control characters but tab and line end, and marks that change the direction or the lines of a text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: Clears the window, changes its title, colours, goes back, an 8-bit control, and text that runs backwards.
EVIL = "\x1b[2J\x1b]0;owned\x07\x1b[31m\b\x9b31m\u202egp.exe"
CLI = Path(hopbytes.__file__).parent / "cli"


def fabric(tmp_path):
    """The small fabric of the examples with a switch of that description."""
    text = (EXAMPLES / "fabric" / "ibnetdiscover.txt").read_text()
    for name in ("spine1", "leaf1"):
        text = text.replace(f'"{name}"', f'"{name}{EVIL}"')
    (tmp_path / "discovery.txt").write_text(text)
    tables = next(path for path in (EXAMPLES / "fabric").iterdir() if "Unicast" in path.read_text())
    (tmp_path / "tables.txt").write_text(tables.read_text())
    return f"ib:{tmp_path}"


def patterns(tmp_path):
    (tmp_path / "evil.csv").write_text(f"0,1\n{EVIL},0\n")
    (tmp_path / f"p{EVIL.replace('/', '')}.graph").write_text("2 1\n2\n1\n")


def check(text):
    assert not UNPRINTABLE.search(text), UNPRINTABLE.search(text)


@pytest.mark.parametrize("arguments", [
    ["show", "{fabric}", "--route", "n1", "n8"], ["show", "{fabric}"],
    ["eval", "stencil:2x4", "plain.txt", "--on", "{fabric}"],
    ["map", "stencil:2x4", "--on", "{fabric}", "-o", "x.json", "--format", "json"],
    ["show", "evil.csv"], ["map", "evil.csv", "--on", "node:2"], ["show", "{pattern}"],
    ["show", "{fabric}", "--hosts", "evil.csv"], ["show", "hwloc:evil.csv"],
])  # fmt: skip
def test_nothing_that_a_terminal_obeys_is_printed(tmp_path, hopbytes, arguments):
    spec = fabric(tmp_path)
    patterns(tmp_path)
    (tmp_path / "plain.txt").write_text("".join(f"{pe}\n" for pe in range(8)))
    pattern = next(path for path in tmp_path.iterdir() if path.suffix == ".graph")
    done = hopbytes(*(word.format(fabric=spec, pattern=pattern) for word in arguments))
    check(done.stdout)
    check(done.stderr)
    assert done.stdout or done.stderr


def test_a_route_shows_what_stands_in_the_file(tmp_path, hopbytes):
    spec = fabric(tmp_path)
    names = [f"n{i}" for i in range(2, 9)]
    told = "".join(hopbytes("show", spec, "--route", "n1", name).stdout for name in names)
    assert "spine1\\x1b[2J\\x1b]0;owned\\x07\\x1b[31m\\x08\\x9b31m\\u202egp.exe" in told
    facts = hopbytes("show", spec, "--json").stdout
    assert json.loads(facts)["thing"] == "machine"


def test_tables_on_a_terminal(tmp_path):
    """There tables are drawn with colours of our own; those of the file are not among them."""
    spec = fabric(tmp_path)
    (tmp_path / "plain.txt").write_text("".join(f"{pe}\n" for pe in range(8)))
    reading, writing = pty.openpty()
    command = [PROGRAM, "eval", "stencil:2x4", "plain.txt", "--on", spec]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(writing)
    told = b""
    while True:
        try:
            piece = os.read(reading, 65536)
        except OSError:  # the other side has closed
            break
        if not piece:
            break
        told += piece
    os.close(reading)
    assert child.wait(timeout=60) == 0
    assert b"leaf1\\x1b[2J" in told
    assert b"\x1b[2J" not in told
    assert b"\x07" not in told


def test_text_of_every_kind():
    assert printable("a\tb\nc é 木", "\n\t") == "a\tb\nc é 木"
    assert printable("\r\x00\x7f\x85\u2028") == "\\r\\x00\\x7f\\x85\\u2028"


def test_verbs_print_through_one_place():
    for path in CLI.glob("*.py"):
        calls = [
            node.lineno for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]  # fmt: skip
        assert not calls or path.name in ("output.py", "app.py"), f"{path.name}:{calls}: say() or tell()"
