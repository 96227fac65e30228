"""Inputs found by mutation on which SciPy's Matrix Market reader ends the process: why it is not used."""

import pytest

import hopbytes as hb

CRASHES = {
    "a NUL in an entry": (b"matrix coordinate integer general\n3 3 3\n1 2  9\x00653 7\n3 1 9\n", 3),
    "a NUL in a dense entry": (b"matrix array real general\n2 2\n\n\n2\n3\n42\x000\n1\n", 7),
}


@pytest.mark.parametrize("what", CRASHES)
def test_the_line_is_named(tmp_path, what):
    content, line = CRASHES[what]
    path = tmp_path / "a.mtx"
    path.write_bytes(b"%%MatrixMarket " + content)
    with pytest.raises(hb.FormatError) as error:
        hb.read(path)
    assert str(error.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("layout", ["array real general\n0 0", "coordinate real general\n0 0 0"])
def test_no_task_at_all(tmp_path, layout):
    path = tmp_path / "a.mtx"
    path.write_text(f"%%MatrixMarket matrix {layout}\n")
    assert hb.read(path).n == 0


def test_a_comment_sign_at_the_end(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_bytes(b"%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n2 1 5\n3 2 7\n3 1 9%")
    assert hb.read(path).volumes.tolist() == [5, 9, 5, 7, 9, 7]
