"""Pictures of machines by ``hopbytes show -o``."""

import os
import subprocess

from helpers.paths import PROGRAM, hwloc_sample

NODE = hwloc_sample("v2_smt_gpus.xml")


def test_a_picture_needs_no_other_package(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError\n")
    shown = subprocess.run(
        [PROGRAM, "show", NODE, "--hosts", "a,b", "-o", "node.svg"], cwd=tmp_path, timeout=60,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", "node.svg written\n")
    text = (tmp_path / "node.svg").read_text()
    assert "2 x node a, b" in text
    assert "GPU 0 cuda0" in text


def test_a_picture_may_be_drawn_again(hopbytes, tmp_path):
    for hosts in ("n[1-2]", "m[1-2]"):
        done = hopbytes("show", "node:2 core:4", "--hosts", hosts, "-o", "x.svg")
        assert (done.returncode, done.stderr) == (0, "x.svg written\n")
        assert f"node {hosts[0]}2<" in (tmp_path / "x.svg").read_text()


def test_only_machines_are_drawn(hopbytes, tmp_path):
    assert hopbytes("convert", "stencil:4x4", "app.pattern").returncode == 0
    for thing in ("app.pattern", "stencil:4x4"):
        done = hopbytes("show", thing, "-o", "x.svg")
        said = f"pictures are drawn of machines only, and {thing} is a pattern: name a machine such as"
        assert (done.returncode, done.stderr) == (1, f"hopbytes: {said} 'node:8 core:4'\n")
    assert not (tmp_path / "x.svg").exists()


def test_the_machine_of_a_mapping_is_drawn(hopbytes, tmp_path):
    on = ("--on", "node:2 core:8", "--hosts", "left,right")
    assert hopbytes("map", "stencil:4x4", *on, "-o", "m.json").returncode == 0
    assert hopbytes("show", "m.json", "-o", "x.svg").returncode == 0
    assert "node right<" in (tmp_path / "x.svg").read_text()
