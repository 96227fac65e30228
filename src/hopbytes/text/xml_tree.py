"""Untrusted XML: no entities, nothing external, bounded size and depth, errors with line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any

from hopbytes.errors import FormatError
from hopbytes.text.open_input import open_stream

MAX_BYTES = 256 * 2**20
MAX_ELEMENTS = 2**20
MAX_DEPTH = 200


@dataclass(slots=True)
class Element:
    """An element: tag, attributes, line, text directly inside, elements inside."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        """Value of an attribute."""
        return self.attributes.get(name, default)

    def named(self, tag: str) -> Iterator[Element]:
        """Children with a tag."""
        return (child for child in self.children if child.tag == tag)


def read_xml(path: str, *, root: str, max_bytes: int = MAX_BYTES) -> Element:
    """Read a small XML file (also compressed) into elements.

    One pass; memory is about ten times the file.
    """
    with open_stream(path, max_bytes=max_bytes) as opened:
        return parse_xml(opened.stream, path, root=root)


def parse_xml(stream: BufferedReader, where: str, *, root: str) -> Element:
    """Read XML from an open stream, as :func:`read_xml` does; `where` is for messages."""
    reader = _Reader(where, root)
    while chunk := stream.read(1 << 16):
        reader.feed(chunk, False)
    reader.feed(b"", True)
    assert reader.top is not None  # otherwise the parser would have raised an error
    return reader.top


class _Reader:
    """Builds elements from the events of expat."""

    def __init__(self, path: str, root: str) -> None:
        from xml.parsers import expat

        self.where, self.root = path, root
        self.top: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.failure = expat.ExpatError
        self.parser: Any = expat.ParserCreate("UTF-8")  # whatever encoding the file names
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.data
        self.parser.StartDoctypeDeclHandler = self.doctype
        for handler in ("EntityDeclHandler", "UnparsedEntityDeclHandler", "ExternalEntityRefHandler"):
            setattr(self.parser, handler, self.refuse)
        self.parser.SkippedEntityHandler = self.refuse

    def feed(self, chunk: bytes, last: bool) -> None:
        try:
            self.parser.Parse(chunk, last)
        except self.failure as error:
            from xml.parsers.expat import ErrorString

            what = "no content" if self.top is None and last else ErrorString(getattr(error, "code", 0))
            cut = " (the file ends in the middle)" if last and self.top is not None else ""
            line = getattr(error, "lineno", None)
            raise FormatError(self.where, line, f"not well-formed XML: {what}{cut}") from None

    def bad(self, what: str) -> FormatError:
        return FormatError(self.where, self.parser.CurrentLineNumber, what)

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise self.bad("a document type with declarations of its own, expected plain XML without any")

    def refuse(self, *arguments: object) -> None:
        raise self.bad("an entity, expected plain XML without any")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.bad(f"more than {MAX_ELEMENTS} elements, expected a smaller file")
        if len(self.open) >= MAX_DEPTH:
            raise self.bad(f"elements nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        elif tag != self.root:
            raise self.bad(f"<{tag[:40]}>, expected <{self.root}>")
        else:
            self.top = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        self.open.pop()

    def data(self, text: str) -> None:
        if not text.isspace():
            self.open[-1].text += text
