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
    ("9" * 20, 1, 10**21, False), ("-4", -9, 9, False), ("٤", 1, 9, False), ("0", 1, 9, False),
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


@pytest.mark.parametrize(("text", "words"), [
    (b"<b/>", "x:1 <b> <a>"), (b"\n<a>\n<c>\n</a>", "x:4 mismatched"), (b"<a>\n<b/>\n", "x:3 middle"),
    (b" ", "x no content"), (b"<a/><a/>", "x:1 junk"), (b'<!DOCTYPE a [<!ENTITY e "x">]><a/>', "x:1"),
    (b'<!DOCTYPE a SYSTEM "x">\n<a>&e;</a>', "x:2 entity"),
    (b"<!DOCTYPE a [<!NOTATION n SYSTEM 'x'>]><a/>", "x:1 declarations"),
])  # fmt: skip
def test_faults_of_xml(text, words):
    with pytest.raises(FormatError) as caught:
        xml(text)
    assert all(word in str(caught.value) for word in words.split()), caught.value
    assert ("middle" in str(caught.value)) == ("middle" in words)


def test_yaml_nodes(tmp_path):
    top = yaml(tmp_path, "a: 1\nb:\n- x\n- {y: '2'}\n---\nanother: document\n").mapping("top")
    assert (top["a"].line, top["b"].line, list(top)) == (1, 3, ["a", "b"])
    word, pairs = top["b"].items("b")
    assert (word.text("x"), word.line, pairs.mapping("y")["y"].integer("y", 2, 2)) == ("x", 3, 2)
    assert yaml(tmp_path, "[" * 50 + "]" * 50).line == 1


@pytest.mark.parametrize(("text", "words"), [
    ("a: b\nc: [1\n", "x:3 YAML"), ("\n- &n a\n- *n\n", "x:3 alias"), ("---\n", "'' pairs"),
    ("# nothing\n", "x empty"), ("a: 1\nb: 2\na: 3\n", "x:3 twice"), ("\n? [k]\n: v\n", "x:2 word"),
    ("[" * 50 + "\n[" + "]" * 51, "x:2 50"), ("- a\n", "x:1 list pairs"), ("a: \x00\n", "x characters"),
])  # fmt: skip
def test_faults_of_yaml(tmp_path, text, words):
    with pytest.raises(FormatError) as caught:
        yaml(tmp_path, text).mapping("it")
    assert all(word in str(caught.value) for word in words.split()), caught.value
    assert "\n" not in str(caught.value)


def test_kinds_of_yaml_nodes(tmp_path):
    top = yaml(tmp_path, "a: [1]\nb: {c: d}\n").mapping("top")
    for read, words in (
        (top["a"].text, "x:1 list word"), (top["b"].text, "x:2 mapping word"), (top["b"].items, "x:2 list"),
        (top["b"].mapping("b")["c"].items, "x:2 'd' list"), (top["a"].mapping, "x:1 list pairs"),
    ):  # fmt: skip
        with pytest.raises(FormatError) as caught:
            read("it")
        assert all(word in str(caught.value) for word in words.split()), caught.value
