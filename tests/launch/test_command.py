"""A user's launch command: taken apart, refused where it clashes, put together with a placement in it."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.paths import HWLOC_SAMPLES, executable
from helpers.placements import place
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.launch import launch as launching
from hopbytes.launch.command import LaunchCommand, compilers_of
from hopbytes.launch.installed import KINDS, recognise
from hopbytes.launch.launch import Outcome
from hopbytes.launch.observed import Seen, Verdict, _tail, compare, mapping_by_node, mapping_seen, seen_in
from hopbytes.launch.start import (
    checked_command,
    launch_files,
    machine_of_command,
    parsed,
    prepare_start,
    run_through,
    with_programs_of,
)

FOUR = place("node:2@10 core:2@1", [3, 0, 1, 2], hosts=("a", "b"))
TWO = place("node:2@10 core:2@1", [3, 0], hosts=("a", "b"))
SAYS = {
    "mpirun": "mpirun (Open MPI) 5.0.3",
    "mpirun4": "mpirun (Open MPI) 4.1.4",
    "mpiexec": "HYDRA build details:\n    Version: 4.0.2",
    "mpiexec.intel": "Intel(R) MPI Library for Linux* OS, Version 2021.15",
    "mpiexec.pals": "PALS version 1.2.12",
    "srun": "slurm 22.05",
    "flux": "commands: 0.60",
    "odd": "odd 1.0",
}


@pytest.fixture(autouse=True)
def launchers(tmp_path, monkeypatch):
    """Programs that only say who they are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in SAYS.items():
        executable(folder / name, f"#!/bin/sh\ncat <<'EOT'\n{text}\nEOT\n")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "form", "count", "program"), [
    ("mpirun -n 4 -x A=b --mca btl self,vader ./app -n 9", "openmpi", 4, ["./app", "-n", "9"]),
    ("mpirun --np 4 --hostfile h ./app --map-by x", "openmpi", 4, ["./app", "--map-by", "x"]),
    ("mpiexec -np 8 -genv A b ./app", "hydra", 8, ["./app"]),
    ("mpiexec.intel -n 2 -genv A=b ./app", "intel", 2, ["./app"]),
    ("mpiexec.pals -n 2 --env A=b ./app", "pals", 2, ["./app"]),
    ("srun -n4 -N 2 --mem=3G --exclusive ./app", "slurm", 4, ["./app"]),
    ("srun --ntasks=4 -l -- ./app -x", "slurm", 4, ["./app", "-x"]),
    ("srun ./app", "slurm", None, ["./app"]),
    ("flux run -N 2 -n 4 ./app", "flux", 4, ["./app"]),
    ("mpirun", "openmpi", None, []),
])  # fmt: skip
def test_commands_are_taken_apart(words, form, count, program):
    command = LaunchCommand.parse(words.split())
    assert command.launcher.form == form
    assert command.count == count
    assert list(command.program) == program
    assert command.words() == [word for word in words.split() if word != "--"]


@pytest.mark.parametrize(("words", "clashing"), [
    ("mpirun -n 4 --map-by core ./app", "--map-by"),
    ("mpirun -n 4 -bind-to core -rf f ./app", "-bind-to, -rf"),
    ("mpirun -n 4 --mca rmaps_base_mapping_policy core ./app", "--mca"),
    ("srun -n 4 -m cyclic ./app", "-m"),
    ("srun -n 4 --distribution=cyclic -wn[1-2] ./app", "--distribution=cyclic, -wn[1-2]"),
    ("srun -n 4 -c8 ./app", "-c8"),
    ("srun -n 4 --tres-per-task cpu=2 ./app", "--tres-per-task"),
    ("mpiexec -n 4 -rankmap (user,1,0) ./app", "-rankmap"),
    ("mpiexec -n 4 -f hosts -ppn 2 ./app", "-f, -ppn"),
    ("flux run -n 4 -o cpu-affinity=per-task ./app", "-o"),
    ("flux run -n4 -ocpu-affinity=off -c2 ./app", "-ocpu-affinity=off, -c2"),
    ("flux run -n 4 --setopt=gpu-affinity=off ./app", "--setopt=gpu-affinity=off"),
    ("flux run -n 4 -c 2 -o verbose ./app", "-c"),
    ("mpiexec.pals -n 4 --ppn=2 ./app", "--ppn=2"),
])  # fmt: skip
def test_options_that_place_ranks_are_refused_or_replaced(words, clashing):
    with refused(UnsupportedError, f": {clashing} also say", "`replace=True`"):
        checked_command(words.split(), 4)
    kept = checked_command(words.split(), 4, replace=True)
    assert not kept.placing()
    assert kept.program == ("./app",)


@pytest.mark.parametrize(("words", "message"), [
    ("", "no command, expected a launcher"),
    ("missing -n 4 ./app", "missing: not installed or not in PATH"),
    ("odd -n 4 ./app", "odd: not a known launcher, expected one of Open MPI"),
    ("flux start", "flux: expected flux run"),
    ("mpirun -n 2 ./a : -n 2 ./b", "mpirun: : starts several programs"),
    ("srun --multi-prog conf", "srun: --multi-prog starts several programs"),
    ("srun -n 2 ./a : -n 2 ./b", "`hopbytes map FILE.programs --format slurm` writes"),
    ("mpirun -n 5 ./app", "mpirun starts 5 ranks, expected 4"),
])  # fmt: skip
def test_commands_that_cannot_be_used(words, message):
    with refused((UnsupportedError, InfeasibleError), message):
        checked_command(words.split(), 4)


def test_commands_are_put_together_again():
    words = ["env", "A=b", "mpiexec", "-n", "2", "./a", "x", ":", "-n", "3", "-wdir", "y", "./b"]
    command = LaunchCommand.parse(words, several=True)
    assert command.words() == words
    assert (command.counts, command.count, command.tool) == ((2, 3), 5, "mpiexec")
    assert [part.program for part in command.parts] == [("./a", "x"), ("./b",)]
    assert command.without_placing().starting(("c",)).words() == [
        "env", "A=b", "mpiexec", "-n", "2", "c", ":", "-n", "3", "-wdir", "y", "c",
    ]
    command.check_count(5)
    with pytest.raises(UnsupportedError, match=": starts several programs, expected one program"):
        LaunchCommand.parse(words)
    open_end = LaunchCommand.parse(["mpiexec", "-n", "2", "./a", ":", "./b"], several=True)
    assert (open_end.counts, open_end.count) == ((2, None), None)
    with pytest.raises(InfeasibleError, match="several programs, expected -n with the ranks of each"):
        open_end.check_count(2)
    with pytest.raises(UnsupportedError, match="srun: -n x, expected a number of ranks, 2 here"):
        LaunchCommand.parse(["srun", "-n", "x", "./a"]).check_count(2)
    assert LaunchCommand.parse(["srun", "-n", "2", "./a", ":", "b"]).program == ("./a", ":", "b")
    assert {recognise(["sh"], kind)[0].form for kind in KINDS} == set(KINDS)


@pytest.mark.parametrize(("words", "options", "program"), [
    ("env A=b mpirun --np=4 -x A=b -mca btl self,vader ./app",
     [("np", "4", None), ("x", "A=b", ("x", "A")), ("mca", "btl", ("mca", "btl"))], ("./app",)),
    ("mpiexec -genv A=b -genv C d -n 2 -l ./app",
     [("genv", "A=b", ("genv", "A")), ("genv", "C", ("genv", "C")), ("n", "2", None), ("l", "", None)],
     ("./app",)),
    ("srun -ln4 -Koff -c8 --mem=3G - -x",
     [("l", "", None), ("n", "4", None), ("K", "off", None), ("c", "8", None), ("mem", "3G", None)],
     ("-", "-x")),
    ("srun -K -- -x", [("K", "", None)], ("-x",)),
    ("flux run -N2 -o cpu-affinity=off --env=A ./app",
     [("N", "2", None), ("o", "cpu-affinity=off", ("o", "cpu-affinity")), ("env", "A", None)], ("./app",)),
])  # fmt: skip
def test_options_have_names_and_values(words, options, program):
    command = LaunchCommand.parse(words.split())
    assert [(option.name, option.value, option.variable) for option in command.options] == options
    assert command.program == program


def test_options_of_an_unknown_launcher_end_at_the_first_program_in_path():
    command = LaunchCommand.parse(["odd", "--ranks", "4", "mpirun", "-x", "flux"], "other")
    assert [option.words for option in command.options] == [("--ranks",), ("4",)]
    assert command.program == ("mpirun", "-x", "flux")


def test_a_user_who_names_hosts_or_a_number_gets_no_second_one():
    start = launched("mpirun -x A=1 ./a", "openmpi", FOUR)
    assert start.text() == "mpirun -n 4 --hostfile p.hosts --map-by rankfile:file=p -x A=1 ./a"
    command = checked_command(["env", "Q=1", "mpirun", "-H", "a,b", "./a"], 4)
    start = command.with_mapping("X=2 mpirun --hostfile h --map-by seq -n 4 ./app")
    assert (start.words, start.environment) == (
        ("env", "Q=1", "mpirun", "--hostfile", "h", "--map-by", "seq", "-n", "4", "./a"), (("X", "2"),)
    )  # fmt: skip
    prepared = prepare_start(FOUR, checked_command(["mpirun", "./a"], 4), "q")
    assert prepared.mapping.pe.tolist() == [3, 0, 1, 2]


def test_compilers_beside_the_launcher_come_before_those_of_its_library_and_of_the_path(tmp_path):
    for folder, name in (("bin", "mpicc"), ("bin", "mpicc.openmpi"), ("up/bin", "mpicc"), ("real", "mpicc"),
                         ("up/mpi/bin", "mpicc")):  # fmt: skip
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        executable(tmp_path / folder / name, "#!/bin/sh\n")
    (tmp_path / "bin/mpirun").rename(tmp_path / "real/mpirun")
    (tmp_path / "bin/mpirun").symlink_to(tmp_path / "real/mpirun")
    command = LaunchCommand.parse(["mpirun", "./app"])
    found = compilers_of(command, f"{tmp_path}/up/mpi/lib/libmpi.so", "openmpi")
    places = ["bin/mpicc", "real/mpicc", "up/mpi/bin/mpicc", "up/bin/mpicc", "bin/mpicc.openmpi"]
    assert found[:5] == [str(tmp_path / place) for place in places]
    assert len(compilers_of(command)) == len(found) - 2


def launched(words, form, mapping, **options):
    written = hb.write(mapping, "p", form, force=True, **options)
    return checked_command(words.split(), mapping.n).with_mapping(written.launch)


WIDE = place("node:2@10 core:4@1", [3, 0, 1, 2], hosts=("a", "b"), cores_per_slot=2)
SET = "-x OMP_NUM_THREADS=2 -x OMP_PLACES=cores"


@pytest.mark.parametrize(("form", "mapping", "words", "text"), [
    ("openmpi", FOUR, "mpirun -n 4 -x A ./app -y",
     "mpirun --hostfile p.hosts --map-by rankfile:file=p -n 4 -x A ./app -y"),
    ("openmpi", FOUR, "mpirun --host a:2,b:2 ./app",
     "mpirun -n 4 --map-by rankfile:file=p --host a:2,b:2 ./app"),
    # Settings of the user stay, and do not displace ours.
    ("openmpi", WIDE, "mpirun -x PATH ./app",
     f"mpirun -n 4 --hostfile p.hosts --map-by rankfile:file=p {SET} -x PATH ./app"),
    ("openmpi", WIDE, "mpirun -x OMP_NUM_THREADS=1 ./app",
     "mpirun -n 4 --hostfile p.hosts --map-by rankfile:file=p -x OMP_PLACES=cores "
     "-x OMP_NUM_THREADS=1 ./app"),
    ("slurm", FOUR, "srun --mem=3G ./app", "SLURM_HOSTFILE=p srun -n 4 --distribution=arbitrary "
     "--cpu-bind=map_cpu:0,1 --mem=3G ./app"),
    ("intel", place("node:2@10 core:2@1", [3, 2, 1, 0], hosts=("a", "b")),
     "mpiexec.intel -n 4 -genv A b ./app",
     "mpiexec.intel -machinefile p -genv I_MPI_PIN_PROCESSOR_LIST=1,0 -n 4 -genv A b ./app"),
    # Ranks per node or in all, but not both.
    ("flux", FOUR, "flux run -n 4 -N 2 -o verbose ./app", "flux run --tasks-per-node=2 "
     "--requires=hosts:a,b --taskmap=hostfile:p -o 'cpu-affinity=map:0;1' -N 2 -o verbose ./app"),
])  # fmt: skip
def test_only_what_is_missing_is_added(form, mapping, words, text):
    assert launched(words, form, mapping).text() == text


@pytest.mark.parametrize("words", ["srun -N 3 ./app", "srun -lN3 ./app", "flux run -N3 -n4 ./app"])
def test_another_number_of_nodes_is_refused(words):
    with pytest.raises(InfeasibleError, match="expected 2 nodes as in the mapping"):
        prepare_start(FOUR, checked_command(words.split(), 4), "p")


@pytest.mark.parametrize("nodes", ["-N 2", "-N2", "--nodes=2", "--nodes 2", "-N 1-4", "-koff -N2"])
def test_the_number_of_nodes_is_left_out_where_srun_refuses_it(nodes):
    """``--nodes is incompatible with --distribution=arbitrary`` since Slurm 23.11."""
    prepared = prepare_start(FOUR, checked_command(f"srun -l {nodes} -n4 ./app".split(), 4), "p")
    rest = nodes.replace("-N2", "") if "-k" in nodes else ""
    assert prepared.start.text().endswith(" ".join(["", "-l", *rest.split(), "-n4", "./app"]))
    assert prepared.notices[0].startswith(f"{nodes.replace('-koff ', '')} is left out")
    flux = prepare_start(FOUR, checked_command(["flux", "run", "-N", "2", "./app"], 4), "q", force=True)
    assert ("-N" in flux.start.words, flux.notices) == (True, ())


def test_a_step_is_not_limited_to_the_cpus_per_task_of_its_job(monkeypatch):
    """In a job with ``-c 2`` srun 24.11 and 26.05 say: More processors requested than permitted."""
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    monkeypatch.setenv("SLURM_TRES_PER_TASK", "cpu=2")
    start = prepare_start(FOUR, checked_command(["srun", "./app"], 4), "p").start
    unset = "env -u SLURM_CPUS_PER_TASK -u SLURM_TRES_PER_TASK srun -n 4 "
    assert start.text().startswith(f"SLURM_HOSTFILE=p {unset}")
    other = prepare_start(FOUR, checked_command(["mpirun", "./app"], 4), "q").start
    assert "-u" not in other.words


def test_nothing_is_started_on_hosts_with_invented_names():
    mapping = place("node:2@10 core:2@1", [3, 0, 1, 2])
    with pytest.raises(InfeasibleError, match="2 nodes without names, expected `machine='job'`, or `hosts`"):
        prepare_start(mapping, checked_command(["srun", "./app"], 4), "p")
    dry = prepare_start(mapping, checked_command(["srun", "./app"], 4), "p", nameless=True)
    assert any("host names are unknown" in notice for notice in dry.receipt.notices)
    # The user's own list of hosts, which the rankfile counts.
    mine = checked_command(["mpirun", "--hostfile", "mine", "./app"], 4)
    assert "--hostfile mine" in prepare_start(mapping, mine, "q").start.text()
    prepare_start(place("core:4", [3, 0, 1, 2]), checked_command(["mpirun", "./app"], 4), "r")
    # Version 4 refuses that (tried with 4.1.4: "no prior allocation has been made").
    older = checked_command(["mpirun4", "--hostfile", "mine", "./app"], 4)
    with pytest.raises(InfeasibleError, match="Open MPI 4 counts hosts of a batch system only"):
        prepare_start(mapping, older, "s")


def test_the_script_stands_before_the_program():
    mapping = place("node:2@10 package:2@3 core:2@1", [0, 1, 2, 3, 4, 6, 5, 7], hosts=("a", "b"))
    start = launched("srun -l ./app x", "slurm", mapping)
    assert start.words[-5:] == ("-l", "sh", "p.place.sh", "./app", "x")
    assert "--cpu-bind=none" in start.words


def test_open_mpi_4_gets_its_own_option():
    command = checked_command(["mpirun4", "-n", "2", "./app"], 2)
    prepared = prepare_start(TWO, command, "p")
    assert prepared.start.words[:5] == ("mpirun4", "--hostfile", "p.hosts", "-rf", "p")


def test_nothing_is_started_on_files_that_say_something_else(tmp_path, monkeypatch):
    other = place("node:2@10 core:2@1", [0, 3], hosts=("a", "b"))
    monkeypatch.setattr("hopbytes.launch.start.read_mapping", lambda *a, **k: other)
    command = checked_command(["mpirun", "-n", "2", "./app"], 2)
    with pytest.raises(HopbytesError, match="the launch file differs from the mapping"):
        prepare_start(TWO, command, str(tmp_path / "p"))


def test_launch_files_go_away_unless_named(tmp_path):
    with launch_files(None) as stem:
        (tmp_path / stem).write_text("x")
        assert len(list(tmp_path.glob(".hopbytes-*"))) == 1
    assert not list(tmp_path.glob(".hopbytes-*"))
    with launch_files(None) as stem:
        shutil.rmtree(tmp_path / os.path.dirname(stem))  # somebody else removes them
    with launch_files("mine") as stem:
        assert stem == "mine"


# ---------------------------------------------------------------- what the probe says


def seen(*places):
    return {rank: Seen(host, frozenset(cpus)) for rank, (host, cpus) in enumerate(places)}


def test_the_probe_is_read_whatever_stands_around_it():
    text = "[1]: hopbytes-rank 1 n2 4-5 0,1 .\nnoise\nhopbytes-rank 0 n1 0,2 - .\n"
    assert seen_in(text) == {0: Seen("n1", frozenset({0, 2})), 1: Seen("n2", frozenset({4, 5}), "0,1")}
    with pytest.raises(HopbytesError, match="rank 0 answered twice"):
        seen_in("hopbytes-rank 0 a 0 - .\n" * 2)
    with pytest.raises(HopbytesError, match="a process on a does not know its rank"):
        seen_in("hopbytes-rank ? a 0 - .\n")


def test_what_a_launcher_complains_about_is_one_line():
    rule = "-" * 76
    said = f"noise\n{rule}\nThere are not enough slots\nfor what was\n\nasked.\n{rule}\n"
    assert _tail(said) == "There are not enough slots for what was asked."
    assert _tail("srun: error: Unable\nsrun: to allocate\n") == "srun: error: Unable srun: to allocate"
    assert len(_tail("word " * 100)) == 300
    assert (_tail("x" * 300), _tail("x" * 301)) == ("x" * 300, f"{'x' * 299}…")
    assert _tail(f"{rule}\n\n") == ""


MAPPING = place("node:2@10 core:2@1", [3, 0, 1], hosts=("a", "b.x"))


@pytest.mark.parametrize(("found", "wrong"), [
    (seen(("b.x", {1}), ("a", {0}), ("a", {1})), []),
    (seen(("b", {1}), ("a.y", {0}), ("a", {1})), []),
    (seen(("a", {1}), ("a", {0}), ("a", {1})), ["rank 0 is on a, expected b.x"]),
    (seen(("b", {1}), ("a", {0})), ["rank 2 did not answer"]),
    ({1: Seen("a", frozenset({0}))}, ["rank 0 did not answer (2 in all)"]),
    (seen(("b.x", {1}), ("a.q", {0}), ("a", {1})), []),
    (seen(("b.y", {1}), ("a", {0}), ("a", {1})), ["rank 0 is"]),
    (seen(("b", {1}), ("a", {0}), ("a", {1}), ("a", {1})), ["rank 3 is not in the mapping"]),
    # Other numbers than positions, but every rank has CPUs of its own: nothing to object to.
    (seen(("b", {1, 9}), ("a", {0, 8}), ("a", {2, 10})), []),
    (seen(("b", {1}), ("a", {0, 1}), ("a", {1})), ["rank 2 shares CPU 1 with rank 1"]),
])  # fmt: skip
def test_ranks_elsewhere_are_named(found, wrong):
    said = compare(MAPPING, found).wrong
    assert len(said) == len(wrong)
    assert all(text.startswith(start) for text, start in zip(said, wrong, strict=True))


def test_the_first_wrong_rank_is_named_first_and_every_rank_once():
    found = seen(("b", {0, 1}), ("b", {0, 1}), ("a", {0}))
    assert [text.split()[1] for text in compare(MAPPING, found).wrong] == ["1"]
    numbered = hb.allocate(f"hwloc:{HWLOC_SAMPLES}/v3_hybrid.xml", hosts="a,b")
    mapping = hb.Mapping(np.array([6, 0, 1], np.int32), numbered, {"problem": "processes"})
    wrong = compare(mapping, seen(("b", {3}), ("b", {0, 1}), ("a", {2}))).wrong
    assert wrong == (
        "rank 0 may run on CPUs 3, expected 0-1",
        "rank 1 is on b, expected a",
        "rank 2 may run on CPUs 2, expected 2-3",
    )


def test_hosts_without_names_are_compared_by_who_shares_one():
    mapping = place("node:2@10 core:2@1", [3, 0, 1])
    assert not compare(mapping, seen(("y", {1}), ("x", {0}), ("x", {1}))).wrong
    apart = compare(mapping, seen(("y", {1}), ("x", {0}), ("z", {1}))).wrong
    assert apart == ("rank 2 is on z, expected x, the host of rank 1",)
    together = compare(mapping, seen(("x", {1}), ("x", {0}), ("x", {3}))).wrong
    assert together[0] == "rank 1 shares x with rank 0, expected another host"
    same = place("node:2@10 core:2@1", [3, 3, 1])
    shared = compare(same, seen(("x", {1, 9}), ("x", {1}), ("y", {1})))
    assert shared.wrong == ("rank 1 shares a slot with rank 0 but not its CPUs",)
    assert [what.split()[0] for what in shared.checked] == ["hosts", "CPUs"]


def test_a_launch_becomes_a_mapping():
    where = MAPPING.where
    assert mapping_seen(where, seen(("b", {1}), ("a", {0}))).pe.tolist() == [3, 0]
    with pytest.raises(HopbytesError, match=mentions("1", "0-1", "0", "2")):
        mapping_seen(where, seen(("b", {1}), ("a", {0, 1})))
    with pytest.raises(HopbytesError, match=mentions("0", "b.x")):
        mapping_seen(where, seen(("c", {1})))
    with pytest.raises(UnsupportedError, match="rank 0 did not answer"):
        mapping_seen(where, {1: Seen("a", frozenset({0}))})


def test_a_launch_that_binds_to_more_than_a_slot_becomes_a_mapping_by_node():
    """Ranks of one package, of one core, of nothing: whoever has least choice is placed first."""
    where = hb.allocate("node:2@10 package:2@3 core:2@1", hosts="a,b")
    everywhere, second = {0, 1, 2, 3}, {2, 3}
    found = seen(("b", everywhere), ("b", second), ("a", everywhere), ("b", {3}), ("a", {0, 1, 2, 3, 9}))
    mapping = mapping_by_node(where, found)
    assert mapping.pe.tolist() == [4, 6, 0, 7, 1]
    (notice,) = mapping.info["notices"]
    assert notice.startswith("4 of 5 ranks may run on several slots (rank 0 on 4): their nodes are known")
    bound = mapping_by_node(where, seen(("b", {1}), ("a", {0})))
    assert (bound.pe.tolist(), "notices" in bound.info) == ([5, 0], False)
    twice = mapping_by_node(where, seen(*[("a", everywhere)] * 6))
    assert twice.pe.tolist() == [0, 1, 2, 3, 0, 1]
    with pytest.raises(HopbytesError, match=mentions("0", "7")):
        mapping_by_node(where, seen(("a", {7})))


# ---------------------------------------------------------------- passing through


def test_exit_codes_and_environment_are_the_programs_own():
    assert run_through([sys.executable, "-c", "raise SystemExit(7)"]) == 7
    assert run_through(["sh", "-c", "kill -KILL $$"]) == 128 + 9
    assert run_through(["sh", "-c", 'test "$MINE" = yes'], {"MINE": "yes"}) == 0
    with pytest.raises(UnsupportedError, match="no-such-program"):
        run_through(["no-such-program"])


def test_a_rank_that_sees_another_gpu_is_named():
    import dataclasses

    where = dataclasses.replace(MAPPING.where, gpus=np.array([0, 1, 0, 1], np.int32))
    mapping = hb.Mapping(MAPPING.pe, where, {"problem": "processes"})
    found = {
        0: Seen("b", frozenset({1}), "1"),
        1: Seen("a", frozenset({0}), "0,1"),
        2: Seen("a", frozenset({1}), ""),
    }
    assert compare(mapping, found).wrong == (
        "rank 1 sees GPUs 0,1, expected 0",
        "rank 2 sees GPUs by default, expected 1",
    )


def coupled(*tasks):
    found = [{"command": [f"./p{number}", "a b"], "tasks": count} for number, count in enumerate(tasks)]
    return hb.CommGraph.from_edges([0], [1], [1], n=sum(tasks), meta={"programs": found})


def test_options_of_a_mapping_are_for_all_programs():
    words = shlex.split("mpirun -n 2 -x A ./a -y : -n 1 --wdir w ./b")
    command = checked_command(words, 3, several=True)
    start = command.with_mapping("mpirun -n 3 -x V=1 --map-by rankfile:file=p sh p.sh ./app")
    both = "-x A sh p.sh ./a -y : -x V=1 -n 1 --wdir w sh p.sh ./b"
    assert start.text() == f"mpirun -x V=1 --map-by rankfile:file=p -n 2 {both}"
    assert command.count == 3


@pytest.mark.parametrize(("words", "tasks", "text"), [
    ("mpirun --mca x y", (2, 1), "mpirun --mca x y -n 2 ./p0 'a b' : -n 1 ./p1 'a b'"),
    ("mpirun -n 3", (2, 0, 1), "mpirun -n 2 ./p0 'a b' : -n 1 ./p2 'a b'"),
    ("mpirun -n 2 ./x : -n 1 ./y", (2, 1), "mpirun -n 2 ./x : -n 1 ./y"),
    ("srun -n 3 ./x", (3,), "srun -n 3 ./x"),
])  # fmt: skip
def test_a_command_gets_the_programs_of_the_pattern(words, tasks, text):
    command = with_programs_of(parsed(words.split()), coupled(*tasks), programs=True)
    assert shlex.join(command.words()) == text
    assert command.count == 3


def test_programs_of_a_file_are_shown_and_not_started():
    """What starts stands in the command, or the user agrees: a pattern may come from anybody."""
    with refused(UnsupportedError, "2 ranks of \"./p0 'a b'\"; 1 ranks of \"./p2 'a b'\"", "`programs=True`"):
        with_programs_of(parsed(["mpirun"]), coupled(2, 0, 1))
    plain = hb.CommGraph.from_edges([0], [1], [1], n=3)
    assert with_programs_of(parsed(["mpirun", "-n", "3"]), plain).count == 3


@pytest.mark.parametrize(("words", "tasks", "message"), [
    ("mpirun -n 3 ./x", (2, 1), "mpirun starts programs of 3 ranks, expected 2, 1 as in the pattern"),
    ("mpirun -n 1 ./x : -n 2 ./y", (2, 1), "mpirun starts programs of 1, 2 ranks, expected 2, 1"),
    ("srun -n 3", (2, 1), "`hopbytes map FILE.programs --format slurm` writes the command"),
    ("flux run", (2, 1), "the pattern has 2 programs, expected Open MPI or Hydra"),
])  # fmt: skip
def test_programs_that_a_command_cannot_start(words, tasks, message):
    with refused((UnsupportedError, InfeasibleError), message):
        with_programs_of(parsed(words.split()), coupled(*tasks))


# ---------------------------------------------------------------- a check, and a silent launcher


def test_a_check_says_that_it_passed_and_a_silent_launcher_is_explained(tmp_path, monkeypatch):
    passed = Outcome(Verdict((), ("hosts", "CPUs")), 2, "", 0)
    monkeypatch.setattr(launching, "verify_launch", lambda *words, **options: passed)
    monkeypatch.setattr(launching, "run_through", lambda words, environment: 1)
    said = []
    for name in ("mpirun4", "mpirun"):
        command = checked_command([name, "-n", "2", "./app"], 2)
        options = {"check": True, "force": True, "say": lambda *lines: said.extend(lines)}
        assert launching.launch(TWO, command, str(tmp_path / "p"), **options) == 1
    assert said.count("verified: 2 ranks are where they belong; compared: hosts, CPUs") == 2
    assert [text for text in said if "a core that its host does not have" in text] == [
        "mpirun4 ended with code 1; if it printed nothing: Open MPI 4 ends without a message if a rank file "
        "names a core that its host does not have"
    ]


def test_signals_reach_the_program(tmp_path):
    ready = tmp_path / "ready"
    program = f"trap 'exit 42' TERM; : > {ready}; while :; do sleep 0.05; done"
    code = "from hopbytes.launch.start import run_through\n"
    code += f"raise SystemExit(run_through(['sh', '-c', {program!r}]))"
    parent = subprocess.Popen([sys.executable, "-c", code])
    for _ in range(600):
        if ready.exists():
            break
        time.sleep(0.05)
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(timeout=30) == 42


def test_each_of_several_programs_needs_its_ranks():
    with pytest.raises(InfeasibleError, match="expected -n with the ranks of each"):
        checked_command(["mpirun", "-n", "2", "./a", ":", "./b"], 4, several=True)
    words = shlex.split("mpirun -n 2 ./a : -n 2 --bind-to core ./b")
    with pytest.raises(UnsupportedError, match="--bind-to also says"):
        checked_command(words, 4, several=True)


@pytest.mark.parametrize(("option", "spec"), [
    ("--hostfile hosts", "job:hosts"), ("--hostfile=hosts", "job:hosts"),
    ("--hostfile missing", "job:missing"), ("--hostfile a,b", "job"), ("--hostfile .", "job"),
    ("-x hostfile", "job"),
])  # fmt: skip
def test_the_host_file_of_a_command_is_its_machine(tmp_path, monkeypatch, option, spec):
    """A file that is missing would otherwise end in hosts of another job, or in an error about jobs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hosts").write_text("n1 slots=2\n")
    command = LaunchCommand.parse(["mpirun", *option.split(), "-n", "2", "./app"])
    assert machine_of_command(command) == spec
