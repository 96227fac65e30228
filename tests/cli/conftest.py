"""Every test here runs the installed program, as a user does."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_program import PROGRAM

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hopbytes(tmp_path: Path) -> Run:
    """Run ``hopbytes ARGS`` in an empty folder and return what it printed and its exit code."""

    def run(*arguments: object, stdin: str | bytes | None = None) -> "subprocess.CompletedProcess[str]":
        content = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=content,
            stdin=subprocess.DEVNULL if content is None else None,
            capture_output=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run
