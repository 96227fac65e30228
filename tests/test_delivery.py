"""Metadata, extras, recipes and set-up commands agree with each other and with the source."""

import importlib.util
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import hopbytes as hb
from hopbytes.errors import UnsupportedError

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PROJECT = (ROOT / "pyproject.toml").read_text()
EXTRAS = re.search(r"^\[project\.optional-dependencies\]\n(.*?)^\[", PROJECT, re.MULTILINE | re.DOTALL)


def readme_command(name):
    return subprocess.run([ROOT / ".ci/readme_command", name], capture_output=True, text=True, timeout=60)


def test_two_commands_do_all_the_set_up():
    """Other blocks may stand in the README; these two are marked, one line each, and enough."""
    assert re.findall(r"<!-- command: (\w+) -->", README) == ["try", "test"]
    first, second = readme_command("try"), readme_command("test")
    assert (first.returncode, second.returncode) == (0, 0)
    assert re.match(
        r"python3 -m venv \.venv && \.venv/bin/pip install \. && \.venv/bin/hopbytes map ", first.stdout
    )
    assert second.stdout.endswith("&& .venv/bin/python -m pytest -n auto --dist loadgroup\n")
    assert f"```sh\n{first.stdout}```" in README


def test_a_missing_command_is_named():
    done = readme_command("nothing")
    assert done.returncode == 1
    assert "README.md: 0 lines below" in done.stderr


def test_the_version_stands_in_one_place():
    assert 'dynamic = ["version"]' in PROJECT
    copies = {
        "CITATION.cff": r"^version: (\S+)$",
        "packaging/spack/package.py": r'^    version\("([^"]+)"\)$',
        "packaging/conda/recipe.yaml": r'^  version: "([^"]+)"$',
    }
    for name, pattern in copies.items():
        found = re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)
        assert found == [hb.__version__], name


def test_errors_name_single_packages_that_extras_bring():
    """An extra of a clone would be compiled again, and that of an unpublished package does not exist."""
    assert EXTRAS is not None
    declared = set(re.findall(r"^(\w+) = \[", EXTRAS[1], re.MULTILINE))
    brought = {name.lower() for name in re.findall(r"[\"']([A-Za-z0-9_-]+)(?:\[\w+\])?>=", EXTRAS[1])}
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    assert re.findall(r"pip install ['\"](?:hopbytes|\.)", sources) == []
    named = set(re.findall(r"pip install '?([a-z0-9-]+)", sources))
    assert named >= {"pyyaml", "matplotlib", "otf2", "mpi4py", "h5py"}
    assert named <= brought
    page = (ROOT / "docs/install.md").read_text()
    assert [name for name in declared if f"`{name}`" not in page] == []


def test_yaml_without_its_extra_names_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "topology.yaml"
    path.write_text("- topology: a\n")
    with pytest.raises(UnsupportedError, match=r"needs PyYAML: pip install pyyaml$"):
        hb.allocate(f"slurm:{path}")


WITHOUT_EXTRAS = """
import sys
for name in ("yaml", "kaminpar", "kahip", "mtkahypar", "matplotlib", "mpi4py", "otf2"):
    sys.modules[name] = None
import json
import hopbytes as hb
where = hb.allocate("torus:2x2@10 / core:2@1")
graph = hb.read("stencil:4x2")
mesh = hb.read("stencil:12x12")
costs = {}
for preset in sys.argv[1:]:
    costs[preset] = [
        hb.map_tasks(graph, where, preset, limits=hb.Limits(work=20000)).info["comm_cost"],
        hb.map_tasks(mesh, where, preset, partition=True, limits=hb.Limits(work=20000)).info["comm_cost"],
    ]
print(json.dumps(costs))
"""


def test_no_preset_needs_an_extra():
    from hopbytes.solve.presets import presets

    names = sorted(presets)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *names], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    costs = json.loads(done.stdout)
    assert sorted(costs) == names
    assert all(process > 0 and mesh > 0 for process, mesh in costs.values())


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ("manylinux2014_aarch64.manylinux_2_17_aarch64", True),
        ("manylinux_2_5_aarch64", True),
        ("manylinux_2_28_aarch64", False),
        ("manylinux_2_17_x86_64", False),
        ("linux_aarch64", False),
    ],
)
def test_a_wheel_needs_a_tag_of_the_processor_and_glibc(tags, fits):
    specification = importlib.util.spec_from_file_location("build_wheels", ROOT / "tools/build_wheels.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    name = f"hopbytes-0.1.0-cp312-abi3-{tags}.whl"
    if fits:
        tool.check_tag(name, "aarch64", "2.17")
    else:
        with pytest.raises(SystemExit, match=r"expected a tag for aarch64 and glibc 2\.17"):
            tool.check_tag(name, "aarch64", "2.17")


def as_declared(requirements):
    """Return {name: oldest version} of requirements such as "numpy>=1.24; platform_machine == 'x86_64'"."""
    return dict(re.match(r"([\w-]+) ?>=([\d.]+)", text).groups() for text in requirements)


def table(name):
    """Return the strings of a list in pyproject.toml."""
    found = re.search(rf"^{name} = \[(.*?)\]", PROJECT, re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', found[1])


def test_the_extra_docs_brings_what_the_notebooks_import():
    """The site executes them; data frames need pandas, which no notebook imports itself."""
    docs, declared = table("docs"), as_declared(table("docs") + table("dependencies"))
    assert set(docs) <= set(table("test"))
    cells = json.loads((ROOT / "examples/first_mapping.ipynb").read_text())["cells"]
    source = "\n".join("".join(each["source"]) for each in cells)
    source += (ROOT / "docs/learn/notebook.md").read_text()
    imported = set(re.findall(r"^import (\w+)", source, re.MULTILINE)) | {"pandas"}
    assert imported - set(sys.stdlib_module_names) - {"hopbytes"} <= set(declared)


def test_the_conda_recipe_asks_for_what_the_package_declares():
    yaml = pytest.importorskip("yaml")
    wanted = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())["requirements"]
    run = as_declared(text for text in wanted["run"] if text != "python")
    assert run == as_declared(table("dependencies"))
    built = as_declared(text for text in wanted["host"] if ">=" in text)
    assert built == as_declared(table("requires"))
    optional = as_declared(table("yaml") + table("plot") + table("mpi"))
    renamed = {{"matplotlib": "matplotlib-base"}.get(name, name): oldest for name, oldest in optional.items()}
    assert as_declared(wanted["run_constraints"]) == renamed
    # The C library has to be named for stdlib('c'), and a Python for each release that is announced.
    variants = yaml.safe_load((ROOT / "packaging/conda/variants.yaml").read_text())
    assert variants["c_stdlib"] == ["sysroot"]
    announced = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert [text.split(".*")[0] for text in variants["python"]] == announced


def run_spack_recipe(monkeypatch, base_class_of_package_module):
    """Execute the recipe with stand-ins for Spack's directives; return what it depends on, by name."""
    asked = []
    package = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "conflicts"):
        setattr(package, name, lambda *arguments, **options: None)
    package.depends_on = lambda spec, when="", type=(): asked.append((spec, when, type))
    base = types.ModuleType("python")
    (package if base_class_of_package_module else base).PythonPackage = type("PythonPackage", (), {})
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    whole = ["spack_repo", "builtin", "build_systems", "python"]
    for end in range(1, len(whole)):
        monkeypatch.setitem(sys.modules, ".".join(whole[:end]), types.ModuleType(whole[end - 1]))
    monkeypatch.setitem(sys.modules, ".".join(whole), None if base_class_of_package_module else base)
    source = (ROOT / "packaging/spack/package.py").read_text()
    exec(compile(source, "package.py", "exec"), {"__name__": "package"})
    return asked


@pytest.mark.parametrize("base_class_of_package_module", [True, False], ids=["Spack 0.23", "Spack 1"])
def test_the_spack_recipe_asks_for_what_the_package_declares(monkeypatch, base_class_of_package_module):
    asked = run_spack_recipe(monkeypatch, base_class_of_package_module)

    def named(when, build_only):
        return {
            name: oldest
            for spec, condition, types_ in asked
            for name, oldest in re.findall(r"^py-([\w-]+)@([\d.]+):$", spec)
            if condition == when and (types_ == "build") is build_only
        }

    assert named("", False) == as_declared(table("dependencies"))
    assert named("", True) == as_declared(table("requires"))
    for extra in ("yaml", "plot", "mpi"):
        assert named(f"+{extra}", False) == as_declared(table(extra)), extra
