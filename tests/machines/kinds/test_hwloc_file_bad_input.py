"""Damaged, hostile and contradictory hwloc files: one clear line each, and never a crash."""

import random

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import hwloc_sample
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.kinds.hwloc import read_hwloc

PU = '<object type="PU" os_index="0"/>'


def document(inside: str, head: str = '<topology version="2.0">', prolog: str = "") -> str:
    return f'<?xml version="1.0"?>{prolog}{head}{inside}</topology>'


BOMB = (
    '<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
EXTERNAL = '<!DOCTYPE topology [<!ENTITY secret SYSTEM "file:///etc/hostname">]>'
PARAMETER = '<!DOCTYPE topology [<!ENTITY % remote SYSTEM "http://127.0.0.1:9/x.dtd"> %remote;]>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "not well-formed XML"),
        ("<topology version='2.0'><object", "the file ends in the middle"),
        ("<html></html>", "<html>, expected <topology>"),
        (document("&c;", prolog=BOMB), "a document type with declarations of its own"),
        (document("&secret;", prolog=EXTERNAL), "a document type with declarations of its own"),
        (document("", prolog=PARAMETER), "a document type with declarations of its own"),
        (document("&undeclared;"), "not well-formed XML: undefined entity"),
        (document("&undeclared;", prolog='<!DOCTYPE topology SYSTEM "hwloc2.dtd">'), "an entity"),
        (document(""), "0 outermost objects, expected one of type Machine"),
        (document('<object type="Core"/>'), "expected one of type Machine"),
        (document('<object type="Machine"/>'), "none of its 0 PUs is online and allowed"),
        (document(f'<object type="Machine" cpuset="0x0">{PU}</object>'), "none of its 1 PUs"),
        (document(f'<object type="Machine" allowed_cpuset="0x2">{PU}</object>'), "none of its 1 PUs"),
        (document(f'<object type="Machine" cpuset="zz">{PU}</object>'), "set 'zz', expected words like"),
        (document(f'<object type="Machine">{PU}{PU}</object>'), "PU 0 twice"),
        (document('<object type="Machine"><object type="PU"/></object>'), "PU number missing"),
        (document('<object type="Machine"><object type="PU" os_index="-4"/></object>'), "PU number -4"),
        (document('<object type="Machine"><object type="PU" os_index="99999"/></object>'), "PU number 99999"),
        (document(f'<object type="Machine">{PU}</object>', "<topology version='x'>"), "version 'x'"),
        ("<topology>" + "<object>" * 300, "nested more than 200 deep"),
    ],
)
def test_files_with_a_fault(tmp_path, text, words):
    path = tmp_path / "node.xml"
    path.write_text(text)
    with pytest.raises(FormatError, match=r".") as caught:
        read_hwloc(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_future_generations_are_named(tmp_path):
    path = tmp_path / "node.xml"
    path.write_text(document(f'<object type="Machine">{PU}</object>', '<topology version="4.0">'))
    with pytest.raises(UnsupportedError, match=mentions("4.0", "1", "3")):
        read_hwloc(str(path))


def test_an_external_document_type_is_not_fetched(tmp_path):
    path = tmp_path / "node.xml"
    prolog = '<!DOCTYPE topology SYSTEM "file:///nowhere/hwloc2.dtd">'
    path.write_text(document(f'<object type="Machine">{PU}</object>', prolog=prolog))
    assert read_hwloc(str(path)).os_pus.tolist() == [0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("hwloc:", "without a file name"),
        ("hwloc:@n1", "without a file name"),
        ("hwloc:/nowhere.xml", "No such file"),
        ("hwloc:{0}@n[1-", "open bracket"),
        ("hwloc:{0}@a,a", "'a' twice"),
        ("hwloc:{0}@a,hwloc:{0}", "without hosts"),
        ("hwloc:{0}@a,hwloc:{0}@a", "'a' twice"),
        ("hwloc:{0}:l2=9999999999999999999", "expected an integer from 0 to"),
    ],
)
def test_specs_with_a_fault(spec, words):
    with pytest.raises(HopbytesError) as caught:
        hb.allocate(spec.format(hwloc_sample("v3_hybrid.xml")))
    assert words in str(caught.value)


def test_hosts_option_must_fit():
    with pytest.raises(FormatError, match=mentions("3", "2")):
        hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}@a,b", hosts="x,y,z")


def answer(spec: str) -> tuple[str, int]:
    """What is wrong with a machine, and how many slots it has."""
    try:
        return "", hb.allocate(spec).k
    except HopbytesError as error:
        return str(error), 0


@pytest.mark.parametrize("name", ["v1_numa_outside", "v2_smt_gpus", "v2_no_cores", "v3_hybrid"])
def test_damaged_copies_end_in_a_machine_or_a_clear_line(tmp_path, name):
    """Cut anywhere, with bytes exchanged, lines missing or doubled, words swapped for others of the file."""
    with open(hwloc_sample(f"{name}.xml"), "rb") as stream:
        whole = stream.read()
    lines = whole.splitlines(keepends=True)
    words = sorted(set(whole.replace(b'"', b" ").split()))
    path = tmp_path / "node.xml"
    rng = random.Random(7)
    for turn in range(120):
        damaged = bytearray(whole)
        if turn % 4 == 0:
            damaged = damaged[: rng.randrange(1, len(damaged))]
        elif turn % 4 == 1:
            for _ in range(rng.randrange(1, 6)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        elif turn % 4 == 2:
            chosen = list(lines)
            for _ in range(rng.randrange(1, 4)):
                place = rng.randrange(len(chosen))
                chosen[place : place + 1] = [] if rng.random() < 0.5 else [chosen[place], chosen[place]]
            damaged = bytearray(b"".join(chosen))
        else:
            for _ in range(rng.randrange(1, 4)):
                damaged = bytearray(bytes(damaged).replace(rng.choice(words), rng.choice(words), 1))
        path.write_bytes(bytes(damaged))
        said, k = answer(f"hwloc:{path}@a,b")
        assert k >= 2 or (said and "\n" not in said)
