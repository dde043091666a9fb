#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A notebook with what data analysis takes from PyPI (packages.txt), run by `glovebox notebook run`:
progress bars, widgets, charts and models, as a reader finds them in the notebook and in the page.

The packages are downloaded once into a directory outside the sources. Exit status 77 when pip is
missing or its index cannot be reached.

    GLOVEBOX=build/release/bin/glovebox tests/notebooks/run_packages.py
"""
import argparse
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
from from_pypi import pip, prepare

GLOVEBOX = os.environ.get("GLOVEBOX", str(ROOT / "build/release/bin/glovebox"))
PACKAGES = HERE / "packages.txt"
PATIENCE_S = 540
BAR = "100%"

CELLS = {
    "console": "from tqdm import tqdm\nfor _ in tqdm(range(5), desc='console'): pass",
    "auto": "from tqdm.auto import tqdm as auto\nfor _ in auto(range(5), desc='auto'): pass",
    "notebook": "from tqdm.notebook import tqdm as bar\n"
                "for _ in bar(range(5), desc='notebook'): pass",
    "slider": "import ipywidgets as w\nw.IntSlider(value=7, description='n')",
    "changed": "progress = w.IntProgress(value=1)\ndisplay(progress)\nprogress.value = 42",
    "output": "out = w.Output()\ndisplay(out)\nwith out:\n    print('within')",
    "chart": "import numpy as np, pandas as pd, seaborn as sns\n"
             "frame = pd.DataFrame({'x': np.arange(20), 'y': np.arange(20) ** 2})\n"
             "sns.relplot(data=frame, x='x', y='y');",
    "model": "from sklearn.datasets import load_iris\n"
             "from sklearn.linear_model import LogisticRegression\n"
             "x, y = load_iris(return_X_y=True)\nLogisticRegression(max_iter=500).fit(x, y)",
    "version": "import IPython\nIPython.__version__",
}


def download(build):
    """The packages and what they need, for the interpreter in the sandbox, whatever this one is."""
    version = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True, text=True, check=True).stdout.strip()
    prepare(PACKAGES, build, pip("download", "--only-binary", ":all:", "--python-version", version,
                                 "-d", build, "-r", PACKAGES))


class Packages(unittest.TestCase):
    wheels = None

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="gb-notebook.")
        cls.addClassCleanup(place.cleanup)
        folder = pathlib.Path(place.name)
        cells = [{"cell_type": "code", "id": name, "metadata": {}, "execution_count": None,
                  "outputs": [], "source": source} for name, source in CELLS.items()]
        (folder / "in.ipynb").write_text(json.dumps({
            "cells": cells, "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4, "nbformat_minor": 5}))
        packages = ",".join(f"pip:{line}" for line in PACKAGES.read_text().split())
        done = subprocess.run(
            [GLOVEBOX, "notebook", "run", "in.ipynb", "--to", "both", "--allow-errors", "--json",
             "--memory", "1G", "--packages", packages, "--package-source", cls.wheels],
            cwd=folder, env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S)
        said = json.loads(done.stdout)
        if said.get("errors") != []:
            raise AssertionError(done.stdout + done.stderr)
        cls.cells = {each["id"]: each for each in
                     json.loads((folder / "in.run.ipynb").read_text())["cells"]}
        page = (folder / "in.run.html").read_text()
        cls.pages = dict(zip(CELLS, re.findall(r'<section class="cell">(.*?)</section>', page, re.S),
                             strict=True))

    def output(self, cell, kind):
        """The one output of this kind."""
        found = [each for each in self.cells[cell]["outputs"] if each["output_type"] == kind]
        self.assertEqual(len(found), 1, self.cells[cell]["outputs"])
        return found[0]

    def text(self, cell, kind):
        return "".join(self.output(cell, kind)["data"]["text/plain"])

    def shown(self, cell):
        """What the page shows of the cell, as text, without its code."""
        after = self.pages[cell].split("</pre>", 1)[1]
        return html.unescape(re.sub(r"<[^>]*>", "", after))

    def test_a_bar_of_tqdm_is_one_line_and_full(self):
        for name in ("console", "auto"):
            with self.subTest(name):
                stream = self.output(name, "stream")
                lines = "".join(stream["text"]).splitlines()
                self.assertEqual((stream["name"], len(lines)), ("stderr", 1))
                self.assertRegex(lines[0], f"^{name}: {BAR}.* 5/5 ")
                self.assertRegex(self.shown(name), f"^{name}: {BAR}.* 5/5 ")

    def test_a_bar_for_notebooks_is_full_when_it_is_done(self):
        self.assertRegex(self.text("notebook", "display_data"), f"^notebook: {BAR}.* 5/5 ")
        self.assertRegex(self.shown("notebook"), f"^notebook: {BAR}.* 5/5 ")

    def test_widgets_show_their_text_as_it_was_in_the_end(self):
        self.assertIn("IntSlider(value=7, description='n')", self.text("slider", "execute_result"))
        self.assertIn("IntSlider(value=7, description='n')", self.shown("slider"))
        self.assertEqual(self.text("changed", "display_data"), "IntProgress(value=42)")
        self.assertIn("IntProgress(value=42)", self.shown("changed"))

    def test_what_is_printed_into_a_widget_is_printed(self):
        self.assertEqual("".join(self.output("output", "stream")["text"]), "within\n")
        self.assertIn("within", self.shown("output"))

    def test_a_chart_of_seaborn_is_an_image(self):
        self.assertIn("image/png", self.output("chart", "display_data")["data"])
        self.assertIn('<img src="data:image/png;base64,', self.pages["chart"])

    def test_a_model_shows_its_parameters(self):
        self.assertEqual(self.text("model", "execute_result"), "LogisticRegression(max_iter=500)")
        self.assertIn("LogisticRegression(max_iter=500)", self.shown("model"))

    # Its HTML has a picture and a text, of which a style sheet hides one.
    def test_the_page_shows_a_model_once_and_asks_nobody_to_rerun_it_in_jupyter(self):
        self.assertEqual(self.shown("model").count("LogisticRegression"), 1)
        self.assertNotIn("please rerun this cell", self.shown("model"))

    def test_results_have_the_number_of_their_cell(self):
        for name in ("slider", "model", "version"):
            with self.subTest(name):
                self.assertEqual(self.output(name, "execute_result")["execution_count"],
                                 self.cells[name]["execution_count"])
        self.assertIn("ipython==" + self.text("version", "execute_result").strip("'"),
                      PACKAGES.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-notebook-packages",
                        help="directory to download packages into (default: %(default)s)")
    Packages.wheels = parser.parse_args().build.resolve()
    Packages.wheels.mkdir(parents=True, exist_ok=True)
    download(Packages.wheels)
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
