"""``hopbytes verify``: check that a launch puts every rank where the mapping puts it."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Json, MappingFormat, OutputFile, Quiet, WritingOptions
from hopbytes.cli.declare import Exit, argument, option
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import LaunchingOptions, given_mapping
from hopbytes.cli.machine_options import MachineOptions


def verify(
    mapping: Annotated[
        str,
        argument(
            metavar="MAPPING", values="files",
            help="Stored by 'map -o FILE.json'; with --on, a file of any mapping format.",
        ),
    ],
    machine: MachineOptions,
    writing: WritingOptions,
    launching: LaunchingOptions,
    command: CommandWords = None,
    as_typed: Annotated[
        bool,
        option("--as-typed", help="Run the command as it is, with its own launch files."),
    ] = False,
    mapping_format: MappingFormat = None,
    output: OutputFile = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that a launch puts every rank where the mapping puts it.

    A small probe starts in place of the program and reports host, CPUs and GPUs of every rank. Launch
    files are written for MAPPING and put into the command, which need not name a program. The exit code
    is 0 if every rank is where it belongs, 1 if not, else that of the launcher.
    """
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.launch.verify import verify_launch
    from hopbytes.text.hostlist import read_hosts

    where = machine.allocation() if machine.given else None
    form = mapping_format or writing.format or ("json" if where is None else None)
    stored = given_mapping(mapping, form, where)
    hosts = None if machine.hosts is None or where is not None else read_hosts(machine.hosts)
    outcome = verify_launch(
        stored, command_words(command), stem=output, as_typed=as_typed, hosts=hosts, force=writing.force,
        **launching.keywords(),
    )
    if json:
        print_json(outcome.to_dict())
    else:
        for sentence in outcome.verdict.wrong[:20]:
            print_text(sentence)
        if len(outcome.verdict.wrong) > 20:
            print_text(f"… and {len(outcome.verdict.wrong) - 20} more")
        if not quiet:
            tell(outcome.summary())
    if outcome.code:
        raise Exit(outcome.code)
