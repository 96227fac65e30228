"""What each leader of ``python -m hopbytes_laboratory.ptram`` does, with threads for processes."""

import json
import sys

import pytest

import hopbytes as hb
from helpers.together import together
from hopbytes_laboratory.ptram import __main__ as program

ON = "torus:2x3 / core:2@1"


def lead(monkeypatch, size, *arguments):
    """Return the exit codes of all leaders and what rank 0 was told to do."""
    monkeypatch.setattr(sys, "argv", ["ptram", *arguments])
    told = program._parse_arguments(0)
    return together(size, lambda comm: program._lead(comm, told)), told


@pytest.mark.parametrize("options", [(), ("--group", "2", "--threads", "2")])
def test_one_record_with_all_leaders(tmp_path, capsys, monkeypatch, options):
    found, serial = (
        tmp_path / "found.json",
        hb.map_tasks(hb.read("stencil:4x3"), ON, ["ptram", "ptram"], seed=2),
    )
    codes, _ = lead(monkeypatch, 3, "stencil:4x3", "--on", ON, "--seed", "2", "-o", str(found), *options)
    assert codes == [0, 0, 0]
    record = json.loads(capsys.readouterr().out)
    assert [(one["rank"], one["nodes"], one["routes"]) for one in record["leaders"]] == [
        (0, 2, 24), (1, 2, 24), (2, 2, 24),
    ]
    assert hb.read(found, where=hb.allocate(ON)).pe.tolist() == serial.pe.tolist()
    assert record["comm_cost"] == serial.info["comm_cost"]
    assert record["seconds"]["all"] >= record["seconds"]["map"] > 0
    assert lead(monkeypatch, 1, "stencil:4x3", "--on", ON, "--hosts", "0-2")[0] == [1]  # 12 tasks, 6 PEs


@pytest.mark.parametrize(("arguments", "size", "said"), [
    (("stencil:4", "--on", "torus:4", "--mapper", "ug"), 2, "mapper ug, refiner ptram: expected"),
    (("stencil:4", "--on", "torus:4", "--refine", "swap"), 2, "mapper ptram, refiner swap: expected ptram"),
    (("stencil:4", "--on", "torus:2"), 3, "3 leaders for 2 nodes"),
    (("stencil:4", "--on", "core:4"), 1, "links"), (("nowhere.csv", "--on", "torus:4"), 2, "nowhere.csv"),
    (("stencil:9", "--on", "torus:4"), 2, "9 processes"),
    (("stencil:4", "--on", "torus:4", "-o", "{folder}/no/found.json"), 2, "found.json"),
    (("stencil:4", "--on", "torus:4", "-o", "{folder}/found.json", "--format", "xml"), 2, "xml"),
])  # fmt: skip
def test_what_is_wrong_is_said_once(tmp_path, capsys, monkeypatch, arguments, size, said):
    arguments = [argument.format(folder=tmp_path) for argument in arguments]
    assert lead(monkeypatch, size, *arguments)[0] == [1] * size
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == err.count("hopbytes: ") == 1
    assert list(tmp_path.iterdir()) == []
