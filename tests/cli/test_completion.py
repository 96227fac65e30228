"""Completion in a real bash; the scripts for zsh and fish are made by the same program."""

import os
import shutil
import subprocess

import pytest

from helpers.paths import PROGRAM

ASK = """
PATH={folder}:$PATH
eval "$(hopbytes --completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_hopbytes_completion hopbytes "${{COMP_WORDS[COMP_CWORD]}}" "" 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p hopbytes >&2
"""


def completed(tmp_path, words):
    """Return what bash offers for the last of the words."""
    script = ASK.format(folder=PROGRAM.parent, words=words)
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env=dict(os.environ),
    )  # fmt: skip
    assert "_hopbytes_completion" in done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered", "absent"),
    [
        ("hopbytes ''", {"map", "eval", "bench-pattern"}, {"list"}),
        ("hopbytes ma", {"map"}, {"eval"}),
        ("hopbytes map --pre", {"--preset"}, {"--on"}),
        ("hopbytes map --p", {"--per", "--preset", "--pack"}, {"--order"}),
        ("hopbytes map --preset ''", {"fast", "eco", "strong"}, {"map"}),
        ("hopbytes map x --format sl", {"slurm"}, {"openmpi"}),
        ("hopbytes map x --mapper mul", {"multisection"}, {"swap"}),
        ("hopbytes show pre", {"presets"}, {"eco"}),
        ("hopbytes show str", {"strong"}, {"eco"}),
        ("hopbytes map x --on to", {"torus:"}, {"tree:"}),
        ("hopbytes map st", {"stencil:"}, {"ml:"}),
    ],
)
def test_bash_completes_verbs_options_and_values(tmp_path, words, offered, absent):
    found = set(completed(tmp_path, words))
    assert offered <= found
    assert not absent & found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_ones_the_shell_can_read(hopbytes, shell):
    done = hopbytes("--completion", shell)
    assert done.returncode == 0
    assert f"{shell}_complete" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=60)


def test_other_shells_are_refused(hopbytes):
    done = hopbytes("--completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert "zsh" in done.stderr
