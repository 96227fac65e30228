"""XML, YAML and JSON of unknown origin: what is read, and by which line it is refused."""

import io

import pytest

from helpers.errors import mentions, refused
from helpers.paths import file_with
from hopbytes.errors import FormatError
from hopbytes.text import documents
from hopbytes.text.documents import parse_object, parse_xml, read_xml, read_yaml


def xml(text):
    return parse_xml(io.BufferedReader(io.BytesIO(text)), "x", root="a")


def test_bounds_of_xml(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MAX_ELEMENTS", 3)
    assert len(xml(b"<a><b/><b/></a>").children) == 2
    with refused(FormatError, "x:2: more than 3 elements"):
        xml(b"<a><b/><b/>\n<b/></a>")
    path = str(file_with(tmp_path / "a.xml", "<a></a>"))
    assert read_xml(path, root="a", max_bytes=7).tag == "a"
    with pytest.raises(FormatError, match=mentions("6")):
        read_xml(path, root="a", max_bytes=6)


def yaml(tmp_path, text):
    return read_yaml(str(file_with(tmp_path / "x", text)))


@pytest.mark.parametrize(("text", "least", "most", "fits"), [
    ("4", 4, 4, True), ("3", 4, 9, False), ("10", 4, 9, False), ("9" * 18, 1, 10**18, True),
    ("9" * 19, 1, 10**20, False), ("-4", -9, 9, False), ("٤", 1, 9, False), ("0", 1, 9, False),
])  # fmt: skip
def test_integers_of_yaml(tmp_path, text, least, most, fits):
    node = yaml(tmp_path, f"\n- '{text}'\n")
    (word,) = node.items("list")
    if fits:
        assert word.integer("it", least, most) == int(text)
    else:
        with refused(FormatError, f"x:2: it is {text!r}, expected an integer from {least} to {most}"):
            word.integer("it", least, most)


def test_objects_of_json():
    assert parse_object(b'{"a": [1]}', "x", "a thing") == {"a": [1]}
    for text, words in (
        ('{"a":\n1,}', "x:2 a thing"), ("[1]", "list a thing"), ("[" * 100_000, "x damaged"),
        (b'"\xff"', "x damaged a thing"), ("3", "int"),
    ):  # fmt: skip
        with pytest.raises(FormatError) as caught:
            parse_object(text, "x", "a thing")
        assert all(word in str(caught.value) for word in words.split()), caught.value
