"""Control characters in names: no file gives orders to a terminal or adds lines to another file."""

import re
import subprocess

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import PROGRAM
from hopbytes.errors import UnsupportedError
from hopbytes.model.mapping import Mapping

EVIL = "\x1b[2Jsw\x9b1m"
LEFT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def fabric(folder):
    """Two switches with an odd name, and two hosts each."""
    lines = []
    for switch in (1, 2):
        named = f'# "{EVIL}{switch}" base port 0 lid {switch} lmc 0'
        lines.append(f'switchguid=0x{switch}\nSwitch\t4 "S-{switch}"\t\t{named}')
        for port in (1, 2):
            host = 10 * switch + port
            lines.append(f'[{port}]\t"H-{host}"[1]({host})\t\t# "n{host} HCA-1" lid {host} 4xEDR')
        lines.append(f'[3]\t"S-{3 - switch}"[3]\t\t# "{EVIL}{3 - switch}" lid {3 - switch} 4xEDR\n')
    for switch in (1, 2):
        for port in (1, 2):
            host = 10 * switch + port
            lines.append(f'caguid=0x{host}\nCa\t1 "H-{host}"\t\t# "n{host} HCA-1"')
            named = f'# lid {host} lmc 0 "{EVIL}{switch}" lid {switch} 4xEDR'
            lines.append(f'[1]({host})\t"S-{switch}"[{port}]\t\t{named}\n')
    (folder / "ibnetdiscover.txt").write_text("\n".join(lines))


def test_names_of_switches_are_no_orders_to_a_terminal(tmp_path):
    fabric(tmp_path)
    spec = "ib:ibnetdiscover.txt:routes=shortest / core:2"
    for words in (
        ["show", spec],
        ["show", spec, "--route", "n11", "n21"],
        ["eval", "alltoall:8", "--on", spec, "--order", "block"],
        ["map", "alltoall:8", "--on", spec],
    ):
        done = subprocess.run([PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert not LEFT.search(done.stdout + done.stderr), words


def test_a_launched_file_adds_no_line_and_is_not_opened_for_a_stranger(tmp_path):
    mapping = Mapping(np.array([1, 0], np.int32), hb.machine("core:2"), {"problem": "processes"})
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
    mapping = hb.map_tasks(graph, hb.machine("node:2@10 core:1", hosts=["a", "b"]), preset="fast")
    hb.write_report(graph, mapping, tmp_path / "report.html")
    for text in ((tmp_path / "report.html").read_text(), graph._repr_html_(), mapping._repr_html_()):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
