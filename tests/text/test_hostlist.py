"""Host lists and host files."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.text.hostlist import expand_hosts, read_hosts


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a,b", ["a", "b"]),
        ("n[001-003,007]", ["n001", "n002", "n003", "n007"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[08-10]x", ["n08x", "n09x", "n10x"]),
        ("r[1-2]n[0-1],login", ["r1n0", "r1n1", "r2n0", "r2n1", "login"]),
        ("n[5]", ["n5"]),
        (" a , b ", ["a", "b"]),
        ("n1\nn2\nn3\n", ["n1", "n2", "n3"]),  # scontrol show hostnames
        ("n[1, 3]\r\nn5,,n6,", ["n1", "n3", "n5", "n6"]),
        ("a b", ["a", "b"]),
        ("node-1.site_x.org", ["node-1.site_x.org"]),
    ],
)
def test_lists(text, hosts):
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n[1-2", "open bracket"),
        ("n1-2]", "do not match"),
        ("n[[1]]", "do not match"),
        ("n[]", "'' in brackets"),
        ("n[a-b]", "'a-b' in brackets"),
        ("n[3-1]", "'3-1' in brackets"),
        ("n[1-99999999999]", "more than 1048576 hosts"),
        ("a[1-2000]b[1-2000]", "more than 1048576 hosts"),
        ("n[1-999999999999999999999]", "in brackets"),
        ("a,b,,a", "host 'a' twice"),
        ("", "no host name"),
        (" ,", "no host name"),
        ("$(rm)", "host name '$(rm)'"),
        ("a;b", "host name 'a;b'"),
        ("é", "host name"),
        ("x" * 300, "host name 'xxx"),
        ("a/b", "no such file"),
    ],
)
def test_faulty_lists(text, words):
    with pytest.raises(FormatError) as caught:
        read_hosts(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files(tmp_path, monkeypatch):
    text = "# my nodes\nme@n1 slots=4\n\nn2:8:mlx5_0\nn[3-4]  # two\nn1 slots=4\n"
    file = tmp_path / "hosts"
    file.write_text(text)
    assert read_hosts(str(file)) == ("n1", "n2", "n3", "n4")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert read_hosts("-") == ("n1", "n2", "n3", "n4")
    file.write_bytes(b"\xef\xbb\xbfn1\nn2\n")  # as editors of Windows write it
    assert read_hosts(str(file)) == ("n1", "n2")
    file.write_text("n1\nn2 n3\nbad!name\n")
    with pytest.raises(FormatError, match=mentions("hosts:3", "'bad!name'")):
        read_hosts(str(file))
    file.write_text("# nobody\n")
    with pytest.raises(FormatError, match="no host name"):
        read_hosts(str(file))
    file.write_bytes(b"\xff" * 70000)
    with pytest.raises(FormatError, match="characters or more"):
        read_hosts(str(file))


def test_sequences():
    assert read_hosts(["b", "a[1-2]"]) == ("b", "a1", "a2")
    with pytest.raises(FormatError, match="no host name"):
        read_hosts([])


@given(st.text(alphabet="ab[]-,0129 .é/\n", max_size=20))
def test_any_text_gives_names_or_an_error_of_ours(text):
    try:
        hosts = expand_hosts(text)
    except FormatError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are fine, no raise is required
    else:
        assert hosts
        assert all(not set(host) & set("[], \n/") for host in hosts)
