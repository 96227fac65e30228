"""The drawing surface: marks with positions, their colours, and files of them as SVG, PNG or PDF."""
