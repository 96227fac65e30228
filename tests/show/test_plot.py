"""Figures of hb.plot: axes in, axes out, the numbers of the figures, and no display."""

import importlib

import numpy as np
import pytest

import hopbytes as hb

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def axes(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    from matplotlib.figure import Figure

    return Figure().add_subplot()


@pytest.fixture(autouse=True)
def close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture
def graph() -> hb.CommGraph:
    return hb.read("stencil:4x4:bytes=1000000")


@pytest.fixture
def two(graph) -> dict[str, hb.Mapping]:
    where = hb.allocate("torus:2x2 / core:4")
    return {"random": hb.Mapping(np.random.default_rng(0).permutation(16), where),
            "mapped": hb.map_tasks(graph, where)}  # fmt: skip


def test_every_function_returns_its_axes(axes, graph, two):
    plot = hb.plot
    assert plot.matrix(graph, two["random"], axes) is axes
    for draw in (plot.levels, plot.hops, plot.loads):
        axes.clear()
        assert draw(graph, two, axes) is axes
        names = [text.get_text().partition(" (")[0] for text in axes.get_legend().get_texts()]
        assert names == ["random", "mapped"]
    for draw in (plot.levels, plot.hops, plot.loads):  # one mapping, new axes
        assert draw(graph, two["mapped"]).figure is not axes.figure


def test_matrix_has_sums_borders_and_a_logarithmic_scale(axes):
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [1, 1000, 10**6], n=4)
    mapping = hb.Mapping([0, 2, 1, 3], hb.allocate("node:2 core:2"))
    hb.plot.matrix(graph, mapping, axes, colorbar=False)
    (image,) = axes.images
    assert image.get_interpolation() == "nearest"
    assert image.norm(10**6) == pytest.approx(1)
    assert image.norm(1000) == pytest.approx(0.5)
    assert image.get_array().filled(0).tolist() == [[0, 0, 1, 0], [10**6, 0, 0, 0], [0, 1000, 0, 0], [0] * 4]
    assert [line.get_ydata()[0] for line in axes.lines[::2]] == [2]


def test_bars_are_the_volumes_of_levels(axes, graph, two):
    hb.plot.levels(graph, two, axes)
    nodes = [container.patches[0].get_width() for container in axes.containers]
    assert nodes == [hb.evaluate(graph, one).mapping.traffic.inter_node_volume for one in two.values()]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["between nodes", "between cores"]


@pytest.mark.parametrize("by", ["seconds", "arcs"])
def test_history_ends_at_the_cost_of_the_mapping(axes, graph, two, by):
    hb.plot.history(two["mapped"], axes, by=by, baseline=two["mapped"].comm_cost * 2)
    curve = axes.lines[0]
    assert curve.get_drawstyle() == "steps-post"
    assert curve.get_ydata()[-1] == two["mapped"].comm_cost
    assert axes.lines[-1].get_linestyle() == "--"


def test_profile_is_a_step_function(axes):
    hb.plot.profile({"a": {"x": 1, "y": 4}, "b": {"x": 2, "y": 4}}, axes)
    first, second = axes.lines
    assert first.get_ydata().tolist() == [1, 1, 1]
    assert second.get_ydata().tolist() == [0.5, 1, 1]
    assert second.get_xdata().tolist() == pytest.approx([1, 2, 2.04])  # beyond the last step
    assert axes.get_xlim() == pytest.approx((1, 2.04))
    axes.clear()
    hb.plot.profile({"a": {"x": 1, "y": 4}, "b": {"x": 2, "y": 4}}, axes, most=1.5)
    assert axes.lines[1].get_xdata().tolist() == [1, 2, 2]


def test_machines_and_networks_are_drawn_on_axes(axes, graph, two):
    assert hb.plot.machine(two["random"], axes) is axes
    assert {str(rank) for rank in range(16)} <= {text.get_text() for text in axes.texts}
    new = hb.plot.network(two["random"].where, graph, two["random"])
    assert any(text.get_text().startswith("busiest here") for text in new.texts)
    assert hb.plot.machine(hb.allocate("node:2 core:2")).texts


def test_paper_style_lasts_for_its_block(tmp_path):
    from matplotlib import pyplot

    size = pyplot.rcParams["font.size"]
    with hb.plot.paper(columns=2):
        assert pyplot.rcParams["font.size"] == 8
        figure = hb.plot.profile({"a": {"x": 1}}).figure
        assert figure.get_size_inches()[0] == 7
        figure.savefig(tmp_path / "a.pdf")
    assert pyplot.rcParams["font.size"] == size
    with pytest.raises(hb.UnsupportedError, match="expected 1 or 2"), hb.plot.paper(columns=3):
        pass


def test_faults_name_what_is_wrong(axes, graph, two):
    where = two["random"].where
    with pytest.raises(hb.FormatError, match="2 tasks, expected the 16 of"):
        hb.plot.matrix(graph, hb.Mapping([0, 1], where), axes)
    with pytest.raises(hb.UnsupportedError, match="no history of J"):
        hb.plot.history(hb.Mapping([0, 1], where), axes)
    with pytest.raises(hb.UnsupportedError, match="expected 'seconds' or 'arcs'"):
        hb.plot.history(two["mapped"], axes, by="work")
    with pytest.raises(hb.UnsupportedError, match="has no links"):
        hb.plot.hops(graph, hb.map_tasks(graph, "node:4 core:4"), axes)


def test_without_matplotlib_one_line_says_so(monkeypatch, graph):
    real = importlib.import_module

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(hb.MissingPackageError, match=r"hopbytes\.plot needs the package matplotlib") as fault:
        hb.plot.matrix(graph)
    assert "\n" not in str(fault.value)


def test_notebooks_show_pictures_below_tables(graph, two):
    for thing in (graph, two["random"], two["random"].where):
        picture = thing._repr_svg_()
        assert picture.startswith("<svg")
        assert thing._repr_html_().endswith(picture)
    large = hb.allocate("node:64 core:64")
    assert large._repr_svg_() is None
    assert hb.Mapping(np.arange(4096), large)._repr_svg_() is None
    assert large._repr_html_().endswith("</table>")
