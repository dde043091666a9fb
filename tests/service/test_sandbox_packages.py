# SPDX-License-Identifier: Apache-2.0
"""Packages that a sandbox installs while it lives, from what the daemon's operator offers."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from daemon import GLOVEBOX, Case, Daemon

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from package_files import offer, wheel  # noqa: E402
from package_index import serve_index  # noqa: E402


class OfferedPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = offer(cls)
        cls.daemon = Daemon()
        cls.daemon.options = ["--package-source", str(cls.source)]
        cls.daemon.start()
        cls.addClassCleanup(cls.daemon.discard)

    def sandbox(self, **wishes):
        sandbox = self.daemon.create(tier="native", **wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def install(self, sandbox, *packages, status=200, **more):
        return sandbox.must(status, "POST", "/packages", {"packages": list(packages), **more})

    def test_a_context_that_lives_already_imports_what_is_installed(self):
        sandbox = self.sandbox()
        context = sandbox.context()
        self.assertIn("No module named", context.execute("import gb_upper")["error"]["value"])
        self.assertEqual(context.execute("kept = 41")["status"], "ok")
        verdict = self.install(sandbox, "pip:gb_upper==2.0")
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("ok", 0), verdict)
        self.assertIn("gb-lower", verdict["stdout"].lower().replace("_", "-"))
        self.assertEqual(context.value("__import__('gb_upper').high(), kept + 1"), "low high 42")
        # The shell of the installation is gone again.
        listed = sandbox.must(200, "GET", "/contexts")["contexts"]
        self.assertEqual([each["language"] for each in listed], ["python"])

    def test_nothing_of_it_is_in_another_sandbox(self):
        first, second = self.sandbox(), self.sandbox()
        self.assertEqual(self.install(first, "pip:gb_lower")["status"], "ok")
        code = "import gb_lower"
        for other in (second, self.sandbox()):
            self.assertIn("No module named", other.context().execute(code)["error"]["value"])
        self.assertEqual(first.context().execute(code)["status"], "ok")

    def test_what_the_operator_offers_is_read_only(self):
        context = self.sandbox().context()
        answer = context.execute("open('/opt/glovebox/packages/1/gb_lower-1.0-py3-none-any.whl', 'a')")
        self.assertIn(answer["error"]["name"], ("OSError", "PermissionError"))

    def test_javascript_finds_what_npm_has_installed(self):
        sandbox = self.sandbox()
        verdict = self.install(sandbox, "npm:gb-word")
        self.assertEqual(verdict["status"], "ok", verdict)
        answer = sandbox.context("javascript").execute("console.log(require('gb-word'))")
        self.assertEqual(answer["stdout"], "a word\n", answer)

    def test_guests_install_by_themselves_too(self):
        answer = self.sandbox().context().execute("%pip install -q gb_lower\nimport gb_lower\n"
                                                  "print(gb_lower.low())")
        self.assertIn("low", answer["stdout"], answer)

    def test_a_sandbox_that_is_made_of_no_pool_has_them_as_well(self):
        sandbox = self.sandbox(limits={"disk": "300M"})
        self.assertEqual(self.install(sandbox, "pip:gb_lower")["status"], "ok")
        self.assertEqual(sandbox.context().value("__import__('gb_lower').low()"), "low")

    def test_the_installation_is_told_as_it_happens(self):
        events = list(self.daemon.stream("POST", self.sandbox().path + "/packages",
                                         {"packages": ["pip:gb_lower"]}))
        self.assertEqual(events[0]["type"], "started")
        self.assertIn("gb", "".join(each["text"] for each in events if each["type"] == "stdout"))
        self.assertEqual((events[-1]["type"], events[-1]["status"]), ("verdict", "ok"))

    def test_what_is_nowhere_fails_with_its_name(self):
        verdict = self.install(self.sandbox(), "pip:gbnowhere")
        self.assertEqual(verdict["status"], "error")
        self.assertIn("gbnowhere", verdict["stderr"])

    def test_a_limit_of_the_installation_holds(self):
        verdict = self.install(self.sandbox(), "pip:gb_upper", limits={"time": "50ms"})
        self.assertEqual(verdict["status"], "timeout", verdict)

    def test_the_command_line_installs_too(self):
        sandbox = self.sandbox()
        environment = {**os.environ, "GLOVEBOX_URL": f"unix:{self.daemon.unix}"}
        for name, status in (("pip:gb_lower", 0), ("pip:gbnowhere", 1), ("pip:--help", 2)):
            done = subprocess.run([GLOVEBOX, "sandbox", "packages", sandbox.id, name],
                                  env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done)
        self.assertEqual(sandbox.context().value("__import__('gb_lower').low()"), "low")

    def test_names_that_are_none_never_reach_a_shell(self):
        sandbox = self.sandbox()
        for name in ("six", "pip:", "pip:--help", "pip:/etc/passwd", "pip:a;touch x", "pip:a'b",
                     "pip:$(id)", "npm:../x", "npm:@a", "pip:a==1 2", "pip:a\n", "", "pip:a,,pip:b"):
            with self.subTest(name):
                answer = self.install(sandbox, name, status=400)
                self.assertIn("hint", answer)
        self.assertIn("no package", self.install(sandbox, status=400)["message"])

    def test_modules_in_the_workspace_do_not_stand_in_for_those_of_pip(self):
        sandbox = self.sandbox()
        sandbox.write("json.py", b"raise SystemExit('mine')\n")
        verdict = self.install(sandbox, "pip:gb_lower")
        self.assertEqual(verdict["status"], "ok", verdict)


class WithoutAnOffer(Case):
    def test_the_error_names_the_option(self):
        answer = self.create(tier="native").must(501, "POST", "/packages", {"packages": ["pip:six"]})
        self.assertIn("--package-source", answer["hint"])


class OfferOfTheNextDaemon(unittest.TestCase):
    def test_a_daemon_that_starts_anew_offers_to_new_sandboxes_what_it_was_told(self):
        with tempfile.TemporaryDirectory(prefix="gb-packages.") as scratch:
            source = pathlib.Path(scratch)
            source.chmod(0o755)
            wheel(source, "gb_lower", "1.0", {"gb_lower.py": "low = 1\n"})
            daemon = Daemon().start()
            self.addCleanup(daemon.discard)
            old = daemon.create(tier="native")
            daemon.kill()
            daemon.options = ["--package-source", str(source)]
            daemon.start()
            wish = {"packages": ["pip:gb_lower"]}
            before = old.must(200, "POST", "/packages", wish)
            self.assertIn("create a new sandbox", before["stderr"])
            new = daemon.create(tier="native")
            self.assertEqual(new.must(200, "POST", "/packages", wish)["status"], "ok")

    def test_a_daemon_offers_an_index_on_a_socket_also_to_sandboxes_that_it_takes_over(self):
        with tempfile.TemporaryDirectory(prefix="gb-packages.") as scratch:
            source = pathlib.Path(scratch)
            wheel(source, "gblower", "1.0", {"gblower.py": "low = 1\n"})
            wheel(source, "gbupper", "1.0", {"gbupper.py": "UP = 1\n"})
            index = serve_index(self, source)
            daemon = Daemon()
            daemon.options = ["--package-index", f"pip:{index.socket_path}"]
            daemon.start()
            self.addCleanup(daemon.discard)
            sandbox = daemon.create(tier="native")
            for name in ("gblower", "gbupper"):
                wish = {"packages": [f"pip:{name}"]}
                verdict = sandbox.must(200, "POST", "/packages", wish)
                self.assertEqual(verdict["status"], "ok", verdict)
                daemon.kill()
                daemon.start()
            self.assertIn("/simple/gbupper/", index.asked)

    def test_a_directory_that_is_none_keeps_the_daemon_from_starting(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--package-source", "/nowhere"]
        with self.assertRaises(AssertionError) as raised:
            daemon.start()
        daemon.process.stdout.close()
        self.assertIn("/nowhere", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
