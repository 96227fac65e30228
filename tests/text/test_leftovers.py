"""What a killed process left is removed by the next one; what a living one uses stays."""

import os
import subprocess
import sys

import pytest

import hopbytes as hb
from hopbytes.launch.start import shared_folder
from hopbytes.text.leftovers import name_of_process, remove_left

KILLED = """
import os, signal
from hopbytes.launch.start import shared_folder
with shared_folder() as folder:
    open(os.path.join(folder, "placement"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_start_removes_the_folder_of_a_killed_one(tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    (left,) = os.listdir(tmp_path)
    other = left.replace(left.split("-")[1], "0" * 8)  # of another computer
    os.mkdir(tmp_path / other)
    monkeypatch.chdir(tmp_path)
    with shared_folder() as own:
        assert sorted(os.listdir(tmp_path)) == sorted([other, os.path.basename(own)])
        remove_left(str(tmp_path), ".hopbytes-")
        assert os.path.isdir(own), "its process is this one"
    assert os.listdir(tmp_path) == [other]


def test_links_and_other_names_stay(tmp_path):
    (tmp_path / "there").mkdir()
    name = name_of_process("x-").replace(f"-{os.getpid()}-", "-4194999-")
    (tmp_path / name).symlink_to(tmp_path / "there")
    (tmp_path / f"{name}.txt.other").write_text("mine")
    remove_left(str(tmp_path), "x-", ".part")
    remove_left(str(tmp_path / "nowhere"), "x-")
    remove_left(str(tmp_path), "x-")
    assert (tmp_path / "there").is_dir()
    assert (tmp_path / name).is_symlink()


def test_of_processes_that_are_gone_files_and_folders_are_removed(tmp_path):
    own = name_of_process("x-", ".part")
    gone = own.replace(f"-{os.getpid()}-", "-4194999-")
    left, kept = [gone, gone.replace(".part", ".hosts.part")], [
        own, f"y{gone}", f"{gone}.txt", gone.removesuffix(".part"), gone.replace(".", f".{'h' * 16}."),
        gone.replace("-4194999-", "-9999999999-"), gone.replace("-4194999-", "-1-"),
    ]  # fmt: skip
    for name in (*left, *kept):
        (tmp_path / name).write_text("")
    os.mkdir(tmp_path / gone.replace(gone[-10:], "abcde.part"))
    remove_left(str(tmp_path), "x-", ".part")
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    assert len({name_of_process("x-") for _ in range(20)}) == 20


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "m.json"
    mapping = hb.map_tasks("stencil:2x2", "core:4", "fast")
    for _ in range(2):
        hb.write(mapping, path)
        os.chmod(path, mode)
    hb.write(mapping, path)
    assert os.stat(path).st_mode & 0o777 == mode
