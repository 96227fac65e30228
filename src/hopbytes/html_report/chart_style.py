"""What all charts of the report share: the packages they need, colours, fonts, and their form as JSON."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from hopbytes.errors import MissingPackageError

#: Colours are variables of the page's style sheet, so that charts follow light and dark; the value
#: behind the comma is for pictures outside the page.
INK, FAINT, LINE = "var(--ink, #1c2530)", "var(--faint, #5a6572)", "var(--line, #d5dae0)"
#: The launcher's own order is grey; mappings have colours that differ in brightness too.
ORDER_COLOUR = "var(--series-0, #8a94a0)"
MAPPING_COLOURS = (
    "var(--series-1, #1f5fbf)", "var(--series-2, #c2570c)", "var(--series-3, #2b8a57)",
    "var(--series-4, #8e4bb8)", "var(--series-5, #b3365b)",
)  # fmt: skip

#: Pixels; charts but matrices are as wide as the page.
HEIGHT, STATIC_WIDTH = 240, 640

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": FAINT, "titleColor": FAINT, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": INK, "titleColor": FAINT, "labelFontSize": 12, "titleFontSize": 12, "orient": "top",
        "titleFontWeight": "normal", "labelLimit": 320,
    },
}  # fmt: skip


def altair() -> ModuleType:
    """Return the module altair.

    Raises
    ------
    MissingPackageError
        A package of the extra ``report`` is not installed.
    """
    try:
        import altair
        import jinja2  # noqa: F401
        import PIL  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        name = "Pillow" if error.name == "PIL" else str(error.name).replace("_", "-")
        raise MissingPackageError(
            f"reports need the package {name}, which is not installed: pip install '.[report]' in the "
            "folder of the source, or 'hopbytes[report]'"
        ) from None
    module: ModuleType = altair
    return module


def colours(names: tuple[str, ...], shown: Iterable[str] | None = None) -> Any:
    """Return the scale of colours for names of mappings, of which the first is the launcher's order.

    `shown` are the names in the legend; by default all of them.
    """
    several = [MAPPING_COLOURS[number % len(MAPPING_COLOURS)] for number in range(len(names) - 1)]
    of_name = dict(zip(names, [ORDER_COLOUR, *several], strict=True))
    kept = list(names if shown is None else shown)
    return altair().Scale(domain=kept, range=[of_name[name] for name in kept])


def as_json(chart: Any) -> dict[str, Any]:
    """Return a chart in the form that browsers draw, with the style of the page."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # parts are checked when they are made
    spec["config"] = copy.deepcopy(CONFIG)
    spec.pop("$schema", None)  # an address, which nobody asks
    return spec


def picture(spec: dict[str, Any]) -> str:
    """Return a chart as SVG, for readers without scripts."""
    import vl_convert

    still = dict(spec)
    if still.get("width") == "container":
        still["width"] = STATIC_WIDTH
    text: str = vl_convert.vegalite_to_svg(still)
    return text
