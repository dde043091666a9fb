# SPDX-License-Identifier: Apache-2.0
"""What charts.chart_of tells of figures drawn with matplotlib, seaborn and pandas."""

import datetime
import json
import math
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
AGENTS = os.path.join(os.path.dirname(__file__), "..", "..", "..", "agents")
sys.path.insert(0, AGENTS)

try:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import numpy
except ImportError:
    plt = None

from python import charts


def setUpModule():
    if plt is None:
        raise unittest.SkipTest("matplotlib is not installed")


def bar(label, group, value):
    return {"label": label, "group": group, "value": value}


class ChartCase(unittest.TestCase):
    def setUp(self):
        self.figure, self.axes = plt.subplots()
        self.addCleanup(plt.close, "all")

    def chart(self, figure=None):
        chart = charts.chart_of(figure or self.figure)
        json.dumps(chart, allow_nan=False)
        return chart

    def points(self):
        return [element["points"] for element in self.chart()["elements"]]


class Bars(ChartCase):
    def test_sales_of_four_authors(self):
        names = [f"Author {letter}" for letter in "ABCD"]
        self.axes.bar(names, [100, 200, 300, 400], label="Books Sold", color="blue")
        self.axes.set(xlabel="Authors", ylabel="Number of Books Sold", title="Sales")
        self.figure.tight_layout()
        self.assertEqual(self.chart(), {
            "type": "bar", "title": "Sales", "x_label": "Authors",
            "y_label": "Number of Books Sold", "x_unit": None, "y_unit": None,
            "elements": [bar(name, "Books Sold", value)
                         for name, value in zip(names, (100, 200, 300, 400))],
        })

    def test_horizontal_bars_swap_labels_and_units(self):
        self.axes.barh(["a", "b"], [3, 4])
        self.axes.set(xlabel="Speed [m/s]", ylabel="Car")
        self.assertEqual(self.chart(), {
            "type": "bar", "title": None, "x_label": "Car", "y_label": "Speed [m/s]",
            "x_unit": None, "y_unit": "m/s",
            "elements": [bar("a", "Group 0", 3), bar("b", "Group 0", 4)],
        })

    def test_bars_of_one_height_stay_upright(self):
        self.axes.bar(["a", "b"], [5, 5])
        self.assertEqual(self.chart()["elements"],
                         [bar("a", "Group 0", 5), bar("b", "Group 0", 5)])

    def test_loose_rectangles_of_one_height_lie(self):
        for place, width in enumerate((2, 7)):
            self.axes.add_patch(plt.Rectangle((0, place - 0.4), width, 0.8))
        self.axes.set(xlim=(0, 8), ylim=(-1, 2), yticks=[0, 1], yticklabels=["lo", "hi"])
        self.assertEqual(self.chart()["elements"], [bar("lo", "", 2), bar("hi", "", 7)])

    def test_grouped_bars_carry_the_nearest_name(self):
        places = numpy.arange(3)
        self.axes.bar(places - 0.2, [1, 2, 3], 0.4, label="men")
        self.axes.bar(places + 0.2, [4, 5, 6], 0.4, label="women")
        self.axes.set_xticks(places, ["G1", "G2", "G3"])
        self.assertEqual(self.chart()["elements"], [
            bar("G1", "men", 1), bar("G2", "men", 2), bar("G3", "men", 3),
            bar("G1", "women", 4), bar("G2", "women", 5), bar("G3", "women", 6)])

    def test_stacked_bars_tell_their_own_height(self):
        self.axes.bar(["x", "y"], [1, 2], label="low")
        self.axes.bar(["x", "y"], [10, 20], bottom=[1, 2], label="high")
        self.assertEqual([each["value"] for each in self.chart()["elements"]], [1, 2, 10, 20])

    def test_error_bars_and_zero_line_are_no_data(self):
        self.axes.bar(["x", "y"], [1, 2], yerr=[0.1, 0.2])
        self.axes.axhline(0)
        self.assertEqual(self.chart()["type"], "bar")

    def test_bars_on_a_number_axis_are_named_by_their_place(self):
        self.axes.bar([1990, 2000.5], [1, 2])
        self.assertEqual([each["label"] for each in self.chart()["elements"]], ["1990", "2000.5"])

    def test_bars_on_a_date_axis_are_named_by_their_date(self):
        self.axes.bar([datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)], [1, 2])
        self.assertEqual([each["label"] for each in self.chart()["elements"]],
                         ["2024-01-01T00:00:00", "2024-02-01T00:00:00"])

    def test_a_missing_height_is_null(self):
        self.axes.bar(["a", "b"], [1, math.nan])
        self.assertEqual([each["value"] for each in self.chart()["elements"]], [1, None])

    def test_negative_heights_keep_their_sign(self):
        self.axes.bar(["a", "b"], [-5, 2])
        self.assertEqual([each["value"] for each in self.chart()["elements"]], [-5, 2])

    def test_histogram_is_a_bar_chart_of_its_bins(self):
        self.axes.hist([1, 1, 2, 5], bins=[0, 2, 4, 6])
        self.assertEqual(self.chart()["elements"], [
            bar("1", "Group 0", 2), bar("3", "Group 0", 1), bar("5", "Group 0", 1)])


class Pies(ChartCase):
    def test_ninety_to_ten(self):
        self.axes.pie([90, 10], labels=["Yes", "No"], autopct="%1.1f%%", startangle=90)
        self.axes.set_title("Will I wake up early tomorrow?")
        self.assertEqual(self.chart(), {
            "type": "pie", "title": "Will I wake up early tomorrow?",
            "elements": [{"label": "Yes", "angle": 324, "radius": 1},
                         {"label": "No", "angle": 36, "radius": 1}],
        })

    def test_shadow_and_hole_do_not_make_it_another_chart(self):
        self.axes.pie([1, 3], radius=2, shadow=True, wedgeprops={"width": 0.3})
        self.assertEqual(self.chart()["elements"], [
            {"label": "", "angle": 90, "radius": 2}, {"label": "", "angle": 270, "radius": 2}])


SCORES = {"Class A": [85, 90, 78, 92, 88], "Class B": [95, 89, 76, 91, 84, 87],
          "Class C": [75, 82, 88, 79, 86]}
BOXES = {"label": list(SCORES), "min": [78, 84, 75], "first_quartile": [85, 84.75, 79],
         "median": [88, 88, 82], "third_quartile": [90, 90.5, 86], "max": [92, 95, 88],
         "outliers": [[], [76], []]}


class Boxes(ChartCase):
    def columns(self):
        chart = self.chart()
        self.assertEqual(chart["type"], "box_and_whisker")
        return {key: [each[key] for each in chart["elements"]] for key in BOXES}

    def test_three_classes_however_they_are_drawn(self):
        for style in ({}, {"vert": False}, {"notch": True}, {"showmeans": True},
                      {"showmeans": True, "meanline": True}, {"showcaps": False}):
            for filled in (False, True):
                with self.subTest(style=style, filled=filled):
                    self.axes.clear()
                    self.axes.boxplot(SCORES.values(), labels=SCORES.keys(),
                                      patch_artist=filled, **style)
                    self.assertEqual(self.columns(), BOXES)

    def test_labels_follow_the_direction(self):
        for upright in (True, False):
            self.axes.clear()
            self.axes.boxplot([[1, 2, 3]], patch_artist=True, vert=upright)
            self.axes.set(xlabel="Class", ylabel="Score (pt)")
            names = ("x", "y") if upright else ("y", "x")
            chart = self.chart()
            self.assertEqual([chart[f"{name}_label"] for name in names], ["Class", "Score (pt)"])
            self.assertEqual([chart[f"{name}_unit"] for name in names], [None, "pt"])

    def test_a_box_without_whiskers_keeps_its_median(self):
        self.axes.boxplot([[1, 1, 1, 2, 3, 3, 3]], notch=True)
        self.assertEqual((self.columns()["min"], self.columns()["median"]), ([1], [2]))

    def test_boxes_of_pandas_and_seaborn(self):
        try:
            import pandas
            import seaborn
        except ImportError:
            self.skipTest("pandas or seaborn is not installed")
        frame = pandas.DataFrame(
            [(name, score) for name, scores in SCORES.items() for score in scores],
            columns=["class", "score"])
        seaborn.boxplot(data=frame, x="class", y="score", ax=self.axes)
        self.assertEqual(self.columns(), BOXES)
        self.axes.clear()
        pandas.DataFrame({name: pandas.Series(scores) for name, scores in SCORES.items()}
                         ).plot.box(ax=self.axes)
        self.assertEqual(self.columns(), BOXES)


class Lines(ChartCase):
    def test_two_lines_with_units_and_ticks(self):
        self.axes.plot([0, 1, 2], [0.1 + 0.2, 1.5, 1 / 3], label="sin")
        self.axes.plot([0, 1], [5, 6])
        self.axes.set(xlabel="Time (s)", ylabel="Amplitude [Hz]", title="Waves")
        self.axes.set_xticks([0, 1, 2])
        self.axes.set_yticks([0, 2.5])
        self.assertEqual(self.chart(), {
            "type": "line", "title": "Waves", "x_label": "Time (s)", "y_label": "Amplitude [Hz]",
            "x_unit": "s", "y_unit": "Hz",
            "x_ticks": [0, 1, 2], "x_tick_labels": ["0", "1", "2"], "x_scale": "linear",
            "y_ticks": [0, 2.5], "y_tick_labels": ["0.0", "2.5"], "y_scale": "linear",
            "elements": [
                {"label": "sin", "points": [[0, 0.3], [1, 1.5], [2, 0.33333333]]},
                {"label": "Line 1", "points": [[0, 5], [1, 6]]}],
        })

    def test_what_is_not_finite_is_null(self):
        self.axes.plot([1, math.nan, 3, 4], [math.inf, 2, -math.inf, 4])
        self.axes.plot(numpy.ma.masked_equal([1, 2], 2), [1, 2])
        self.assertEqual(self.points(), [[[1, None], [None, 2], [3, None], [4, 4]],
                                         [[1, 1], [None, 2]]])

    def test_dates_are_iso_text(self):
        for given, expected in (
            (datetime.date(2024, 2, 29), "2024-02-29"),
            (datetime.datetime(2024, 2, 29, 5), "2024-02-29T05:00:00"),
            (numpy.datetime64("2024-02-29", "ns"), "2024-02-29T00:00:00"),
            (numpy.datetime64("2024-02-29T01:02:03.500"), "2024-02-29T01:02:03.5"),
        ):
            with self.subTest(given=given):
                self.axes.clear()
                self.axes.plot([given], [1])
                self.assertEqual(self.points(), [[[expected, 1]]])

    def test_a_date_axis_has_iso_ticks(self):
        self.axes.plot([datetime.date(2024, 1, 1), datetime.date(2024, 1, 3)], [1, 2])
        self.axes.set_xticks([19723, 19724])
        chart = self.chart()
        self.assertEqual(chart["x_scale"], "datetime")
        self.assertEqual(chart["x_ticks"],
                         ["2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00"])

    def test_a_missing_date_is_null(self):
        self.axes.plot(numpy.array(["2024-01-01", "NaT"], "M8[D]"), [1, 2])
        self.assertEqual(self.points(), [[["2024-01-01T00:00:00", 1], [None, 2]]])

    def test_a_series_of_pandas_with_a_calendar_index_is_dated(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        days = pandas.date_range("2024-01-01", periods=3)
        pandas.Series([1, 2, 3], index=days).plot(ax=self.axes)
        self.assertEqual(self.chart()["x_scale"], "datetime")
        self.assertEqual(self.points(), [[["2024-01-01T00:00:00", 1], ["2024-01-02T00:00:00", 2],
                                          ["2024-01-03T00:00:00", 3]]])

    def test_categories_are_names_on_either_axis(self):
        self.axes.plot(["a", "b", "c"], ["low", "high", "low"])
        chart = self.chart()
        self.assertEqual((chart["x_scale"], chart["y_scale"]), ("categorical", "categorical"))
        self.assertEqual(chart["x_tick_labels"], ["a", "b", "c"])
        self.assertEqual(self.points(), [[["a", "low"], ["b", "high"], ["c", "low"]]])

    def test_every_scale_of_matplotlib_is_named(self):
        for scale in ("linear", "log", "symlog", "logit", "asinh"):
            with self.subTest(scale=scale):
                self.axes.clear()
                self.axes.plot([0.1, 0.5], [0.2, 0.6])
                self.axes.set_yscale(scale)
                self.assertEqual(self.chart()["y_scale"], scale)
        self.axes.set_yscale("function", functions=(numpy.sqrt, numpy.square))
        self.assertEqual(self.chart()["y_scale"], "function")

    def test_index_ticks_without_names_are_linear(self):
        self.axes.plot([0, 1], [0, 1])
        self.axes.set_xticks([0, 1], ["", ""])
        self.assertEqual(self.chart()["x_scale"], "linear")

    def test_a_reference_line_is_no_data(self):
        self.axes.plot([1, 2], [3, 4])
        self.axes.axhline(3.5)
        self.axes.axvline(1.5)
        self.assertEqual(self.points(), [[[1, 3], [2, 4]]])

    def test_a_band_and_error_bars_leave_a_line_chart(self):
        self.axes.errorbar([1, 2], [3, 4], yerr=0.5, capsize=3, label="measured")
        self.axes.fill_between([1, 2], [2, 3], [4, 5])
        self.assertEqual(self.chart()["elements"],
                         [{"label": "measured", "points": [[1, 3], [2, 4]]}])


class Scatters(ChartCase):
    def test_two_sets_over_a_grid_line(self):
        self.axes.scatter([1, 2], [3, math.nan], label="Dataset 1", c=[0, 1])
        self.axes.scatter([5], [6])
        self.axes.axhline(4)
        self.figure.colorbar(self.axes.collections[0])
        chart = self.chart()
        self.assertEqual(chart["type"], "scatter")
        self.assertEqual(chart["elements"], [
            {"label": "Dataset 1", "points": [[1, 3], [None, None]]},
            {"label": "Group 1", "points": [[5, 6]]}])

    def test_dates_and_categories_come_back(self):
        self.axes.scatter([datetime.datetime(2024, 1, 1, 5)], ["x"])
        self.assertEqual(self.points(), [[["2024-01-01T05:00:00", "x"]]])


class Figures(ChartCase):
    def test_an_empty_figure_has_no_chart(self):
        self.assertIsNone(self.chart())
        self.assertIsNone(self.chart(plt.figure()))
        self.axes.text(0, 0, "only words")
        self.assertIsNone(self.chart())

    def test_what_is_no_figure_has_no_chart(self):
        for value in (None, 3, "figure", self.axes, plt):
            self.assertIsNone(charts.chart_of(value))

    def test_several_axes_make_a_superchart(self):
        figure, (left, right) = plt.subplots(1, 2)
        figure.suptitle("Both")
        left.plot([1, 2])
        right.pie([1, 1], labels=["a", "b"])
        right.set_title("Half")
        chart = self.chart(figure)
        self.assertEqual((chart["type"], chart["title"]), ("superchart", "Both"))
        self.assertEqual([(each["type"], each["title"]) for each in chart["elements"]],
                         [("line", None), ("pie", "Half")])

    def test_twin_axes_are_two_charts(self):
        self.axes.plot([1, 2], [3, 4])
        twin = self.axes.twinx()
        twin.bar([1, 2], [30, 40])
        twin.set_ylabel("Rain (mm)")
        chart = self.chart()
        self.assertEqual([each["type"] for each in chart["elements"]], ["line", "bar"])
        self.assertEqual(chart["elements"][1]["y_unit"], "mm")

    def test_other_drawings_are_unknown(self):
        def solid():
            plt.figure().add_subplot(projection="3d").plot([1, 2], [1, 2], [1, 2])

        for draw in (lambda: plt.imshow([[1, 2], [3, 4]]), lambda: plt.stackplot([1, 2], [3, 4]),
                     lambda: (plt.plot([1, 2]), plt.scatter([1], [2])), solid):
            plt.figure()
            draw()
            chart = self.chart(plt.gcf())
            self.assertEqual((chart["type"], chart["elements"]), ("unknown", []))

    def test_the_figure_is_left_as_it_was(self):
        self.axes.plot([1, 2], [3, 4])
        self.figure.canvas.draw()
        before = bytes(self.figure.canvas.buffer_rgba())
        self.chart()
        self.figure.canvas.draw()
        self.assertEqual(bytes(self.figure.canvas.buffer_rgba()), before)

    def test_matplotlib_is_not_imported(self):
        program = ("import sys; from python import charts;"
                   "assert charts.chart_of(object()) is None;"
                   "assert 'matplotlib' not in sys.modules and 'numpy' not in sys.modules")
        done = subprocess.run([sys.executable, "-B", "-c", program], cwd=AGENTS, check=False)
        self.assertEqual(done.returncode, 0)


class HostileFigures(ChartCase):
    def test_a_million_points_are_cut_and_said_so(self):
        self.axes.plot(numpy.arange(1_000_000))
        self.axes.plot([1, 2])
        chart = self.chart()
        self.assertEqual(sum(map(len, self.points())), charts.POINTS_LIMIT)
        self.assertIs(chart["truncated"], True)

    def test_points_are_bounded_over_all_axes(self):
        figure, both = plt.subplots(1, 2)
        for axes in both:
            axes.scatter(numpy.arange(60_000), numpy.arange(60_000))
        chart = self.chart(figure)
        total = sum(len(element["points"]) for each in chart["elements"]
                    for element in each["elements"])
        self.assertEqual((total, chart["truncated"]), (charts.POINTS_LIMIT, True))

    def test_ticks_of_many_categories_are_not_made(self):
        self.axes.plot([f"c{number}" for number in range(5_000)], range(5_000))
        chart = self.chart()
        self.assertEqual(chart["x_tick_labels"][-1], f"c{charts.TICKS_LIMIT - 1}")
        self.assertLess(len(self.axes.xaxis.majorTicks), 10)

    def test_a_small_chart_does_not_speak_of_truncation(self):
        self.axes.plot([1, 2])
        self.assertNotIn("truncated", self.chart())

    def test_long_texts_are_cut(self):
        self.axes.plot([1, 2], label="x" * 100_000)
        self.axes.set_title("y" * 100_000)
        chart = self.chart()
        self.assertEqual(len(chart["title"]), charts.TEXT_LIMIT)
        self.assertEqual(len(chart["elements"][0]["label"]), charts.TEXT_LIMIT)
        self.assertIs(chart["truncated"], True)

    def test_the_text_of_many_points_is_bounded(self):
        line, = self.axes.plot([0] * 50_000)
        line._xorig = numpy.array(["z" * 900] * 50_000, dtype=object)
        self.assertLess(len(json.dumps(self.chart())), charts.CHARS_LIMIT + (2 << 20))

    def test_a_lying_class_is_not_believed(self):
        class Liar(matplotlib.patches.Wedge):
            __class__ = matplotlib.lines.Line2D

        self.axes.add_artist(Liar((0, 0), 1, 0, 90))
        self.assertEqual(self.chart()["type"], "pie")

    def test_an_artist_that_raises_spoils_only_its_axes(self):
        class Bomb(matplotlib.lines.Line2D):
            def get_xdata(self, orig=True):
                raise SystemExit(3)

        figure, (left, right) = plt.subplots(1, 2)
        left.plot([1, 2])
        right.set_title("bomb")
        right._children.append(Bomb([1], [2]))
        self.assertEqual([(each["type"], each["title"]) for each in self.chart(figure)["elements"]],
                         [("line", None), ("unknown", "bomb")])

    def test_text_that_lies_becomes_plain_text(self):
        class Text(str):
            def __str__(self):
                raise RuntimeError

            def startswith(self, *_):
                return 7

        line, = self.axes.plot([1, 2])
        line._label = Text("name")
        label = self.chart()["elements"][0]["label"]
        self.assertIs(type(label), str)
        self.assertEqual(label, "name")

    def test_text_that_no_message_can_carry_is_mended(self):
        self.axes.plot([1, 2], label="a\ud800b")
        self.assertEqual(self.chart()["elements"][0]["label"], "a?b")

    def test_values_without_a_number_are_null(self):
        line, = self.axes.plot([1, 2, 3], [1, 2, 3])
        line._yorig = numpy.array([object(), 10 ** 400, 2], dtype=object)
        self.assertEqual(self.points(), [[[1, None], [2, None], [3, 2]]])

    def test_a_figure_with_a_broken_inside_has_no_chart(self):
        self.axes.plot([1, 2])
        self.axes._children = 5
        self.assertIsNone(self.chart())
        del self.figure._axstack
        self.assertIsNone(self.chart())

    def test_a_clobbered_module_gives_no_chart(self):
        self.axes.plot([1, 2])
        kept = sys.modules["matplotlib.figure"]
        self.addCleanup(sys.modules.__setitem__, "matplotlib.figure", kept)
        sys.modules["matplotlib.figure"] = object()
        self.assertIsNone(self.chart())


if __name__ == "__main__":
    unittest.main()
