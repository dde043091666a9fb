# SPDX-License-Identifier: Apache-2.0
"""Packages in templates: installed once, with the template, from a directory of this host."""

import pathlib
import sys
import unittest

from daemon import Daemon

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from package_files import offer  # noqa: E402


class TemplatePackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)
        cls.source = offer(cls)

    def build(self, **recipe):
        return list(self.daemon.stream("POST", "/v1/templates",
                                       {"package_sources": [str(self.source)], **recipe}))

    def built(self, **recipe):
        events = self.build(**recipe)
        self.assertEqual(events[-1]["type"], "built", events)
        return events[-1]

    def sandbox(self, template):
        sandbox = self.daemon.create(template=template, tier="native")
        self.addCleanup(sandbox.kill)
        return sandbox

    def test_a_context_imports_what_its_template_has(self):
        self.built(name="upper", packages=["pip:gb_upper"])
        context = self.sandbox("upper").context()
        self.assertEqual(context.execute("import gb_upper; print(gb_upper.high())")["stdout"],
                         "low high\n")
        self.assertIn("No module named 'gb_upper'",
                      self.sandbox("default").context().execute("import gb_upper")["error"]["value"])

    def test_what_is_preloaded_may_be_a_package(self):
        self.built(name="warm", packages=["pip:gb_lower"], preload=["gb_lower"])
        context = self.sandbox("warm").context()
        self.assertEqual(context.value("'gb_lower' in __import__('sys').modules"), "True")

    def test_commands_of_the_build_and_javascript_have_them_too(self):
        self.built(name="words", packages=["npm:gb-word", "pip:gb_lower"],
                   commands=["python3 -c 'import gb_lower; print(gb_lower.low())' > said"])
        sandbox = self.sandbox("words")
        self.assertEqual(sandbox.read("said").strip(), b"low")
        answer = sandbox.context("javascript").execute("console.log(require('gb-word'))")
        self.assertEqual(answer["stdout"], "a word\n")

    def test_a_guest_cannot_change_them_for_the_next(self):
        self.built(name="kept", packages=["pip:gb_lower"])
        context = self.sandbox("kept").context()
        answer = context.execute("import gb_lower; open(gb_lower.__file__, 'a').write('x')")
        self.assertEqual(answer["status"], "error")
        self.assertEqual(self.sandbox("kept").context().value("__import__('gb_lower').low()"), "low")

    def test_the_same_packages_are_installed_once(self):
        first = self.built(name="first", packages=["pip:gb_upper==2.0"])
        again = self.built(name="again", packages=["pip:gb_upper==2.0"])
        self.assertFalse(first["cached"])
        self.assertTrue(again["cached"])

    def test_a_package_that_is_nowhere_fails_the_build_with_its_name(self):
        events = self.build(name="absent", packages=["pip:gbnowhere"])
        self.assertEqual(events[-1]["type"], "failed")
        self.assertIn("gbnowhere", events[-1]["message"])
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/absent").status, 404)


if __name__ == "__main__":
    unittest.main()
