# SPDX-License-Identifier: Apache-2.0
"""What tables.table_of tells of pandas' frames and series."""

import datetime
import decimal
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
    import numpy
    import pandas
except ImportError:
    pandas = None

from python import tables


def setUpModule():
    if pandas is None:
        raise unittest.SkipTest("pandas is not installed")


class TableCase(unittest.TestCase):
    def table(self, value):
        table = tables.table_of(value)
        json.dumps(table, allow_nan=False)
        return table

    def values(self, given):
        return self.table(pandas.DataFrame({"x": given}))["columns"][0]["values"]


class Frames(TableCase):
    def test_columns_with_types_and_index(self):
        frame = pandas.DataFrame({"n": [1, 2], "s": ["a", "b"]}, index=[10, 20])
        frame.index.name = "key"
        self.assertEqual(self.table(frame), {
            "columns": [{"name": "n", "type": "int64", "values": [1, 2]},
                        {"name": "s", "type": "object", "values": ["a", "b"]}],
            "rows": 2,
            "index": {"name": "key", "type": "int64", "values": [10, 20]},
            "truncated": False,
        })

    def test_a_series_is_a_table_of_one_column(self):
        table = self.table(pandas.Series([1.5, 2.5], name="q", index=["a", "b"]))
        self.assertEqual(table["columns"],
                         [{"name": "q", "type": "float64", "values": [1.5, 2.5]}])
        self.assertEqual(table["index"]["values"], ["a", "b"])

    def test_columns_of_one_name_are_all_kept(self):
        table = self.table(pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
        self.assertEqual([(each["name"], each["values"]) for each in table["columns"]],
                         [("a", [1, 3]), ("a", [2, 4])])

    def test_parts_of_a_multi_index_are_joined(self):
        columns = pandas.MultiIndex.from_tuples([("pay", "mean"), ("pay", ""), ("age", 3)])
        rows = pandas.MultiIndex.from_tuples([("k", 1)], names=["A", "B"])
        table = self.table(pandas.DataFrame([[1, 2, 3]], columns=columns, index=rows))
        self.assertEqual([each["name"] for each in table["columns"]],
                         ["pay / mean", "pay", "age / 3"])
        self.assertEqual(table["index"],
                         {"name": "A / B", "type": "multi", "values": [["k", 1]]})

    def test_an_empty_frame_is_a_table(self):
        table = self.table(pandas.DataFrame())
        self.assertEqual((table["columns"], table["rows"], table["truncated"]), ([], 0, False))

    def test_other_values_have_no_table(self):
        for value in (None, 3, [1], {"a": [1]}, pandas.Index([1]), pandas):
            self.assertIsNone(tables.table_of(value))

    def test_pandas_is_not_imported(self):
        program = ("import sys; from python import tables;"
                   "assert tables.table_of(object()) is None;"
                   "assert 'pandas' not in sys.modules and 'numpy' not in sys.modules")
        done = subprocess.run([sys.executable, "-B", "-c", program], cwd=AGENTS, check=False)
        self.assertEqual(done.returncode, 0)

    def test_data_is_a_mapping_of_columns(self):
        frame = pandas.DataFrame({"n": [1, 2], 7: ["a", None]})
        self.assertEqual(tables.data_of(self.table(frame)), {"n": [1, 2], "7": ["a", None]})


class Values(TableCase):
    def test_what_is_missing_is_null(self):
        self.assertEqual(self.values([1.0, math.nan, math.inf, -math.inf]), [1, None, None, None])
        self.assertEqual(self.values(pandas.to_datetime(["2024-01-01", None])),
                         ["2024-01-01T00:00:00", None])
        self.assertEqual(self.values(pandas.array([1, None], dtype="Int64")), [1, None])
        self.assertEqual(self.values(["a", None]), ["a", None])

    def test_times_are_iso_text(self):
        berlin = pandas.to_datetime(["2024-01-01 05:00"]).tz_localize("Europe/Berlin")
        self.assertEqual(self.values(berlin), ["2024-01-01T05:00:00+01:00"])
        self.assertEqual(self.values(pandas.to_timedelta(["1 days"])), ["P1DT0H0M0S"])
        self.assertEqual(self.values(pandas.period_range("2024-01", periods=1, freq="M")),
                         ["2024-01"])
        self.assertEqual(self.values([datetime.date(2024, 1, 1), datetime.time(5, 6)]),
                         ["2024-01-01", "05:06:00"])

    def test_categories_are_their_names(self):
        table = self.table(pandas.Series(pandas.Categorical(["x", "y", "x"]), name="c"))
        self.assertEqual(table["columns"],
                         [{"name": "c", "type": "category", "values": ["x", "y", "x"]}])

    def test_truth_values_and_numpy_scalars_are_plain(self):
        self.assertEqual(self.values([True, False]), [True, False])
        mixed = self.values([numpy.float32(1.5), numpy.bool_(True), numpy.int8(3), "s"])
        self.assertEqual(mixed, [1.5, True, 3, "s"])
        self.assertEqual([type(each) for each in mixed], [float, bool, int, str])

    def test_other_objects_are_their_text(self):
        self.assertEqual(self.values([decimal.Decimal("1.10"), 1j, {"a": 1}, b"x"]),
                         ["1.10", "1j", "{'a': 1}", "b'x'"])

    def test_flat_lists_stay_lists(self):
        self.assertEqual(self.values([[1, math.nan], ["a"]]), [[1, None], ["a"]])


class HostileFrames(TableCase):
    def test_rows_are_bounded_and_counted(self):
        table = self.table(pandas.DataFrame({"n": range(25_000)}))
        self.assertEqual((table["rows"], table["truncated"]), (25_000, True))
        self.assertEqual(len(table["columns"][0]["values"]), tables.ROWS_LIMIT)
        self.assertEqual(len(table["index"]["values"]), tables.ROWS_LIMIT)

    def test_columns_are_bounded(self):
        table = self.table(pandas.DataFrame([range(500)]))
        self.assertEqual((len(table["columns"]), table["truncated"]),
                         (tables.COLUMNS_LIMIT, True))

    def test_bytes_are_bounded_and_columns_stay_even(self):
        frame = pandas.DataFrame({"long": ["x" * 9_000] * 2_000, "short": range(2_000)})
        table = self.table(frame)
        self.assertLess(len(json.dumps(table)), tables.BYTES_LIMIT)
        lengths = {len(each["values"]) for each in (*table["columns"], table["index"])}
        self.assertEqual(len(lengths), 1)
        self.assertGreater(lengths.pop(), 0)
        self.assertIs(table["truncated"], True)

    def test_escapes_are_counted_as_sent(self):
        table = self.table(pandas.DataFrame({"x": ["\x00" * 5_000] * 2_000}))
        self.assertLess(len(json.dumps(table)), tables.BYTES_LIMIT)

    def test_a_long_text_is_cut_and_said_so(self):
        table = self.table(pandas.Series(["x" * 50_000]))
        self.assertEqual(len(table["columns"][0]["values"][0]), tables.TEXT_LIMIT)
        self.assertIs(table["truncated"], True)

    def test_a_value_that_raises_leaves_no_table(self):
        class Bomb:
            def __str__(self):
                raise SystemExit(3)

        self.assertIsNone(tables.table_of(pandas.DataFrame({"x": [Bomb()]})))

    def test_a_lying_class_is_not_believed(self):
        class Liar:
            __class__ = pandas.DataFrame

        self.assertIsNone(tables.table_of(Liar()))

    def test_text_that_no_message_can_carry_is_mended(self):
        self.assertEqual(self.values(["a\ud800b"]), ["a?b"])


if __name__ == "__main__":
    unittest.main()
