# SPDX-License-Identifier: Apache-2.0
"""What a matplotlib figure shows, as data.

The figure belongs to the guest, so any artist may be a subclass that lies: types are taken from
`type()`, never from `__class__`, everything taken out is converted to plain Python values, and
the amount is bounded. Nothing here imports matplotlib: only the guest can have made a figure.
"""

from __future__ import annotations

import bisect
import math
import re
import sys

from .boxes import read_box

POINTS_LIMIT = 100_000
CHARS_LIMIT = 4 << 20
TEXT_LIMIT = 1_000
AXES_LIMIT = 200
TICKS_LIMIT = 1_000

# Formatters whose ticks have names; those of others are numbers that fall between the bars.
NAMING = frozenset({"FixedFormatter", "StrCategoryFormatter", "FuncFormatter"})
SCALES = frozenset({"log", "symlog", "logit", "function", "functionlog", "asinh"})
UNIT = re.compile(r"\s\(([^()]*)\)|\[([^\[\]]*)\]")


class Budget:
    """How much of a figure may still be taken; shared by all of its axes."""

    def __init__(self) -> None:
        self.points = POINTS_LIMIT
        self.chars = CHARS_LIMIT
        self.truncated = False

    def take(self, wanted: int) -> int:
        granted = min(wanted, self.points)
        self.points -= granted
        self.truncated |= granted < wanted
        return granted

    def text(self, value) -> str | None:
        """A plain string that is not longer than what is left."""
        if not issubclass(type(value), str):
            return None
        limit = min(TEXT_LIMIT, self.chars)
        # A subclass could answer slices as it likes.
        plain = str.__str__(value)
        cut = str.__getitem__(plain, slice(0, limit))
        self.truncated |= len(cut) < str.__len__(value)
        self.chars -= len(cut)
        # A lone surrogate would make the message unencodable.
        return cut.encode("utf-8", "replace").decode("utf-8")


def number(value) -> int | float | None:
    """A JSON number, None for what has no finite value. Whole numbers stay exact; others keep
    eight significant digits, so that 0.1 + 0.2 reads as 0.3."""
    kind = type(value)
    if kind is int:
        return value if abs(value) < 1 << 1023 else None
    value = float(value)
    if not math.isfinite(value):
        return None
    if value.is_integer() and abs(value) < 1 << 53:
        return int(value) if kind is not float else value
    return float(f"{value:.8g}")


def chart_of(figure) -> dict | None:
    """The chart of a figure, or None when there is none to tell of. Raises nothing but the
    guest's own KeyboardInterrupt."""
    try:
        return _chart_of(figure)
    except KeyboardInterrupt:
        raise
    except BaseException:  # artists are guest code and may raise SystemExit as well
        return None


def _chart_of(figure) -> dict | None:
    module = sys.modules.get("matplotlib.figure")
    if module is None or not issubclass(type(figure), module.FigureBase):
        return None
    budget = Budget()
    every = [axes for axes in list(figure.axes) if not _is_colorbar(axes)]
    if not any(_artists(axes) for axes in every):
        return None
    budget.truncated |= len(every) > AXES_LIMIT
    charts = [_guarded_chart(axes, budget) for axes in every[:AXES_LIMIT]]
    heading = budget.text(figure._suptitle.get_text()) if figure._suptitle else None
    if len(charts) == 1:
        chart = charts[0]
        chart["title"] = chart["title"] or heading or None
    else:
        chart = {"type": "superchart", "title": heading or None, "elements": charts}
    if budget.truncated:
        chart["truncated"] = True
    return chart


def _is(artist, module: str, *names: str) -> bool:
    """Whether an artist really is one of matplotlib's classes, whatever its `__class__` says."""
    home = sys.modules[f"matplotlib.{module}"]
    return issubclass(type(artist), tuple(getattr(home, name) for name in names))


def _is_colorbar(axes) -> bool:
    # A colour bar is a legend drawn in axes of its own, not a second chart.
    return getattr(axes, "_colorbar", None) is not None


def _containers(axes, *names: str) -> list:
    return [each for each in list(axes.containers) if _is(each, "container", *names)]


def _flat(value) -> list:
    if type(value) in (tuple, list) or issubclass(type(value), tuple):
        return [leaf for each in value for leaf in _flat(each)]
    return [] if value is None else [value]


def _artists(axes) -> list:
    """What was drawn into the axes: no texts, no frame, no decoration of other artists."""
    decoration: set[int] = set()
    for container in _containers(axes, "ErrorbarContainer"):
        decoration.update(id(each) for each in _flat(tuple(container)[1:]))
    for container in _containers(axes, "StemContainer"):
        decoration.update((id(container.stemlines), id(container.baseline)))
    drawn = [
        artist
        for artist in list(axes._children)
        if id(artist) not in decoration
        and not _is(artist, "text", "Text")
        and not _is(artist, "patches", "Shadow")
        and not _is_legend_handle(artist)
    ]
    if any(_is(artist, "lines", "Line2D") for artist in drawn):
        # A band around a line (fill_between) does not make it another chart.
        drawn = [each for each in drawn if not _is(each, "collections", "PolyCollection")]
    return drawn


def _is_legend_handle(artist) -> bool:
    # seaborn draws rectangles without extent, to have something that a legend can name.
    return _is(artist, "patches", "Rectangle") and not (artist.get_width() or artist.get_height())


def _guarded_chart(axes, budget: Budget) -> dict:
    # One hostile axes must not take away the chart of its neighbours.
    title = None
    try:
        titles = (axes.get_title(loc=place) for place in ("center", "left", "right"))
        title = budget.text(next((text for text in titles if text), None)) or None
        return {"title": title, **_axes_chart(axes, budget)}
    except KeyboardInterrupt:
        raise
    except BaseException:
        return {"title": title, "type": "unknown", "elements": []}


def _axes_chart(axes, budget: Budget) -> dict:
    artists = _artists(axes)
    unknown = {"type": "unknown", "elements": []}
    if not artists or axes.name == "3d":
        return unknown
    lines = [artist for artist in artists if _is(artist, "lines", "Line2D")]
    if len(lines) == len(artists):
        boxes = boxplot(axes, [], lines, budget)
        return boxes or _points_chart("line", axes, _data_lines(axes, lines), budget)
    patches = [artist for artist in artists if _is(artist, "patches", "PathPatch")]
    if patches and len(patches) + len(lines) == len(artists):
        return boxplot(axes, patches, lines, budget) or unknown
    rest = [artist for artist in artists if not _is_gridlike(artist)]
    if all(_is(artist, "collections", "PathCollection") for artist in rest):
        return _points_chart("scatter", axes, rest, budget)
    if all(_is(artist, "patches", "Wedge") for artist in rest):
        return _pie(rest, budget)
    if all(_is(artist, "patches", "Rectangle") for artist in rest):
        return _bars(axes, rest, budget)
    return unknown


def _is_gridlike(artist) -> bool:
    if not _is(artist, "lines", "Line2D"):
        return False
    xs, ys = list(artist.get_xdata()), list(artist.get_ydata())
    return len(xs) == len(ys) == 2 and bool(xs[0] == xs[1] or ys[0] == ys[1])


def _data_lines(axes, lines: list) -> list:
    # axhline and axvline count one coordinate in fractions of the axes: no data of the chart.
    return [each for each in lines if each.get_transform() == axes.transData] or lines


def _label(text: str | None, default: str, prefixes: tuple[str, ...]) -> str:
    for prefix in prefixes:
        if text is not None and text.startswith(prefix) and text[len(prefix):].isdigit():
            return f"{default} {text[len(prefix):]}"
    return text or ""


# --- axes: labels, scales, ticks ---


class Axis:
    """One direction of an axes, with the ways to write a place on it."""

    def __init__(self, axes, name: str, budget: Budget) -> None:
        self.axis = getattr(axes, f"{name}axis")
        self.label = budget.text(self.axis.label.get_text()) or None
        found = UNIT.search(self.label or "")
        self.unit = (found.group(1) or found.group(2) or None) if found else None
        self.budget = budget
        self.freq = getattr(axes, "freq", None) if name == "x" else None
        kinds = [kind.__name__ for kind in type(self.axis.converter).__mro__]
        self.is_period = "PeriodConverter" in kinds and self.freq is not None
        # pandas registers date converters of its own.
        self.is_date = self.is_period or any(
            kind in kinds
            for kind in ("DateConverter", "_SwitchableDateConverter", "ConciseDateConverter",
                         "DatetimeConverter")
        )
        units = self.axis.units
        mapping = getattr(units, "_mapping", None) if "StrCategoryConverter" in kinds else None
        self.categories = {index: text for text, index in mapping.items()} if mapping else None
        self.places, self.texts = self._ticks()
        formatters = [kind.__name__ for kind in type(self.axis.get_major_formatter()).__mro__]
        self.named = NAMING.intersection(formatters) and len(self.places) == len(self.texts)
        self.order = sorted(zip(self.places, self.texts)) if self.named else []
        gaps = [b[0] - a[0] for a, b in zip(self.order, self.order[1:])]
        self.reach = min(gaps, default=math.inf) / 2

    def _ticks(self) -> tuple[list, list[str]]:
        try:
            places = [float(place) for place in self.axis.get_majorticklocs()[:TICKS_LIMIT]]
            # The ticks themselves would be made first, at a cost of a millisecond each.
            labels = list(self.axis.get_major_formatter().format_ticks(places))
        except Exception:  # a locator may refuse a range
            return [], []
        return places, [self.budget.text(text) or "" for text in labels]

    def scale(self) -> str:
        if self.is_date:
            return "datetime"
        name = self.axis.get_scale()
        if name != "linear":
            return name if name in SCALES else (self.budget.text(name) or "linear")
        pairs = list(zip(self.places, self.texts))
        named = pairs and all(
            place == index and text not in ("", str(index)) and not _reads_as(text, index)
            for index, (place, text) in enumerate(pairs)
        )
        return "categorical" if named else "linear"

    def place(self, value):
        """A tick, or a place taken from drawn coordinates: a number or an ISO string."""
        if value is None or not math.isfinite(value):
            return None
        if self.is_period:
            period = sys.modules["pandas"].Period(ordinal=int(value), freq=self.freq)
            return period.to_timestamp().isoformat()
        if self.is_date:
            return sys.modules["matplotlib.dates"].num2date(value).isoformat()
        return number(value)

    def drawn(self, value):
        """A drawn coordinate as the guest gave it: the category, the date, the number."""
        if self.categories is not None and value in self.categories:
            return self.budget.text(self.categories[value])
        moment = self.place(value)
        # What was plotted without a time zone is drawn as UTC.
        return moment.removesuffix("+00:00") if self.is_date and moment else moment

    def reader(self):
        """What turns a drawn coordinate into a value; the plain way for most axes, for speed."""
        return self.drawn if self.categories is not None or self.is_date else number

    def name_at(self, place: float) -> str:
        """What a reader would call a bar or box at this place."""
        after = bisect.bisect_left(self.order, (place,))
        near = self.order[max(0, after - 1):after + 1]
        distance, name = min(((abs(tick - place), text) for tick, text in near),
                             default=(math.inf, ""))
        if near and distance <= self.reach:
            return name
        return str(self.drawn(place))


def _reads_as(text: str, index: int) -> bool:
    try:
        return float(text) == index
    except ValueError:
        return False


def _plane(x: Axis, y: Axis) -> dict:
    return {"x_label": x.label, "y_label": y.label, "x_unit": x.unit, "y_unit": y.unit}


# --- points ---


def _points_chart(kind: str, axes, artists: list, budget: Budget) -> dict:
    x, y = Axis(axes, "x", budget), Axis(axes, "y", budget)
    chart = {"type": kind, **_plane(x, y)}
    for name, axis in (("x", x), ("y", y)):
        chart[f"{name}_ticks"] = [axis.place(place) for place in axis.places]
        chart[f"{name}_tick_labels"] = axis.texts
        chart[f"{name}_scale"] = axis.scale()
    elements = []
    for artist in artists:
        if budget.points <= 0:
            budget.truncated = True
            break
        if kind == "line":
            owner = next((each for each in _containers(axes, "ErrorbarContainer", "StemContainer")
                          if tuple(each)[0] is artist), None)
            text = budget.text(artist.get_label())
            if owner is not None and (text or "").startswith("_"):
                text = budget.text(owner.get_label()) or f"_child{len(elements)}"
            label = _label(text, "Line", ("_child", "_container"))
            points = _line_points(artist, x, y, budget)
        else:
            label = _label(budget.text(artist.get_label()), "Group", ("_child",))
            points = _offset_points(artist, x, y, budget)
        elements.append({"label": label, "points": points})
    chart["elements"] = elements
    return chart


def _line_points(line, x: Axis, y: Axis, budget: Budget) -> list:
    numpy = sys.modules["numpy"]
    xs = numpy.ma.asarray(line.get_xdata(orig=True)).ravel()
    ys = numpy.ma.asarray(line.get_ydata(orig=True)).ravel()
    count = budget.take(max(len(xs), len(ys)))
    xs = [_given(each, x) for each in _plain(xs[:count])]
    ys = [_given(each, y) for each in _plain(ys[:count])]
    return [list(pair) for pair in zip(xs, ys)]


def _offset_points(collection, x: Axis, y: Axis, budget: Budget) -> list:
    numpy = sys.modules["numpy"]
    offsets = numpy.ma.asarray(collection.get_offsets(), dtype=float).reshape(-1, 2)
    offsets = offsets[: budget.take(len(offsets))].filled(math.nan)
    across, along = x.reader(), y.reader()
    return [[across(each), along(other)] for each, other in offsets.tolist()]


def _plain(array) -> list:
    """The values of an array as Python objects, those of datetime64 as ISO text."""
    if array.dtype.kind != "M":
        return array.tolist()
    numpy = sys.modules["numpy"]
    array = array.filled(numpy.datetime64("NaT"))
    seconds = array.astype("datetime64[s]")
    texts = numpy.datetime_as_string(seconds).tolist()
    for place in numpy.flatnonzero((seconds != array) & ~numpy.isnat(array)).tolist():
        texts[place] = str(numpy.datetime_as_string(array[place])).rstrip("0")
    return [None if text == "NaT" else text for text in texts]


def _given(value, axis: Axis):
    """One coordinate as the guest gave it to plot()."""
    kind = type(value)
    if value is None:
        return None
    if kind is float or kind is int:
        return axis.drawn(value) if axis.categories else number(value)
    if issubclass(kind, str):
        return axis.budget.text(value)
    if kind.__name__ == "datetime64":  # in an array of objects
        return _plain(sys.modules["numpy"].ma.asarray([value]))[0]
    if hasattr(kind, "to_timestamp"):  # pandas.Period
        value = value.to_timestamp()
        kind = type(value)
    if hasattr(kind, "isoformat"):
        text = axis.budget.text(value.isoformat())
        return None if text == "NaT" else text
    try:
        return number(value)
    except (TypeError, ValueError):
        return None


# --- pies and bars ---


def _pie(wedges: list, budget: Budget) -> dict:
    elements = [
        {
            "label": _label(budget.text(wedge.get_label()), "Group", ("_child",)),
            # pie() computes in single precision: more than six digits would be noise.
            "angle": float(f"{abs(wedge.theta2 - wedge.theta1):.6g}"),
            "radius": number(wedge.r),
        }
        for wedge in wedges[: budget.take(len(wedges))]
    ]
    return {"type": "pie", "elements": elements}


def _bars(axes, rectangles: list, budget: Budget) -> dict:
    groups = [
        (_label(budget.text(each.get_label()), "Group", ("_container",)), list(each.patches),
         getattr(each, "orientation", None))
        for each in _containers(axes, "BarContainer")
    ] or [("", rectangles, None)]
    # Only when nobody said which way the bars go must the equal sides tell.
    flat = [
        orientation == "horizontal" if orientation
        else len(bars) > 1 and len({bar.get_height() for bar in bars}) == 1
        for _, bars, orientation in groups
    ]
    x, y = Axis(axes, "x", budget), Axis(axes, "y", budget)
    elements = []
    for (group, bars, _), lies in zip(groups, flat):
        for bar in bars[: budget.take(len(bars))]:
            if lies:
                value, label = bar.get_width(), y.name_at(bar.get_y() + bar.get_height() / 2)
            else:
                value, label = bar.get_height(), x.name_at(bar.get_x() + bar.get_width() / 2)
            elements.append({"label": label, "group": group, "value": number(value)})
    plane = _plane(y, x) if all(flat) else _plane(x, y)
    return {"type": "bar", **plane, "elements": elements}


# --- box plots ---


def boxplot(axes, patches: list, lines: list, budget: Budget) -> dict | None:
    """The box plot that these artists make, or None when they make none."""
    shapes = [each.get_path().vertices.tolist() for each in patches[:POINTS_LIMIT]]
    strokes, dots = [], []
    for line in lines[:POINTS_LIMIT]:
        if len(line.get_xdata()) > budget.points:
            return None
        points = line.get_xydata().tolist()
        if not patches and len(points) in (5, 11) and points[0] == points[-1]:
            shapes.append(points)
        elif len(points) == 2 and line.get_linestyle() not in ("None", "none", " ", ""):
            strokes.append(points)
        else:
            dots.extend(points)
    if not shapes:
        return None
    for across in (0, 1):
        # In the order of their centres, so that each box looks only at what stands with it.
        strokes.sort(key=lambda stroke: stroke[0][across] + stroke[1][across])
        dots.sort(key=lambda point: point[across])
        boxes = [read_box(shape, strokes, dots, across) for shape in shapes[:1_000]]
        if all(boxes):
            break
    else:
        return None
    count = budget.take(len(shapes))
    budget.truncated |= len(shapes) > len(boxes)
    x, y = Axis(axes, "x", budget), Axis(axes, "y", budget)
    elements = []
    for centre, box in boxes[:count]:
        kept = box["outliers"][: budget.take(len(box["outliers"]))]
        named = {key: number(value) for key, value in box.items() if key != "outliers"}
        label = (y if across else x).name_at(centre)
        elements.append({"label": label, **named, "outliers": [number(each) for each in kept]})
    plane = _plane(y, x) if across else _plane(x, y)
    return {"type": "box_and_whisker", **plane, "elements": elements}
