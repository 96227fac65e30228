"""Every number a placement is judged by, beside what the launcher would have done and pure chance."""

from hopbytes.metrics.evaluation import Evaluation, evaluate
from hopbytes.metrics.placement import LevelMetrics, PlacementMetrics, check_scale, measure, measure_all

__all__ = [
    "Evaluation",
    "LevelMetrics",
    "PlacementMetrics",
    "check_scale",
    "evaluate",
    "measure",
    "measure_all",
]
