"""Charts of bytes per level, hops, loads of links, and J over time."""

from __future__ import annotations

from typing import Any

from hopbytes._util.quantities import amount, short_amount
from hopbytes.html_report.chart_style import HEIGHT, altair, as_json, colours
from hopbytes.html_report.page_tables import Load
from hopbytes.pictures.figures.cost_history import CostHistory
from hopbytes.pictures.figures.level_bytes import HopHistogram, LevelBytes
from hopbytes.pictures.figures.link_loads import LinkLoads, LoadHistogram

#: Axis labels with decimal prefixes, such as 150 MB.
PREFIXED = (
    "abs(datum.value) < 1 ? format(datum.value, '.3~g') + ' {unit}' : "
    "replace(format(datum.value, '.3~s'), /([a-zA-Z])?$/, ' $1') + '{unit}'"
)
#: Pixels of one bar of a chart with lying bars.
BAR = 22


def level_chart(found: LevelBytes, unit: str) -> dict[str, Any]:
    """Return bars of the volume between units of each level, one for each mapping."""
    alt = altair()
    rows = [
        {
            "mapping": name, "level": label, "volume": int(found.volumes[number, place]),
            "said": amount(int(found.volumes[number, place]), unit),
            "messages": f"{int(found.messages[number, place]):,}",
        }
        for place, label in enumerate(found.labels)
        for number, name in enumerate(found.mappings)
        if found.volumes[:, place].any()
    ]
    height = BAR * max(1, len(rows)) + 10
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(cornerRadiusEnd=2).encode(
        y=alt.Y("level:N", sort=list(found.labels), title=None, axis=alt.Axis(labelLimit=200)),
        yOffset=alt.YOffset("mapping:N", sort=list(found.mappings)),
        x=alt.X("volume:Q", title=_title("volume", unit), axis=_amounts(unit)),
        color=alt.Color("mapping:N", scale=colours(found.mappings), title=None),
        tooltip=_told(
            ("mapping", "mapping"), ("level", "where"), ("said", "volume"), ("messages", "messages")
        ),
    )
    text = "Bars: volume that crosses each level of the machine, for each mapping."
    return as_json(chart.properties(width="container", height=height, description=text))


def hop_chart(found: HopHistogram, unit: str) -> dict[str, Any]:
    """Return bars of the volume that travels each number of links, one for each mapping."""
    alt = altair()
    rows = [
        {
            "mapping": name, "hops": hops, "volume": int(found.volumes[number, place]),
            "said": amount(int(found.volumes[number, place]), unit),
            "flows": f"{int(found.flows[number, place]):,}",
            "messages": f"{int(found.messages[number, place]):,}",
        }
        for number, name in enumerate(found.mappings)
        for place, hops in enumerate(found.hops.tolist())
    ]
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X("hops:O", title="links on the way (0: inside a node)", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("mapping:N", sort=list(found.mappings)),
        y=alt.Y("volume:Q", title=_title("volume", unit), axis=_amounts(unit)),
        color=alt.Color("mapping:N", scale=colours(found.mappings), title=None),
        tooltip=_told(
            ("mapping", "mapping"), ("hops", "links"), ("said", "volume"), ("flows", "pairs, one way"),
            ("messages", "messages"),
        ),
    )  # fmt: skip
    text = "Bars: volume by the number of links on its way, for each mapping."
    return as_json(chart.properties(width="container", height=HEIGHT, description=text))


def load_chart(found: LoadHistogram, names: tuple[str, ...], load: Load) -> dict[str, Any]:
    """Return bars of the number of links by their load."""
    alt = altair()
    rows = []
    edges, share = found.edges.tolist(), 0.9 / len(names)
    for number, name in enumerate(names):
        for place, count in enumerate(found.counts[number].tolist()):
            low, high = edges[place], edges[place + 1]
            left = low + (high - low) * (0.05 + number * share)
            rows.append({
                "mapping": name, "x": left, "x2": left + (high - low) * share, "links": count, "zero": 0,
                "said": f"{load.said(low)} to {load.said(high)}",
            })  # fmt: skip
    most = int(found.counts.max(initial=1))
    ticks = [0, *(10**power for power in range(len(str(most))) if 10**power <= most)]
    chart = alt.Chart(alt.Data(values=[row for row in rows if row["links"]])).mark_bar(clip=True).encode(
        x=alt.X(
            "x:Q", title=load.name, axis=_amounts(load.unit),
            scale=alt.Scale(domain=[0, edges[-1]], nice=False),
        ),
        x2="x2:Q",
        y=alt.Y(
            "links:Q", title="links (logarithmic)", axis=alt.Axis(values=ticks),
            scale=alt.Scale(type="symlog"),
        ),
        y2="zero:Q",
        color=alt.Color("mapping:N", scale=colours(names), title=None),
        tooltip=_told(("mapping", "mapping"), ("said", load.name), ("links", "links")),
    )
    text = "Bars: number of links by their load, for each mapping."
    chart = chart.add_params(_zoom(["x"]))
    return as_json(chart.properties(width="container", height=HEIGHT, description=text))


def hot_link_chart(loads: dict[str, LinkLoads], places: list[int], load: Load) -> dict[str, Any]:
    """Return bars of the load of some links, by name, one for each mapping."""
    alt = altair()
    names = tuple(loads)
    rows = [
        {
            "mapping": name, "link": one.names[place], "load": float(one.congestion[place]),
            "said": load.said(float(one.congestion[place])),
            "volume": short_amount(float(one.volumes[place])),
        }
        for place in places
        for name, one in loads.items()
    ]
    order = [next(iter(loads.values())).names[place] for place in places]
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(cornerRadiusEnd=2).encode(
        y=alt.Y("link:N", sort=order, title=None, axis=alt.Axis(labelLimit=420)),
        yOffset=alt.YOffset("mapping:N", sort=list(names)),
        x=alt.X("load:Q", title=load.name, axis=_amounts(load.unit)),
        color=alt.Color("mapping:N", scale=colours(names), title=None),
        tooltip=_told(("mapping", "mapping"), ("link", "link"), ("said", load.name), ("volume", "volume")),
    )
    text = "Bars: load of the most loaded links, by name, for each mapping."
    height = BAR * len(rows) * 2 // 3 + 10
    return as_json(chart.properties(width="container", height=height, description=text))


def history_chart(histories: dict[str, CostHistory], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the best J as a line over the seconds of the search, for each mapping that has a history."""
    alt = altair()
    rows = []
    for name, one in histories.items():
        steps = list(zip(one.seconds.tolist(), one.arcs.tolist(), one.costs.tolist(), strict=True))
        for seconds, arcs, cost in [*steps, (one.end, steps[-1][1], steps[-1][2])]:
            rows.append({
                "mapping": name, "x": seconds, "J": cost, "said": f"{cost:,}", "edges": f"{arcs:,}",
                "time": f"{seconds:.3g} s",
            })  # fmt: skip
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title="seconds since the search began"),
        y=alt.Y("J:Q", title="best J", axis=_amounts(""), scale=alt.Scale(zero=False)),
        color=alt.Color("mapping:N", scale=colours(names, histories), title=None),
        tooltip=_told(("mapping", "mapping"), ("time", "time"), ("said", "J"), ("edges", "scanned edges")),
    )
    line = base.mark_line(interpolate="step-after", clip=True, aria=False)
    points = base.mark_point(filled=True, size=45, clip=True).add_params(_zoom(["x"]))
    text = "Lines: the best communication cost J that the search knew, over time."
    chart = alt.layer(line, points)
    return as_json(chart.properties(width="container", height=HEIGHT, description=text))


def _zoom(encodings: list[str]) -> Any:
    """Return the selection that moves with the mouse and zooms with Ctrl and the wheel.

    The script of the page knows it by its name and by those of the fields: ``zoom_x``, ``zoom_y``.
    """
    return altair().selection_interval(
        name="zoom", bind="scales", encodings=encodings, zoom="wheel![event.ctrlKey || event.metaKey]"
    )


def _amounts(unit: str) -> Any:
    return altair().Axis(labelExpr=PREFIXED.replace("{unit}", unit), tickCount=5)


def _title(what: str, unit: str) -> str:
    return "bytes" if unit == "B" else what


def _told(*fields: tuple[str, str]) -> list[Any]:
    return [altair().Tooltip(f"{name}:N", title=title) for name, title in fields]
