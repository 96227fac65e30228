"""Host lists and host files."""

import gzip
import io
import os
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import mentions, refused
from helpers.paths import file_with
from helpers.real_mpi import RUN_AS_ROOT, mpi
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.local import this_node
from hopbytes.machines.node.job import JobInfo
from hopbytes.text import hostlist, open_input
from hopbytes.text.hostlist import expand_hosts, host_argument, is_table, read_hosts, read_slots


@pytest.mark.parametrize(("text", "hosts"), [
    ("a,b", ["a", "b"]),
    ("n[001-003,007]", ["n001", "n002", "n003", "n007"]),
    ("n[8-11]", ["n8", "n9", "n10", "n11"]),
    ("n[08-10]x", ["n08x", "n09x", "n10x"]),
    ("r[1-2]n[0-1],login", ["r1n0", "r1n1", "r2n0", "r2n1", "login"]),
    ("n[5]", ["n5"]),
    (" a , b ", ["a", "b"]),
    ("n1\nn2\nn3\n", ["n1", "n2", "n3"]),  # scontrol show hostnames
    ("n[1, 3]\r\nn5,,n6,", ["n1", "n3", "n5", "n6"]),
    ("a b", ["a", "b"]),
    ("node-1.site_x.org", ["node-1.site_x.org"]),
])  # fmt: skip
def test_lists(text, hosts):
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(("text", "words"), [
    ("n[1-2", "open bracket"),
    ("n1-2]", "brackets that do not match in 'n1-2]'"),
    ("n[[1]]", "do not match"),
    ("n[]", "'' in brackets"),
    ("n[a-b]", "'a-b' in brackets"),
    ("n[3-1]", "'3-1' in brackets"),
    ("n[1-99999999999]", "more than 1048576 hosts"),
    ("a[1-2000]b[1-2000]", "more than 1048576 hosts"),
    ("n[1-999999999999999999999]", "in brackets"),
    ("a,b,,a", "host 'a' twice"),
    ("", "without a host name"),
    (" ,", "without a host name"),
    ("$(rm)", "host name '$(rm)'"),
    ("a;b", "host name 'a;b'"),
    ("é", "host name"),
    ("x" * 300, "host name 'xxx"),
    ("a/b", "no such file"),
])  # fmt: skip
def test_faulty_lists(text, words):
    with refused(FormatError, words):
        read_hosts(text)


def test_files(tmp_path, monkeypatch):
    text = "# my nodes\nme@n1 slots=4\n\nn2:8:mlx5_0\nn[3-4]  # two\nn1 slots=4\n"
    file = file_with(tmp_path / "hosts", text)
    assert read_hosts(str(file)) == ("n1", "n2", "n3", "n4")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert read_hosts("-") == ("n1", "n2", "n3", "n4")
    file.write_bytes(b"\xef\xbb\xbfn1\nn2\n")  # as editors of Windows write it
    assert read_hosts(str(file)) == ("n1", "n2")
    file.write_text("n1\nn2 n3\nbad!name\n")
    with pytest.raises(FormatError, match=mentions("hosts:3", "'bad!name'")):
        read_hosts(str(file))
    file.write_text("n1 me@n2 n[3-4]\nn5 2 all.q@n5 UNDEFINED\nn6 slots=2 max_slots=4\nn7 16\n")
    assert read_hosts(str(file)) == tuple(f"n{number}" for number in range(1, 8))
    file.write_text("// mine\nn1 // the first\n")
    assert read_hosts(str(file)) == ("n1",)
    for text, what in {"n1\nrank 0=n1 slot=0\n": "rankfile", "n1\n::1\n": "IPv6"}.items():
        file.write_text(text)
        with pytest.raises(FormatError, match=mentions("hosts:2", what)):
            read_hosts(str(file))
    file.write_text("# nobody\n")
    with pytest.raises(FormatError, match="without a host name"):
        read_hosts(str(file))
    file.write_bytes(b"\xff" * 70000)
    with pytest.raises(FormatError, match="characters or more"):
        read_hosts(str(file))


def test_sequences():
    assert read_hosts(["b", "a[1-2]"]) == ("b", "a1", "a2")
    with pytest.raises(FormatError, match="without a host name"):
        read_hosts([])


@given(st.text(alphabet="ab[]-,0129 .é/\n", max_size=20))
def test_any_text_gives_names_or_an_error_of_ours(text):
    try:
        hosts = expand_hosts(text)
    except FormatError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are fine, no raise is required
    else:
        assert hosts
        assert all(not set(host) & set("[], \n/") for host in hosts)


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
    "a line for every slot beside a number": ("n1\nn1\nn2 slots=3\nn3\n", {"n1": 2, "n2": 3, "n3": 1}),
    "a number after lines": ("n1\nn1 slots=3\nn2\n", {"n1": 4, "n2": None}),
    "the longest number": ("n1 slots=123456789\n", {"n1": 123456789}),
    "left out before and after": ("^n2\nn2\nn1:3\n^n3:2\n", {"n1": 3}),
    "no slot": ("n1 slots=0\nn2 slots=2\n", {"n1": 0, "n2": 2}),
    "an address": ("10.0.0.1 slots=2\n", {"10.0.0.1": 2}),
}


@pytest.mark.parametrize("what", FILES)
def test_slots_of_a_host_file(tmp_path, what):
    content, slots = FILES[what]
    path = file_with(tmp_path / "hosts", content)
    assert read_slots(str(path)) == (tuple(slots), tuple(slots.values()))


def test_relative_hosts_of_open_mpi(tmp_path):
    path = file_with(tmp_path / "hosts", "+n1 slots=2\n+N0 slots=3\n+n2\n")
    assert read_slots(str(path), lambda: ("a", "b", "c")) == (("b", "a", "c"), (2, 3, None))
    with pytest.raises(FormatError, match=mentions("hosts:1", "+n1", "1", "expected")):
        read_slots(str(path), lambda: ("a",))


@pytest.mark.parametrize(("content", "words"), [
    ("n1 cores=4\n", "hosts:1 cores=4"), ("n1\nn2 slots=two\n", "hosts:2 slots=two"),
    ("n1 slots=2 cpu=3\n", "hosts:1 slots=2"), ("n1:2 slots=3\n", "hosts:1 n1:2"),
    ("n1 4\n", "hosts:1 HOST:N"), ("rank 0=n1 slot=1\n", "hosts:1 rankfile"), ("+e:2\n", "hosts:1 +e:2"),
    ("n1 slots=-1\n", "hosts:1 slots=-1"), ("n1 slots=1234567890\n", "hosts:1 slots="),
    ("n1 max_slots=x slots=2\n", "hosts:1 max_slots=x"), ("n1\nRank 0=n1\n", "hosts:2 rankfile"),
    ("n1 slots=2 4\n", "hosts:1 slots=2 4"), ("n1 4 n2 4\n", "hosts:1 n1 4 n2"),
    ("n1:2 cpu=2\n", "hosts:1 n1:2 HOST:N"),
    ("# nobody\n", "hosts a file without a host"),
    ("^n1\nn1\n", "hosts a file without a host"),
    ("n1\nfe80::1 slots=4\n", "hosts:2 fe80::1 IPv6"), ("me@2001:db8::5\n", "hosts:1 2001:db8::5 IPv6"),
    ("n;1\n", "hosts:1 n;1"), ("a@b@n1\n", "hosts:1 a@b@n1"),
])  # fmt: skip
def test_faults_by_line(tmp_path, content, words):
    path = file_with(tmp_path / "hosts", content)
    with pytest.raises(FormatError) as caught:
        read_slots(str(path))
    assert all(word in str(caught.value) for word in words.split())
    assert "\n" not in str(caught.value)


def test_the_most_hosts_and_the_longest_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(hostlist, "MAX_HOSTS", 4)
    monkeypatch.setattr(hostlist, "MAX_LINE", 8)
    for most, more in (("n[1-4]", "n[1-5]"), ("n[1,2,3-4]", "n[1,2,3-5]"), ("a,n[1-3]", "a,n[1-4]"),
                       ("a[1-2]b[1-2]", "a[1-3]b[1-2]")):  # fmt: skip
        assert len(expand_hosts(most)) == 4
        with refused(FormatError, "more than 4 hosts"):
            expand_hosts(more)
    path = file_with(tmp_path / "hosts", "a\nb\nc\nd-long\n")
    for read in (read_hosts, lambda name: read_slots(name)[0]):
        path.write_text("a\nb\nc\nd-long\n")
        assert read(str(path)) == ("a", "b", "c", "d-long")
        for text, words in (("a\nb\nc\nd\ne\n", "5: more than 4 hosts"), ("a\nb-longer\n", "2: a line of 8")):
            path.write_text(text)
            with refused(FormatError, words):
                read(str(path))
    path.write_text("\n" * 255 + "a")
    assert read_hosts(str(path)) == ("a",)
    path.write_text("\n" * 256 + "a")
    with refused(FormatError, "hosts:257: too many lines"):
        read_hosts(str(path))


def test_tables_of_hosts(tmp_path):
    path = file_with(tmp_path / "hosts", "# mine\n Node ,x,y\na ,1,2\n\nb,0,0 # two\na,3,3\n")
    assert read_hosts(str(path)) == ("a", "b")
    assert is_table("HostName,x")
    assert not any(map(is_table, ("node", "n1,n2", "", "x,node")))
    path.write_text("n1\nnode,x\n")  # no head, but names
    assert read_hosts(str(path)) == ("n1", "node", "x")


def test_files_that_are_none(tmp_path):
    with pytest.raises(FormatError, match="absent: cannot be read"):
        read_slots(str(tmp_path / "absent"))
    (tmp_path / "long").write_bytes(b"x" * 70000)
    with pytest.raises(FormatError, match="long:1: a line of 65536 characters"):
        read_slots(str(tmp_path / "long"))


@pytest.mark.launcher
@pytest.mark.parametrize("content", [
    "localhost\n", "localhost\nlocalhost\n", "localhost slots = 3\n", "localhost max_slots=3\n",
    "me@localhost cpu=4 # slots=9\n", "// one\nlocalhost count=2 max-slots=5\n",
])  # fmt: skip
def test_open_mpi_counts_the_same_slots(tmp_path, content):
    launch, _ = mpi("openmpi 5")
    path = file_with(tmp_path / "hosts", content)
    words = [launch[0], "--hostfile", str(path), "--display", "allocation", "-n", "1", "true"]
    own = os.environ | RUN_AS_ROOT
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=own)
    shown = re.findall(r"slots=(\d+) max_slots", done.stdout + done.stderr)
    assert shown, done.stderr
    hosts, slots = read_slots(str(path))
    job = JobInfo("host file", hosts, None, slots)
    cores = int(this_node().cores[-1]) + 1
    assert int(shown[0]) == (job.with_cores([cores]).tasks or (cores,))[0]


@pytest.mark.parametrize(("hosts", "word"), [
    (["n008", "n009", "n010"], "'n[008-010]'"),
    (["n8", "n9", "n10"], "'n[8-9],n10'"),  # brackets keep the number of digits
    (["n3", "n2", "n1"], "n3,n2,n1"),
    (["a1.x", "a2.x", "a3.y", "b", "a4.y"], "'a[1-2].x,a3.y,b,a4.y'"),
])  # fmt: skip
def test_hosts_that_are_too_long_for_an_argument_are_folded(monkeypatch, hosts, word):
    assert host_argument(hosts) == ",".join(hosts)
    monkeypatch.setattr(hostlist, "LONGEST_ARGUMENT", 5)
    assert host_argument(hosts) == word


@given(st.lists(st.from_regex("[a-c]{0,2}0?[0-9]{1,2}[x.]?", fullmatch=True), min_size=1, max_size=30))
def test_folded_hosts_are_the_same_hosts_in_the_same_order(names):
    hosts = [f"n{name}" for name in [*sorted(names), *names]]
    assert expand_hosts(hostlist._folded(hosts)) == hosts


def slots(path):
    return read_slots(path)[0]


@pytest.mark.parametrize("reader", [read_hosts, slots])
def test_files_of_hosts_are_opened_as_all_other_files(tmp_path, reader):
    """UTF-16 is named, compressed files and pipes are read, and nothing waits for a pipe without a writer."""
    text = "n1\nn2\n"
    with pytest.raises(FormatError, match=mentions("wide", "UTF-16", "iconv")):
        reader(str(file_with(tmp_path / "wide", text.encode("utf-16"))))
    assert reader(str(file_with(tmp_path / "hosts.gz", gzip.compress(text.encode())))) == ("n1", "n2")
    with subprocess.Popen(["printf", text], stdout=subprocess.PIPE) as program:  # <(scontrol show hostnames)
        assert reader(f"/dev/fd/{program.stdout.fileno()}") == ("n1", "n2")
    with pytest.raises(FormatError, match=mentions("/dev/zero", "device")):
        reader("/dev/zero")
    with pytest.raises(FormatError, match=mentions(str(tmp_path), "directory")):
        reader(str(tmp_path))


def test_waiting_for_a_writer_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(open_input, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    for reader in (read_hosts, slots):
        with pytest.raises(FormatError, match=mentions("pipe", "no process writes")):
            reader(str(tmp_path / "pipe"))
