"""Completion in a real bash, in a real zsh, which needs a terminal, and in a real fish."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time

import pytest

from helpers.paths import PROGRAM

#: What was typed, what is offered, what is not.
CASES = [
    ("hopbytes ma", {"map"}, {"eval"}),
    ("hopbytes map --p", {"--per", "--preset", "--pack"}, {"--order", "--on"}),
    ("hopbytes map x --preset ", {"fast", "eco", "strong"}, {"eval"}),
    ("hopbytes map x --for sl", {"slurm"}, {"openmpi"}),
    ("hopbytes eval x --mapping-format ", {"slurm", "json", "plain"}, {"metis"}),
    ("hopbytes map x --on to", {"torus:"}, {"tree:"}),
    ("hopbytes map recor", {"recorded.pattern"}, {"other.pattern"}),
]
PATIENCE = 60
ZSHRC = """\
autoload -U compinit && compinit -u -d $ZDOTDIR/dump
eval "$(hopbytes --completion zsh)"
PS1='READY> ' LISTMAX=10000
unset zle_bracketed_paste
bindkey '^X' list-choices
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with two patterns."""
    for name in ("recorded.pattern", "other.pattern"):
        (tmp_path / name).write_text("")
    return tmp_path


def environment(**more):
    return {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", **more}


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("typed", "offered", "absent"), CASES)
def test_fish_completes(folder, typed, offered, absent):
    script = f"hopbytes --completion fish | source; complete -C '{typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=folder,
        env=environment(HOME=str(folder)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert offered <= found
    assert not absent & found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(("typed", "offered", "absent"), CASES)
def test_zsh_completes(folder, typed, offered, absent):
    (folder / ".zshrc").write_text(ZSHRC)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
    shell = subprocess.Popen(
        ["zsh", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
        env=environment(ZDOTDIR=str(folder), TERM="vt100"),
    )  # fmt: skip
    os.close(slave)
    try:
        read_until(master, {"READY>"})
        os.write(master, typed.encode() + b"\x18")
        found = read_until(master, offered)  # zsh shows all words of a list at once
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
    assert not absent & found


def read_until(terminal, words):
    """Return the words that a terminal shows, once some have come."""
    shown, last = b"", time.monotonic() + PATIENCE
    while time.monotonic() < last:
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 65536)
        text = re.sub(r"\x1b[\[(?]*[0-9;]*[A-Za-z=>]|[\x00\r]", " ", shown.decode(errors="replace"))
        found = set(re.findall(r"[\w:.>-]+", text))
        if words <= found:
            return found
    raise AssertionError(f"{words} did not come, but {shown[-500:]!r}")


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
        *((f"{typed}''" if typed.endswith(" ") else typed, *sets) for typed, *sets in CASES[:6]),
        ("hopbytes ''", {"map", "eval", "bench-pattern"}, {"list"}),
        ("hopbytes map x --mapper mul", {"multisection"}, {"swap"}),
        ("hopbytes show pre", {"presets"}, {"eco"}),
        ("hopbytes show str", {"strong"}, {"eco"}),
        ("hopbytes map st", {"stencil:"}, {"ml:"}),
    ],
)
def test_bash_completes_verbs_options_and_values(tmp_path, words, offered, absent):
    found = set(completed(tmp_path, words))
    assert offered <= found
    assert not absent & found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_ones_the_shell_can_read(hopbytes, shell):
    done = hopbytes("--completion", shell, code=0)
    assert f"{shell}_complete" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=60)


def test_other_shells_are_refused(hopbytes):
    done = hopbytes("--completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert "zsh" in done.stderr
