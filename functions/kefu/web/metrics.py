"""CloudWatch metrics as fields of a log line: the embedded metric format, made by Powertools.

The module is imported with the first line that has metrics, because importing Powertools is slow.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

_UNITS = {"ttft_ms": MetricUnit.Milliseconds}


def embedded(values: Mapping[str, float], function: str, now: float) -> dict[str, object]:
    """The fields for a line with these metrics. `now` is Unix time in seconds.

    Each metric costs money for each value of its dimensions, so the name of the Lambda function is
    the only dimension. CloudWatch Logs Insights can count by the other fields of the line.
    """
    # Powertools' `Metrics` has one set of values per process and prints it when a handler ends.
    # In this service many requests run at once, so each line has a set of its own. The empty
    # service name keeps POWERTOOLS_SERVICE_NAME from adding a dimension that no alarm asks for.
    metrics = EphemeralMetrics(namespace="Kefu", service="")
    metrics.add_dimension("function", function)
    metrics.set_timestamp(int(now * 1000))
    for name, value in values.items():
        metrics.add_metric(name, _UNITS.get(name, MetricUnit.Count), value)
    # The format allows a number or a list. Powertools writes lists; numbers are easier to query.
    return {**metrics.serialize_metric_set(), **values}
