"""The output of verbs: JSON on standard output, sentences on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hopbytes.cli.colour import painted_lines
from hopbytes.errors import printable

if TYPE_CHECKING:
    from hopbytes.cli.options import WritingOptions
    from hopbytes.cost.metrics.evaluation import Evaluation
    from hopbytes.formats.exchange import Receipt
    from hopbytes.launch.installed import Advice
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping as TaskMapping
    from hopbytes.show.verdict import Verdict


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NumPy numbers become plain ones."""
    from hopbytes.util.quantities import plain_value

    if isinstance(value, dict) and isinstance(value.get("notices"), list):
        value = {**value, "notices": [_for_terminal(notice) for notice in value["notices"]]}
    print(json.dumps(value, default=plain_value))


def print_answer(record: Any, text: str, marks: Mapping[str, str] | None = None, *, json: bool) -> None:
    """Print what a verb has found, as JSON or for people."""
    if json:
        print_json(record)
    else:
        print_text(text, marks)


def _for_terminal(sentence: str, slot: str = "slot") -> str:
    from hopbytes.cli.option_names import for_terminal

    return for_terminal(sentence, slot)


def print_evaluation(
    graph: CommGraph, mapping: TaskMapping, evaluation: Evaluation, *, complete: bool, json: bool
) -> None:
    """Print a verdict and the metrics: all of them or those most people want, or everything as JSON."""
    from hopbytes.cost.metrics.parallelism import parallelism, parallelism_record
    from hopbytes.show.evaluation_text import evaluation_table
    from hopbytes.show.verdict import verdict_of, volume_unit
    from hopbytes.text.columns import width

    verdict = verdict_of(graph, mapping, evaluation)
    if json:
        record = {"verdict": verdict.to_dict(), **parallelism_record(graph, mapping)}
        return print_json(record | evaluation.to_dict())
    slot, unit = mapping.where.slot_word, volume_unit(graph, mapping)
    sentences = [_for_terminal(sentence, slot) for sentence in verdict.sentences]
    print_text("\n".join([*sentences, *map(str, parallelism(graph, mapping)), ""]), verdict.marks)
    table = evaluation_table(evaluation, width(widest=200), complete=complete, unit=unit, slot=slot)
    print_text(table, {table.partition("\n")[0]: "head"})


def written(
    writing: WritingOptions, mapping: TaskMapping, output: str | None, extra: dict[str, Any], *, json: bool
) -> Receipt | None:
    """Write a mapping to `output`; on a terminal print a line per node instead of one per task."""
    if json and output is None:
        return None
    if output is not None or writing.format is not None or not sys.stdout.isatty():
        return writing.write(mapping, output, **extra)
    from hopbytes.show.describe import ranks_per_node

    print_text("\n".join([*ranks_per_node(mapping), "(-o FILE writes the mapping)", ""]))
    return None


def print_text(text: str, marks: Mapping[str, str] | None = None) -> None:
    """Print lines for people; control characters, which names in files may contain, are escaped."""
    if "`" in text:
        from hopbytes.cli.option_names import as_options

        text = as_options(text)
    print(painted_lines(printable(text, "\n\t"), marks or {}, sys.stdout))


def draw_evaluation(
    graph: CommGraph, mapping: TaskMapping, output: str | None, *, launcher: str, force: bool
) -> None:
    """Write the picture of a mapping beside the launcher's own order, if there is a file for it."""
    if output is not None:
        from hopbytes.show.back_ends import write_panel
        from hopbytes.show.pictures import evaluation_picture

        panel, title = evaluation_picture(graph, mapping, launcher=launcher)
        write_panel(panel, output, title, force=force)
        tell(f"{output} written")


def tell(*sentences: str, slot: str = "slot", marks: Mapping[str, str] | None = None) -> None:
    """Print sentences to standard error, which never carries data; if it is closed, nothing happens."""
    with contextlib.suppress(OSError):
        for sentence in sentences:
            text = printable(_for_terminal(sentence, slot), "\n\t")
            print(painted_lines(text, marks or {}, sys.stderr), file=sys.stderr, flush=True)


def judged_for(
    graph: CommGraph, mapping: TaskMapping, form: str | None, order: str | None = None, *,
    chance: bool = False,
) -> Verdict:
    """Return the verdict on a mapping beside `order`, by default that of the launcher of a format."""
    from hopbytes.formats.mappings.launchers import usual_order
    from hopbytes.show.verdict import judged

    return judged(graph, mapping, launcher=order or usual_order(form, mapping.where), chance=chance)


def tell_mapping(
    graph: CommGraph, mapping: TaskMapping, verdict: Verdict | None, before: Sequence[str],
    after: Sequence[str] = (),
) -> None:
    """Print the verdict on a mapping and its numbers to standard error, between other lines."""
    from hopbytes.show.verdict import map_summary

    summary = [] if verdict is None else map_summary(graph, mapping, verdict)
    marks = None if verdict is None else verdict.marks
    tell(*before, *summary, *after, slot=mapping.where.slot_word, marks=marks)


def advice_for(
    receipt: Receipt | None, form: str | None, record: dict[str, Any] | None = None
) -> Advice | None:
    """Return the commands that use the written launch files, if any; add them to a `record` for JSON."""
    if receipt is None or not receipt.launch:
        return None
    from hopbytes.launch.installed import advice

    commands = advice(receipt, form or "", os.environ)
    if record is not None:
        record["notices"] += commands.notices
        record |= {"launch": commands.command, "launches": dict(commands.others)}
    return commands


def launch_lines(advice: Advice | None) -> list[str]:
    """Return the lines with commands, which verbs print last so that users find them."""
    return [f"{label}: {command}" for label, command in advice.lines] if advice else []
