"""Every number a placement is judged by, beside what the launcher would have done and pure chance."""

from hopbytes.metrics.evaluation import Evaluation, evaluate
from hopbytes.metrics.placement import LevelMetrics, PlacementMetrics, check_scale, measure, measure_all
from hopbytes.metrics.regression import Regression, explain_times, metric_columns

__all__ = [
    "Evaluation",
    "LevelMetrics",
    "PlacementMetrics",
    "Regression",
    "check_scale",
    "evaluate",
    "explain_times",
    "measure",
    "measure_all",
    "metric_columns",
]
