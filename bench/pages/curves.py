"""Profiles, speed-ups and fronts as SVG, written without other packages, the same bytes everywhere."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from bench.pages.profiles import Values, ratios
from hopbytes._frozen import frozen

WIDTH, HEIGHT = 760, 400
LEFT, TOP, RIGHT, BOTTOM = 56, 34, 210, 46
#: Colours that people with colour blindness can tell apart (Okabe and Ito), dark enough on white.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
DASHES = ("none", "6 3", "2 2")
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
#: The colours on a dark page.
DARK = (
    "@media (prefers-color-scheme: dark){svg>rect{fill:#0d1117}text{fill:#e6edf3}"
    "[stroke='#dddddd']{stroke:#3d444d}[stroke='#000000']{stroke:#ffffff}}"
)
TICKS = (1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 30, 50, 100)
FEWEST_PIXELS = 30  # between the labels of two ticks


def profile(values: Values, title: str, most: float) -> str:
    """Return the profiles of all contenders up to the factor `most`, on a logarithmic axis."""
    paths = {name: _steps(own, most) for name, own in ratios(values).items()}
    return _picture(title, _axes(most), paths)


@frozen
class SpeedUps:
    """Speed-ups by number of threads, for a picture.

    Parameters
    ----------
    file : str
        Name of the picture without its ending.
    title : str
    lines : dict of str to list of (int, float)
        Numbers of threads and speed-ups of every line, by its name.
    """

    file: str
    title: str
    lines: dict[str, list[tuple[int, float]]]


def speed_ups(shown: SpeedUps) -> str:
    """Return the lines on two logarithmic axes, both up to the largest number of threads."""
    most = float(max(threads for line in shown.lines.values() for threads, _ in line))
    paths = {}
    for name, line in shown.lines.items():
        points = [f"{_across(threads, most)} {_height(_part(speed, most))}" for threads, speed in line]
        paths[name] = "M" + "L".join(points)
    axes = []
    for power in range(round(math.log2(most)) + 1):
        height, across = _height(_part(2**power, most)), float(_across(2**power, most))
        axes.append(f'<path d="M{LEFT} {height}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        axes.append(_text(LEFT - 6, float(height) + 4, str(2**power), "end"))
        axes.append(f'<path d="M{across:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        axes.append(_text(across, HEIGHT - BOTTOM + 16, str(2**power), "middle"))
    axes.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "threads", "middle"))
    return _picture(shown.title, axes, paths)


@frozen
class Points:
    """Pairs of ratios for a picture: predicted across, measured upwards.

    Parameters
    ----------
    file : str
        Name of the picture without its ending.
    title : str
    pairs : dict of str to list of (float, float)
        The points of every kind, by its name.
    """

    file: str
    title: str
    pairs: dict[str, list[tuple[float, float]]]


def points(shown: Points) -> str:
    """Return the points on two logarithmic axes of one range, and the line on which both are equal."""
    values = [value for pairs in shown.pairs.values() for pair in pairs for value in pair]
    steps = [2.0**power for power in range(math.floor(math.log2(min(values))), 8)]
    ticks = [tick for tick in steps if tick / 2 < max(values)]
    low, wide = ticks[0], ticks[-1] / ticks[0]
    axes = []
    for tick in ticks:
        height, across = _height(_part(tick / low, wide)), float(_across(tick / low, wide))
        axes.append(f'<path d="M{LEFT} {height}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        axes.append(_text(LEFT - 6, float(height) + 4, f"{tick:g}", "end"))
        axes.append(f'<path d="M{across:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        axes.append(_text(across, HEIGHT - BOTTOM + 16, f"{tick:g}", "middle"))
    equal = f"M{LEFT} {HEIGHT - BOTTOM}L{WIDTH - RIGHT} {TOP}"
    axes.append(f'<path d="{equal}" stroke="#000000" stroke-dasharray="2 3"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    axes.append(_text(middle, HEIGHT - 10, "time over that in the launcher's order: predicted", "middle"))
    axes.append(_text(WIDTH - RIGHT + 12, HEIGHT - BOTTOM, "upwards: measured", "start"))
    paths = {
        name: "".join(
            f"M{float(_across(x / low, wide)) - 3:.1f} {_height(_part(y / low, wide))}h6m-3 -3v6"
            for x, y in pairs
        )
        for name, pairs in shown.pairs.items()
    }
    return _picture(shown.title, axes, paths)


@frozen
class Front:
    """CPU time and J of the presets of every tool, for a picture.

    Parameters
    ----------
    file : str
        Name of the picture without its ending.
    title : str
    baseline : str
        What is 1 on both axes.
    spots : dict of str to list of (float, float, str)
        CPU time, J and name of every preset, by the name of its tool.
    """

    file: str
    title: str
    baseline: str
    spots: dict[str, list[tuple[float, float, str]]]


def front(shown: Front) -> str:
    """Return the presets of every tool on two logarithmic axes, joined in the order of their times."""
    spots = [spot for own in shown.spots.values() for spot in own]
    (least, most), (low, high) = (
        (min(values) / margin, max(values) * margin)
        for values, margin in (([time for time, _, _ in spots], 1.4), ([cost for _, cost, _ in spots], 1.02))
    )

    def across(time: float) -> float:
        return float(_across(time / least, most / least))

    def height(cost: float) -> float:
        return float(_height(_part(cost / low, high / low)))

    axes = []
    for tick in (digit * 10.0**power for power in range(-4, 4) for digit in (1, 2, 5)):
        if least <= tick <= most:
            axes.append(f'<path d="M{across(tick):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
            axes.append(_text(across(tick), HEIGHT - BOTTOM + 16, f"{tick:g}", "middle"))
    step = 0.05 if high / low < 1.6 else 0.1
    for tick in (round(number * step, 2) for number in range(1, 100)):
        if low <= tick <= high:
            axes.append(f'<path d="M{LEFT} {height(tick):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
            axes.append(_text(LEFT - 6, height(tick) + 4, f"{tick:g}", "end"))
    for time, cost, name in spots:
        axes.append(_text(round(across(time)) + 5, round(height(cost)) - 5, name, "start"))
    words = f"CPU time over that of {shown.baseline}; upwards: J over that"
    axes.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, words, "middle"))
    paths = {}
    for tool, own in shown.spots.items():
        places = [(across(time), height(cost)) for time, cost, _ in sorted(own)]
        paths[tool] = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        paths[tool] += "".join(f"M{x - 3:.1f} {y:.1f}h6m-3 -3v6" for x, y in places)
    return _picture(shown.title, axes, paths)


def drawn(shown: SpeedUps | Points | Front) -> str:
    """Return the picture of any of these."""
    if isinstance(shown, SpeedUps):
        return speed_ups(shown)
    return points(shown) if isinstance(shown, Points) else front(shown)


def _picture(title: str, axes: list[str], paths: dict[str, str]) -> str:
    """Return the picture of axes and named paths, with a legend."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" font-size="13">',
        f"<style>{DARK}</style>",
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _text(LEFT, 20, title, "start"),
        *axes,
    ]
    for place, (name, path) in enumerate(paths.items()):
        colour = COLOURS[place % len(COLOURS)]
        dash = DASHES[place // len(COLOURS) % len(DASHES)]
        style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"'
        lines.append(f'<path d="{path}" {style}/>')
        height = TOP + 12 + 17 * place
        start = WIDTH - RIGHT + 12
        lines.append(f'<path d="M{start} {height}h24" {style}/>')
        lines.append(_text(start + 30, height + 4, name, "start"))
    return "\n".join([*lines, "</svg>", ""])


def _part(speed: float, most: float) -> float:
    """Return the height of a speed-up as a part of the height of the largest one."""
    return math.log(max(1.0, speed)) / math.log(most)


def _axes(most: float) -> list[str]:
    """Grid, ticks and names of both axes."""
    lines = []
    for percent in range(0, 101, 20):
        height = _height(percent / 100)
        lines.append(f'<path d="M{LEFT} {height}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        lines.append(_text(LEFT - 6, float(height) + 4, f"{percent} %", "end"))
    last = -math.inf
    for tick in TICKS:
        across = float(_across(tick, most))
        if tick <= most and across - last >= FEWEST_PIXELS:
            lines.append(f'<path d="M{across:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
            lines.append(_text(across, HEIGHT - BOTTOM + 16, f"{tick:g}", "middle"))
            last = across
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(_text(middle, HEIGHT - 10, "at most so many times the best value", "middle"))
    return lines


def _steps(own: list[float], most: float) -> str:
    """The path of one contender: across to each ratio, then up by one input."""
    path = f"M{_across(1, most)} {_height(0)}"
    for count, each in enumerate(own, start=1):
        if each > most:
            break
        path += f"H{_across(each, most)}V{_height(count / len(own))}"
    return path + f"H{_across(most, most)}"


def _across(factor: float, most: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * math.log(factor) / math.log(most):.1f}"


def _height(part: float) -> str:
    return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part:.1f}"


def _text(left: float, base: float, words: str, anchor: str) -> str:
    return f'<text x="{left:g}" y="{base:g}" text-anchor="{anchor}">{escape(words)}</text>'
