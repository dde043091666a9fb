#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say must work: runs the marked commands, and follows the links.

The blocks of shell commands with the comment `<!-- run -->` in front of them are run by one shell a
document, from top to bottom, in a copy of the examples; it fails where one of the commands fails.
The daemon's usual port becomes a free one. GLOVEBOX_BIN names the directory of the built programs.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("GLOVEBOX_BIN", ROOT / "build/release/bin")).resolve()
FEWEST_BLOCKS = 40
LONGEST_README = 150
FIRST_SCREEN = 60
SECONDS = 240
USUAL_PORT = ":8440"
LAST_LINE = ".last-line"
# A daemon that a document starts ends with its shell, and takes its sandboxes with it.
END_OF_SHELL = "trap 'jobs -p | xargs -r kill 2> /dev/null; wait' EXIT\n"

BLOCK = re.compile(r"^<!-- run -->\n+```sh\n(?P<commands>.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
OPTION = re.compile(r"--[a-z][a-z-]+")
GROUP = re.compile(r'Group\{"(?P<name>[^"]+)",\s*(?P<answer>\w+)\((?P<argument>[^)]*)\),'
                   r'\s*(?P<why>(?:"[^"]*"\s*)+),')
HEADING = re.compile(r"^#+ +(?P<text>.+?) *$", re.MULTILINE)


def documents():
    """The Markdown files that git knows or would take, deleted ones left out."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
         "*.md"], check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(ROOT / name for name in set(listed) if name and (ROOT / name).is_file())


def with_commands():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document):
    """The (line, commands) of each marked block."""
    text = document.read_text()
    return [(text.count("\n", 0, found.start("commands")) + 1, found["commands"])
            for found in BLOCK.finditer(text)]


def links(document):
    text = CODE.sub("", FENCED.sub("", document.read_text()))
    return [found["target"] for found in LINK.finditer(text)]


def anchors(document):
    """The names that GitHub gives to a document's headings."""
    text = FENCED.sub("", document.read_text())
    return {re.sub(r"[^\w\- ]", "", found["text"].lower()).replace(" ", "-")
            for found in HEADING.finditer(text)}


def joined(strings):
    """What the compiler makes of string literals side by side."""
    return "".join(re.findall(r'"([^"]*)"', strings))


def answer_of(group):
    return {"allow": "allowed", "ask": "asked, and allowed", "examine": "depends on the arguments",
            "refuse": f"`{group['argument']}`"}[group["answer"]]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(commands, folder):
    environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    environment.pop("GLOVEBOX_WARDEN", None)
    limited = ["timeout", "--kill-after=30", str(SECONDS), "bash", "-euo", "pipefail", "-c"]
    return subprocess.run([*limited, END_OF_SHELL + commands], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)


def run_document(document, folder):
    """Runs its blocks; answers how that ended, and the line of the block that ran last."""
    port = f":{free_port()}"
    script = "".join(f"echo {line} > {LAST_LINE}\n{commands}" for line, commands in blocks(document))
    done = run(script.replace(USUAL_PORT, port), folder)
    last = folder / LAST_LINE
    return done, last.read_text().strip() if last.exists() else "none"


class Commands(unittest.TestCase):
    def setUp(self):
        self.assertTrue((PROGRAMS / "glovebox").is_file(),
                        f"no glovebox in {PROGRAMS}: build it, or set GLOVEBOX_BIN")

    def new_folder(self):
        folder = tempfile.TemporaryDirectory(prefix="glovebox-docs-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        shutil.copytree(ROOT / "examples", path / "examples")
        return path

    def test_every_marked_command_ends_well(self):
        for document in with_commands():
            with self.subTest(document=str(document.relative_to(ROOT))):
                done, line = run_document(document, self.new_folder())
                self.assertEqual(done.returncode, 0,
                                 f"\nin the block of line {line}\n{done.stdout}{done.stderr}")

    def test_a_command_that_fails_is_noticed(self):
        self.assertNotEqual(run("false\ntrue\n", self.new_folder()).returncode, 0)

    def test_the_documents_of_the_daemon_are_among_those_that_run(self):
        ran = {document.name for document in with_commands() if "glovebox serve" in "".join(
            commands for _, commands in blocks(document))}
        self.assertEqual(ran, {"agents.md", "audit.md", "cookbook.md", "daemon.md", "dry-run.md", "operating.md",
                               "policy.md", "templates.md", "tools.md", "volumes.md"})

    def test_enough_commands_are_marked(self):
        self.assertGreaterEqual(sum(len(blocks(each)) for each in with_commands()), FEWEST_BLOCKS)

    def test_every_mark_stands_before_a_block(self):
        for document in with_commands():
            marks = document.read_text().splitlines().count("<!-- run -->")
            self.assertEqual(marks, len(blocks(document)), document)


class Tables(unittest.TestCase):
    def test_the_reference_has_every_option_of_run(self):
        done = subprocess.run([PROGRAMS / "glovebox", "run", "--help"], capture_output=True,
                              text=True, check=True)
        offered = set(OPTION.findall(done.stdout.split("Exit status:")[0])) - {"--help"}
        table = (ROOT / "docs/cli.md").read_text().split("## Options of `run`")[1]
        described = set(OPTION.findall("".join(
            row.split("|")[1] for row in table.split("##")[0].splitlines()
            if row.startswith("| "))))
        self.assertGreater(len(offered), 20)
        self.assertEqual(described, offered)

    def test_security_has_every_group_of_system_calls(self):
        source = (ROOT / "src/sandbox/policy/tables.h").read_text()
        rows = set((ROOT / "SECURITY.md").read_text().splitlines())
        groups = [f"| {group['name']} | {answer_of(group)} | {joined(group['why'])} |"
                  for group in GROUP.finditer(source)]
        self.assertEqual(len(groups), source.count("Group{"), "a group that is not understood")
        for group in groups:
            with self.subTest(group=group):
                self.assertTrue(group in rows, "no such row in SECURITY.md")

    def test_security_has_every_capability_of_root(self):
        source = (ROOT / "src/sandbox/policy/capabilities.h").read_text()
        rows = set((ROOT / "SECURITY.md").read_text().splitlines())
        capabilities = re.findall(r'Capability\{\w+, "(\w+)", "([^"]*)"\}', source)
        self.assertEqual(len(capabilities), source.count("Capability{CAP_"))
        for name, why in capabilities:
            with self.subTest(capability=name):
                self.assertIn(f"| `{name}` | {why} |", rows)


class Order(unittest.TestCase):
    """What a reader meets, and where."""

    def test_readme_says_the_first_things_first(self):
        lines = (ROOT / "README.md").read_text().splitlines()
        self.assertLessEqual(len(lines), LONGEST_README)
        places = [next((number for number, line in enumerate(lines) if words in line), None)
                  for words in ("<!-- run -->", "| bubblewrap |", "Why not `docker run`?",
                                "No network for guests", "## Install", "## First run",
                                "## Requirements", "## How it works")]
        self.assertNotIn(None, places)
        self.assertEqual(places, sorted(places))
        self.assertLess(places[3], FIRST_SCREEN)

    def test_the_tables_of_results_are_dated(self):
        for page in ("README.md", "bench/README.md"):
            text = (ROOT / page).read_text()
            results = text.split("<!-- results -->")[1].split("<!-- end of results -->")[0]
            self.assertRegex(results, r"run of 20\d\d-\d\d-\d\d on .*, \d+ processors")
            for peer in ("glovebox", "bwrap" if "bench" in page else "bubblewrap", "docker"):
                self.assertRegex(results, rf"\| \W*{peer}.* \d+(\.\d+)? ms \|")
        judged = (ROOT / "bench/README.md").read_text().split("<!-- results of the judge -->")[1]
        self.assertRegex(judged, r"run of 20\d\d-\d\d-\d\d on .*, \d+ processors")
        for language in ("cpp", "python", "java"):
            for contestant in ("glovebox", "bwrap", "like-piston"):
                self.assertRegex(judged, rf"\| {language} \| {contestant} \| \d+ \| \d+ \| \d+ ms \|")

    def test_the_index_names_every_page(self):
        pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
        self.assertEqual(pages - set(links(ROOT / "docs/README.md")), set())


class Links(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        for document in documents():
            for link in links(document):
                if urllib.parse.urlsplit(link).scheme:
                    continue
                path, _, anchor = urllib.parse.unquote(link).partition("#")
                target = (document.parent / path) if path else document
                with self.subTest(document=str(document.relative_to(ROOT)), link=link):
                    self.assertTrue(target.exists(), "no such file")
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target), "no such heading")


if __name__ == "__main__":
    unittest.main()
