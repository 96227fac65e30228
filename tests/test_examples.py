"""Every example in docstrings and documents runs."""

import doctest
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys

import pytest

import hopbytes as hb
from helpers.paths import ROOT

NOT_IMPORTABLE = {"hopbytes.__main__", "hopbytes._core"}
MODULES = sorted(
    {module.name for module in pkgutil.walk_packages(hb.__path__, "hopbytes.")} - NOT_IMPORTABLE
)


def python_blocks(document):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "mpi4py", None)  # its import ends a process that no MPI can start in
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 20


def test_readme(tmp_path, monkeypatch, capsys):
    (code,) = python_blocks("README.md")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert "communication cost J" in capsys.readouterr().out
    assert (tmp_path / "rankfile").exists()


RECIPES = {
    "Reverse": "hb.map_tasks(ring, hb.allocate('core:3'), 'reverse:offset=1').pe.tolist() == [0, 2, 1]",
    "OnePass": "hb.map_tasks(ring, hb.allocate('node:2 core:2'), ['identity', 'one_pass']).n == 3",
    "Ring": "hb.read('ring:5').n == 5",
    "Blades": "(hb.allocate('blades:3').k, hb.allocate('blades:3', hosts='b1n0,b2n1').k) == (24, 8)",
}


def test_there_is_a_check_for_every_recipe():
    assert len(python_blocks("ARCHITECTURE.md")) == len(RECIPES)


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_run_as_they_are_printed(recipe, tmp_path):
    """Each in a process of its own, so that what it registers does not stay."""
    (code,) = (block for block in python_blocks("ARCHITECTURE.md") if f"class {recipe}(" in block)
    program = tmp_path / "recipe.py"
    program.write_text(
        f"{code}\nimport hopbytes as hb\nring = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0])\n"
        f"assert {RECIPES[recipe]}\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def cpp_blocks():
    """Return the C++ of ARCHITECTURE.md: by turns a header and the line that uses it."""
    return re.findall(r"```cpp\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.DOTALL)


def exit_code(folder, core, needed, main):
    """Compile some sources of the partitioner with a main function and return what that returns."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("a C++ compiler is needed")
    program = folder / "program.cpp"
    sources = [*(f"partition/{part}" for part in needed), "util/team.cpp", "graph/linear_cost.cpp"]
    program.write_text("".join(f'#include "{core}/{source}"\n' for source in sources) + main)
    built = subprocess.run(
        [compiler, "-std=c++20", f"-I{core}", program, "-o", folder / "program", "-pthread",
         "-Wl,--unresolved-symbols=ignore-all"],  # nothing that is left out is called
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "program"], check=False).returncode


def with_recipe(source, header, at, line):
    """Add a line of a recipe behind the text `at` of a source, and the include above it."""
    text = source.read_text()
    assert text.count(at) == 1
    source.write_text(f'#include "{header}"\n' + text.replace(at, at + line))


PATH = """
          const int64_t start[] = {0, 1, 3, 5, 6}, load[] = {1, 1, 1, 1}, limit[] = {3, 3};
          const int32_t adj[] = {1, 0, 2, 1, 3, 2}, weight[] = {1, 1, 1, 1, 1, 1};
          hopbytes::Graph<int32_t> g;
          g.n = 4, g.start = start, g.adj = adj;
          g.load = hopbytes::Weights<int64_t>(load), g.weight = hopbytes::Weights<int32_t>(weight);
          g.sum_loads();
          hopbytes::Rng rng(1);
          int32_t flag = 0;
          const hopbytes::Control control(&flag);
"""


@pytest.mark.slow
def test_the_recipe_for_a_refiner_compiles_and_lowers_the_cut(tmp_path):
    """The header and the line in chain.cpp are those of the text."""
    header, line = cpp_blocks()[:2]
    core = tmp_path / "core"
    shutil.copytree(ROOT / "core", core)
    (core / "partition/refinement/greedy_moves.hpp").write_text(header)
    chain = core / "partition/refinement/chain.cpp"
    # Before the other refiners, which the program leaves out, so that only the new one can lower the cut.
    signature = "RefinerChain<W>::RefinerChain(const RefinementContext& context) {\n"
    with_recipe(chain, "partition/refinement/greedy_moves.hpp", signature, f"{line}  return;\n")
    main = f"""
        int main() {{  // A path of four vertices whose second one is in the wrong block.
          {PATH}
          hopbytes::Partition<int32_t> partition({{}}, limit);
          partition.assign(g, {{0, 1, 0, 1}});
          hopbytes::RefinerChain<int32_t> chain(hopbytes::RefinementContext{{}});
          chain.refine(partition, rng, control);
          return static_cast<int>(hopbytes::edge_cut(g, partition.blocks().data()));
        }}
        """
    needed = ("partition.cpp", "refinement/chain.cpp")
    assert exit_code(tmp_path, core, needed, main) == 1  # three edges were cut before


@pytest.mark.slow
def test_the_recipes_for_a_clustering_and_an_initial_partition_compile_and_run(tmp_path):
    clustering, line, blocks, other = cpp_blocks()[2:]
    core = tmp_path / "core"
    shutil.copytree(ROOT / "core", core)
    (core / "partition/coarsening/pairs_in_order.hpp").write_text(clustering)
    (core / "partition/initial/random_blocks.hpp").write_text(blocks)
    with_recipe(
        core / "partition/coarsening/coarsen.cpp", "partition/coarsening/pairs_in_order.hpp",
        "int64_t fewest, Rng& rng, const Control& control) {\n", line,
    )  # fmt: skip
    with_recipe(
        core / "partition/initial/initial_blocks.cpp", "partition/initial/random_blocks.hpp",
        "const Control& control) {\n", other,
    )  # fmt: skip
    main = f"""
        int main() {{  // A path of four vertices becomes two, each in one of two blocks.
          {PATH}
          const auto hierarchy = hopbytes::coarsen(g, nullptr, {{2, 2, false}}, rng, control);
          const auto block = hopbytes::initial_blocks(hierarchy.coarsest(), limit, {{}}, false, rng, control);
          return block.size() == 2 && block[0] / 2 == 0 && block[1] / 2 == 0 ? 7 : 0;
        }}
        """
    needed = ("coarsening/coarsen.cpp", "coarsening/contraction.cpp", "initial/initial_blocks.cpp")
    assert exit_code(tmp_path, core, needed, main) == 7
