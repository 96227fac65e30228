"""Heads of lines of NCCL behind labels and inside other lines, and the files of the processes of a job."""

from __future__ import annotations

import io

import pytest

from hopbytes.formats.base import Source
from hopbytes.formats.patterns.nccl import HEAD_BYTES, said, said_in_files


def test_heads_are_looked_for_near_the_mark_only():
    assert [words.thread[0] for words in said(b"x" * 10**6 + b" n1:1:2 [0] NCCL INFO a")] == [b"n1"]
    assert said(b"n1:1:2" + b" " * (HEAD_BYTES + 9) + b" NCCL INFO a") == []
    many = b"n1:1:2 [0] NCCL INFO " * 3000
    assert len(said(many)) == 3000


def texts(folder, name):
    path = folder / name
    source = Source(str(path), io.BufferedReader(io.BytesIO(path.read_bytes())), str(path))
    return [words.text for _, _, words in said_in_files(source)]


@pytest.mark.parametrize(
    ("name", "others", "alike"),
    [
        ("nccl.n1.7.log", ["nccl.n1.8.log", "nccl.n2.7.log"], True), ("7-n1", ["9-n22"], True),
        ("nccl.7", ["nccl.8"], True), ("nccl.n1", ["nccl.n2"], False), ("nccl.17", ["nccl.18"], False),
        ("nccl.n1.7", ["nccl.n1.8.old", "xnccl.n1.8", "nccl.n1.x"], False), ("7.7", ["7.8", "8.7"], False),
    ],
)  # fmt: skip
def test_files_whose_names_differ_in_host_and_process(tmp_path, name, others, alike):
    (tmp_path / name).write_text("n1:7:9 [0] NCCL INFO own\n")
    for other in others:
        (tmp_path / other).write_text("n2:8:9 [1] NCCL INFO other\n")
    (tmp_path / f"{others[0]}.d").mkdir()
    assert texts(tmp_path, name) == [b"own"] + [b"other"] * (len(others) if alike else 0)
