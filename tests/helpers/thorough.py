"""How much the tests try: enough to notice a mistake, or with ``HOPBYTES_TESTS=all`` everything.

With ``all`` every combination of parameters is tried, where otherwise each value meets some of the others,
and random tests draw more examples. Run it after a change of what such a test is about.
"""

import os
from typing import TypeVar

THOROUGH = os.environ.get("HOPBYTES_TESTS") == "all"
Value = TypeVar("Value")


def most(everything: Value, some: Value) -> Value:
    """Return `everything` where all tests were asked for, otherwise `some`."""
    return everything if THOROUGH else some
