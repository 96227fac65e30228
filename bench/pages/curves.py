"""Performance profiles as SVG, written without other packages, the same bytes everywhere."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from bench.pages.profiles import Values, ratios

WIDTH, HEIGHT = 760, 400
LEFT, TOP, RIGHT, BOTTOM = 56, 34, 210, 46
#: Colours that people with colour blindness can tell apart (Okabe and Ito), dark enough on white.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
DASHES = ("none", "6 3", "2 2")
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
TICKS = (1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 30, 50, 100)
FEWEST_PIXELS = 30  # between the labels of two ticks


def profile(values: Values, title: str, most: float) -> str:
    """Return the profiles of all contenders up to the factor `most`, on a logarithmic axis."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" font-size="11">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _text(LEFT, 20, title, "start"),
        *_axes(most),
    ]
    for place, (name, own) in enumerate(ratios(values).items()):
        colour = COLOURS[place % len(COLOURS)]
        dash = DASHES[place // len(COLOURS) % len(DASHES)]
        style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"'
        lines.append(f'<path d="{_steps(own, most)}" {style}/>')
        height = TOP + 12 + 17 * place
        start = WIDTH - RIGHT + 12
        lines.append(f'<path d="M{start} {height}h24" {style}/>')
        lines.append(_text(start + 30, height + 4, name, "start"))
    return "\n".join([*lines, "</svg>", ""])


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
