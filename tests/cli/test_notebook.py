# SPDX-License-Identifier: Apache-2.0
"""`glovebox notebook` with notebooks that Jupyter executed, and against Jupyter's own tools."""

import json
import os
import re
import subprocess
import unittest

from program import GLOVEBOX, ROOT, Case, glovebox

NOTEBOOKS = ROOT / "tests/notebooks"
# A pyenv before /usr/bin in PATH does not see Debian's packages.
PYTHON = "/usr/bin/python3"


def has_module(name):
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True,
                          check=False).returncode == 0


def code(source, *tags):
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "id": f"c{abs(hash((source, tags))) % 10**8}", "source": source,
            "metadata": metadata, "outputs": [], "execution_count": None}


def notebook(*cells, language="python", kernel="python3"):
    metadata = {"kernelspec": {"name": kernel, "display_name": kernel, "language": language},
                "language_info": {"name": language}}
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4,
                       "nbformat_minor": 5})


def plain(data):
    text = data.get("text/plain")
    return "".join(text) if isinstance(text, list) else text


def texts(cell):
    """What a cell shows as text: its streams joined by name, and its results."""
    streams = {}
    results = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            text = output["text"]
            streams[output["name"]] = streams.get(output["name"], "") + "".join(text)
        elif output["output_type"] == "error":
            # The number that stands for a cell's file name differs between sessions.
            results.append((output["ename"], re.sub(r"\d+\.py", "N.py", output["evalue"])))
        else:
            results.append((output["output_type"], plain(output["data"]), sorted(
                mime for mime in output["data"] if "glovebox" not in mime)))
    return streams, results


class NotebookCase(Case):
    def setUp(self):
        super().setUp()
        self.need("python")
        if not has_module("IPython"):
            self.skipTest("python3-ipython is not installed")

    def write(self, *cells, **how):
        return self.file("in.ipynb", notebook(*cells, **how))

    def run_notebook(self, path, *options, status=0):
        out = self.dir / "out.ipynb"
        answer = glovebox("notebook", "run", path, "-o", out, *options)
        self.assert_status(answer, status)
        return json.loads(out.read_text())["cells"]

    def validate(self, path):
        if not has_module("nbformat"):
            self.skipTest("python3-nbformat is not installed")
        done = subprocess.run(
            [PYTHON, "-c", "import sys, nbformat; "
             "nbformat.validate(nbformat.read(sys.argv[1], as_version=4))", str(path)],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class TestStoredNotebooks(NotebookCase):
    def assert_gives_what_jupyter_stored(self, name):
        path = NOTEBOOKS / name
        cells = self.run_notebook(path, "--allow-errors", "--memory", "1G")
        self.validate(self.dir / "out.ipynb")
        expected = [cell for cell in json.loads(path.read_text())["cells"]
                    if cell["cell_type"] == "code"]
        got = [cell for cell in cells if cell["cell_type"] == "code"]
        self.assertEqual(len(got), len(expected))
        for index, (ours, theirs) in enumerate(zip(got, expected)):
            with self.subTest(notebook=name, cell=index):
                self.assertEqual(texts(ours), texts(theirs))
                self.assertEqual(ours["execution_count"], theirs["execution_count"])

    def test_text_results_equal_those_that_jupyter_stored(self):
        for name in ("attachments", "errors", "mathematics", "old_minor", "raw", "unicode"):
            self.assert_gives_what_jupyter_stored(f"{name}.ipynb")

    def test_wide_tables_are_cut_as_jupyter_cuts_them(self):
        self.assert_gives_what_jupyter_stored("large.ipynb")

    def test_analysis_with_pandas_and_plots_equals_what_jupyter_stored(self):
        if not (has_module("pandas") and has_module("matplotlib")):
            self.skipTest("python3-pandas or python3-matplotlib is not installed")
        self.assert_gives_what_jupyter_stored("analysis.ipynb")

    def test_nbconvert_executes_what_we_wrote_with_the_same_texts(self):
        if not (has_module("nbconvert") and has_module("ipykernel")):
            self.skipTest("python3-nbconvert or python3-ipykernel is not installed")
        ours = self.run_notebook(NOTEBOOKS / "unicode.ipynb")
        done = subprocess.run(
            [PYTHON, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "again.ipynb",
             str(self.dir / "out.ipynb")], capture_output=True, text=True, check=False,
            timeout=120, env={**os.environ, "HOME": str(self.dir)})
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = json.loads((self.dir / "again.ipynb").read_text())["cells"]
        self.assertEqual([texts(c) for c in ours if c["cell_type"] == "code"],
                         [texts(c) for c in theirs if c["cell_type"] == "code"])

    def test_an_installed_kernel_executes_too(self):
        if not has_module("ipykernel"):
            self.skipTest("python3-ipykernel is not installed")
        path = self.write(code("import sys\n'ipykernel' in sys.modules"))
        cells = self.run_notebook(path, "--kernel", "python3")
        self.assertEqual(plain(cells[0]["outputs"][0]["data"]), "True")


class TestRun(NotebookCase):
    def test_without_output_option_a_file_beside_it_is_written(self):
        path = self.write(code("6 * 7"))
        answer = glovebox("notebook", "run", path)
        self.assert_status(answer, 0)
        self.assertIn("wrote " + str(self.dir / "in.run.ipynb"), answer.message)
        cells = json.loads((self.dir / "in.run.ipynb").read_text())["cells"]
        self.assertEqual(plain(cells[0]["outputs"][0]["data"]), "42")
        self.assertEqual(cells[0]["execution_count"], 1)

    def test_an_error_stops_the_run_and_is_written(self):
        path = self.write(code("1 / 0"), code("print('later')"))
        cells = self.run_notebook(path, status=1)
        self.assertEqual(cells[0]["outputs"][0]["ename"], "ZeroDivisionError")
        self.assertEqual(cells[1]["outputs"], [])
        self.assertIsNone(cells[1]["execution_count"])

    def test_allowed_errors_do_not_stop_it(self):
        path = self.write(code("1 / 0"), code("print('later')"))
        cells = self.run_notebook(path, "--allow-errors")
        self.assertEqual(texts(cells[1])[0], {"stdout": "later\n"})

    def test_a_cell_tagged_raises_exception_may_fail(self):
        path = self.write(code("1 / 0", "raises-exception"), code("print('later')"))
        cells = self.run_notebook(path)
        self.assertEqual(texts(cells[1])[0], {"stdout": "later\n"})

    def test_a_cell_tagged_skip_execution_is_left_out(self):
        path = self.write(code("x = 1"), code("x = 2", "skip-execution"), code("x"))
        cells = self.run_notebook(path)
        self.assertEqual(plain(cells[2]["outputs"][0]["data"]), "1")

    def test_a_cell_over_its_time_ends_with_124(self):
        path = self.write(code("print('before', flush=True)\nimport time; time.sleep(60)"),
                          code("1"))
        cells = self.run_notebook(path, "--timeout", "500ms", status=124)
        self.assertEqual(texts(cells[0])[0]["stdout"], "before\n")
        self.assertEqual(cells[0]["outputs"][-1]["ename"], "CellTimeout")
        self.assertEqual(cells[1]["outputs"], [])

    def test_a_time_limit_shows_where_the_cell_was(self):
        path = self.write(code("!sleep 60"))
        cells = self.run_notebook(path, "--timeout", "500ms", status=124)
        # The first traceback of a process takes long, and no second interrupt may spoil it.
        self.assertEqual([output.get("ename") for output in cells[0]["outputs"]],
                         ["KeyboardInterrupt", "CellTimeout"])
        self.assertNotIn("/agents/", "".join(cells[0]["outputs"][0]["traceback"]))

    def test_the_time_of_all_cells_together_is_bounded(self):
        path = self.write(code("1"), code("while True: pass"))
        self.run_notebook(path, "--time", "3s", status=124)

    def test_an_interpreter_that_dies_is_an_error_of_its_cell(self):
        path = self.write(code("import os; os._exit(3)"), code("1"))
        cells = self.run_notebook(path, "--allow-errors", status=1)
        self.assertEqual(cells[0]["outputs"][-1]["ename"], "InterpreterEnded")
        self.assertIn("exit status 3", cells[0]["outputs"][-1]["evalue"])

    def test_a_cell_behind_an_exit_is_an_error(self):
        cells = self.run_notebook(self.write(code("exit()"), code("1")), status=1)
        self.assertEqual(cells[1]["outputs"][-1]["ename"], "InterpreterEnded")

    def test_memory_over_the_limit_ends_with_137(self):
        path = self.write(code("x = bytearray(10**9)\nx[::4096] = b'x' * len(x[::4096])"))
        answer = glovebox("notebook", "run", path, "--memory", "256M")
        if answer.status == 1:
            self.skipTest("no memory limit is enforced here")
        self.assert_status(answer, 137)

    def test_parameters_take_the_place_of_defaults(self):
        path = self.write(code("n = 1\nname = 'nobody'", "parameters"), code("print(n + 1, name)"))
        cells = self.run_notebook(path, "-p", "n=41", "-p", "name=Ada")
        self.assertEqual(len(cells), 3)
        self.assertEqual(cells[1]["metadata"]["tags"], ["injected-parameters"])
        self.assertEqual(texts(cells[2])[0], {"stdout": "42 Ada\n"})

    def test_input_finds_the_end_of_input(self):
        cells = self.run_notebook(self.write(code("input('? ')")), status=1)
        self.assertEqual(cells[0]["outputs"][-1]["output_type"], "error")

    def test_plots_are_shown_without_being_asked_for(self):
        if not has_module("matplotlib"):
            self.skipTest("python3-matplotlib is not installed")
        cells = self.run_notebook(self.write(
            code("import matplotlib.pyplot as plt\nplt.plot([1, 2])"), code("plt.get_backend()")))
        self.assertIn("image/png", cells[0]["outputs"][-1]["data"])
        # A choice of the caller's wins.
        cells = self.run_notebook(self.dir / "in.ipynb", "--env", "MPLBACKEND=Agg")
        self.assertEqual(plain(cells[1]["outputs"][-1]["data"]), "'agg'")

    def test_an_error_that_is_only_written_does_not_pass_for_the_end_of_the_interpreter(self):
        path = self.write(code("%%capture"), code("6 * 7"))
        cells = self.run_notebook(path, "--allow-errors")
        self.assertEqual([output["output_type"] for output in cells[0]["outputs"]], ["stream"])
        self.assertEqual(plain(cells[1]["outputs"][0]["data"]), "42")
        answer = glovebox("notebook", "run", path, "--json")
        self.assert_status(answer, 1)
        self.assertEqual(answer.verdict["errors"][0]["name"], "CellFailed")

    def test_files_are_copied_in(self):
        data = self.file("data.csv", "a\n1\n")
        cells = self.run_notebook(self.write(code("print(open('data.csv').read())")), "--file", data)
        self.assertEqual(texts(cells[0])[0], {"stdout": "a\n1\n\n"})

    def test_both_formats_are_written(self):
        path = self.write(code("print('<b>seen</b>')"))
        self.assert_status(glovebox("notebook", "run", path, "--to", "both"), 0)
        page = (self.dir / "in.run.html").read_text()
        self.assertIn("&lt;b&gt;seen&lt;/b&gt;", page)
        self.validate(self.dir / "in.run.ipynb")

    def test_an_ending_that_names_no_format_is_refused(self):
        path = self.write(code("6 * 7"))
        for command in ("run", "export"):
            out = self.dir / "out.docx"
            answer = glovebox("notebook", command, path, "-o", out)
            self.assertEqual((answer.status, out.exists()), (2, False), str(answer))
            self.assertIn("cannot write '.docx' files", answer.message)
            self.assertIn("--to", answer.message)
            # Whoever chooses the format may choose any name.
            self.assert_status(glovebox("notebook", command, path, "-o", out, "--to", "html"), 0)
            self.assertIn(b"<html", out.read_bytes())
            out.unlink()

    def test_the_notebook_that_is_read_is_overwritten_only_by_its_name(self):
        path = self.write(code("6 * 7"))
        before = path.read_bytes()
        page = path.with_suffix(".html")
        for command in (("run", path, "-o", page, "--to", "both"), ("export", path, "--to", "ipynb")):
            answer = glovebox("notebook", *command)
            self.assertNotEqual(answer.status, 0, command)
            self.assertIn("would be overwritten", answer.err.decode())
        self.assertEqual(path.read_bytes(), before)
        self.assert_status(glovebox("notebook", "run", path, "-o", path), 0)
        self.assertNotEqual(path.read_bytes(), before)

    def test_json_says_which_cell_failed(self):
        path = self.write(code("x = 1"), code("x / 0"))
        answer = glovebox("notebook", "run", path, "--json", "--tier", "native")
        self.assert_status(answer, 1)
        self.assertEqual(answer.verdict["status"], "error")
        self.assertEqual(answer.verdict["executed"], 2)
        self.assertEqual(answer.verdict["tier"], "native")
        self.assertEqual(answer.verdict["errors"][0]["cell"], 2)
        self.assertEqual(answer.verdict["errors"][0]["name"], "ZeroDivisionError")

    def test_a_notebook_comes_and_goes_by_pipes(self):
        answer = glovebox("notebook", "run", "-", stdin=notebook(code("6 * 7")).encode())
        self.assert_status(answer, 0)
        self.assertEqual(plain(json.loads(answer.out)["cells"][0]["outputs"][0]["data"]), "42")

    def test_large_values_are_fetched_and_larger_ones_are_said_to_lack(self):
        path = self.write(
            code("from IPython.display import display\n"
                 "display({'image/png': 'A' * (20 << 20), 'text/plain': 'fits'}, raw=True)"),
            code("display({'image/png': 'A' * (65 << 20), 'text/plain': 'no'}, raw=True)"))
        out = self.dir / "out.ipynb"
        answer = glovebox("notebook", "run", path, "-o", out, "--memory", "2G")
        self.assert_status(answer, 0)
        fits, lacks = (cell["outputs"][0]["data"]
                       for cell in json.loads(out.read_text())["cells"])
        self.assertEqual(len(fits["image/png"]), 20 << 20)
        self.assertEqual(plain(fits), "fits")
        self.assertNotIn("image/png", lacks)
        self.assertIn("too large to keep: image/png", plain(lacks))
        self.assertIn("cell 2: image/png of 65 MiB left out", answer.message)
        self.assertNotIn("cell 1", answer.message)
        self.assert_status(glovebox("notebook", "export", out), 0)

    def test_a_failure_is_named_as_the_notebook_counts_and_shows_no_frame_of_ours(self):
        text = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# text"}
        path = self.write(text, code("1"), code("input()"), code("2"))
        answer = glovebox("notebook", "run", path)
        self.assert_status(answer, 1)
        self.assertIn("cell 3 of 4, In [2]: EOFError\n", answer.message)
        self.assertIn("----> 1 input()", answer.message)
        self.assertNotIn("agents/python", answer.message)
        self.assertRegex(answer.message, r"ran 2 cells in [0-9.]+ s, wrote \S*in\.run\.ipynb\n$")
        self.assert_status(glovebox("notebook", "run", path, "-q"), 1)

    def test_types_of_ours_are_in_the_notebook_only_if_asked_for(self):
        if not has_module("pandas"):
            self.skipTest("python3-pandas is not installed")
        path = self.write(code("import pandas as pd\npd.DataFrame({'a': [1, 2]})"))
        for options, types in (((), {"text/plain", "text/html"}),
                               (("--keep-data",), {"text/plain", "text/html",
                                                   "application/vnd.glovebox.table+json"})):
            with self.subTest(options=options):
                [cell] = self.run_notebook(path, *options)
                self.assertEqual(set(cell["outputs"][0]["data"]), types)

    def test_a_full_disk_under_standard_output_is_an_error(self):
        path = self.write(code("1"))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLOVEBOX, "notebook", "export", path, "-o", "-"], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 125, done.stderr)

    def test_other_languages_run_in_their_own_interpreter(self):
        self.need("bash")
        path = self.write(code("x=5"), code("echo $((x + 1))"), language="bash", kernel="bash")
        cells = self.run_notebook(path)
        self.assertEqual(texts(cells[1])[0], {"stdout": "6\n"})


class TestExport(Case):
    def test_a_page_is_written_without_running_anything(self):
        path = self.file("in.ipynb", (NOTEBOOKS / "unicode.ipynb").read_bytes())
        answer = glovebox("notebook", "export", path, env={"GLOVEBOX_AGENTS": "/nowhere"})
        self.assert_status(answer, 0)
        self.assertIn("größe", (self.dir / "in.html").read_text())

    def test_no_notebook_is_written_over_by_chance(self):
        path = self.file("in.ipynb", (NOTEBOOKS / "raw.ipynb").read_bytes())
        self.assert_status(glovebox("notebook", "export", path, "--to", "ipynb"), 2)
        self.assertEqual(path.read_bytes(), (NOTEBOOKS / "raw.ipynb").read_bytes())


class TestWrongUse(Case):
    def test_what_is_no_notebook_is_named_with_its_place(self):
        answer = glovebox("notebook", "run", self.file("x.ipynb", "{"))
        self.assert_status(answer, 2)
        self.assertIn("line 1", answer.message)

    def test_a_missing_file_is_wrong_usage(self):
        self.assert_status(glovebox("notebook", "run", self.dir / "none.ipynb"), 2)

    def test_formats_that_contradict_the_name_are_refused(self):
        path = self.file("x.ipynb", notebook())
        self.assert_status(glovebox("notebook", "run", path, "-o", "x.html", "--to", "ipynb"), 2)

    def test_an_unknown_kernel_is_answered_with_those_that_there_are(self):
        path = self.file("x.ipynb", notebook(code("1"), language="none", kernel="no-such"))
        answer = glovebox("notebook", "run", path)
        self.assert_status(answer, 2)
        self.assertIn("no-such", answer.message)


if __name__ == "__main__":
    unittest.main()
