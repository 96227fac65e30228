"""A launcher that starts nothing, LD_PRELOAD in a user's command, and the command after a recording."""

import os
import shlex
from collections import Counter

import pytest

import hopbytes as hb
from helpers.graphs import arcs_of
from helpers.paths import executable, file_with
from hopbytes.errors import FormatError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.installed import silent_end
from hopbytes.machines.node.job import READERS
from hopbytes.patterns.collective_messages import KINDS, ROOTED, expand
from hopbytes.record.application import Application, explain_two_libraries
from hopbytes.record.counts import Counts, counted, read_counts, witnessed
from hopbytes.record.interposer import with_preloaded
from hopbytes.record.session import _lost, hosts_of, next_step, reason, record, target_of

SAYS = {
    "mpirun": "mpirun (Open MPI) 5.0.3", "mpirun4": "mpirun (Open MPI) 4.1.4",
    "mpiexec": "HYDRA build details:", "mpiexec.pals": "PALS version 1.2.12", "srun": "slurm", "flux": "flux",
    "mpirun_rsh": "rsh",
}  # fmt: skip
NOTHING = "no rank wrote anything, expected a file per rank"


@pytest.fixture(autouse=True)
def launchers(tmp_path, monkeypatch):
    """Programs that only say who they are."""
    for name, text in SAYS.items():
        executable(tmp_path / name, f"#!/bin/sh\necho '{text}'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("LD_PRELOAD", *(sign for sign, _ in READERS)):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("family", "counting", "crashed"),
    [("openmpi", False, True), ("openmpi", True, False), ("mpich", False, False)],
)
def test_a_segmentation_fault_may_be_that_of_the_monitoring(tmp_path, family, counting, crashed):
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun", "-n", "16", "./halo"])
    program = Application("./halo", family, linked=True)
    said = reason(str(folder), command, program, NOTHING, 139, counting)
    assert ("Open MPI's monitoring crashes" in said) == crashed


def counts_of(folder, *lines):
    """Write what the interposer counted in each rank, given by its lines."""
    members = " ".join(map(str, range(len(lines))))
    for own, line in enumerate(lines):
        text = f"rank {own} {len(lines)}\nhost a\ngroup 0 {members}\n{line}\nend\n"
        file_with(folder / f"rank.{own}.txt", f"hopbytes recording 1\n{text}")
    return str(folder)


@pytest.mark.parametrize(("model", "expected"), [("ring", {(0, 1): 7, (1, 0): 5}), ("ignore", {(0, 1): 7})])
def test_messages_inside_collectives_belong_to_them(tmp_path, model, expected):
    """Those that the library sent for a collective are counted where collectives are."""
    folder = counts_of(tmp_path, "sent 0 0 1 7 1", "direct 0 0 0 5 1")
    assert arcs_of(read_counts(folder, model)[0]) == expected


@pytest.mark.parametrize("model", ["pairs", "ring", "binomial"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_collectives_become_messages_by_a_model(tmp_path, kind, model):
    same = kind in ("bcast", "allreduce", "scan", "alltoall", "reduce")
    root, sizes = 2 if kind in ROOTED else 0, [8] * 4 if same else [4, 8, 12, 16]
    sizes = [0] * 4 if kind == "barrier" else sizes
    folder = counts_of(tmp_path, *(f"call 0 0 {kind} {root} {size} 1" for size in sizes))
    expected = Counter()
    for message in expand(kind, model, sizes, root):
        expected[message.source, message.target] += message.volume
    assert arcs_of(read_counts(folder, model)[0]) == {pair: sent for pair, sent in expected.items() if sent}


def test_what_ranks_wrote_is_summed_by_phase_and_communicator(tmp_path):
    lines = [
        "mpi MPICH 4\nmpi device ch4\nsent 0 0 1 7 1\n"
        "sent 2 0 1 5 2\ngroup 1 1 0\nsent 0 1 1 40 3\nseconds 2.5\n"
        "split_type 1\nspawned 0\ncomponent pml ucx\nlibrary libucc.so.1",
        "mpi MPICH 4\ngot 0 0 0 9 1\ncall 3 0 bcast 0 8 1\n"
        "seconds 1.5\noutside 4\ncomponent pml ob1\nshared 1\n"
        "component pml ucx\nlibrary libnccl.so.2\nlibrary libucc.so.1\nend\nsent 2 0 0 1 1",
    ]
    folder = counts_of(tmp_path, *lines)
    graph, counts = read_counts(folder, "ignore")
    assert arcs_of(graph) == {(0, 1): 7 + 5 + 40 + 9, (1, 0): 1}
    assert sorted(graph.messages.tolist()) == [1, 7]
    assert (counts.n, counts.hosts, counts.mpi, counts.seconds) == (2, ["a", "a"], "MPICH 4, device ch4", 2.5)
    assert (counts.split_types, counts.spawned, counts.outside, counts.shared_windows, counts.cut) == (
        1,
        0,
        4,
        1,
        0,
    )
    assert counts.components == {"pml": ["ob1", "ucx"]}
    assert counts.libraries == ["libnccl.so.2", "libucc.so.1"]
    assert counts.phases == {0: 56, 2: 6, 3: 0}
    assert counts.groups == {(0, 1): 22, (1, 0): 40}
    assert arcs_of(read_counts(folder, "ignore", 2)[0]) == {(0, 1): 5, (1, 0): 1}
    facts = counted(counts, "ignore", per_communicator=True)
    assert facts["phases"] == {"0": 56, "2": 6}
    assert facts["communicators"] == [{"ranks": [0, 1], "bytes": 22}, {"ranks": [1, 0], "bytes": 40}]
    said = " ".join(facts["notices"])
    assert all(
        word in said for word in ("MPI_Comm_split_type", "memory is shared", "4 messages", "NCCL", "1 coll")
    )
    assert "UCC" not in said
    assert "communicators" not in counted(counts, "ring", per_communicator=False)
    assert "collective calls" not in " ".join(counted(counts, "ring", per_communicator=False)["notices"])
    assert "UCC was in use" in " ".join(witnessed(counts)["notices"])
    counts.spawned, counts.cut = 1, 1
    said = " ".join(counted(counts, "ring", per_communicator=False)["notices"])
    assert "processes were started" in said
    assert "1 of 2 ranks" in said
    assert "4 messages" not in said
    assert counted(counts, "ring", per_communicator=False)["cut"] == 1


def test_libraries_that_settings_enable_are_said(monkeypatch):
    monkeypatch.setenv("OMPI_MCA_coll_hcoll_enable", "1")
    monkeypatch.setenv("OMPI_MCA_coll_ucc_enable", "0")
    said = witnessed(Counts(n=1, libraries=["libsharp.so"]))["notices"]
    assert [text.partition(" ")[0] for text in said] == ["SHARP", "hcoll"]


@pytest.mark.parametrize(("line", "said"), [
    ("sent 0 9 1 7 1", ":5: group 9"), ("sent 0 0 x 7 1", ":5: "), ("call 0 0 dance 0 8 1", ":5: 'dance'"),
    ("rank 1 1", ":5: "), ("rank 0 2", ":5: "), ("fly 1", ":5: 'fly'"), ("split_type", ":5: an incomplete"),
    ("group 0 -1", ":5: "), ("sent 0 0 1", ":5: 'sent'"),
])  # fmt: skip
def test_a_malformed_line_of_a_recording_is_named(tmp_path, line, said):
    with pytest.raises(FormatError) as raised:
        read_counts(counts_of(tmp_path, line), "ring")
    assert said in str(raised.value)
    assert "rank.0.txt" in str(raised.value)


def test_a_recording_that_is_not_whole_is_refused(tmp_path):
    folder = counts_of(tmp_path, "cut", "seconds 1")
    (tmp_path / "rank.0.txt").write_text((tmp_path / "rank.0.txt").read_text().replace("end\n", ""))
    assert read_counts(folder, "ring")[1].cut == 1
    for old, new, said in (
        ("cut\n", "", "rank 0 never reached"),
        ("recording 1", "letter 1", ":1: 'hopbytes letter 1'"),
    ):
        text = (tmp_path / "rank.0.txt").read_text()
        (tmp_path / "rank.0.txt").write_text(text.replace(old, new))
        with pytest.raises(FormatError, match=said):
            read_counts(folder, "ring")
    (tmp_path / "rank.0.txt").unlink()
    with pytest.raises(FormatError, match="1 of 2 ranks are missing"):
        read_counts(folder, "ring")
    (tmp_path / "rank.1.txt").rename(tmp_path / "other.1.txt")
    with pytest.raises(FormatError, match="no rank wrote"):
        read_counts(folder, "ring")


#: A program that writes what the interposer of every rank would, as many ranks as -n says.
WRITES = """#!/bin/sh
head='hopbytes recording 1\\nrank %s 2\\nhost h%s\\nmpi Some MPI\\n'
for own in {ranks}; do
  to=$((1 - own))
  printf "$head"'group 0 0 1\\nsent 0 0 %s 50 5\\nsent 2 0 %s 6 1\\nend\\n' \\
    $own $own $to $to > "$HOPBYTES_RECORD_FOLDER/rank.$own.txt"
  printf 'g 0 0 0 1\\ns %s 7 0 56\\np %s 7 0 0\\nw %s 7 0 0\\nend 0\\n' $to $to $to \\
    > "$HOPBYTES_RECORD_FOLDER/order.$own.txt"
done
exit {code}
"""


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """Return what records such a program by a launcher that starts it once, with a stand-in compiler."""
    executable(tmp_path / "srun", '#!/bin/sh\nshift 2; exec "$@"\n')
    executable(
        tmp_path / "cc", '#!/bin/sh\n[ "$1" = -show ] && exec echo cc\nfor last; do :; done; : > "$last"\n'
    )
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def recorded(*, ranks="0 1", code=0, **options):
        executable(tmp_path / "app", WRITES.format(ranks=ranks, code=code))
        return record(["srun", "-n", "2", "./app"], compiler=str(tmp_path / "cc"), **options)

    return recorded


def test_a_recording_by_stand_ins(recorder, tmp_path):
    done = recorder(hosts=False)
    assert (done.code, done.problem, done.trace) == (0, "", "")
    assert arcs_of(done.graph) == {(0, 1): 56, (1, 0): 56}
    facts = done.graph.meta["recorded"]
    assert (facts["hosts"], facts["mpi"], facts["by"], facts["launcher"]) == (
        ["h0", "h1"],
        "Some MPI",
        "interposer",
        "Slurm",
    )
    assert facts["command"] == ["srun", "-n", "2", "./app"]
    assert 0 < facts["elapsed_seconds"] < 60
    assert done.graph.meta["name"] == "app"
    assert "notices" not in done.graph.meta
    assert [len(own) for own in done.order] == [7, 7]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".hopbytes")]
    assert recorder(waiting=False).order == ()
    assert arcs_of(recorder(phase=2).graph) == {(0, 1): 6, (1, 0): 6}
    phases = recorder(phase="all").graph.phases
    assert [(graph.name, graph.total_volume) for graph in phases] == [("phase 0", 100), ("phase 2", 12)]
    traced = recorder(trace=str(tmp_path / "trace"))
    assert traced.trace == str(tmp_path / "trace" / "trace0.txt")
    assert arcs_of(hb.read(traced.trace)) == {(0, 1): 56, (1, 0): 56}
    assert traced.trace in traced.graph.meta["notices"][0]
    few = recorder(trace=str(tmp_path / "few"), trace_steps=2)
    assert few.graph.m == 2
    assert few.trace  # the steps were fewer


def test_a_run_that_fails_or_lacks_ranks_is_told(recorder):
    failed = recorder(code=7)
    assert failed.code == 7
    assert any("ended with code 7" in notice for notice in failed.graph.meta["notices"])
    lost = recorder(ranks="0")
    assert lost.graph is None
    assert "not complete" in lost.problem
    nothing = recorder(ranks="", code=5)
    assert (nothing.graph, nothing.code) == (None, 5)
    assert "the program ended with code 5" in nothing.problem
    assert "./app is a script: the MPI of the first mpicc was assumed" in nothing.problem
    none = recorder(ranks="")
    assert "no rank wrote anything (./app is a script" in none.problem


@pytest.mark.parametrize(("hosts", "written", "said"), [
    ("abab", {0, 2}, "2 of 4 ranks missing (1, 3, on b): /f is not shared with b"),
    ("aabb", {0, 2}, "2 of 4 ranks missing (1, 3, on a, b): they never reached MPI_Finalize"),
    ("a" * 10, {0}, "9 of 10 ranks missing (1, 2, 3, 4, 5, 6, 7, 8, …, on a): they never"),
    ("a" * 9, {0}, "8 of 9 ranks missing (1, 2, 3, 4, 5, 6, 7, 8, on a): they never"),
    ("ab", {0, 1}, ""), ("", {0}, ""),
])  # fmt: skip
def test_missing_ranks_and_their_hosts(hosts, written, said):
    assert _lost(written, list(hosts), "/f").startswith(said)
    assert bool(_lost(written, list(hosts), "/f")) == bool(said)


@pytest.mark.parametrize(("output", "cut", "exists", "target"), [
    ("a.pattern", 0, True, "a.pattern"), ("a.pattern", 2, False, "a.pattern"),
    ("a.pattern", 2, True, "a.cut.pattern"),
    ("-", 2, True, "-"), ("b", 1, True, "b.cut"),
])  # fmt: skip
def test_a_run_that_was_cut_replaces_no_recording(tmp_path, monkeypatch, output, cut, exists, target):
    monkeypatch.chdir(tmp_path)
    if exists:
        (tmp_path / output).write_text("")
    graph = hb.CommGraph.from_edges([0], [1], meta={"recorded": {"cut": cut} if cut else {}})
    assert target_of(output, graph) == target


def test_the_hosts_of_a_launch_are_asked_for_by_a_probe(tmp_path, monkeypatch):
    executable(tmp_path / "srun", "#!/bin/sh\nfor r in $RANKS; do echo hopbytes-rank $r h$r 0 - .; done\n")
    command = LaunchCommand.parse(["srun", "-n", "2", "./app"])
    for ranks, hosts in (("1 0", ["h0", "h1"]), ("1 2", []), ("", [])):
        monkeypatch.setenv("RANKS", ranks)
        assert hosts_of(command) == hosts
    several = LaunchCommand.parse(["mpirun", "-n", "1", "./a", ":", "./b"], several=True)
    assert hosts_of(several) == []


@pytest.mark.parametrize("words", ["mpirun -n 16 ./halo", "srun -n 16 ./halo", "mpirun4 -n 16 ./halo"])
@pytest.mark.parametrize("counting", [True, False])
def test_a_launcher_that_refuses_is_named(tmp_path, words, counting):
    """Nothing about recordings and interposers: the launcher has said what is wrong."""
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(words.split())
    program = Application("./halo", "openmpi", True)
    said = reason(str(folder), command, program, NOTHING, 1, counting)
    assert said.startswith(f"{words.split()[0]} did not start the program (code 1), see its message above")
    assert "interposer" not in said
    (folder / "rank.0.txt").write_text("")  # a rank was started
    assert "did not start" not in reason(str(folder), command, program, NOTHING, 1, counting)


def test_other_codes_are_those_of_the_program(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun", "-n", "2", "./halo"])
    program = Application("./halo", "openmpi", True)
    assert "the program ended with code 3" in reason(str(folder), command, program, NOTHING, 3, True)


def test_a_rank_file_with_cores_that_hosts_lack_is_named_where_mpirun_says_nothing(tmp_path):
    """Open MPI 4 ends with code 1 and no message; 5 and 6 explain it."""
    four, five = (LaunchCommand.parse([name, "./halo"]).launcher for name in ("mpirun4", "mpirun"))
    assert "a core that its host does not have" in silent_end(four, ["mpirun4", "-rf", "f"], 1)
    assert silent_end(five, ["mpirun", "-rf", "f"], 1) == ""
    assert silent_end(four, ["mpirun4", "-n", "2"], 1) == silent_end(four, ["mpirun4", "-rf", "f"], 3) == ""
    folder = tmp_path / "empty"
    folder.mkdir()
    command = LaunchCommand.parse(["mpirun4", "-rf", "f", "./halo"])
    said = reason(str(folder), command, Application("./halo", "openmpi", True), NOTHING, 1, False)
    assert "if it printed no message: Open MPI 4 ends without a message" in said


@pytest.mark.parametrize(("typed", "joined"), [
    ("mpirun -x LD_PRELOAD=/u.so -n 2 ./a", "mpirun -x LD_PRELOAD=/i.so:/u.so -n 2 ./a"),
    ("mpirun -x LD_PRELOAD -n 2 ./a", "mpirun -x LD_PRELOAD=/i.so -n 2 ./a"),
    ("mpirun --mca mca_base_env_list A=1;LD_PRELOAD=/u.so ./a",
     "mpirun --mca mca_base_env_list A=1;LD_PRELOAD=/i.so:/u.so ./a"),
    ("mpiexec -genv LD_PRELOAD /u.so -n 2 ./a", "mpiexec -genv LD_PRELOAD /i.so:/u.so -n 2 ./a"),
    ("mpiexec -genv LD_PRELOAD=/u.so -n 2 ./a", "mpiexec -genv LD_PRELOAD=/i.so:/u.so -n 2 ./a"),
    ("mpiexec -n 1 -env LD_PRELOAD /u.so ./a : -n 1 ./b",
     "mpiexec -n 1 -env LD_PRELOAD /i.so:/u.so ./a : -n 1 ./b"),
    ("mpiexec.pals --env LD_PRELOAD=/u.so ./a", "mpiexec.pals --env LD_PRELOAD=/i.so:/u.so ./a"),
    ("flux run --env=LD_PRELOAD=/u.so ./a", "flux run --env=LD_PRELOAD=/i.so:/u.so ./a"),
    ("srun --export=ALL,LD_PRELOAD=/u.so,B=1 ./a", "srun --export=ALL,LD_PRELOAD=/i.so:/u.so,B=1 ./a"),
    ("mpirun_rsh -np 2 LD_PRELOAD=/u.so ./a", "mpirun_rsh -np 2 LD_PRELOAD=/i.so:/u.so ./a"),
    ("env LD_PRELOAD=/u.so srun ./a", "env LD_PRELOAD=/i.so:/u.so srun ./a"),
    ("mpirun -n 2 env A=1 LD_PRELOAD=/u.so ./a LD_PRELOAD=x",
     "mpirun -n 2 env A=1 LD_PRELOAD=/i.so:/u.so ./a LD_PRELOAD=x"),
    ("mpirun -x MY_LD_PRELOAD=/u.so ./a", "mpirun -x MY_LD_PRELOAD=/u.so ./a"),
])  # fmt: skip
def test_libraries_of_the_user_are_loaded_beside_the_interposer(typed, joined):
    command = LaunchCommand.parse(shlex.split(typed.replace(";", "\\;")), several=":" in typed.split())
    assert shlex.join(with_preloaded(command, "/i.so").words()) == shlex.join(joined.split())


def test_a_name_alone_takes_the_value_of_the_environment(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/env.so")
    command = LaunchCommand.parse(["mpirun", "-x", "LD_PRELOAD", "./a"])
    assert with_preloaded(command, "/i.so").words()[2] == "LD_PRELOAD=/i.so:/env.so"


@pytest.mark.parametrize(("words", "theirs", "expected"), [
    ("mpirun -n 2 ./halo", "libmpi.so.12", "mpirun starts programs of Open MPI"),
    ("mpirun -n 2 ./halo", "libmpi.so.40", "expected the compiler of its MPI"),
    ("srun -n 2 ./halo", "libmpi.so.12", "expected the compiler of its MPI"),  # starts programs of any
])  # fmt: skip
def test_a_second_mpi_library_is_explained(tmp_path, words, theirs, expected):
    (tmp_path / "clash.").touch()  # of a rank that was killed while it wrote
    (tmp_path / "clash.0").write_text(f"/opt/theirs/{theirs}\n")
    said = explain_two_libraries(str(tmp_path), LaunchCommand.parse(words.split()), "")
    assert expected in said
    assert f"/opt/theirs/{theirs}" in said


HERE = os.uname().nodename


def recorded_on(*hosts):
    return hb.CommGraph.from_edges([0], [0], n=len(hosts), meta={"recorded": {"hosts": list(hosts)}})


def suggested(graph, *options):
    """Verb and machine of the last line, and the lines before it."""
    words = ["mpirun", *options, "-n", str(graph.n), "./app"]
    *before, last = next_step("a.pattern", words, graph, "openmpi")
    now, program, verb, pattern, on, machine = shlex.split(last)
    assert (now, program, pattern, on) == ("now:", "hopbytes", "a.pattern", "--on")
    return verb, machine, before


def test_more_processes_than_this_host_has_cores():
    cores = hb.allocate("local").k
    verb, machine, (why,) = suggested(recorded_on(*[HERE] * (cores * 8)))
    assert verb == "advise"
    assert f"{cores * 8} processes, but {cores} cores" in why
    assert hb.allocate(machine).k >= cores * 8
    verb, machine, before = suggested(recorded_on(*[HERE] * max(2, cores)))
    assert (verb, machine, before) == ("map", "local", []) or cores == 1


@pytest.mark.parametrize(
    ("hosts", "machine"),
    [(["far"], "node:1 core:1"), (["far"] * 4, "node:2 core:2"), (["far"] * 5, "node:3 core:2"),
     (["far"] * 10, "node:4 core:3"), (["far", "off", "off"], "node:2 core:2")],
)  # fmt: skip
def test_the_example_is_the_smallest_machine_of_as_many_nodes_as_cores_or_as_there_were(hosts, machine):
    verb, shown, (why,) = suggested(recorded_on(*hosts))
    assert (verb, shown) == ("advise", machine)
    assert "far is not in a job" in why


def test_slots_of_a_host_file_beyond_the_cores_found(tmp_path):
    cores = hb.allocate("local").k
    path = file_with(tmp_path / "hosts", "".join(f"n{node} slots={2 * cores}\n" for node in range(4)))
    graph = recorded_on(*[f"n{task // (2 * cores)}" for task in range(8 * cores)])
    verb, machine, before = suggested(graph, "--hostfile", str(path))
    assert (verb, machine, len(before)) == ("advise", f"node:4 core:{2 * cores}", 1)
    half = recorded_on(*["n0"] * 4 * cores)
    assert suggested(half, "--hostfile", str(path)) == ("map", f"job:{path}", [])
    (told,) = [notice for notice in hb.allocate(f"job:{path}").notices if "asks for" in notice]
    assert f"asks for {2 * cores} tasks on n0 and 3 more hosts, but {cores} slot" in told


def test_the_machine_of_the_next_step(tmp_path, monkeypatch):
    """Map for the hosts of the command, of the job, or for this computer if all ranks were here."""
    here, now = [HERE], "now: hopbytes map a.pattern --on"
    launch = ["mpirun", "-n", "1", "./app"]
    assert next_step("a.pattern", launch, recorded_on(*here)) == [f"{now} local"]
    (tmp_path / "my hosts").write_text("n1 slots=2\n")
    words = ["mpirun", "--hostfile", f"{tmp_path}/my hosts", "-n", "2", "./app"]
    quoted = shlex.quote(f"job:{tmp_path}/my hosts")
    assert next_step("b c", words, recorded_on("n1")) == [f"now: hopbytes map 'b c' --on {quoted}"]
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    assert next_step("a.pattern", launch, recorded_on(*here)) == [f"{now} job"]
    assert next_step("-", launch, recorded_on(*here)) == []


def test_hosts_of_no_job_and_files_that_cannot_be_read(tmp_path):
    verb, machine, (why,) = suggested(recorded_on("n1", "n1", "n2", "n2"))
    assert (verb, machine) == ("advise", "node:2 core:2")
    assert "n1 is not in a job that is known here" in why
    path = file_with(tmp_path / "hosts", "n1 cores=4\n")
    verb, machine, (why,) = suggested(recorded_on("n1", "n1", "n2", "n2"), "--hostfile", str(path))
    assert (verb, machine) == ("advise", "node:2 core:2")
    assert "hosts:1: 'n1 cores=4'" in why


def test_phases_are_told_where_the_program_named_any():
    assert "phases" not in counted(Counts(n=2, phases={0: 5}), "ring", per_communicator=False)
    facts = counted(Counts(n=2, phases={2: 7, 0: 5}), "ring", per_communicator=False)
    assert facts["phases"] == {"0": 5, "2": 7}
