"""The public names, and a user's script under the type checkers."""

import copy
import pickle
import subprocess
import sys

import pytest

import hopbytes as hb
from hopbytes.algorithms.base import mappers

SCRIPT = '''
import numpy as np

import hopbytes as hb

graph = hb.read_pattern("app.csv")
other = hb.CommGraph.from_metis([0, 1, 2], [1, 0])
where = hb.allocate("node:8@10 core:4@1")
mapping = hb.map_tasks(graph, where, hb.presets.strong(), seed=3)
again = hb.map_tasks(np.eye(4), "node:2 core:2", hb.mappers.Multisection(repetitions=2))
chain = hb.Chain(hb.mappers.Random(), (hb.refiners.Swap(),))
cost: int = mapping.comm_cost
notices: list[str] = mapping.info["notices"]
seconds: float = mapping.info["seconds"]["map"]
stored: hb.Mapping = hb.read_mapping("placed.json", where)
pattern: hb.CommGraph = hb.read("app.csv", holds="pattern")
evaluation = hb.evaluate(graph, stored)
gain: float = evaluation.relative_to("in_order")["comm_cost"]
cut: int = evaluation.edge_cut
made = hb.Mapping([0, 1, 2], where)
receipt = hb.write(made, "rankfile", format="openmpi")
print(cost, notices, seconds, gain, cut, receipt.paths, again.pe.sum(), chain, other.n)
'''
WRONG = '''
import hopbytes as hb

cost: str = hb.map_tasks("stencil:2x2", "core:4").comm_cost
hb.read_pattern("x").no_such_name
'''


def test_only_the_public_face_is_listed():
    assert dir(hb) == sorted(hb.__all__)
    for name in dir(hb):
        assert getattr(hb, name) is not None
    assert not {"Any", "TYPE_CHECKING", "annotations", "importlib"} & set(dir(hb))


@pytest.mark.slow
def test_a_script_under_mypy(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    config = tmp_path / "mypy.ini"  # whose libraries have types is no business of the script
    config.write_text("[mypy]\nfollow_imports = silent\n")
    command += ["--config-file", str(config)]
    right = subprocess.run([*command, "right.py"], cwd=tmp_path, capture_output=True, text=True)
    assert right.returncode == 0, right.stdout
    wrong = subprocess.run([*command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "2 errors" in wrong.stdout


def test_names_that_people_try():
    tried = {"map": "map_tasks", "save": "write", "compar": "compare", "CommGraf": "CommGraph"}
    for name, meant in tried.items():
        with pytest.raises(AttributeError, match=rf"'{name}'; did you mean {meant}\?"):
            getattr(hb, name)
    with pytest.raises(AttributeError, match=r"'frobnicate'$"):
        hb.frobnicate  # noqa: B018
    mapping = hb.Mapping([0, 1], hb.allocate("core:2"))
    for name, meant in (("J", "comm_cost"), ("save", "hopbytes.write")):
        with pytest.raises(AttributeError, match=f"did you mean {meant}"):
            getattr(mapping, name)
    assert not hasattr(mapping, "frobnicate")
    again = pickle.loads(pickle.dumps(mapping))
    assert again.pe.tolist() == copy.copy(mapping).pe.tolist() == [0, 1]


def test_what_is_registered_can_be_listed():
    assert "multisection" in list(hb.mappers)
    assert "swap" in list(hb.refiners)
    assert {"fast", "eco", "strong"} < set(hb.presets)
    for name in hb.mappers:
        assert name in mappers


def test_a_text_is_a_machine_wherever_its_reader_is_imported_from():
    """Programs of MPI import a module inside the package and no public name before."""
    words = "from hopbytes.model.allocation import Allocation; print(Allocation.of('node:2 core:4').k)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert done.stdout == "8\n", done.stderr
