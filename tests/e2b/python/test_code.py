# SPDX-License-Identifier: Apache-2.0
import unittest

import e2b
from sandboxes import InSandbox


class Code(InSandbox):
    def run_code(self, code, **options):
        return self.sandbox.run_code(code, **options)

    def test_variables_stay_between_calls(self):
        self.assertEqual(self.run_code("x = 41; x + 1").text, "42")
        self.assertEqual(self.run_code("x").text, "41")

    def test_an_exception_has_its_name_value_and_traceback(self):
        error = self.run_code("1 / 0").error
        self.assertEqual((error.name, error.value), ("ZeroDivisionError", "division by zero"))
        self.assertIn("1 / 0", error.traceback)

    def test_output_reaches_the_callbacks(self):
        said = []
        execution = self.run_code("import sys; print('one'); print('two', file=sys.stderr); 3",
                                  on_stdout=lambda each: said.append((each.line, each.error)),
                                  on_stderr=lambda each: said.append((each.line, each.error)),
                                  on_result=lambda each: said.append(each.text))
        self.assertCountEqual(said, [("one\n", False), ("two\n", True), "3"])
        self.assertEqual(execution.logs.stdout, ["one\n"])

    def test_a_plot_is_an_image_and_a_chart(self):
        result = self.run_code("import matplotlib.pyplot as plt\n"
                               "plt.bar(['a', 'b'], [1, 2]); plt.title('both'); plt.show()").results[0]
        self.assertTrue(result.png.startswith("iVBOR"))
        self.assertEqual(result.chart.title, "both")
        self.assertEqual([(each.label, each.value) for each in result.chart.elements],
                         [("a", 1), ("b", 2)])

    def test_a_data_frame_is_a_table(self):
        result = self.run_code("import pandas\npandas.DataFrame({'n': [1, 2]})").results[0]
        self.assertIn("<table", result.html)

    def test_variables_of_one_call_are_gone_with_it(self):
        code = "import os; os.environ.get('ONCE', 'absent')"
        self.assertEqual(self.run_code(code, envs={"ONCE": "there"}).text, "there")
        self.assertEqual(self.run_code(code).text, "absent")

    def test_contexts_have_variables_and_directories_of_their_own(self):
        context = self.sandbox.create_code_context(cwd="/tmp")
        self.run_code("mine = 1")
        self.assertEqual(self.run_code("import os; os.getcwd()", context=context).text, "/tmp")
        self.assertEqual(self.run_code("mine", context=context).error.name, "NameError")
        self.assertIn(context.id, [each.id for each in self.sandbox.list_code_contexts()])
        self.sandbox.remove_code_context(context.id)
        self.assertNotIn(context.id, [each.id for each in self.sandbox.list_code_contexts()])

    def test_other_languages_run(self):
        self.assertEqual(self.run_code("1 + 1", language="js").text, "2")
        self.assertEqual(self.run_code("echo hello", language="bash").logs.stdout, ["hello\n"])

    def test_code_beyond_its_time_raises_and_the_next_call_works(self):
        with self.assertRaises(e2b.TimeoutException):
            self.run_code("import time; time.sleep(60)", timeout=1)
        self.assertEqual(self.run_code("2 + 2").text, "4")


if __name__ == "__main__":
    unittest.main()
