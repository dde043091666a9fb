# SPDX-License-Identifier: Apache-2.0
"""The numbers of a box plot, read back from the strokes that were drawn for it."""

from __future__ import annotations

import bisect


def read_box(shape: list, strokes: list, dots: list, across: int) -> tuple[float, dict] | None:
    """One box, read from how its strokes lie around it. `across` is the coordinate along which
    the boxes stand side by side: 0 for upright ones."""
    along = 1 - across
    left, right = extent(shape, across)
    # The notch of a box may reach beyond its quartiles; its corners 0 and 5 don't.
    first, third = sorted((shape[0][along], shape[5][along])) if len(shape) > 10 else extent(
        shape, along)
    centre, slack = (left + right) / 2, (right - left) * 1e-6
    near = between(strokes, centre, slack,
                    lambda stroke: (stroke[0][across] + stroke[1][across]) / 2)
    low, high, medians = first, third, []
    for stroke in near:
        start, end = (point[along] for point in stroke)
        if abs(stroke[0][across] - stroke[1][across]) <= slack:
            if start == first and end <= first:
                low = end
            elif start == third and end >= third:
                high = end
        elif start == end and first <= start <= third and left - slack <= min(
                point[across] for point in stroke):
            medians.append((abs(stroke[1][across] - stroke[0][across]), start))
    if not medians:
        return None
    widest = max(width for width, _ in medians)
    middle = [value for width, value in medians if width >= widest - slack]
    # A cap of a whisker without length lies on the box as a median does.
    median = next((value for value in middle if value not in (low, high)), middle[-1])
    outliers = [point[along] for point in between(dots, centre, slack, lambda dot: dot[across])
                if not low <= point[along] <= high]
    return centre, {"min": low, "first_quartile": first, "median": median,
                    "third_quartile": third, "max": high, "outliers": outliers}


def between(ordered: list, centre: float, slack: float, key) -> list:
    begin = bisect.bisect_left(ordered, centre - slack, key=key)
    return ordered[begin:bisect.bisect_right(ordered, centre + slack, key=key)]


def extent(points: list, coordinate: int) -> tuple[float, float]:
    values = [point[coordinate] for point in points]
    return min(values), max(values)
