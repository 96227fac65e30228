"""Texts as other programs leave them: UTF-16, marks of UTF-8, words of host files that mean nothing."""

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, ScaleError
from hopbytes.machines.job_environment import read_slots

EDGES = "0 1 5\n1 0 5\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.edges", "a.csv", "a.txt", "a.mtx", "a"])
def test_utf_16_is_named_with_what_translates_it(tmp_path, encoding, name):
    path = tmp_path / name
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + EDGES).encode(encoding))
    with pytest.raises(FormatError, match=r"text in UTF-16, expected UTF-8 \(iconv"):
        hb.read(path)
    with pytest.raises(FormatError, match="text in UTF-16"):
        hb.machine(f"slurm:{path}")


def test_xml_says_its_encoding_itself(tmp_path):
    path = tmp_path / "node.xml"
    unit = '<object type="PU" os_index="0" cpuset="0x1"/>'
    core = f'<object type="Core" os_index="0" cpuset="0x1">{unit}</object>'
    text = f'<topology version="2.0"><object type="Machine" cpuset="0x1">{core}</object></topology>'
    path.write_bytes(f'<?xml version="1.0" encoding="UTF-16"?>{text}'.encode("utf-16"))
    assert hb.machine(f"hwloc:{path}").k == 1


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
    with pytest.raises(ScaleError, match=r"divide all values by 2e281 or more$"):
        hb.read(path)


def test_a_folder_is_no_missing_file(tmp_path):
    with pytest.raises(FormatError, match="no file, expected a square matrix"):
        hb.machine(f"table:{tmp_path}")
