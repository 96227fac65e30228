"""Launch lines typed into a shell: every word arrives as it was meant, whatever the files are called."""

import os
import shlex
import shutil
import string
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.model.mapping import Mapping

LAUNCHERS = (
    "mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh", "srun", "flux", "jsrun", "bsub", "kubectl",
)
RECORDER = """\
#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '%s\\0' "$SLURM_HOSTFILE" "$MPICH_RANK_REORDER_FILE"; } >"$RECORDED"
"""
MACHINES = {
    "fujitsu": "torus:2 / core:2",
    "jsrun": "node:2 core:2 pu:2",
}
LAUNCHED = sorted(
    name for name in formats if formats[name].holds == "mapping" and formats[name].capabilities.launcher
)
NAMES = ["a b", "-n", "$HOME", "`id`", "$(id)", "a'b", 'a"b', "a;b", "a&b", "*", "~", "#a", "!x", "a\\b",
         "{a,b}", "äß", "<x", "|x", "a=b", "%h", "--", "rank file.d"]  # fmt: skip
#: Everything a file name may hold; a slash makes folders, which the fixed names have.
CHARACTERS = string.punctuation.replace("/", "") + " aZ0äλ" + "\u3000\u202e\n\t\x1b"


def mapping_for(form):
    where = hb.allocate(MACHINES.get(form, "node:2@10 core:2@1"), hosts=("n1", "n2"))
    return Mapping(np.arange(4, dtype=np.int32), where, {"problem": "processes"})


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A folder whose programs write down how they were called."""
    folder = tmp_path_factory.mktemp("bin")
    for name in LAUNCHERS:
        (folder / name).write_text(RECORDER)
        (folder / name).chmod(0o755)
    return folder


def called(shell, launch, folder):
    """Words and file variables that a launcher gets when the line is typed."""
    recorded = shell / "recorded"
    env = {"PATH": f"{shell}:/usr/bin:/bin", "RECORDED": str(recorded), "HOME": "/nowhere"}
    done = subprocess.run(["sh", "-c", launch], env=env, cwd=folder, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return [os.fsdecode(word) for word in recorded.read_bytes().split(b"\0")][:-1]


def check(shell, folder, form, name):
    mapping = mapping_for(form)
    template = formats[form].write_mapping(mapping, {}).launch
    before = sorted(os.listdir(folder))
    forbidden_characters = formats[form].forbidden_characters + formats[form].forbidden_in_folders
    bad = [c for c in name if not c.isprintable() or c in forbidden_characters]
    if bad:
        with pytest.raises(UnsupportedError, match="in the name of a launch file"):
            hb.write(mapping, name, form)
        assert sorted(os.listdir(folder)) == before
        return
    receipt = hb.write(mapping, name, form)
    words = shlex.split(template)
    env = {}
    while "=" in words[0]:
        key, _, value = words.pop(0).partition("=")
        env[key] = value
    env = [env.get(key, "") for key in ("SLURM_HOSTFILE", "MPICH_RANK_REORDER_FILE")]
    path = f"./{name}" if name.startswith("-") else name
    assert called(shell, receipt.launch, folder) == [word.replace("{stem}", path) for word in [*words, *env]]
    for word in receipt.paths:
        assert os.path.isfile(os.path.join(folder, word))


@pytest.mark.parametrize("form", LAUNCHED)
def test_names_of_files_reach_the_launcher_as_they_are(shell, tmp_path, monkeypatch, form):
    (tmp_path / "my dir").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in [*NAMES, "my dir/rank file"]:
        check(shell, tmp_path, form, name)


def test_a_folder_that_a_launcher_would_cut_at_its_comma_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a,b").mkdir()
    monkeypatch.chdir(tmp_path / "a,b")
    with pytest.raises(UnsupportedError, match=mentions("a,b/ranks", "','")):
        hb.write(mapping_for("openmpi"), "ranks", "openmpi")
    assert os.listdir() == []
    assert hb.write(mapping_for("slurm"), "ranks", "slurm").paths == ("ranks",)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(LAUNCHED), st.text(CHARACTERS, min_size=1, max_size=12))
def test_any_name_reaches_the_launcher_or_is_refused(shell, tmp_path, form, name):
    if name in (".", "..", "-"):  # folders, and standard output
        return
    folder = tmp_path / "files"
    folder.mkdir()
    here = os.getcwd()
    os.chdir(folder)
    try:
        check(shell, folder, form, name)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)
