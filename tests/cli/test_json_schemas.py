"""What ``--json`` prints fits the schemas in docs/schemas, and they know every name that it prints."""

import json
import os
import shutil
from pathlib import Path

import pytest

from helpers.paths import EXAMPLES

jsonschema = pytest.importorskip("jsonschema")

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
HALO = (EXAMPLES / "halo_96.pattern", "--on", "node:8@10 package:2@3 core:6@1")
SMALL = ("stencil:4x4x2", "--on", "torus:4x4@10 / core:2@1")
MESH = ("stencil:8x8", "--on", "node:2@10 core:4@1")
TIMED = "node:2@10:lat=2e-6:bw=1e9 core:4@1:lat=1e-6:bw=1e10"
KINDS = ("mappers", "refiners", "presets", "machines", "formats", "patterns", "objectives")
#: Verb and arguments of calls that need no launcher; MAPPING is a stored mapping.
CALLS = [
    ("map", *HALO, "--hosts", "n[1-8]", "-o", "rankfile", "--format", "openmpi", "--quiet"),
    ("map", *MESH, "--partition", "--preset", "fast", "--quiet"),
    ("map", *SMALL, "--preset", "fast", "--objective", "max-congestion", "--quiet"),
    ("map", *MESH, "--partition", "--initial", "MAPPING", "--migration-price", "1000", "--quiet"),
    ("map", *MESH, "--partition", "--preset", "fast", "--time-limit", "20", "--quiet"),
    ("eval", *HALO, "--order", "cyclic"),
    ("eval", *SMALL, "--order", "block"),
    ("eval", "stencil:4x2", "--on", TIMED, "--order", "block"),
    ("simulate", *SMALL),
    ("advise", *HALO, "--grade", "bound", "--seeds", "1"),
    ("simulate", *HALO, "MAPPING", "--grade", "bound"),
    ("map", "ml:tp=2,pp=1,dp=2,layers=2", "--on", "rails:2x2", "--quiet"),
    ("eval", "ml:tp=2,pp=1,dp=2,layers=2", "--on", "node:2 gpu:2", "--order", "block"),
    ("show", "node:8@10 package:2@3 core:6@1"),
    ("show", "torus:4x4@10 / core:2@1"),
    ("show", "torus:4x4@10 / core:2@1", "--route", "0", "10"),
    ("show", "local"),
    ("show", EXAMPLES / "halo_96.pattern"),
    ("show", "MAPPING"),
    ("show", "multisection"),
    ("show", "eco"),
]


def schema_of(verb):
    """Return the schema of a verb, itself checked."""
    schema = json.loads((SCHEMAS / f"{verb}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def described(schema, answer, whole):
    """Return the names a schema describes for one answer, at its top level."""
    if "oneOf" in schema:
        fitting = [
            each for each in schema["oneOf"]
            if jsonschema.Draft202012Validator({**each, "$defs": whole.get("$defs", {})}).is_valid(answer)
        ]  # fmt: skip
        assert len(fitting) == 1
        return set(fitting[0]["properties"])
    return set(schema["properties"])


def check(name, printed):
    """Validate one printed answer by a schema, and that all its names are described."""
    schema, answer = schema_of(name), json.loads(printed)
    jsonschema.Draft202012Validator(schema).validate(answer)
    if name == "show-list":
        assert answer
        schema, answer = schema["items"], answer[0]
    assert set(answer) - described(schema, answer, schema) == set()


def test_every_verb_with_json_has_a_schema():
    text = (SCHEMAS.parent / "cli.md").read_text()
    sections = text.split("\n## hopbytes ")[1:]
    verbs = {section.split()[0] for section in sections if "| `--json`" in section}
    several = {"map-distributed", "eval-several", "eval-distributed", "show-list"}
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")} == verbs | several


@pytest.mark.parametrize("kind", KINDS)
def test_lists_fit(hopbytes, kind):
    check("show-list", hopbytes("show", kind, "--json").stdout)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(str(word) for word in call)[:60])
def test_answers_fit(hopbytes, tmp_path, call):
    if "MAPPING" in call:
        made = MESH if call[0] == "map" else HALO
        assert hopbytes("map", *made, "--preset", "fast", "-o", "placed.json").returncode == 0
        call = [tmp_path / "placed.json" if word == "MAPPING" else word for word in call]
    done = hopbytes(*call, "--json", code=0)
    check(call[0], done.stdout)


@pytest.mark.parametrize("given", [HALO, SMALL], ids=["levels", "links"])
def test_two_mappings_fit(hopbytes, tmp_path, given):
    for mapper in ("identity", "random"):
        hopbytes("map", *given, "--mapper", mapper, "--quiet", "-o", f"{mapper}.json", code=0)
    done = hopbytes("eval", given[0], "identity.json", "random.json", "--json", code=0)
    check("eval-several", done.stdout)
    names = set(schema_of("eval-several")["$defs"]["measured"]["properties"])
    assert set(json.loads(done.stdout)["other"]) - names == set()


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")
@pytest.mark.parametrize("verb", ["verify", "bench-pattern"])
def test_answers_of_launches_fit(hopbytes, tmp_path, verb, monkeypatch):
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setitem(os.environ, name, "1")
    hopbytes("map", "stencil:2", "--on", "core:2@1", "--hosts", "localhost", "-o", "placed.json", code=0)
    before = ["stencil:2"] if verb == "bench-pattern" else []
    done = hopbytes(verb, *before, "placed.json", "--json", "--", "mpirun", "--oversubscribe", "-n", "2")
    if done.returncode != 0 and not done.stdout:
        pytest.skip(f"no launch here: {done.stderr.strip()[:200]}")
    check(verb, done.stdout)


def test_a_wrong_answer_is_refused():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema_of("map")).validate({"comm_cost": -1})
