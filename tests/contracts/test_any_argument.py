"""Every argument of every exported function takes odd values: what does not fit is refused in one line."""

import contextlib
import inspect

import pytest

import hopbytes as hb

ODD = [
    3, -1, 2**70, 1.5, float("nan"), "x", "", "\0", b"x", [1], [[1]], (), {}, {"a": 3}, object(), True
]  # fmt: skip
METHODS = [
    hb.CommGraph, hb.CommGraph.of, hb.CommGraph.from_edges, hb.CommGraph.from_scipy, hb.CommGraph.from_dense,
    hb.CommGraph.from_metis, hb.Mapping, hb.Mapping.of, hb.Allocation.of,
    hb.Remapper, hb.Remapper.apply, hb.Limits, hb.Constraints, hb.Bounds, hb.plot.matrix,
    hb.plot.levels, hb.plot.hops, hb.plot.loads, hb.plot.machine, hb.plot.network, hb.plot.history,
]  # fmt: skip
CALLED = {name: getattr(hb, name) for name in hb.__all__ if inspect.isfunction(getattr(hb, name))}
CALLED |= {method.__qualname__: method for method in METHODS}
PARAMETERS = [
    (name, parameter) for name, function in CALLED.items()
    for parameter, how in inspect.signature(function).parameters.items()
    if parameter != "self" and how.kind not in (how.VAR_KEYWORD, how.VAR_POSITIONAL)
]  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Values of arguments that fit, by the names of the arguments, in a folder of their own."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        graph, where = hb.read("stencil:2x4"), hb.allocate("node:2@10 core:4@1")
        mapping = hb.map_tasks(graph, where, "fast")
        hb.write(graph, "app.csv")
        hb.write(mapping, "placed.json", graph=graph)
        yield {
            "graph": graph, "graphs": [graph, graph], "where": where, "mapping": mapping, "mappings": mapping,
            "first": mapping, "second": mapping, "thing": mapping, "source": "app.csv", "target": "new.csv",
            "path": "app.csv", "indptr": graph.indptr, "targets": graph.targets, "pe": mapping.pe,
            "matrix": graph.to_scipy(), "array": graph.to_scipy().toarray(), "sources": graph.sources(),
            "machine": where, "load": [3, 3], "self": hb.Remapper(graph, where, mapping),
            "xadj": graph.indptr, "adjncy": graph.targets,
        }  # fmt: skip


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_odd_values_are_refused_or_taken(sound, name, parameter):
    function = CALLED[name]
    needed = {
        each: sound[each] for each, how in inspect.signature(function).parameters.items()
        if how.default is how.empty and each in sound
    }  # fmt: skip
    paths = {"read_mapping": {"path": "placed.json"}, "write": {"path": "out.json", "force": True}}
    for value in ODD:
        with contextlib.suppress(hb.HopbytesError):
            function(**{**needed, **paths.get(name, {}), parameter: value})
    if function.__module__ == "hopbytes.show.plot":
        pytest.importorskip("matplotlib.pyplot").close("all")
