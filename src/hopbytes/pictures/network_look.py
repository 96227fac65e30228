"""How the cables and nodes of a network look: colours by load and ranks, and words."""

from __future__ import annotations

from collections.abc import Sequence

from hopbytes._frozen import frozen
from hopbytes.pictures.canvas.marks import Line
from hopbytes.pictures.canvas.palette import IDLE, scaled
from hopbytes.pictures.figures.network_figure import NetworkFigure
from hopbytes.text.cpu_lists import format_list
from hopbytes.util.quantities import amount

#: Cables without a mapping, nodes without ranks, and nodes of a machine without a mapping.
UNLOADED, FREE, NODE = "#8c959f", "#ffffff", "#c2cfe0"


@frozen(eq=False)
class Look:
    """How vertices and cables look."""

    figure: NetworkFigure
    most: float  # congestion of the darkest colour
    ranks: dict[int, list[int]]  # ranks on every node; empty without a mapping
    fills: dict[int, str]  # colour of every node with ranks

    def cable(self, place: int, points: Sequence[tuple[float, float]], thin: float = 1.2) -> Line:
        """Return the line of a cable."""
        figure = self.figure
        first, second = (figure.names[vertex] for vertex in figure.ends[place].tolist())
        tip = f"{first} – {second}"
        if figure.links[place] > 2:
            tip += f", {int(figure.links[place])} links"
        if figure.congestion is None or figure.volumes is None:
            return Line(tuple(points), UNLOADED, thin, tip)
        part = float(figure.congestion[place]) / self.most if self.most else 0.0
        tip += f": {amount(float(figure.volumes[place]))} on its busiest link" if part else ": idle"
        return Line(tuple(points), scaled(part) if part else IDLE, thin + 2.4 * part, tip)

    def node(self, node: int) -> tuple[str, str]:
        """Return the colour of a node and what is said about it."""
        name, ranks = self.figure.hosts[node], self.ranks.get(node, [])
        if not self.ranks:
            return NODE, name
        said = f"ranks {format_list(ranks)}" if ranks else "unused"
        return self.fills.get(node, FREE), f"{name}: {said}"
