# SPDX-License-Identifier: Apache-2.0
"""`--watch` of `glovebox run` and `glovebox notebook run`: again at each change, until Ctrl-C."""

import json
import os
import select
import signal
import subprocess
import time
import unittest

from program import GLOVEBOX, PATIENCE_S, Case, glovebox

WAITING = b"waiting for changes\n"


class Watching(Case):
    def watch(self, *words):
        """A glovebox that watches, with both streams in one pipe."""
        process = subprocess.Popen([GLOVEBOX, *map(str, words), "--watch"], cwd=self.dir,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.kill)
        return process

    def until(self, process, wanted):
        """What it says until it has said this."""
        seen = b""
        end = time.monotonic() + PATIENCE_S
        while wanted not in seen:
            left = end - time.monotonic()
            self.assertTrue(left > 0 and select.select([process.stdout], [], [], left)[0], seen)
            piece = os.read(process.stdout.fileno(), 65536)
            self.assertTrue(piece, seen)
            seen += piece
        return seen

    def end(self, process):
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)

    def replace(self, name, content):
        """As editors save: a new file in the place of the old one."""
        self.file(name + ".new", content)
        os.rename(self.dir / (name + ".new"), self.dir / name)


class Run(Watching):
    def test_runs_again_when_the_file_is_saved_in_either_way(self):
        self.file("a.py", "print('one')\n")
        process = self.watch("run", "a.py")
        self.assertIn(b"one\n", self.until(process, WAITING))
        self.file("a.py", "print('two')\n")
        self.assertIn(b"two\n", self.until(process, WAITING))
        self.replace("a.py", "print('three')\n")
        self.assertIn(b"three\n", self.until(process, WAITING))
        self.end(process)

    def test_runs_again_when_what_is_copied_in_changes_and_only_then(self):
        self.file("a.py", "import os\nprint(sorted(os.listdir('d')), open('d/x').read())\n")
        self.file("d/x", "1")
        self.file("beside", "")
        process = self.watch("run", "a.py", "--file", "d")
        self.assertIn(b"['x'] 1\n", self.until(process, WAITING))
        self.file("beside", "changed")
        self.file("d/.x.swp", "an editor's")
        self.file("d/x", "2")
        self.assertEqual(self.until(process, WAITING).count(b"['"), 1)
        # A directory that comes is watched from the next run on.
        self.file("d/sub/y", "")
        self.until(process, b"['.x.swp', 'sub', 'x'] 2\n")
        self.end(process)

    def test_a_change_ends_a_program_that_still_runs(self):
        self.file("a.py", "print('begun', flush=True)\nwhile True: pass\n")
        process = self.watch("run", "a.py", "--time", "1h")
        self.until(process, b"begun\n")
        self.file("a.py", "print('ended')\n")
        self.until(process, b"ended\n")
        self.end(process)

    def test_a_file_that_goes_is_waited_for(self):
        self.file("a.py", "print('one')\n")
        process = self.watch("run", "a.py", "--json")
        self.assertIn(b"one", self.until(process, WAITING))
        (self.dir / "a.py").unlink()
        self.assertIn(b"glovebox.error/1", self.until(process, WAITING))
        self.file("a.py", "print('back')\n")
        self.assertIn(b"back", self.until(process, WAITING))
        self.end(process)

    def test_an_interrupt_reaches_the_program_first(self):
        self.file("a.py", "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(1000)\n"
                          "except KeyboardInterrupt: print('cleaned up')\n")
        process = self.watch("run", "a.py")
        self.until(process, b"begun\n")
        process.send_signal(signal.SIGINT)
        self.until(process, b"cleaned up\n")
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)

    def test_what_cannot_be_watched_is_refused(self):
        self.file("d/a.py", "")
        for words in (("-l", "python", "-e", "1"), ("-", "-l", "python"),
                      ("d/a.py", "--file", "d", "--out", "d")):
            answer = glovebox("run", *words, "--watch", cwd=self.dir)
            self.assertEqual(answer.status, 2, str(answer))
            self.assertIn("--watch", answer.message)
            self.assertIn("hint:", answer.message)


class Notebook(Watching):
    def save(self, *sources):
        cells = [{"cell_type": "code", "id": f"c{i}", "source": source, "metadata": {},
                  "outputs": [], "execution_count": None} for i, source in enumerate(sources)]
        metadata = {"kernelspec": {"name": "python3", "display_name": "Python"}}
        self.replace("n.ipynb", json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4,
                                            "nbformat_minor": 5}))

    def outputs(self):
        made = json.loads((self.dir / "n.run.ipynb").read_text())
        return [output.get("text", output.get("data", {}).get("text/plain"))
                for cell in made["cells"] for output in cell["outputs"]]

    def test_runs_again_in_a_fresh_interpreter(self):
        self.save("x = 20", "x + 1")
        process = self.watch("notebook", "run", "n.ipynb")
        self.until(process, WAITING)
        self.assertEqual(self.outputs(), [["21"]] if isinstance(self.outputs()[0], list) else ["21"])
        self.save("'x' in globals()")
        self.until(process, WAITING)
        self.assertIn("False", str(self.outputs()))
        self.end(process)

    def test_a_session_made_ahead_has_the_files_as_they_are(self):
        self.file("data", "one")
        self.save("open('data').read()")
        process = self.watch("notebook", "run", "n.ipynb", "--file", "data")
        self.until(process, WAITING)
        self.file("data", "two")
        self.until(process, WAITING)
        self.assertIn("two", str(self.outputs()))
        self.end(process)

    def test_the_notebook_itself_is_not_written(self):
        self.save("1")
        answer = glovebox("notebook", "run", "n.ipynb", "-o", "n.ipynb", "--watch", cwd=self.dir)
        self.assertEqual(answer.status, 2, str(answer))
        self.assertIn("--watch", answer.message)


if __name__ == "__main__":
    unittest.main()
