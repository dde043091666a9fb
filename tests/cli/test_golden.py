#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every --help, and what wrong calls get, as two texts that a person has read and would like to read.

    tests/cli/test_golden.py --write      records what the program under test prints now

Then read the difference. A text that you would not like to get is to be changed in the program.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from program import GLOVEBOX, PATIENCE_S

FOLDER = pathlib.Path(__file__).resolve().parent / "golden"
COMMANDS = re.compile(r"^Subcommands:\n((?:  .*\n)+)", re.MULTILINE)
NAME = re.compile(r"^  ([a-z][a-z-]*)(?:  |$)", re.MULTILINE)

FILES = {
    "hello.py": "print('hello')\n",
    "notes.unknown": "neither code nor a language\n",
    "analysis.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    "broken.ipynb": '{"cells": 1\n',
    "Dockerfile": "FROM debian:12\nRUN true\n",
    "recipe.toml": 'comands = ["true"]\n',
    "cases/one.in": "1\n",
    "cases/one.out": "1\n",
    "bad-cases/cases.toml": "[missing]\npoints = 1\n",
    "bad-cases/one.in": "1\n",
    "bad-cases/one.out": "1\n",
}

# What people get wrong. Each is one shell line; nothing listens on the socket that is named.
WRONG = """
glovebox
glovebox rnu hello.py
glovebox missing.py
glovebox run
glovebox run missing.py
glovebox run notes.unknown
glovebox run .
glovebox run analysis.ipynb
glovebox run hello.py -e 'print(1)'
glovebox run -l pyhton -e 'print(1)'
glovebox run -l cobal hello.py
glovebox run --memroy 1G hello.py
glovebox run --memory lots hello.py
glovebox run --memory -1 hello.py
glovebox run --memory 1K hello.py
glovebox run --memory hello.py
glovebox run --time forever hello.py
glovebox run --time 0 hello.py
glovebox run --cpu-time 5x hello.py
glovebox run --cpus none hello.py
glovebox run --cpus 0 hello.py
glovebox run --pids many hello.py
glovebox run --pids 0 hello.py
glovebox run --disk 99999999T hello.py
glovebox run --output x hello.py
glovebox run --tier none hello.py
glovebox run --seccomp none hello.py
glovebox run --template gpu hello.py
glovebox run --env =value hello.py
glovebox run --env NOT_SET_ANYWHERE hello.py
glovebox run --file missing.csv hello.py
glovebox run --file hello.py:../outside hello.py
glovebox run --file hello.py:/etc/passwd hello.py
glovebox run --stdin missing.txt hello.py
glovebox run --out hello.py/results hello.py
glovebox run --json --events hello.py
glovebox run --raw --strip-ansi hello.py
glovebox run --allow-net http://example.com/ hello.py
glovebox run --deny-net example.com hello.py
glovebox run --policy policy.toml hello.py
glovebox run --packages pip:flask hello.py
glovebox run --packages flask --package-source . hello.py
glovebox run --packages pip:flask --package-source missing hello.py
glovebox judge hello.py
glovebox judge hello.py --cases missing
glovebox judge hello.py --cases bad-cases
glovebox judge hello.py --cases cases --compare fuzzy
glovebox repl -l brainfcuk
glovebox repl -l c < /dev/null
glovebox repl hello.py
glovebox notebook
glovebox notebook run
glovebox notebook run missing.ipynb
glovebox notebook run hello.py
glovebox notebook run broken.ipynb
glovebox notebook run analysis.ipynb --to pdf
glovebox notebook run analysis.ipynb -p year
glovebox languages pyhton
glovebox languages python ruby
glovebox help nonsense
glovebox completion tcsh
glovebox serve --data data --listen nowhere
glovebox serve --data data --unix $(printf %0120d)
glovebox serve --data data --certificate cert.pem
glovebox serve --data data --drain soon
glovebox sandbox
glovebox sandbox ls
glovebox sandbox ls --url ftp://example.org
glovebox sandbox create --timeout never
glovebox sandbox create --memory huge
glovebox sandbox exec
glovebox sandbox exec abc --url unix:nowhere.sock -e 1
glovebox sandbox cp a b
glovebox sandbox klil abc
glovebox sandbox kill
glovebox sandbox kill --all abc
glovebox template build
glovebox template build x
glovebox template build x -f missing.toml
glovebox template build x -f recipe.toml
glovebox template build x -f Dockerfile
glovebox template build 'bad name' -f recipe.toml
glovebox key create --scope everything
glovebox tenant create
glovebox tenant create ../x
glovebox secret rotate-key --data missing
glovebox audit verify --data missing
glovebox audit verify --data missing --head nonsense
glovebox emergency-stop --tenant a --sandbox b
"""


def call(line, folder):
    """What a shell line prints, both streams in order, and its exit status. None may go on for long."""
    environment = {"PATH": f"{folder / '.bin'}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
                   "GLOVEBOX_URL": "unix:nowhere.sock", "TMPDIR": str(folder)}
    done = subprocess.run(["timeout", "60", "bash", "-c", line], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False)
    return done.returncode, plain(done.stdout.decode("utf-8", "replace"), folder)


def plain(text, folder):
    """The text without what differs from one run, machine or version to the next."""
    for pattern, name in ((re.escape(str(folder)), "DIR"), (r"\d+(\.\d+)? ms\b", "N ms"),
                          (r"glovebox \d+\.\d+\.\d+\S*", "glovebox VERSION")):
        text = re.sub(pattern, name, text)
    return text


def commands(folder, words=()):
    """All commands, each as its words, with those below it behind it."""
    yield words
    text = call(" ".join(("glovebox", *words, "--help")), folder)[1]
    for name in names(text):
        if len(words) < 3:
            yield from commands(folder, (*words, name))


def names(text):
    """The commands that a help lists."""
    return [name for section in COMMANDS.findall(text) for name in NAME.findall(section)]


def helps(folder):
    return "".join(f"$ glovebox {' '.join((*words, '--help'))}\n"
                   f"{call(' '.join(('glovebox', *words, '--help')), folder)[1]}\n"
                   for words in commands(folder))


def wrong_calls(folder):
    text = ""
    for line in WRONG.strip().splitlines():
        status, said = call(line, folder)
        text += f"$ {line}\n{said}[{status}]\n\n"
    return text


def stage(folder):
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    (folder / ".bin").mkdir()
    (folder / ".bin/glovebox").symlink_to(os.path.abspath(GLOVEBOX))


TEXTS = {"help.txt": helps, "wrong-calls.txt": wrong_calls}


class Golden(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="glovebox-golden-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        stage(self.folder)

    def compare(self, name):
        recorded = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        said = TEXTS[name](self.folder).splitlines()
        difference = "\n".join(difflib.unified_diff(recorded, said, "recorded", "now", lineterm=""))
        self.assertEqual(difference, "", f"\n{difference}\nread it, and if you like it: "
                         "tests/cli/test_golden.py --write")

    def test_help_is_as_recorded(self):
        self.compare("help.txt")

    def test_wrong_calls_are_answered_as_recorded(self):
        self.compare("wrong-calls.txt")

    def test_there_are_enough_of_both(self):
        self.assertGreater((FOLDER / "help.txt").read_text().count("\n$ "), 30)
        self.assertGreater((FOLDER / "wrong-calls.txt").read_text().count("\n$ "), 60)


def write():
    FOLDER.mkdir(exist_ok=True)
    for name, text in TEXTS.items():
        with tempfile.TemporaryDirectory(prefix="glovebox-golden-") as folder:
            stage(pathlib.Path(folder))
            (FOLDER / name).write_text(text(pathlib.Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
