"""Standard streams in any state: closed, full, or without the characters we print."""

import json
import os
import subprocess

import pytest

from helpers.paths import EXAMPLES, PROGRAM

EXAMPLE = str(EXAMPLES / "lammps_lj_64.csv")
ON = ("--on", "node:8@10 core:8@1")


def run_shell(redirection, *arguments, cwd=None, **environment):
    """Run the installed program under a shell that redirects as told."""
    command = f'"$0" "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", command, PROGRAM, *arguments],
        capture_output=True, cwd=cwd, timeout=60, env=os.environ | environment,
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter_when_there_is_a_file(tmp_path, redirection):
    done = run_shell(redirection, "map", EXAMPLE, *ON, "-o", "out.json", cwd=tmp_path)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    # Nothing that was meant for a closed stream may end in the file that took its number.
    assert len(json.loads((tmp_path / "out.json").read_bytes())["pe"]) == 64


def test_what_a_conversion_loses_is_said_unless_quiet(hopbytes):
    for quiet in ((), ("--quiet",)):
        done = hopbytes("write", EXAMPLE, "-o", "x.graph", "--symmetrize", *quiet, code=0)
        assert ("message counts are lost" in done.stderr) == (not quiet)


def test_data_stays_clean_when_standard_error_is_closed():
    done = run_shell("2>&-", "map", EXAMPLE, *ON)
    assert done.returncode == 0
    assert sorted(map(int, done.stdout.split())) == list(range(64))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])  # what Python holds back it writes when it ends
@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("show", "mappers"), ("map", EXAMPLE, *ON), ("map", EXAMPLE, *ON, "--json")],
)
def test_a_full_standard_output_is_said_in_one_line(arguments, unbuffered):
    done = run_shell(">/dev/full", *arguments, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert done.stderr.startswith(b"hopbytes: standard output: ")
    assert b"No space left" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_error_costs_no_result(unbuffered):
    done = run_shell("2>/dev/full", "map", EXAMPLE, *ON, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 0
    assert sorted(map(int, done.stdout.split())) == list(range(64))
