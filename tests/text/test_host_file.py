"""Host files as launchers and resource managers read and write them."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from helpers.errors import mentions
from helpers.real_mpi import RUN_AS_ROOT, mpi
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.local import this_node
from hopbytes.machines.node.job import JobInfo
from hopbytes.text.hostlist import read_slots

#: Content, and the slots of every host: Open MPI 4 and PRRTE (hostfile_lex.l), Hydra, MVAPICH and others.
FILES = {
    "named once": ("n1\nn2\n", {"n1": None, "n2": None}),
    "slots": ("n1 slots=4\nn2 slots = 2\n", {"n1": 4, "n2": 2}),
    "capitals": ("n1 Slots=4\nn2 SLOTS=2\n", {"n1": 4, "n2": 2}),
    "other words of Open MPI": ("n1 cpu=4\nn2 count=2\n", {"n1": 4, "n2": 2}),
    "a bound alone is the number": ("n1 max_slots=4\nn2 slots=2 max-slots=8\n", {"n1": 4, "n2": 2}),
    "some without": ("n1 slots=4\nn2\n", {"n1": 4, "n2": None}),
    "users": ("me@n1 slots=2\nother@n2.site.org\n", {"n1": 2, "n2.site.org": None}),
    "user and port as words": ("n1 slots=2 user_name=me port=22\n", {"n1": 2}),
    "comments": ("# mine\n\n  // too\nn1 slots=2 # slots=9\n", {"n1": 2}),
    "repeated lines add": ("n1 slots=2\nn2:1\nn1 slots=2\n", {"n1": 4, "n2": 1}),
    "a line for every slot (PBS, LSF)": ("n2\nn2\nn1\n", {"n2": 2, "n1": 1}),
    "Hydra": ("n1:2\nn2:4 binding=user:0,1\n", {"n1": 2, "n2": 4}),
    "MVAPICH with an adapter": ("n1:2:mlx5_0\nn2:2:mlx5_1\n", {"n1": 2, "n2": 2}),
    "brackets": ("n[1-2] slots=4\n", {"n1": 4, "n2": 4}),
    "Grid Engine": ("n1 4 all.q@n1 UNDEFINED\nn2 2 all.q <NULL>\n", {"n1": 4, "n2": 2}),
    "hosts left out": ("n1\nn2\n^n2\n", {"n1": None}),
    "no slot": ("n1 slots=0\nn2 slots=2\n", {"n1": 0, "n2": 2}),
    "an address": ("10.0.0.1 slots=2\n", {"10.0.0.1": 2}),
}


@pytest.mark.parametrize("what", FILES)
def test_slots_of_a_host_file(tmp_path, what):
    content, slots = FILES[what]
    path = tmp_path / "hosts"
    path.write_text(content)
    assert read_slots(str(path)) == (tuple(slots), tuple(slots.values()))


def test_relative_hosts_of_open_mpi(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("+n1 slots=2\n+n0\n")
    assert read_slots(str(path), lambda: ("a", "b")) == (("b", "a"), (2, None))
    with pytest.raises(FormatError, match=mentions("hosts:1", "+n1", "1", "expected")):
        read_slots(str(path), lambda: ("a",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("n1 cores=4\n", "hosts:1 cores=4"), ("n1\nn2 slots=two\n", "hosts:2 slots=two"),
        ("n1 slots=2 cpu=3\n", "hosts:1 slots=2"), ("n1:2 slots=3\n", "hosts:1 n1:2"),
        ("n1 4\n", "hosts:1 HOST:N"), ("rank 0=n1 slot=1\n", "hosts:1 rankfile"), ("+e:2\n", "hosts:1 +e:2"),
        ("n1 slots=-1\n", "hosts:1 slots=-1"), ("# nobody\n", "hosts no host"),
        ("^n1\nn1\n", "hosts no host"),
        ("n;1\n", "hosts:1 n;1"), ("a@b@n1\n", "hosts:1 a@b@n1"),
    ],
)  # fmt: skip
def test_faults_by_line(tmp_path, content, words):
    path = tmp_path / "hosts"
    path.write_text(content)
    with pytest.raises(FormatError) as caught:
        read_slots(str(path))
    assert all(word in str(caught.value) for word in words.split())
    assert "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FormatError, match="expected a file of hosts"):
        read_slots(str(tmp_path / "absent"))
    (tmp_path / "long").write_bytes(b"x" * 70000)
    with pytest.raises(FormatError, match="long:1: 65536 characters"):
        read_slots(str(tmp_path / "long"))


@pytest.mark.launcher
@pytest.mark.parametrize(
    "content",
    [
        "localhost\n", "localhost\nlocalhost\n", "localhost slots = 3\n", "localhost max_slots=3\n",
        "me@localhost cpu=4 # slots=9\n", "// one\nlocalhost count=2 max-slots=5\n",
    ],
)  # fmt: skip
def test_open_mpi_counts_the_same_slots(tmp_path, content):
    launch, _ = mpi("openmpi 5")
    path = tmp_path / "hosts"
    path.write_text(content)
    words = [launch[0], "--hostfile", str(path), "--display", "allocation", "-n", "1", "true"]
    own = os.environ | RUN_AS_ROOT
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=own)
    shown = re.findall(r"slots=(\d+) max_slots", done.stdout + done.stderr)
    assert shown, done.stderr
    hosts, slots = read_slots(str(path))
    job = JobInfo("host file", hosts, None, slots)
    cores = int(this_node().cores[-1]) + 1
    assert int(shown[0]) == (job.with_cores([cores]).tasks or (cores,))[0]
