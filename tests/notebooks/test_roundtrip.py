# SPDX-License-Identifier: Apache-2.0
"""The notebook library against Jupyter's own, with notebooks that Jupyter executed.

NOTEBOOK_TOOL names gb_notebook_tool; Debian's python3-nbformat is needed.
"""
import base64
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import nbformat
except ImportError:  # A pyenv before /usr/bin in PATH does not see Debian's packages.
    nbformat = None

HERE = pathlib.Path(__file__).resolve().parent
TOOL = os.environ.get("NOTEBOOK_TOOL", "")
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
FORBIDDEN = {"script", "iframe", "object", "embed", "link", "base", "form", "svg", "audio", "video"}
LOADING = {"src", "srcset", "data", "action", "poster", "background"}


def convert(form: str, text: str, *arguments: str) -> str:
    return subprocess.run([TOOL, form, *arguments], input=text.encode(), check=True,
                          capture_output=True, timeout=60).stdout.decode()


def comparable(notebook: dict) -> dict:
    """What must survive: everything but the version, and ids where there were none."""
    notebook = json.loads(json.dumps(notebook))
    with_ids = notebook["nbformat_minor"] >= 5
    del notebook["nbformat_minor"]
    for cell in notebook["cells"]:
        if not with_ids:
            cell.pop("id", None)
    return notebook


class Page(html.parser.HTMLParser):
    """Collects what a browser would take from a page."""

    VOID = {"meta", "img", "br", "hr"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@unittest.skipIf(nbformat is None, "nbformat is not there")
@unittest.skipUnless(TOOL, "NOTEBOOK_TOOL is not set")
class RoundTripTest(unittest.TestCase):
    def test_there_are_notebooks_of_many_kinds(self):
        self.assertGreaterEqual(len(NOTEBOOKS), 10)

    def test_what_is_written_is_valid_for_nbformat(self):
        for path in NOTEBOOKS:
            with self.subTest(path.name):
                written = json.loads(convert("ipynb", path.read_text()))
                nbformat.validate(written)
                self.assertEqual((written["nbformat"], written["nbformat_minor"]), (4, 5))

    def test_reading_and_writing_keeps_everything(self):
        for path in NOTEBOOKS:
            with self.subTest(path.name):
                text = path.read_text()
                before = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
                after = nbformat.reads(convert("ipynb", text), as_version=4)
                if before["nbformat_minor"] < 5:
                    for cell in after.cells:
                        self.assertRegex(cell.pop("id"), r"^[a-zA-Z0-9-_]{1,64}$")
                self.assertEqual(comparable(before), comparable(after))

    def test_files_of_jupyter_come_back_byte_for_byte(self):
        for path in NOTEBOOKS:
            text = path.read_text()
            if json.loads(text)["nbformat_minor"] == 5:
                with self.subTest(path.name):
                    self.assertEqual(convert("ipynb", text), text)

    def test_an_injected_parameters_cell_is_valid_and_in_its_place(self):
        text = convert("parameters", (HERE / "raw.ipynb").read_text(), "alpha=0.6", "name=Ada")
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
        at = tags.index(["parameters"])
        self.assertEqual(tags[at + 1], ["injected-parameters"])
        scope: dict = {}
        exec(notebook.cells[at + 1].source, scope)  # pylint: disable=exec-used
        self.assertEqual((scope["alpha"], scope["name"]), (0.6, "Ada"))

    def test_hostile_files_are_refused_with_their_place(self):
        for text in ("", "{", "[" * 100_000, '{"nbformat":4,"cells":[{"cell_type":7}]}'):
            done = subprocess.run([TOOL, "html"], input=text.encode(), capture_output=True,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(),
                             r"line 1, column \d+|cells\[0\]\.cell_type|not a notebook")


@unittest.skipUnless(TOOL, "NOTEBOOK_TOOL is not set")
class HtmlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {path.stem: Page(convert("html", path.read_text())) for path in NOTEBOOKS}

    def test_no_page_holds_anything_that_could_run(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual({tag for tag, _ in page.elements} & FORBIDDEN, set())
                for tag, attributes in page.elements:
                    self.assertFalse([key for key in attributes if key.startswith("on")], tag)
                policy = [a["content"] for t, a in page.elements
                          if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
                self.assertEqual(len(policy), 1)
                self.assertIn("default-src 'none'", policy[0])

    def test_no_page_loads_anything_from_outside(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                for tag, attributes in page.elements:
                    for key in LOADING & attributes.keys():
                        self.assertTrue(attributes[key].startswith("data:image/"), (tag, key))
                    self.assertNotIn("url(", attributes.get("style") or "")
                    self.assertRegex(attributes.get("href") or "#", r"^(#|https?:|mailto:|data:app)")

    def test_every_element_is_closed_in_order(self):
        for name, page in self.pages.items():
            with self.subTest(name):
                self.assertEqual((page.unbalanced, page.open), ([], []))

    def test_streams_and_plain_results_are_shown(self):
        for path in NOTEBOOKS:
            page = self.pages[path.stem].text.replace("\u00a0", " ")
            for cell in json.loads(path.read_text())["cells"]:
                for output in cell.get("outputs", []):
                    if output["output_type"] != "stream":
                        continue
                    with self.subTest(path.stem):
                        shown = re.sub(r"\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f]", "",
                                       "".join(output["text"]))
                        self.assertIn(shown, page)

    def test_every_image_of_an_output_is_shown_as_it_is(self):
        for path in NOTEBOOKS:
            sources = {a.get("src") for t, a in self.pages[path.stem].elements if t == "img"}
            for cell in json.loads(path.read_text())["cells"]:
                for output in cell.get("outputs", []):
                    data = output.get("data", {})
                    if "image/svg+xml" in data:
                        svg = "".join(data["image/svg+xml"]).encode()
                        self.assertIn("data:image/svg+xml;base64," +
                                      base64.b64encode(svg).decode(), sources)
                    elif "image/png" in data:
                        png = "".join(data["image/png"]).replace("\n", "")
                        self.assertIn("data:image/png;base64," + png, sources)

    def test_tables_attachments_mathematics_and_errors_are_shown(self):
        def tags(name):
            return [tag for tag, _ in self.pages[name].elements]

        self.assertEqual(tags("analysis").count("table"), 3)
        self.assertIn("Aldbury", self.pages["analysis"].text)
        self.assertGreaterEqual(tags("mathematics").count("math"), 12)
        self.assertIn("mtable", tags("mathematics"))
        self.assertIn("table", tags("statistics_r"))
        self.assertIn("img", tags("attachments"))
        self.assertIn("[image: gone]", self.pages["attachments"].text)
        self.assertIn("ZeroDivisionError", self.pages["errors"].text)
        self.assertIn("details", tags("large"))

    def test_drawings_that_need_scripts_fall_back_to_their_text(self):
        text = self.pages["widgets"].text
        self.assertIn("IntSlider(value=3)", text)
        self.assertIn("Figure with 2 bars", text)


if __name__ == "__main__":
    if nbformat is None:
        sys.exit(77)
    unittest.main()
