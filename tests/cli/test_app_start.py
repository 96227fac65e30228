"""Starting the program is cheap: help imports nothing heavy. Modules are counted, not seconds."""

import importlib
import json
import os
import subprocess
import sys

import pytest

from helpers.paths import EXAMPLES

LOADED = """
import json, sys
from hopbytes.cli import main
sys.argv = ["hopbytes", *{arguments!r}]
try:
    main()
except SystemExit as stop:
    print("\\n" + json.dumps([stop.code, sorted(sys.modules)]))
"""


def modules_after(*arguments):
    """Return the modules loaded by one run of the program."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


BLAS = "OPENBLAS_NUM_THREADS"
HEAVY = {"numpy", "scipy", "kaminpar", "hopbytes._core", "matplotlib", "multiprocessing"}


@pytest.mark.parametrize("arguments", [("--help",), ("show", "--help")])
def test_help_imports_nothing_heavy(arguments):
    modules = modules_after(*arguments)
    assert not modules & HEAVY
    ours = {name for name in modules if name.startswith("hopbytes")}
    others = {name for name in ours if not name.startswith("hopbytes.cli")}
    light = {"_frozen", "errors", "text", "text.columns", "util", "util.version"}
    light |= {"model", "model.given_as_text"}
    assert others == {"hopbytes", *(f"hopbytes.{name}" for name in light)}


def test_little_is_imported_before_ctrl_c_is_handled():
    code = "import sys; before = {*sys.modules}; import hopbytes.cli; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"click", "enum", "re", "signal", "typing"}.isdisjoint(done.stdout.split())


def test_import_of_the_package_loads_next_to_nothing():
    code = "import sys, hopbytes; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "hopbytes" in modules
    own = [name for name in modules if name.startswith("hopbytes.")]
    loaded = ("util", "util.version", "model", "model.given_as_text")
    assert own == [f"hopbytes.{name}" for name in loaded]
    assert (HEAVY | {"typing"}).isdisjoint(modules)


def test_a_partition_of_a_plain_tree_loads_nothing_for_networks_or_reports(tmp_path):
    graph = tmp_path / "ring.graph"
    graph.write_text("40 40\n" + "".join(f"{(i - 1) % 40 + 1} {(i + 1) % 40 + 1}\n" for i in range(40)))
    machine = ("--hierarchy", "2:2", "--distance", "1:10", "--partition", "--preset", "fast")
    written = ("-o", str(tmp_path / "placement"), "--format", "plain", "--quiet")
    modules = modules_after("map", str(graph), *machine, *written)
    unused = {
        "numpy.ma", "hopbytes.algorithms.two_level", "hopbytes.cost.message_time",
        "hopbytes.cost.metrics.evaluation", "hopbytes.solve.rails",
        "hopbytes.patterns.ml", "hopbytes.algorithms.multisection.scheduling", "subprocess",
        "hopbytes.formats.patterns.tables", "hopbytes.formats.mappings.several_programs",
        "hopbytes.machines.node.job",
    }  # fmt: skip
    assert not modules & unused
    assert "hopbytes.algorithms.mappers.multisection" in modules


def test_the_verdict_of_map_loads_nothing_for_simgrid(tmp_path):
    words = (str(EXAMPLES / "halo_96.pattern"), "--on", "node:8@10 core:12@1", "--preset", "fast")
    modules = modules_after("map", *words, "-o", str(tmp_path / "placed.json"))
    assert "hopbytes.simulation.simulate" in modules
    unused = {"scipy", "hopbytes.simulation.simgrid"}
    assert not modules & unused


@pytest.mark.parametrize("said", [None, "3"])
def test_only_the_loading_of_numpy_sees_one_thread(said, monkeypatch):
    from hopbytes.cli.declare import load_numpy

    seen = []
    monkeypatch.delenv(BLAS, raising=False)
    if said:
        monkeypatch.setenv(BLAS, said)
    monkeypatch.setattr(importlib, "import_module", lambda name: seen.append((name, os.environ[BLAS])))
    load_numpy()
    assert os.environ.get(BLAS) == said
    assert seen == ([] if said else [("numpy", "1")])


def test_the_small_example_needs_no_scipy():
    """SciPy takes longer to import than the example takes to map; only formats that need it may load it."""
    machine = "node:8@10 package:2@3 core:4@1"
    modules = modules_after("map", str(EXAMPLES / "lammps_lj_64.csv"), "--on", machine, "--quiet")
    heavy = {"scipy", "kaminpar", "matplotlib", "multiprocessing"}
    assert not modules & heavy
    assert "hopbytes.solve.map_tasks" in modules
