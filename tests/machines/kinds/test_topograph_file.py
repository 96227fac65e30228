"""Topograph's models of clusters."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.topograph import read_topograph


def test_topograph(tmp_path):
    text = "switches:\n  top: {switches: [l1, l2]}\nblocks:\n"
    text += "- {switch: l1, nodes: ['n[1-2]'], annotations: {a/domain: nvl1}}\n- {switch: l1, nodes: [n3]}\n"
    text += "- {switch: l2, nodes: [n4]}\n"
    tree = read_topograph(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == (("leaf", "block", "node"), ((2,), (2, 1), (2, 1, 1)))
    with pytest.raises(FormatError, match=mentions("file:4", "'l9'")):
        read_topograph(put(tmp_path, text.replace("switch: l1, nodes: ['n", "switch: l9, nodes: ['n")))
