"""Options typed as text: what they mean, and what a wrong one is told."""

import re
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from helpers.errors import mentions
from hopbytes.errors import UnsupportedError, WrongTypeError
from hopbytes.util.options import build, check_types, describe
from hopbytes.util.registry import Registry

tools: Registry[type] = Registry("tool", "hopbytes.util.registry")


@tools.register("two_words")
@dataclass(frozen=True, slots=True)
class Tool:
    tries: int = 3
    slack: float = 0.5
    limit: int | None = None
    careful: bool = True
    mode: str = "quick"


def test_defaults_values_and_both_spellings():
    assert build(tools, "two_words") == Tool()
    text = "two-words: tries=5, slack=1e-2,limit=7,careful=no,mode=slow"
    assert build(tools, text) == Tool(5, 0.01, 7, False, "slow")
    assert build(tools, "two_words:limit=None") == build(tools, "two_words:,") == Tool()
    assert build(tools, " two_words : tries=0 ,, mode=a=b,careful=NO") == Tool(0, careful=False, mode="a=b")
    assert build(tools, "two_words:tries=2147483647").tries == 2**31 - 1
    assert build(tools, Tool(9)) == Tool(9)


def test_describing_and_building_are_inverse():
    tool = Tool(4, 0.25, None, False, "other")
    assert describe(tools, tool) == "two_words:tries=4,slack=0.25,limit=none,careful=false,mode=other"
    assert build(tools, describe(tools, tool)) == tool


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("two_words:tries=abc", "tool 'two_words': tries=abc, expected integer"),
        ("two_words:careful=perhaps", "expected true or false"),
        ("two_words:limit=x", "expected integer or none"),
        ("two_words:trys=1", "option 'trys=1' is unknown"),
        ("two_words:trys=1", "(did you mean tries=1?)"),
        ("two_words:tries", "option 'tries' is unknown"),
    ],
)
def test_a_wrong_option_lists_all_options_and_their_types(text, said):
    with pytest.raises(UnsupportedError) as caught:
        build(tools, text)
    assert said in str(caught.value)
    listed = "tries=integer, slack=number, limit=integer or none, careful=true or false, mode=word"
    assert listed in str(caught.value)


@pytest.mark.parametrize("number", ["-1", "2147483648", "9" * 40])
def test_an_integer_that_compiled_code_cannot_take_is_refused(number):
    with pytest.raises(UnsupportedError, match=f"tries={number}, expected an integer from 0 to 2147483647"):
        build(tools, f"two_words:tries={number}")


@pytest.mark.parametrize("number", [-1, 2**31, 2**40, True, 1.5, "3", None])
def test_an_integer_of_an_instance_is_checked_like_one_of_a_text(number):
    said = f"tool 'two_words': tries={number!r}, expected an integer from 0 to 2147483647"
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        build(tools, Tool(number))
    assert build(tools, Tool(np.int64(5), slack=-1.0, limit=-7)) == Tool(5, slack=-1.0, limit=-7)


def test_an_option_is_given_once():
    with pytest.raises(UnsupportedError, match="option 'tries' occurs twice"):
        build(tools, "two_words:tries=1,tries=1")


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"careful": 1}, "True or False"), ({"mode": 3}, "a text"), ({"careful": None}, "True or False")],
)
def test_an_option_of_an_instance_has_its_type(given, expected):
    with pytest.raises(WrongTypeError, match=f"two_words.*expected {expected}"):
        build(tools, Tool(**given))
    with pytest.raises(WrongTypeError, match=f"Tool: .*expected {expected}"):
        check_types(Tool(**given))
    check_types(Tool(np.int32(3), careful=np.bool_(True)))


def test_classes_of_other_modules_leave_the_path_as_it_was(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert type(build(tools, "collections:OrderedDict")).__name__ == "OrderedDict"
    with pytest.raises(UnsupportedError, match="there is no class of this name"):
        build(tools, "os:getcwd")
    with pytest.raises(UnsupportedError, match="cannot be imported"):
        build(tools, "no_such_module:Thing")
    assert sys.path == before
    assert describe(tools, OwnTool(2)) == "OwnTool:size=2"
    assert describe(tools, object()) == "object"


@dataclass
class OwnTool:
    size: int


def test_instances_of_other_classes_may_have_any_integers():
    @dataclass
    class Other:
        tries: int = -1

    assert build(tools, Other()) == Other()


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(UnsupportedError, match=mentions("'two_words'")):
        build(tools, "to_words")

