"""The fault of Open MPI 5 that the openmpi writer warns of: hosts whose first core lacks a thread."""

import re

import numpy as np
import pytest
from several_hosts import mpirun
from test_openmpi import HOSTS, ask, node_xml

import hopbytes as hb

pytestmark = pytest.mark.launcher


def without(text, pu):
    """Take a hardware thread away from a node, as a job does that was not given it."""
    text = re.sub(rf'<object type="PU" os_index="{pu}" [^>]*/>\n', "", text)

    def smaller(found):
        return f'{found[1]}="0x{int(found[2], 16) & ~(1 << pu):08x}"'

    return re.sub(r'\b((?:complete_|allowed_)?cpuset)="0x([0-9a-f]+)"', smaller, text)


@pytest.mark.parametrize(("pu", "wrong"), [(1, True), (3, False)])
def test_open_mpi_5_looks_at_the_first_core(tmp_path, pu, wrong):
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(without(node_xml(1, 4, 2), pu))
    where = hb.allocate(f"hwloc:{tmp_path}/node.xml@nodeA[0-3]")
    mapping = hb.Mapping(np.arange(where.k, dtype=np.int32), where)
    receipt = hb.write(mapping, tmp_path / "ranks", "openmpi", version="5")
    found = ask(tmp_path, launcher, receipt.launch)
    expected = {rank: (HOSTS[rank // 4], [rank % 4]) for rank in range(16)}
    assert (found != expected) == wrong
    assert any("counts hardware threads" in notice for notice in receipt.notices) == wrong
