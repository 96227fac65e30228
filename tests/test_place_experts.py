"""The example that places experts and their replicas."""

import re
import subprocess
import sys

from helpers.paths import EXAMPLES


def test_experts_of_a_token_are_on_fewer_hosts():
    command = [sys.executable, EXAMPLES / "place_experts.py"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.findall(r"([0-9.]+) hosts a token, ([0-9]+) to ([0-9]+) replicas .* has ([0-9.]+) of", said)
    (before, *_), (after, fewest, most, load) = found
    assert float(after) < 0.75 * float(before)
    assert (fewest, most) == ("3", "3")
    assert float(load) < 2
