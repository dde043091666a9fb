# SPDX-License-Identifier: Apache-2.0
"""`glovebox doctor` and `glovebox languages`, and what every command says of itself."""

import re
import unittest

from program import Case, glovebox, languages

# Those that contracts.md names: their ids are for ever.
PROMISED = (
    "python javascript typescript bash c cpp csharp java go rust ruby php perl lua r julia haskell "
    "ocaml fortran pascal kotlin sql awk octave prolog erlang elixir d nim scheme lisp nasm"
).split()
SHORT_NAMES = {"py": "python", "js": "javascript", "ts": "typescript", "c++": "cpp", "cs": "csharp",
               "rb": "ruby", "rs": "rust", "golang": "go"}


class Doctor(Case):
    def test_finds_walls_that_can_be_built_here(self):
        answer = glovebox("doctor", "--json")
        self.assert_status(answer, 0)
        found = {finding["what"]: finding for finding in answer.verdict["findings"]}
        self.assertLessEqual({"kernel", "place", "warden", "cgroup", "landlock", "users", "disk", "leftovers"}, set(found))
        tiers = [what for what, finding in found.items() if what.startswith("tier ")
                 and finding["ok"]]
        self.assertNotEqual(tiers, [], "status 0 promises a tier")

    def test_has_four_fields_for_each_finding(self):
        for finding in glovebox("doctor", "--json").verdict["findings"]:
            with self.subTest(finding=finding.get("what")):
                self.assertEqual(list(finding), ["what", "ok", "detail", "hint"])
                self.assertIsInstance(finding["ok"], bool)
                self.assertTrue(finding["detail"])

    def test_tries_every_tier_once(self):
        found = [finding["what"] for finding in glovebox("doctor", "--json").verdict["findings"]]
        tiers = [what.removeprefix("tier ") for what in found if what.startswith("tier ")]
        self.assertEqual(sorted(tiers), ["docker", "gvisor", "landlock", "microvm", "native", "wasm"])

    def test_of_a_tier_that_is_missing_says_how_to_get_it(self):
        answer = glovebox("doctor", "--json", env={"GLOVEBOX_RUNSC": "/nonexistent/runsc",
                                                   "DOCKER_HOST": "unix:///nonexistent/socket"})
        found = {finding["what"]: finding for finding in answer.verdict["findings"]}
        for what, said, hint in (("tier gvisor", "/nonexistent/runsc", "path of runsc"),
                                 ("tier docker", "/nonexistent/socket", "install Docker or Podman")):
            with self.subTest(what):
                self.assertFalse(found[what]["ok"])
                self.assertIn(said, found[what]["detail"])
                self.assertIn(hint, found[what]["hint"])

    def test_names_the_mend_of_all_that_is_not_right(self):
        for finding in glovebox("doctor", "--json").verdict["findings"]:
            if not finding["ok"]:
                with self.subTest(finding=finding["what"]):
                    self.assertTrue(finding["hint"])

    def test_says_the_same_to_people(self):
        answer = glovebox("doctor")
        self.assert_status(answer, 0)
        marks = {line[0] for line in answer.out.decode().splitlines() if line[0] != " "}
        self.assertLessEqual(marks, {"✓", "✗"})
        for finding in glovebox("doctor", "--json").verdict["findings"]:
            self.assertIn(f" {finding['what']}: ", answer.out.decode())

    def test_fails_and_names_the_mend_without_a_warden(self):
        env = {"GLOVEBOX_WARDEN": "/nonexistent/warden"}
        answer = glovebox("doctor", "--json", env=env)
        self.assert_status(answer, 125)
        found = {finding["what"]: finding for finding in answer.verdict["findings"]}
        self.assertFalse(found["warden"]["ok"])
        self.assertIn("GLOVEBOX_WARDEN", found["warden"]["hint"])


class Languages(Case):
    def test_are_all_that_were_promised(self):
        self.assertEqual(sorted(set(PROMISED) - set(languages())), [])

    def test_have_the_usual_short_names(self):
        for short, language in SHORT_NAMES.items():
            with self.subTest(name=short):
                self.assertIn(short, languages()[language]["names"])

    def test_have_names_that_no_other_has(self):
        owner = {}
        for language in languages().values():
            for name in {language["id"], *language["names"]}:
                self.assertNotIn(name, owner, f"both {owner.get(name)} and {language['id']}")
                owner[name] = language["id"]

    def test_that_are_absent_say_what_is_missing_and_the_fix(self):
        for language in languages().values():
            with self.subTest(language=language["id"]):
                self.assertIsInstance(language["ready"], bool)
                self.assertEqual(bool(language["missing"]), not language["ready"])
                self.assertEqual(bool(language["hint"]), not language["ready"])

    def test_that_are_ready_tell_their_version(self):
        listed = {language["id"]: language
                  for language in glovebox("languages", "--json").verdict}
        self.assertEqual(set(listed), set(languages()))
        self.assertRegex(listed["python"]["version"], r"^3\.\d+")
        for language in listed.values():
            if not language["ready"]:
                self.assertEqual(language["version"], "", language["id"])

    def test_one_is_described_by_any_of_its_names(self):
        answer = glovebox("languages", "c++", "--json", "--no-versions")
        self.assert_status(answer, 0)
        told = answer.verdict
        self.assertEqual(told["schema"], "glovebox.language/1")
        self.assertEqual({name: told[name] for name in languages()["cpp"] if name != "version"},
                         {name: value for name, value in languages()["cpp"].items()
                          if name != "version"})
        self.assertIn(".cpp", told["extensions"])
        self.assertEqual(told["compile"][0], "g++")
        self.assertTrue(told["live"])
        self.assertEqual((told["limits"]["memory"], told["compile_limits"]["memory"]),
                         (512 << 20, 1536 << 20))

    def test_a_compiler_is_limited_by_what_it_uses_and_more_loosely_by_the_clock(self):
        """On a machine under load, the clock alone would make right code a compile error."""
        limits = glovebox("languages", "java", "--json", "--no-versions").verdict["compile_limits"]
        self.assertEqual((limits["cpu_time"], limits["time"]), (60 * limits["cpus"], 180))

    def test_one_is_described_for_people_with_its_version(self):
        text = glovebox("languages", "python").out.decode()
        for line in (r"Python", r"  ready +yes", r"  version +3\.\d+.*", r"  packages +python3",
                     r"  extensions +\.py, \.pyw", r"  runs with +python3 \{file\}",
                     r"  live contexts +yes, with python3-ipython", r"  limits +time \d+s, .*"):
            self.assertRegex(text, rf"(?m)^{line}$")
        self.assertNotIn("compiles with", text)

    def test_one_that_is_not_ready_says_what_to_install(self):
        self.file("mine.toml", 'id = "mine"\ntitle = "Mine"\nextensions = [".mine"]\n'
                               'file_name = "main.mine"\nrun = ["no-such-program", "{file}"]\n'
                               'package = "mine-runtime"\nextra_packages = ["mine-extra"]\n')
        answer = glovebox("languages", "mine", env={"GLOVEBOX_LANGUAGES": str(self.dir)})
        self.assert_status(answer, 0)
        text = answer.out.decode()
        self.assertRegex(text, r"(?m)^  missing +no-such-program$")
        self.assertRegex(text, r"(?m)^  to install +apt-get install mine-runtime mine-extra$")

    def test_one_that_is_misspelled_is_corrected(self):
        answer = glovebox("languages", "pyhton")
        self.assert_status(answer, 2)
        self.assertIn("unknown language 'pyhton'", answer.message)
        self.assertIn("did you mean 'python'?", answer.message)

    def test_are_counted_for_people(self):
        text = glovebox("languages", "--no-versions").out.decode()
        count = re.search(r"^(\d+) of (\d+) languages are ready$", text, re.MULTILINE)
        self.assertIsNotNone(count, text)
        ready = sum(language["ready"] for language in languages().values())
        self.assertEqual((int(count[1]), int(count[2])), (ready, len(languages())))

    def test_of_users_are_listed_with_the_built_in_ones(self):
        self.file("mine.toml", 'id = "mine"\ntitle = "Mine"\nextensions = [".mine"]\n'
                               'file_name = "main.mine"\nrun = ["/bin/sh", "{file}"]\n')
        answer = glovebox("languages", "--json", "--no-versions",
                          env={"GLOVEBOX_LANGUAGES": str(self.dir)})
        self.assert_status(answer, 0)
        self.assertIn("mine", [language["id"] for language in answer.verdict])

    def test_of_users_that_are_broken_are_named_and_do_not_hide_the_others(self):
        self.file("bad.toml", 'id = "bad"\nname = \n')
        answer = glovebox("languages", "--json", "--no-versions",
                          env={"GLOVEBOX_LANGUAGES": str(self.dir)})
        self.assert_status(answer, 125)
        self.assertIn("bad.toml:2:", answer.message)
        self.assertEqual({language["id"] for language in answer.verdict}, set(languages()))


class Help(Case):
    def test_of_every_command_has_examples(self):
        for command in ([], ["run"], ["languages"], ["doctor"]):
            with self.subTest(command=command):
                answer = glovebox(*command, "--help")
                self.assert_status(answer, 0)
                self.assertIn("Examples:\n  glovebox", answer.out.decode())
                self.assertEqual(answer.err, b"")

    def test_version_is_one_line(self):
        answer = glovebox("--version")
        self.assert_status(answer, 0)
        self.assertRegex(answer.out.decode(), r"^glovebox \d+\.\d+\.\d+\S*\n$")


if __name__ == "__main__":
    unittest.main()
