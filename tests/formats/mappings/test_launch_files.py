"""What all launch files have in common: lists of numbers, checks before the work, names of hosts."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.placements import expand, place, write
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.text.cpu_lists import format_list

LAUNCHERS = ("openmpi", "slurm")


@given(st.sets(st.integers(0, 40), min_size=1))
def test_number_lists_come_back(numbers):
    ascending = sorted(numbers)
    assert expand(format_list(ascending)) == ascending


@pytest.mark.parametrize("name", [*LAUNCHERS, "newrank"])
def test_more_tasks_than_slots_name_both_numbers(name):
    with pytest.raises(InfeasibleError, match=mentions("5", "4", "2", "3")):
        write(name, place("core:4", [0, 1, 2, 3, 3]))
    write(name, place("core:4", [0, 1, 2, 3, 3]), oversubscribe=True)
    with pytest.raises(InfeasibleError, match="no task to launch"):
        write(name, place("core:4", []))


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (("a",), "1 2"),
        (("a", "a"), "host name a occurs twice"),
        (("a", "b;rm -rf"), "-rf"),
        (("a", "-b"), "'-b'"),
        (("a", "b\n"), "'b\\n'"),
        (("a", ""), "host name ''"),
    ],
)
def test_host_names_are_checked(name, hosts, message):
    with pytest.raises(HopbytesError, match=mentions(*message.split())):
        write(name, place("node:2@10 core:2@1", [0, 2]), hosts=hosts)


@pytest.mark.parametrize("name", ["openmpi", "slurm"])
def test_a_strange_file_name_stays_one_word(name, tmp_path):
    """The command is a line of shell: whatever the file is called, it must not become more than a name."""

    path = str(tmp_path / "a b$(c)'d")
    receipt = hb.write(place("node:2@10 core:2@1", [0, 2, 1, 3], hosts=("a", "b")), path, name)
    words = [word.split("=", 1)[-1] for word in shlex.split(receipt.launch)]
    assert path in words or f"file={path}" in words
    assert "{stem}" not in " ".join([receipt.launch, *receipt.notices])


def test_the_command_names_a_file_whatever_the_name(tmp_path, monkeypatch):

    monkeypatch.chdir(tmp_path)
    mapping = place("node:2@10 core:2@1", [0, 2, 1, 3], hosts=("a", "b"))
    assert "SLURM_HOSTFILE=./-x " in hb.write(mapping, "-x", "slurm").launch
    assert "SLURM_HOSTFILE=FILE " in hb.write(mapping, "-", "slurm").launch


def test_what_cannot_be_written_is_known_before_the_work(tmp_path):
    from hopbytes.formats.exchange import check_target

    with pytest.raises(UnsupportedError, match=mentions("'openmpi'")):
        check_target("-", "openmpi", holds="mapping")
    with pytest.raises(UnsupportedError, match="a folder, expected a file name"):
        check_target(tmp_path, "json", holds="mapping")
    check_target("-", "slurm", holds="mapping")


def test_every_placement_format_is_registered_with_a_sentence():
    placements = {name: form for name, form in formats.items() if form.holds == "mapping"}
    assert set(placements) >= {"plain", "json", "openmpi", "slurm", "newrank"}
    assert all(form.summary for form in placements.values())
