"""Control characters in names reach no terminal and add no lines to files: in results, notices and errors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES
from helpers.terminal import on_terminal
from hopbytes.errors import UnsupportedError, printable
from hopbytes.model.mapping import Mapping

#: Control characters but tab and line end, and marks that change the direction or the lines of a text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: Clears the window, changes its title, colours, goes back, an 8-bit control, and text that runs backwards.
EVIL = "\x1b[2J\x1b]0;owned\x07\x1b[31m\b\x9b31m\u202egp.exe"


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
    with on_terminal("eval", "stencil:2x4", "plain.txt", "--on", spec, folder=tmp_path, COLUMNS="200") as run:
        told = run.rest()
    assert run.process.returncode == 0
    assert b"leaf1\\x1b[2J" in told
    assert b"\x1b[2J" not in told
    assert b"\x07" not in told


def test_text_of_every_kind():
    assert printable("a\tb\nc é 木", "\n\t") == "a\tb\nc é 木"
    assert printable("\r\x00\x7f\x85\u2028") == "\\r\\x00\\x7f\\x85\\u2028"


def test_a_launched_file_adds_no_line_and_is_not_opened_for_a_stranger(tmp_path):
    mapping = Mapping(np.array([1, 0], np.int32), hb.allocate("core:2"), {"problem": "processes"})
    odd = tmp_path / "a\n7 b"
    odd.write_text("0\n1\n")
    with pytest.raises(UnsupportedError, match="file name that fits one line"):
        hb.write(mapping, tmp_path / "new", "newrank", launched=str(odd))
    started = tmp_path / "by rank"
    started.write_text("0\n1\n")
    hb.write(mapping, tmp_path / "new", "newrank", launched=str(started))
    with pytest.raises(UnsupportedError, match="expected `launched=FILE`"):
        hb.read(tmp_path / "new", "newrank", where=mapping.where)
    again = hb.read(tmp_path / "new", "newrank", where=mapping.where, launched=str(started))
    assert again.pe.tolist() == [1, 0]


def test_pages_and_tables_hold_no_control_characters(tmp_path):
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5], meta={"name": EVIL, "tasks": "processes"})
    mapping = hb.map_tasks(graph, hb.allocate("node:2@10 core:1", hosts=["a", "b"]), "fast")
    hb.write_report(graph, mapping, tmp_path / "report.html")
    for text in ((tmp_path / "report.html").read_text(), graph._repr_html_(), mapping._repr_html_()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
