"""Help texts: few options first, examples that parse, one line per error; made from one declaration."""

import re
import shlex

import pytest

from hopbytes.cli.app import command_of
from hopbytes.cli.help_text import page_of, terminal_text
from hopbytes.cli.slips import FORMER
from hopbytes.cli.verbs import START, VERBS

COMMANDS = {verb: command_of(verb) for verb in VERBS}


def text_of(verb, *, complete=False, columns=80):
    return terminal_text(page_of(COMMANDS[verb]), columns, complete=complete)


def parsed(words):
    """Return what a command line means, without doing it."""
    return COMMANDS[words[0]].make_context(words[0], list(words[1:])).params


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_lines_fit_but_for_commands_to_copy(verb, columns):
    commands = {f"    {command}" for _, command in VERBS[verb].examples}
    lines = text_of(verb, complete=True, columns=columns).split("\n")
    assert max(len(line) for line in lines if line not in commands) <= columns
    assert all(len(command) <= 84 for command in commands)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_that_parse(verb):
    assert VERBS[verb].examples
    for _, command in VERBS[verb].examples:
        words = shlex.split(command)
        words = words[words.index("hopbytes") + 1 :]
        assert words[0] == verb
        parsed(words)
        assert command in text_of(verb)


def test_the_first_commands_parse():
    for _, command in START:
        parsed(shlex.split(command)[1:])


def test_map_shows_few_options_first_and_all_of_them_on_request():
    few, all_of_them = text_of("map"), text_of("map", complete=True)
    shown = re.findall(r"^  (-\S.*?)(?:  |$)", few, re.MULTILINE)
    assert 12 <= len(shown) <= 22
    for option in ("--on", "--preset", "--time-limit", "--output"):
        assert option in few
    for option in ("--capacity", "--work-limit", "--fixed"):
        assert option not in few
        assert option in all_of_them
    assert "hopbytes map --help-all" in few


def test_an_option_means_the_same_in_every_verb():
    """The word for the value shows what an option takes."""
    meant = {}
    for command in COMMANDS.values():
        for parameter in command.params:
            for name in parameter.declared.names:
                meant.setdefault(name, set()).add(parameter.declared.metavar)
    assert {name: words for name, words in meant.items() if len(words) > 1} == {}


@pytest.mark.parametrize("word", FORMER)
def test_words_that_people_try_are_told_the_verb(hopbytes, word):
    done = hopbytes(word, "x", code=2)
    assert FORMER[word] in done.stderr


def test_alone_it_says_where_to_start_and_lists_the_verbs_in_order(hopbytes):
    done = hopbytes(code=0)
    for _, command in START:
        assert command in done.stdout
    lines = done.stdout.split("Verbs:")[1].splitlines()
    found = [line.split()[0] for line in lines if re.match("  [a-z]", line)]
    assert found == list(VERBS)
    assert hopbytes("--help").stdout == done.stdout


@pytest.mark.parametrize("kind", ["mappers", "refiners", "presets", "machines", "formats"])
def test_lists_show_no_marks_of_python_documentation(hopbytes, kind):
    text = hopbytes("show", kind).stdout
    assert "`" not in text
    assert ":class:" not in text
    assert max(map(len, text.splitlines())) <= 100  # COLUMNS of these tests
