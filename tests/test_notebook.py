"""The notebook in examples/ runs from its first cell to its last, and holds no outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_mapping.ipynb"


def test_outputs_are_stripped():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_cell_runs():
    for name in ("networkx", "pandas", "ipykernel"):
        pytest.importorskip(name)
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(NOTEBOOK.parent))
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    texts = "".join(str(output.get("text", "")) + str(output.get("data", "")) for output in shown)
    assert "Mapping(64 tasks → 64 PEs" in texts
    assert "<table>" in texts
    assert "`oversubscribe=True`" in texts
