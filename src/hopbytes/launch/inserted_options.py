"""Inserts the options of a mapping into a user's launch command."""

from __future__ import annotations

import shlex

from hopbytes.launch.command import LaunchCommand, Option, Start, options_of
from hopbytes.launch.launchers import ASSIGNMENT

#: Options that may be given several times, each time for another variable or parameter.
REPEATED = ("genv", "o", "mca", "x")


def _sets(option: Option) -> tuple[str, str] | None:
    """Return the option and the variable it sets, for options that may be given once per variable."""
    if option.name not in REPEATED or len(option.words) < 2:
        return None
    return option.name, option.words[1].partition("=")[0]


def placed(command: LaunchCommand, written: str) -> Start:
    """Insert the options of a mapping into a user's command."""
    words = shlex.split(written)
    environment = []
    while ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment.append((name, value))
    own = len(command.start) - command.start.index(command.tool)  # `flux run` has two words
    ours, program = options_of(command.launcher, words[own:])
    launcher, typed = command.launcher, command.options
    if any(option.name == "map-by" and option.value == "seq" for option in ours):
        # With `--map-by seq` the list of hosts is the mapping itself, so it replaces the user's list.
        typed = tuple(option for option in typed if option.name not in launcher.hosts)
    theirs = {option.name for option in typed}
    already = {_sets(option) for option in typed} - {None}
    added = []
    for option in ours:
        counts = option.name in launcher.counts and theirs & set(launcher.counts)
        names_hosts = option.name in launcher.hosts and theirs & launcher.hosts
        # In all other cases the user's option is kept, unless the option may be given several times.
        twice = option.name in theirs and (option.name not in REPEATED or _sets(option) in already)
        if not counts and not names_hosts and not twice:
            added.append(option)
    wrapper = program[:-1]  # `sh place.sh`, or nothing; the last word is the placeholder ./app
    kept = [o for o in typed if not (launcher.counts_per_node and o.name in launcher.counts)]
    together = [*added, *kept]
    if launcher.assigns:  # assignments must follow all options
        together.sort(key=lambda option: not option.words[0].startswith("-"))
    words = [word for option in together for word in option.words]
    words += [*wrapper, *command.program]
    for part in command.others:  # options before the first program are for all, but not those of variables
        theirs_too = {_sets(option) for option in part.options}
        own_variables = [o for o in ours if o.name == "x" and _sets(o) not in theirs_too]
        words += [":", *(word for option in (*own_variables, *part.options) for word in option.words)]
        words += [*wrapper, *part.program]
    return Start((*command.start, *words), tuple(environment))
