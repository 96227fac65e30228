"""The page of the papers' words: counts, files and options are true, and words get an answer."""

import re
from pathlib import Path

import pytest

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import IN_PAPERS, unknown_name
from hopbytes.util.options import build

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/understand/papers.md").read_text()
ITEMS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE[PAGE.index("## The items") :].splitlines()
    if re.match(r"\| (?!item|---)", line)
]


def test_counts_are_those_of_the_table():
    states = [re.match(r"works|partly(?=: )|missing(?=: )", state)[0] for *_, state in ITEMS]
    sentence = r"their (\d+) algorithms.*?: (\d+) work, (\d+) work partly, (\d+) are missing"
    told = re.search(sentence, PAGE, re.DOTALL)
    assert [int(number) for number in told.groups()] == [
        len(ITEMS), *(states.count(state) for state in ("works", "partly", "missing"))
    ]  # fmt: skip
    assert len({tuple(item) for item in ITEMS}) == len(ITEMS)


def test_tests_exist():
    for item, _, test, state in ITEMS:
        there = (ROOT / "tests" / test.strip("`")).is_file()
        assert state.startswith("missing") if test == "—" else there, item


def test_options_of_algorithms_exist():
    texts = set(re.findall(r"`([a-z_]+:[a-z_]+=[^`]*)`", PAGE))
    names = {*mappers, *refiners}
    known = [text for text in texts if text.partition(":")[0] in names and not text.endswith("=")]
    assert len(known) > 15
    for text in known:
        for registry in (mappers, refiners):
            name, _, options = text.partition(":")
            if name in registry and "partitioner" not in options:
                fits = options.partition("=")[0] in registry[name].__dataclass_fields__
                both = name in mappers and name in refiners
                assert fits or both, text
                if fits:
                    build(registry, text)


@pytest.mark.parametrize(("word", "ours"), sorted(IN_PAPERS.items()))
def test_words_of_papers_are_answered_with_ours(word, ours):
    names = {*mappers, *refiners, *objectives, "queue", "nb_layer"}
    assert ours.partition(":")[0] in names
    assert f"did you mean {ours!r}?" in str(unknown_name("name", word.upper(), names))
