"""Commands that are not one launcher, its options and one program: all of them are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.errors import mentions
from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, RING, RING_OF_FOUR, compiled, mpi, script
from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launchers import KINDS, recognise
from hopbytes.record.session import next_step, record

pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]


def built(family, *flags, name="ring"):
    """Compile the ring; return the words of its launcher without the number of ranks."""
    compiled(family, RING, *flags, name=name)
    return mpi(family)[0][:-2]


@pytest.mark.parametrize("family", FAMILIES)
def test_several_programs(family):
    """All of them are one world; where one names calls that Open MPI is wrong about, it counts for none."""
    launch = built(family)
    built(family, "-DPAUSE", name="pausing")
    done = record([*launch, "-n", "1", "./ring", ":", "-n", "3", "./ring", "y"])
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4
    done = record([*launch, "-n", "1", "./ring", ":", "-n", "3", "./pausing"], hosts=False)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert done.graph.meta["recorded"]["by"] == "interposer"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_to_start_in(family):
    launch = built(family)
    Path("there").mkdir()
    Path("ring").rename("there/ring")
    words = [*launch, "-wdir" if family == "mpich" else "--wdir", "there", "-n", "4", "./ring"]
    done = record(words, hosts=False)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR


@pytest.mark.parametrize("family", FAMILIES)
def test_env_in_front(family):
    launch = built(family)
    starter = script('test "$WORD" = "a b" && exec ./ring', "app.sh")
    assert built(family)
    done = record(["env", "WORD=a b", *launch, "-n", "4", starter], collectives="ring")
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrapper_of_a_known_kind(family):
    """Its options are those of the launcher it hands them on to."""
    launch = built(family)
    asked = '[ "$1" = --version ] && exec echo of this site'
    site = script(f'{asked}; exec {" ".join(launch)} "$@"', "ibrun")
    words = [site, "-n", "4", "./ring"]
    with pytest.raises(UnsupportedError, match=r"ibrun: no known launcher, .* `launcher=KIND`"):
        record(words)
    kind = "hydra" if family == "mpich" else "openmpi"
    done = record(words, launcher=kind)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert next_step("a.pattern", words, done.graph, kind)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_launcher_with_options_of_its_own(family):
    """The program is the first word that can be executed; hosts are those the ranks name."""
    launch = built(family)
    site = script(f'shift 3; exec {" ".join(launch)} -n 4 "$@"', "jsrun")
    done = record([site, "--nrs", "4", "-a1", "./ring", "y"], launcher="other")
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


def test_what_is_refused():
    launch = built("mpich")
    with pytest.raises(UnsupportedError, match=mentions("-configfile", "-n", "2", "./a", "./b")):
        record([*launch, "-configfile", "programs"])
    with pytest.raises(UnsupportedError, match="no program, expected one after"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2"])
    with pytest.raises(UnsupportedError, match=r"\./missing: not found"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2", "./missing"])
    with pytest.raises(UnsupportedError, match="`launcher='mpich'`: unknown kind, expected one of openmpi"):
        record([*launch, "./ring"], launcher="mpich")
    with pytest.raises(UnsupportedError, match=r"env -i: expected assignments only"):
        record(["env", "-i", *launch, "./ring"])
    built("openmpi 4.1", name="other")
    with pytest.raises(UnsupportedError, match="expected programs of one MPI in a command"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2", "./other"])


def test_commands_are_put_together_again():
    launch = mpi("mpich")[0][:-2]
    words = ["env", "A=b", *launch, "-n", "2", "./a", "x", ":", "-n", "3", "-wdir", "y", "./b"]
    command = LaunchCommand.parse(words, several=True)
    assert command.words() == words
    assert command.count == 5
    assert command.tool == launch[0]
    assert [part.program for part in command.parts] == [("./a", "x"), ("./b",)]
    with pytest.raises(UnsupportedError, match=": starts several programs, expected one program"):
        LaunchCommand.parse(words)
    assert {recognise(["sh"], kind)[0].form for kind in KINDS} == set(KINDS)
