"""``hopbytes completion``: completion of words by the shell."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.declare import argument


def completion(
    shell: Annotated[str, argument(metavar="SHELL", values="shells", help="bash, zsh or fish.")],
) -> None:
    """Print a script that makes the shell complete verbs, options and their values.

    To try it in bash: eval "$(hopbytes completion bash)". To keep it: write the output to
    ~/.local/share/bash-completion/completions/hopbytes, for zsh to a file _hopbytes in a folder of $fpath,
    for fish to ~/.config/fish/completions/hopbytes.fish.
    """
    from hopbytes.cli.completion import script
    from hopbytes.cli.output import print_text

    print_text(script(shell))
