"""Pictures by ``hopbytes show -o`` and ``hopbytes eval -o``."""

import os
import subprocess
from xml.etree import ElementTree

import pytest

import hopbytes as hb
from helpers.paths import PROGRAM, hwloc_sample

NODE = hwloc_sample("v2_smt_gpus.xml")
ON = ("--on", "node:2@10 core:8@1", "--hosts", "left,right")


def test_a_picture_needs_no_other_package(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError\n")
    for command, name in (
        (("show", NODE, "--hosts", "a,b"), "node.svg"),
        (("eval", "stencil:4x4", "--order", "cyclic", "--on", "node:2 core:8"), "eval.svg"),
        (("show", "stencil:4x4"), "pattern.svg"),
    ):
        shown = subprocess.run(
            [PROGRAM, *command, "-o", name], cwd=tmp_path, timeout=60, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        )  # fmt: skip
        assert (shown.returncode, shown.stderr) == (0, f"{name} written\n")
        ElementTree.parse(tmp_path / name)
    text = (tmp_path / "node.svg").read_text()
    assert "2 x node a, b" in text
    assert "GPU 0 cuda0" in text
    for target in ("node.png", "node.pdf"):
        shown = subprocess.run(
            [PROGRAM, "show", NODE, "-o", target], cwd=tmp_path, timeout=60, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        )  # fmt: skip
        assert shown.returncode == 1
        form = target[-3:].upper()
        assert shown.stderr.startswith(f"hopbytes: pictures as {form} need matplotlib: pip install")
        assert shown.stderr.count("\n") == 1


def test_a_picture_may_be_drawn_again(hopbytes, tmp_path):
    for hosts in ("n[1-2]", "m[1-2]"):
        done = hopbytes("show", "node:2 core:4", "--hosts", hosts, "-o", "x.svg")
        assert (done.returncode, done.stderr) == (0, "x.svg written\n")
        assert f"node {hosts[0]}2<" in (tmp_path / "x.svg").read_text()


def test_patterns_are_drawn(hopbytes, tmp_path):
    hb.convert("stencil:4x4", tmp_path / "app.pattern")
    for thing in ("app.pattern", "stencil:4x4"):
        done = hopbytes("show", thing, "-o", "x.svg", "--force")
        assert (done.returncode, done.stderr) == (0, "x.svg written\n")
        assert "rank 0 to rank 1: " in (tmp_path / "x.svg").read_text()


@pytest.fixture
def mapping_files(tmp_path):
    """Write a mapping as m.json, with its machine, and as m.txt, without."""
    where = hb.machine("node:2@10 core:8@1", hosts="left,right")
    mapping = hb.map_tasks("stencil:4x4", where, mapper="identity")
    hb.write(mapping, tmp_path / "m.json")
    hb.write(mapping, tmp_path / "m.txt", "plain")


def test_mappings_are_drawn_with_their_ranks(hopbytes, tmp_path, mapping_files):
    assert hopbytes("show", "m.json", "-o", "x.svg").returncode == 0
    assert hopbytes("show", "m.txt", *ON, "-o", "y.svg").returncode == 0
    text = (tmp_path / "x.svg").read_text()
    assert text == (tmp_path / "y.svg").read_text()
    assert "node right<" in text
    assert all(f">{rank}</text>" in text for rank in range(16))


def test_evaluations_are_drawn_beside_their_table(hopbytes, tmp_path, mapping_files):
    plain = hopbytes("eval", "stencil:4x4", "m.json")
    done = hopbytes("eval", "stencil:4x4", "m.json", "-o", "x.svg")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert done.stderr.endswith("x.svg written\n")
    text = (tmp_path / "x.svg").read_text()
    assert all(words in text for words in ("before: ranks in order", "after: this mapping", "between nodes"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("show", "node:2", "-o", "no/x.svg"), "no/x.svg: cannot be written: the folder "),
        (("show", "node:2", "-o", "x.bmp"), "x.bmp: a picture is written as .svg, .png, .pdf"),
        (("show", "node:2", "-o", "."), ".: a picture is written as .svg, .png, .pdf"),
        (("show", "m.txt", "-o", "x.svg"), "m.txt is a mapping without its machine, expected --on"),
        (("show", "m.json", "--on", "node:3 core:8", "-o", "x.svg"), "m.json: was made for 16 slots"),
        (("show", "m.txt", "--on", "core:4", "-o", "x.svg"), "m.txt:"),
        (("show", "absent.txt", "--on", "core:4", "-o", "x.svg"), "absent.txt: no such file, expected a"),
        (("show", "strong", "-o", "x.svg"), ""),
        (("eval", "stencil:5x5", "m.json", "-o", "x.svg"), "m.json: a mapping of 16 tasks, expected 25"),
        (("eval", "stencil:4x4", "m.json", "-o", "no/x.svg"), "no/x.svg: cannot be written"),
        (("eval", "stencil:4x4", "m.json", "-o", "m.json"), "m.json: a picture is written as"),
    ],
)
def test_faults_are_one_line(hopbytes, tmp_path, mapping_files, command, said):
    done = hopbytes(*command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"hopbytes: {said}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x.svg").exists()


def test_a_folder_without_permission(hopbytes, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "closed").mkdir(mode=0o500)
    done = hopbytes("show", "node:2", "-o", "closed/x.svg")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no permission" in done.stderr


def test_options_that_do_not_belong_together(hopbytes):
    for more in (("--json", "-o", "x.svg"), ("--on", "core:2")):
        assert hopbytes("show", "node:2", *more).returncode == 2
