#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of each JSON document and event: names and types, as docs/json.md describes them.

    tests/cli/test_json.py --write        records what the program under test prints now

A name that goes, or whose meaning changes, is a new version of its schema. One that is added is not.
"""
import contextlib
import difflib
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from program import ROOT, glovebox  # noqa: E402

sys.path.append(str(ROOT / "tests/service"))
from daemon import LINES, Daemon  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden/json.txt"

PROGRAM = """import sys
open('made', 'w').write('1')
print('out')
print('err', file=sys.stderr)
sys.stdout.buffer.write(b'\\xff')
"""
NOTEBOOK = {"cells": [{"cell_type": "code", "id": "a", "source": "1 / 0", "metadata": {},
                       "outputs": [], "execution_count": None}],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python"}},
            "nbformat": 4, "nbformat_minor": 5}
# What they are called depends on what happened, or on the machine.
OPEN = {"timings", "env", "metadata", "data"}
# These words say what a document is.
SAID = {"schema", "type"}


def kind(value):
    return {bool: "boolean", int: "number", float: "number", str: "string",
            type(None): "null"}[type(value)]


def shape(value, path=""):
    """Path -> kinds of what is there, over all elements of lists."""
    found = {}

    def add(more):
        for name, kinds in more.items():
            found.setdefault(name, set()).update(kinds)

    if isinstance(value, dict):
        names = path.rsplit(".", 1)[-1]
        for name, inner in value.items():
            if name in SAID and isinstance(inner, str) and "." not in path:
                add({f"{path}{name}": {f"'{inner}'"}})
            else:
                shown = "NAME" if names in OPEN else name
                add(shape(inner, f"{path}.{shown}" if path else shown))
        if not value:
            add({path: {"{}"}})
    elif isinstance(value, list):
        add({path: {"[]"}} if not value else {})
        for inner in value:
            add(shape(inner, path + "[]"))
    else:
        add({path: {kind(value)}})
    return found


def lines_of(value):
    return "".join(f"  {path}: {' or '.join(sorted(kinds))}\n"
                   for path, kinds in sorted(shape(value).items()))


class Recording:
    """What is asked, as text; and what every document must be."""

    def __init__(self):
        self.text = ""
        self.wrong = []

    def document(self, title, text, schema=True):
        """One JSON document, as bytes."""
        if not text.endswith(b"\n"):
            self.wrong.append(f"{title}: no line break at the end")
        value = json.loads(text)
        if schema and not str(value.get("schema", "")).startswith("glovebox."):
            self.wrong.append(f"{title}: no schema")
        self.text += f"{title}\n{lines_of(value)}\n"
        return value

    def events(self, title, lines):
        """Events, of which the first of each type is shown."""
        seen = {}
        for event in map(json.loads, lines):
            if "type" not in event:
                self.wrong.append(f"{title}: an event without a type")
            seen.setdefault(event.get("type"), event)
        if not {"schema"} <= set(event) and event["type"] in ("verdict", "failed", "built", "finished"):
            self.wrong.append(f"{title}: the last event has no schema")
        for name, event in sorted(seen.items()):
            # How many of them come in between is a matter of time.
            if name != "keepalive":
                self.text += f"{title}: event {name}\n{lines_of(event)}\n"


def record_programs(recording, folder):
    """The commands that need no daemon."""

    def ask(*words):
        return glovebox(*words, cwd=folder).out

    (folder / "program.py").write_text(PROGRAM)
    (folder / "n.ipynb").write_text(json.dumps(NOTEBOOK))
    (folder / "cases").mkdir()
    (folder / "cases/1.in").write_text("")
    (folder / "cases/1.out").write_text("wrong")
    everything = ("--cpu-time", "9s", "--io-rate", "1G")
    for form in ("--json", "--events"):
        record = recording.document if form == "--json" else (
            lambda title, text: recording.events(title, text.splitlines()))
        record(f"glovebox run {form}",
               ask("run", "program.py", form, "--verify", "true", *everything))
        record(f"glovebox run {form}, of a wall that cannot be built",
               ask("run", "program.py", form, "--tier", "landlock", "--allow-net", "example.com"))
    recording.document("glovebox run --json, at a time limit",
                       ask("run", "-l", "sh", "-e", "sleep 60", "--time", "200ms", "--json"))
    recording.document("glovebox judge --json",
                       ask("judge", "program.py", "--cases", "cases", "--json"))
    recording.document("glovebox judge --json, without cases",
                       ask("judge", "program.py", "--cases", "nowhere", "--json"))
    recording.document("glovebox notebook run --json", ask("notebook", "run", "n.ipynb", "--json"))
    recording.document("glovebox doctor --json", ask("doctor", "--json"))
    recording.document("glovebox languages --json", ask("languages", "--json", "--no-versions"),
                       schema=False)
    recording.document("glovebox languages cpp --json",
                       ask("languages", "cpp", "--json", "--no-versions"))


def record_clients(recording, daemon, folder):
    """The commands that are clients of a daemon."""

    def ask(*words):
        return glovebox(*words, env={"GLOVEBOX_URL": f"unix:{daemon.unix}", "GLOVEBOX_API_KEY": ""},
                        cwd=folder).out

    def document(*words):
        shown = " ".join("ID" if word == id else word for word in words)
        return recording.document(f"glovebox {shown} --json", ask(*words, "--json"))

    id = ""
    id = document("sandbox", "create", "--metadata", "a=b")["id"]
    document("sandbox", "ls")
    document("sandbox", "exec", id, "-e", "2")
    recording.events("glovebox sandbox exec --events",
                     ask("sandbox", "exec", id, "--events", "-e", "print(1)\n1 / 0").splitlines())
    recording.document("glovebox sandbox exec ID --json -- COMMAND",
                       ask("sandbox", "exec", id, "--json", "--", "echo", "1"))
    recording.document("glovebox sandbox run --json",
                       ask("sandbox", "run", "--json", "-l", "sh", "-e", "true"))
    document("sandbox", "info", id)
    document("sandbox", "files", id)
    document("sandbox", "extend", id, "30m")
    document("sandbox", "fork", id)
    document("sandbox", "snapshot", id, "--name", "kept")
    document("sandbox", "kill", id)
    document("template", "ls")
    document("template", "info", "kept")
    document("key", "create")
    document("key", "ls")
    document("tenant", "create", "acme")
    document("tenant", "ls")
    document("emergency-stop", "--tenant", "acme")
    document("emergency-stop", "--list")
    (folder / "project").mkdir()
    (folder / "project/a.txt").write_text("1\n")
    agent = ("agent", "--template", "default", "project", "--discard", "--command",
             "echo out; echo 2 > a.txt; ln -s /etc/passwd out")
    recording.document("glovebox agent --json", ask(*agent, "--json"))
    recording.events("glovebox agent --events", ask(*agent, "--events").splitlines())


def record_rest(recording, daemon):
    """REST, where no command above has shown the same."""
    id = daemon.must(201, "POST", "/v1/sandboxes", {})["id"]
    box = f"/v1/sandboxes/{id}"
    context = box + "/contexts/default"

    def document(method, path, body=None):
        answer = daemon.ask(method, path, body)
        return recording.document(f"{method} {path.replace(id, 'ID')}", answer.body)

    document("GET", "/healthz")
    document("GET", "/")
    document("GET", "/v1/nowhere")
    document("GET", "/v1/languages")
    document("GET", box + "/usage")
    document("POST", box + "/contexts", {"language": "python"})
    document("GET", box + "/contexts")
    document("POST", context + "/execute", {"code": "x = 1"})
    document("POST", context + "/checkpoint")
    document("POST", context + "/rollback", {})
    document("POST", context + "/complete", {"code": "pri"})
    document("POST", context + "/inspect", {"code": "print"})
    document("POST", box + "/commands", {"shell": "echo"})
    document("POST", box + "/processes", {"argv": ["sleep", "60"]})
    document("GET", box + "/processes")
    document("PUT", box + "/files/name", b"content")
    document("GET", box + "/files?list=")
    document("POST", box + "/port-tokens", {"port": 8000})
    document("POST", "/v1/run", {"language": "python", "code": "1"})
    document("POST", "/v1/judge",
             {"language": "python", "code": "print(1)", "cases": [{"expected": "1"}]})

    document("GET", "/v1/audit?limit=1")

    def events(path, body):
        with contextlib.closing(daemon.connect()) as connection:
            body, headers = daemon.head(body, {"Accept": LINES}, "own")
            connection.request("POST", path, body, headers)
            recording.events(f"POST {path.replace(id, 'ID')}",
                             connection.getresponse().read().splitlines())

    events("/v1/run", {"language": "python", "code": "print(1)"})
    events("/v1/judge", {"language": "python", "code": "print(1)", "cases": [{"expected": "1"}]})
    events(box + "/processes", {"argv": ["echo", "1"]})
    events("/v1/templates", {"name": "made", "commands": ["true"]})
    events("/v1/templates", {"name": "failed", "commands": ["exit 3"]})


def record():
    recording = Recording()
    with tempfile.TemporaryDirectory(prefix="glovebox-json-") as name:
        folder = pathlib.Path(name)
        record_programs(recording, folder)
        daemon = Daemon(user="")
        try:
            daemon.start()
            record_clients(recording, daemon, folder)
            record_rest(recording, daemon)
        finally:
            daemon.discard()
    return recording


class Shapes(unittest.TestCase):
    maxDiff = None

    def test_each_document_has_the_names_and_types_that_are_recorded(self):
        recording = record()
        self.assertEqual(recording.wrong, [])
        difference = "\n".join(difflib.unified_diff(
            GOLDEN.read_text(encoding="utf-8").splitlines(), recording.text.splitlines(),
            "recorded", "now", lineterm=""))
        self.assertEqual(difference, "", f"\n{difference}\nif this is what you want, change "
                         "docs/json.md too: tests/cli/test_json.py --write")

    def test_the_page_names_every_schema(self):
        page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
        recorded = set(filter(lambda word: word.startswith("'glovebox."),
                              GOLDEN.read_text(encoding="utf-8").split()))
        self.assertGreater(len(recorded), 20)
        self.assertEqual({name for name in recorded if name.strip("'") not in page}, set())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        made = record()
        if made.wrong:
            sys.exit("\n".join(made.wrong))
        GOLDEN.write_text(made.text, encoding="utf-8")
    else:
        unittest.main()
