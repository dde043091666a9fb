# SPDX-License-Identifier: Apache-2.0
"""What the tier does not do is refused before anything runs, with what to do instead."""
from program import run
from wasm_case import WasmCase, printing


class Refusals(WasmCase):
    def refused(self, *options, message, status=125):
        with self.subTest(options):
            answer = run(*options)
            self.assert_status(answer, status)
            self.assertIn(message, answer.message)
            self.assertIn("\n  hint: ", answer.message)

    def test_name_what_the_tier_has_not(self):
        module = str(self.file("main.wat", printing("x")))
        for options, what in (
                (("--user", "root"), "the wasm tier has no guests that are root"),
                (("--allow-net", "example.com"), "the wasm tier has no network to filter"),
                (("--verify", "true"), "the wasm tier has no shell to verify with"),
                (("--packages", "pip:six", "--package-source", str(self.dir)),
                 "the wasm tier has no packages"),
                (("--seccomp", "strict"), "the wasm tier has a system call policy of its own")):
            self.refused("--tier", "wasm", *options, module, message=what)

    def test_name_the_languages_that_the_tier_has(self):
        self.refused("--tier", "wasm", "-l", "haskell", "-e", "main = pure ()",
                     message="the wasm tier has no compiler for Haskell")
        self.refused("--tier", "wasm", "-l", "perl", "-e", "1",
                     message="the wasm tier has no 'perl': it runs WebAssembly modules, Python, JavaScript, Ruby and SQL")
        self.refused("--tier", "wasm", "/bin/true",
                     message="the wasm tier runs no programs of this machine")

    def test_of_other_tiers_name_this_one(self):
        module = str(self.file("main.wat", printing("x")))
        for tier in ("native", "landlock"):
            self.refused("--tier", tier, module, message="only the wasm tier can run it")
            self.refused("--tier", tier, "--deterministic", "-l", "sh", "-e", "true",
                         message=f"the {tier} tier is not deterministic")
        self.refused("--min-tier", "gvisor", module, status=2,
                     message="tier 'wasm' is weaker than the minimum tier 'gvisor'")


class Choice(WasmCase):
    def test_of_the_strongest_tier_never_takes_this_one_for_programs(self):
        verdict = run("--tier", "auto", "--json", "-l", "sh", "-e", "true").verdict
        self.assertNotEqual(verdict["tier"], "wasm")

    def test_of_the_strongest_tier_takes_this_one_for_modules(self):
        verdict = run("--tier", "auto", "--json", self.file("main.wat", printing("x"))).verdict
        self.assertEqual((verdict["tier"], verdict["stdout"]), ("wasm", "x"))
