# SPDX-License-Identifier: Apache-2.0
import base64
import os
import tempfile
import unittest

from harness import Agent

CHART = "application/vnd.glovebox.chart+json"
TABLE = "application/vnd.glovebox.table+json"


class Displays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(env={"MPLCONFIGDIR": "/tmp/glovebox-mpl-test"})
        cls.addClassCleanup(cls.agent.close)
        cls.agent.run("from IPython.display import *")

    def data(self, code: str, name: str = "result") -> dict:
        outcome = self.agent.run(code)
        self.assertEqual(outcome.status, "ok", outcome.frames)
        return outcome.one(name)["data"]

    def test_display_classes_become_their_mime_types(self):
        for code, mime, value in (
            ("HTML('<b>x</b>')", "text/html", "<b>x</b>"),
            ("Markdown('*x*')", "text/markdown", "*x*"),
            ("Latex('$x$')", "text/latex", "$x$"),
            ("Math('y^2')", "text/latex", "$\\displaystyle y^2$"),
            ("Javascript('1')", "application/javascript", "1"),
            ("JSON({'a': [1, None]})", "application/json", {"a": [1, None]}),
        ):
            with self.subTest(code):
                self.assertEqual(self.data(code)[mime], value)

    def test_svg_is_text(self):
        svg = '<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'
        self.assertIn("<svg", self.data(f"SVG('{svg}')")["image/svg+xml"])

    def test_binary_types_are_base64_without_line_breaks(self):
        code = (
            "import io, PIL.Image\nfile = io.BytesIO()\n"
            "PIL.Image.effect_noise((99, 99), 9).save(file, 'png')"
        )
        self.agent.run(code)
        text = self.data("Image(data=file.getvalue())")["image/png"]
        self.assertTrue(base64.b64decode(text, validate=True).startswith(b"\x89PNG"))

    def test_pdf_is_base64(self):
        code = "class P:\n    def _repr_pdf_(self): return b'%PDF-1.4' * 50\nP()"
        text = self.data(code)["application/pdf"]
        self.assertTrue(base64.b64decode(text, validate=True).startswith(b"%PDF"))

    def test_a_widget_is_imported_without_a_kernel_and_shows_its_text(self):
        # As ipywidgets 6, Debian's, which shows nothing but the name of a view.
        outcome = self.agent.run(
            "import sys, types\n"
            "class Slider:\n    def __repr__(self): return 'IntSlider(value=3)'\n"
            "class Widget:\n    widgets = {'m': Slider()}\n"
            "sys.modules['ipywidgets'] = types.SimpleNamespace(Widget=Widget)\n"
            "get_ipython().kernel.comm_manager.register_target('jupyter.widget', print)\n"
            "for id in ('m', 'gone'):\n"
            "    display({'application/vnd.jupyter.widget-view+json': {'model_id': id}}, raw=True)\n"
            "del sys.modules['ipywidgets']"
        )
        self.assertEqual(outcome.status, "ok", outcome.frames)
        texts = [frame.json["data"]["text/plain"] for frame in outcome.all("display")]
        self.assertEqual(texts, ["IntSlider(value=3)", "a widget"])

    def test_a_widget_that_the_cell_changed_shows_its_last_text(self):
        # As ipywidgets 8, with which tqdm.notebook draws.
        outcome = self.agent.run(
            "import sys, types\n"
            "class Bar:\n"
            "    done = 0\n"
            "    def _repr_mimebundle_(self, **_):\n"
            "        return {'application/vnd.jupyter.widget-view+json': {'model_id': 'b'},\n"
            "                'text/plain': f'{self.done} %'}\n"
            "bar = Bar()\n"
            "name = 'ipywidgets.widgets.widget'\n"
            "sys.modules[name] = types.SimpleNamespace(_instances={'b': bar})\n"
            "display(bar)\nbar.done = 100"
        )
        first, last = (frame.json for frame in outcome.all("display"))
        self.assertEqual((first["data"]["text/plain"], first.get("update")), ("0 %", None))
        self.assertEqual((last["data"]["text/plain"], last["update"]), ("100 %", True))
        self.assertEqual(first["display_id"], last["display_id"])
        outcome = self.agent.run("display(bar)\ndel sys.modules[name]")
        self.assertEqual([f.json.get("update") for f in outcome.all("display")], [None])

    def test_a_widget_finds_a_front_end_of_its_version(self):
        # ipywidgets 6 complains on stderr until it has.
        outcome = self.agent.run(
            "said = []\n"
            "def opened(comm, message):\n"
            "    comm.on_msg(lambda reply: said.append(reply['content']['data']['validated']))\n"
            "    comm.send({'version': '~2.0'})\n"
            "get_ipython().kernel.comm_manager.register_target('jupyter.widget.version', opened)\n"
            "print(said)"
        )
        self.assertEqual(outcome.text(), "[True]\n")

    def test_display_ids_and_updates(self):
        outcome = self.agent.run("h = display('one', display_id='it')\nh.update('two')")
        first, second = (f.json for f in outcome.all("display"))
        self.assertEqual((first["display_id"], first.get("update")), ("it", None))
        self.assertEqual((second["display_id"], second["update"]), ("it", True))

    def test_metadata_comes_along(self):
        outcome = self.agent.run("display(1, metadata={'text/plain': {'k': 1}})")
        self.assertEqual(outcome.one("display")["metadata"], {"text/plain": {"k": 1}})

    def test_clear_output_is_a_frame(self):
        outcome = self.agent.run("clear_output(wait=True)")
        self.assertEqual(outcome.one("clear"), {"wait": True})

    def test_values_that_json_has_not_are_converted(self):
        code = "JSON({'n': float('nan'), 'b': b'x', 't': (1, 2)})"
        expected = {"n": "nan", "b": "eA==", "t": [1, 2]}
        self.assertEqual(self.data(code)["application/json"], expected)

    def test_a_data_frame_has_html_and_a_table(self):
        data = self.data("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        self.assertIn("<table", data["text/html"])
        self.assertIn(TABLE, data)

    def test_a_plot_is_shown_at_the_end_of_the_cell_and_as_a_chart(self):
        data = self.data("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", "display")
        self.assertTrue(base64.b64decode(data["image/png"]).startswith(b"\x89PNG"))
        self.assertIn(CHART, data)

    def test_show_shows_each_figure_once(self):
        code = (
            "import matplotlib.pyplot as plt\n"
            "for _ in range(3):\n    plt.figure(); plt.plot([1])\nplt.show()\nprint('after')"
        )
        names = self.agent.run(code).names
        self.assertEqual(names, ["started", "display", "display", "display", "stdout", "done"])

    def test_a_plot_before_an_error_is_shown(self):
        outcome = self.agent.run("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
        self.assertEqual(len(outcome.all("display")), 1)
        self.assertEqual(outcome.status, "error")

    def test_matplotlib_magic_is_known(self):
        self.assertEqual(self.agent.run("%matplotlib inline").names, ["started", "done"])

    def test_sympy_has_latex(self):
        data = self.data("import sympy\nsympy.Symbol('x') / 2")
        self.assertIn("frac", data["text/latex"])

    def test_pillow_images_are_png(self):
        data = self.data("import PIL.Image\nPIL.Image.new('RGB', (2, 2))")
        self.assertTrue(base64.b64decode(data["image/png"]).startswith(b"\x89PNG"))

    def test_plotly_figures_have_their_own_type(self):
        code = (
            "import plotly.graph_objects as go, plotly.io as pio\n"
            "pio.renderers.default = 'plotly_mimetype'\ngo.Figure(go.Bar(x=['a'], y=[1]))"
        )
        data = self.agent.run(code).all("display") or self.agent.run("_").all("display")
        self.assertIn("application/vnd.plotly.v1+json", data[0].json["data"])

    def test_a_formatter_of_the_guest_is_asked(self):
        self.agent.run(
            "fm = get_ipython().display_formatter.formatters['text/html']\n"
            "fm.for_type(int, lambda n: f'<i>{n}</i>')"
        )
        self.assertEqual(self.data("12"), {"text/plain": "12", "text/html": "<i>12</i>"})
        self.agent.run("fm.pop(int)")
        self.assertEqual(self.data("12"), {"text/plain": "12"})

    def test_help_is_a_page_of_text(self):
        for code in ("len?", "import json\njson.dumps??"):
            self.assertIn("Signature", self.data(code, "display")["text/plain"])

    def test_help_of_an_object_goes_to_stdout(self):
        self.assertIn("Help on built-in function len", self.agent.run("help(len)").text())

    def test_a_repr_that_raises_is_an_error_and_no_end(self):
        outcome = self.agent.run("class R:\n    def __repr__(self): raise ValueError('no')\nR()")
        self.assertEqual(outcome.error["value"], "no")
        self.assertEqual(self.agent.run("1").plain, "1")


class Magics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.agent = Agent(cwd=cls.folder)
        cls.addClassCleanup(cls.agent.close)

    def test_shell_commands_are_stdout(self):
        outcome = self.agent.run("!echo out; echo err >&2; exit 3")
        self.assertEqual(outcome.text(), "out\nerr\n")
        self.assertEqual(self.agent.run("_exit_code").plain, "3")

    def test_shell_commands_see_variables_and_can_be_assigned(self):
        self.agent.run("word = 'abc'")
        self.assertEqual(self.agent.run("x = !echo {word} $word\nx").plain, "['abc abc']")

    def test_bash_cells(self):
        self.assertEqual(self.agent.run("%%bash\necho from bash").text(), "from bash\n")

    def test_timing(self):
        self.assertIn("loop", self.agent.run("%timeit -n 2 -r 2 1+1").text())
        self.assertIn("Wall time", self.agent.run("%%time\n1").text())

    def test_capture(self):
        self.assertEqual(self.agent.run("%%capture got\nprint('x')").names, ["started", "done"])
        self.assertEqual(self.agent.run("got.stdout").plain, "'x\\n'")

    def test_writefile_run_and_cd(self):
        self.agent.run("%%writefile part.py\nvalue = 5\nprint('ran')")
        self.assertEqual(self.agent.run("%run part.py").text(), "ran\n")
        self.assertEqual(self.agent.run("value").plain, "5")
        self.agent.run("%cd /")
        self.assertEqual(self.agent.run("import os\nos.getcwd()").plain, "'/'")
        self.agent.run(f"%cd {self.folder}")

    def test_env_and_who(self):
        self.agent.run("%env LONG=lived")
        self.assertEqual(self.agent.run("import os\nos.environ['LONG']").plain, "'lived'")
        self.assertIn("os", self.agent.run("%who").text())

    def test_magics_without_a_sign(self):
        self.assertIn(os.path.realpath(self.folder), self.agent.run("pwd").plain)

    def test_javascript_cells(self):
        outcome = self.agent.run("%%javascript\nalert(1)")
        self.assertIn("alert(1)", outcome.one("display")["data"]["application/javascript"])

    def test_extensions_load(self):
        self.assertEqual(self.agent.run("%load_ext autoreload").status, "ok")

    def test_an_unknown_magic_is_told_on_stderr(self):
        outcome = self.agent.run("%nonsense")
        self.assertEqual(outcome.status, "error")
        self.assertIn("nonsense", outcome.text("stderr"))

    def test_reset_keeps_the_context_alive(self):
        self.agent.run("gone = 1")
        self.agent.run("%reset -f")
        self.assertEqual(self.agent.run("'gone' in globals()").plain, "False")
        self.assertEqual(self.agent.run("input").status, "ok")


class LargeValues(unittest.TestCase):
    def setUp(self):
        self.agent = Agent(env={"GLOVEBOX_INLINE": "10000"})
        self.addCleanup(self.agent.close)

    def test_a_large_value_goes_by_reference_and_can_be_fetched(self):
        value = self.agent.run("HTML = __import__('IPython').display.HTML\nHTML('h' * 50000)").one(
            "result"
        )["data"]["text/html"]
        self.assertEqual(value["size"], 50000)
        got = b""
        while len(got) < value["size"]:
            reply = self.agent.ask("fetch", ref=value["ref"], offset=len(got), size=20000)
            self.assertEqual(reply["size"], 50000)
            got += base64.b64decode(reply["base64"])
        self.assertEqual(got, b"h" * 50000)

    def test_a_gigantic_repr_goes_by_reference(self):
        code = "class G:\n    def __repr__(self): return 'g' * (100 << 20)\nG()"
        value = self.agent.run(code).one("result")["data"]["text/plain"]
        self.assertEqual(value["size"], 100 << 20)
        self.assertIn("error", self.agent.ask("fetch", ref=value["ref"]))

    def test_the_oldest_values_give_way(self):
        code = "class G:\n    def __repr__(self): return 'g' * (30 << 20)\nG()"
        refs = [self.agent.run(code).one("result")["data"]["text/plain"]["ref"] for _ in range(3)]
        self.assertIn("error", self.agent.ask("fetch", ref=refs[0], size=1))
        self.assertIn("base64", self.agent.ask("fetch", ref=refs[2], size=1))

    def test_a_small_value_stays_inline(self):
        self.assertEqual(self.agent.run("'s' * 9000").plain, repr("s" * 9000))


if __name__ == "__main__":
    unittest.main()
