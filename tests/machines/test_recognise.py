"""Files of machines named without their kind, and every sample: it loads, or the sentence says what to do."""

from __future__ import annotations

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import EXAMPLES, SHARED_SAMPLES
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.spec import kind_of_file
from hopbytes.report.thing import explain

#: Samples that alone are nothing, and what is said instead of a list of formats.
SAID = {
    "bin": "dumpi2ascii", "def": "NAME.otf2", "evt": "NAME.otf2",
    "mpiP": "without a communication matrix", "rankfile": "the machine with these nodes",
    "ibsim_net": "routes=shortest", "2sw2path4hca": "routes=shortest",
    "testtrace-0000.txt": "ranks are missing",
    "_count.csv": "the message counts of",
}  # fmt: skip
#: Folders whose files are all of one kind; and what is no file to show, or part of something else.
FOLDERS = ("hwloc", "slurm", "simgrid", "scotch", "topograph")
OTHERS = (
    "README.md", "sample.slurm.json", "resources.txt", "scorep.cfg", "testtrace.meta", "sample.xtdb2proc",
    "IB-fe80_0000_0000_0001-nodes.txt",
)  # fmt: skip
PARTS = ("torus", "bgq", "mappings", "ibroutes", "ndr_dgx_40sw", "avakas_sim", "avakas")


@pytest.mark.parametrize(("name", "kind"), [
    ("platform.xml", "simgrid"), ("topology.conf", "slurm"), ("fabric/ibnetdiscover.txt", "ib"),
])  # fmt: skip
def test_examples_without_their_kind(name, kind):
    assert kind_of_file(str(EXAMPLES / name)) == kind
    if kind != "ib":
        assert hb.allocate(str(EXAMPLES / name)).machine == hb.allocate(f"{kind}:{EXAMPLES / name}").machine


@pytest.mark.parametrize(("text", "kind"), [
    ("# switches\n\n---\n- topology: a\n  flat: true\n", "slurm"), ("blocks:\n- nodes: [a]\n", "topograph"),
    ("tleaf 1 4 1\n", "scotch"),
    ("0 1 5\n1 0 5\n", None), ("rank 0=a slot=0\n", None),
    ("", None), ('{"a": 1}', None), ("<ipm>\n", None),
])  # fmt: skip
def test_beginnings(tmp_path, text, kind):
    path = tmp_path / "file"
    path.write_text(text)
    assert kind_of_file(str(path)) == kind


def test_long_beginnings_of_nothing_are_no_work(tmp_path):
    path = tmp_path / "file"
    for piece in ("\n", " \n", "# a\n", "<", "1 2\n", 'Ca 1\n'):  # ends, unlike a search of all ways
        path.write_text(piece * 5000)
        assert kind_of_file(str(path)) is None


def test_what_to_do_instead(tmp_path):
    path = tmp_path / "trace.bin"
    path.write_bytes(b"\xff\xaa\xddDUMPI\0\n")
    with pytest.raises(FormatError, match=mentions("dumpi2ascii")):
        hb.read(path)


@pytest.mark.shared
def test_every_sample_loads_or_says_what_to_do():
    unexplained = []
    for path in sorted(SHARED_SAMPLES.rglob("*")):
        if not path.is_file() or path.name in OTHERS or path.parent.name in PARTS:
            continue
        assert path.parent.name not in FOLDERS or kind_of_file(str(path)) == path.parent.name, path
        try:
            explain(str(path))
        except HopbytesError as error:
            known = [said for part, said in SAID.items() if part in path.name]
            if not any(said in str(error) for said in known) or "\n" in str(error):
                unexplained.append(f"{path.relative_to(SHARED_SAMPLES)}: {error}"[:150])
    assert not unexplained
