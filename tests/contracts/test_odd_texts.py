"""Texts as other programs leave them: UTF-16, marks of UTF-8, words of host files that mean nothing."""

import os

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.exchange import check_target
from hopbytes.launch.command import LaunchCommand
from hopbytes.machines.node.job import read_slots
from hopbytes.model.mapping import Mapping
from hopbytes.show.describe import machine_facts

EDGES = "0 1 5\n1 0 5\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.edges", "a.csv", "a.txt", "a.mtx", "a"])
def test_utf_16_is_named_with_what_translates_it(tmp_path, encoding, name):
    path = tmp_path / name
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + EDGES).encode(encoding))
    with pytest.raises(FormatError, match=mentions("UTF-16", "UTF-8")):
        hb.read(path)
    with pytest.raises(FormatError, match="text in UTF-16"):
        hb.allocate(f"slurm:{path}")


def test_xml_says_its_encoding_itself(tmp_path):
    path = tmp_path / "node.xml"
    unit = '<object type="PU" os_index="0" cpuset="0x1"/>'
    core = f'<object type="Core" os_index="0" cpuset="0x1">{unit}</object>'
    text = f'<topology version="2.0"><object type="Machine" cpuset="0x1">{core}</object></topology>'
    path.write_bytes(f'<?xml version="1.0" encoding="UTF-16"?>{text}'.encode("utf-16"))
    assert hb.allocate(f"hwloc:{path}").k == 1


def test_words_that_launchers_refuse_in_host_files_are_refused(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("\ufeffn1 slots=4\nn2 count=2 max_slots=3\nn3 cpu=1\n", encoding="utf-8")
    assert read_slots(str(path)) == (("n1", "n2", "n3"), (4, 2, 1))
    for word in ("slot=4", "cores=4", "cpus=4", "np=4", "ppn=4"):
        path.write_text(f"n1\nn2 {word}\n")
        with pytest.raises(FormatError, match=rf"hosts:2: 'n2 {word}', expected HOST.* slots=N"):
            read_slots(str(path))


def test_factors_of_huge_numbers_fit_a_line(tmp_path):
    path = tmp_path / "a.edges"
    path.write_text("0 1 1e300\n")
    with pytest.raises(ScaleError, match=mentions("2e281")):
        hb.read(path)


def test_a_folder_is_no_missing_file(tmp_path):
    with pytest.raises(FormatError, match="a directory, expected a file"):
        hb.allocate(f"table:{tmp_path}")


def test_an_option_that_comes_twice_is_refused():
    with pytest.raises(UnsupportedError, match=mentions("'ml'", "'tp'")):
        hb.read("ml:tp=2,dp=2,tp=4")
    with pytest.raises(UnsupportedError, match=mentions("'multisection'", "'initial_partitions'")):
        hb.map_tasks(
            hb.read("stencil:4"), hb.allocate("core:4"),
            "multisection:initial_partitions=3,initial_partitions=4"
        )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("openmpi", ["mpirun", "-n", "x"]), ("slurm", ["srun", "--ntasks=two"]),
        ("hydra", ["mpiexec.hydra", "-np", "4k"]),
    ],
)
def test_a_number_of_ranks_that_is_none_is_refused(kind, words, tmp_path):
    program = tmp_path / words[0]  # no launcher has to be installed
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    command = LaunchCommand.parse([str(program), *words[1:], "./app"], kind)
    with pytest.raises(UnsupportedError, match="expected a number of ranks, 4 here"):
        command.check_count(4)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
@pytest.mark.parametrize("form", ["openmpi", "pbs", "lsf"])
def test_several_files_do_not_go_beside_a_device(tmp_path, form):
    mapping = Mapping(np.array([1, 0], np.int32), hb.allocate("core:2"), {"problem": "processes"})
    with pytest.raises(UnsupportedError, match=mentions("/dev/null")):
        hb.write(mapping, "/dev/null", form)
    with pytest.raises(UnsupportedError, match="not a regular file"):
        check_target("/dev/null", form, holds="mapping")
    with open(tmp_path / "redirected", "wb") as file:  # as /dev/stdout is with > in a shell
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            with pytest.raises(UnsupportedError, match="not a regular file"):
                check_target(name, form, holds="mapping")
    with pytest.raises(UnsupportedError, match="not a regular file"):
        check_target("/dev/stdout", form, holds="mapping")
    assert not [name for name in os.listdir("/dev") if name.startswith(("null.", "stdout."))]


@pytest.mark.parametrize(("name", "form", "words"), [
    ("-x", "openmpi", ""), ("a b", "openmpi", ""), ("a:b", "openmpi", "special meaning"),
    ("a:b", "slurm", ""),
    ("a\nb", "slurm", "cannot be typed"), ("a\nb", "plain", ""), ("a,b/c", "openmpi", "special meaning"),
    ("", "plain", "empty name"), ("a\0b", "plain", "null"), ("-", "openmpi", "several files"),
])  # fmt: skip
def test_names_of_files_in_commands(tmp_path, monkeypatch, name, form, words):
    """They are quoted for a shell and no options; what a launcher would misunderstand is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b").mkdir()
    mapping = Mapping([1, 0], hb.allocate("node:1 core:2", hosts="n1"), {"problem": "processes"})
    if words:
        for act in (lambda: hb.write(mapping, name, form), lambda: check_target(name, form, holds="mapping")):
            with pytest.raises((FormatError, UnsupportedError), match=words):
                act()
        assert os.listdir(tmp_path) == ["a,b"]
        return
    check_target(name, form, holds="mapping")
    written = hb.write(mapping, name, form)
    assert set(written.paths) == set(os.listdir(tmp_path)) - {"a,b"}
    quoted = {"-x": "./-x", "a b": "'a b", "a:b": "a:b"}.get(name, "")
    assert quoted in written.launch


def test_facts_of_a_machine_with_very_many_places_count_right():
    facts = machine_facts(hb.allocate("node:3 core:[2,3,4] pu:2", exclude="core=1"))
    assert (facts["cores"], facts["cores_in_slots"], facts["cores_per_pe"]) == (9, 6, [1, 1])
    facts = machine_facts(hb.allocate("node:3 core:4 pu:2", per="pu"))
    assert (facts["cores"], facts["cores_in_slots"], facts["cores_per_pe"]) == (12, 12, [1, 1])
    facts = machine_facts(hb.allocate("node:3 core:4 pu:2", cores_per_task=2))
    assert facts["cores_per_pe"] == [2, 2]
