# SPDX-License-Identifier: Apache-2.0
"""`glovebox run --packages`: from a directory of the caller's into the walls, without a network."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from package_files import npm_archive, sdist, wheel
from program import Case, run


class PackageCase(Case):
    def setUp(self):
        super().setUp()
        # A guest of root's is another user.
        self.dir.chmod(0o755)
        self.source = self.dir / "source"
        self.source.mkdir()
        self.cache = self.dir / "cache"
        self.addCleanup(self.remove_cache)

    def remove_cache(self):
        subprocess.run(["chmod", "-R", "u+w", self.cache], check=False, capture_output=True)
        shutil.rmtree(self.cache, ignore_errors=True)

    def layers(self, prefix=""):
        store = self.cache / "glovebox/layers"
        return [
            path
            for path in (store.iterdir() if store.exists() else [])
            if path.name.startswith(prefix or ("pip-", "npm-"))
        ]

    def run_with(self, packages, *arguments, source=None):
        return run(
            *arguments,
            "--packages",
            packages,
            "--package-source",
            str(source or self.source),
            env={"XDG_CACHE_HOME": str(self.cache)},
        )

    def python(self, packages, code, *arguments, **how):
        return self.run_with(packages, "-l", "python", "-e", code, *arguments, **how)

    def javascript(self, packages, code, *arguments, **how):
        return self.run_with(packages, "-l", "javascript", "-e", code, *arguments, **how)


def has_pip():
    return (
        subprocess.run(
            ["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode
        == 0
    )


@unittest.skipUnless(has_pip(), "the system's Python has no pip: apt-get install python3-pip")
class Pip(PackageCase):
    def setUp(self):
        super().setUp()
        self.need("python")
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "NAME = 'alpha one'\n"})

    def test_a_package_of_the_source_can_be_imported(self):
        answer = self.python("pip:gbalpha", "import gbalpha; print(gbalpha.NAME)")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"alpha one\n")

    def test_what_a_package_needs_is_installed_with_it(self):
        wheel(
            self.source,
            "gbbeta",
            "2.0",
            {"gbbeta.py": "import gbalpha\nNAME = 'beta on ' + gbalpha.NAME\n"},
            requires=["gbalpha>=1"],
        )
        answer = self.python("pip:gbbeta", "import gbbeta; print(gbbeta.NAME)")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"beta on alpha one\n")

    def test_the_version_that_was_named_is_the_one_that_is_installed(self):
        wheel(self.source, "gbalpha", "2.0", {"gbalpha.py": "NAME = 'alpha two'\n"})
        code = "import gbalpha; print(gbalpha.NAME)"
        self.assertEqual(self.python("pip:gbalpha==1.0", code).out, b"alpha one\n")
        self.assertEqual(self.python("pip:gbalpha", code).out, b"alpha two\n")

    def test_a_script_of_a_package_is_a_command(self):
        wheel(
            self.source,
            "gbscript",
            "1.0",
            {"gbscript.py": "def main():\n    print('from the script')\n"},
            scripts={"gb-script": "gbscript:main"},
        )
        answer = self.run_with("pip:gbscript", "-l", "sh", "-e", "gb-script")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"from the script\n")

    def test_a_source_archive_is_built_inside_the_walls(self):
        setup = (
            "import os, socket, setuptools\n"
            "open('gbsource.py', 'w').write(f'HOME = {os.path.exists(\"/root\")}\\n"
            "NET = {sorted(n for _, n in socket.if_nameindex())}\\n')\n"
            "setuptools.setup(name='gbsource', version='1.0', py_modules=['gbsource'])\n"
        )
        sdist(self.source, "gbsource", "1.0", setup, {})
        answer = self.python("pip:gbsource", "import gbsource as g; print(g.HOME, g.NET)")
        if b"setuptools" in answer.err:
            self.skipTest("the system's Python has no setuptools")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"False ['lo']\n")

    def test_it_is_installed_once_and_found_again(self):
        first = self.python("pip:gbalpha", "import gbalpha", "--json")
        self.assert_status(first, 0)
        made = self.layers()
        second = self.python("pip:gbalpha", "import gbalpha", "--json")
        self.assert_status(second, 0)
        self.assertEqual(self.layers(), made)
        times = [answer.verdict["timings"]["packages_us"] for answer in (first, second)]
        self.assertLess(times[1] * 5, times[0])

    def test_a_file_of_another_content_makes_another_layer(self):
        code = "import gbalpha; print(gbalpha.NAME)"
        self.assertEqual(self.python("pip:gbalpha", code).out, b"alpha one\n")
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "NAME = 'alpha eno'\n"})
        self.assertEqual(self.python("pip:gbalpha", code).out, b"alpha eno\n")

    def test_a_layer_that_was_changed_is_made_again(self):
        code = "import gbalpha; print(gbalpha.NAME)"
        self.assert_status(self.python("pip:gbalpha", code), 0)
        (layer,) = self.layers()
        module = layer / "files/gbalpha.py"
        module.chmod(0o644)
        module.write_text("NAME = 'somebody else'\n")
        module.chmod(0o444)
        self.assertEqual(self.python("pip:gbalpha", code).out, b"alpha one\n")

    def test_two_at_once_get_the_same_layer(self):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            code = "import gbalpha; print(gbalpha.NAME)"
            answers = list(pool.map(lambda _: self.python("pip:gbalpha", code), range(3)))
        for answer in answers:
            self.assert_status(answer, 0)
            self.assertEqual(answer.out, b"alpha one\n")
        self.assertEqual(len(self.layers()), 1)
        self.assertEqual(self.layers(prefix=".build-"), [])

    def test_no_sandbox_sees_the_packages_of_another(self):
        self.assert_status(self.python("pip:gbalpha", "import gbalpha"), 0)
        wheel(self.source, "gbother", "1.0", {"gbother.py": ""})
        code = (
            "import importlib.util, os\n"
            "print(importlib.util.find_spec('gbalpha'), os.listdir('/opt/glovebox/layers'))"
        )
        answer = self.python("pip:gbother", code)
        self.assert_status(answer, 0)
        self.assertTrue(answer.out.startswith(b"None ['pip-"), str(answer))
        self.assertEqual(answer.out.count(b"pip-"), 1)

    def test_the_guest_can_change_neither_the_layer_nor_the_source(self):
        code = (
            "import gbalpha, os\n"
            "for path in (gbalpha.__file__, os.path.dirname(gbalpha.__file__) + '/new'):\n"
            "    try:\n        open(path, 'w')\n"
            "    except OSError as error:\n        print(error.strerror)\n"
            "print(os.path.exists('/opt/glovebox/packages'))"
        )
        answer = self.python("pip:gbalpha", code)
        self.assertEqual(
            answer.out, b"Read-only file system\nRead-only file system\nFalse\n", str(answer)
        )

    def test_a_package_that_is_not_in_the_source_is_wrong_usage(self):
        answer = self.python("pip:gbabsent", "print('ran')", "--json")
        self.assert_status(answer, 2)
        self.assertEqual(answer.verdict["error"], "invalid")
        self.assertIn("gbabsent", answer.verdict["message"])
        self.assertIn("pip download", answer.verdict["hint"])
        self.assertNotIn("ran", answer.message)
        self.assertEqual(self.layers(), [])

    def test_a_package_that_cannot_be_built_says_why(self):
        setup = "raise SystemExit('no, not today')\n"
        sdist(self.source, "gbbroken", "1.0", setup, {})
        answer = self.python("pip:gbbroken", "print('ran')")
        self.assert_status(answer, 125)
        self.assertIn("pip could not install", answer.message)
        self.assertEqual(answer.out, b"")
        self.assertEqual(self.layers(), [])

    def test_a_link_in_what_was_installed_is_refused(self):
        setup = (
            "import os, setuptools\n"
            "open('gblink.py', 'w').write('')\n"
            "setuptools.setup(name='gblink', version='1.0', py_modules=['gblink'])\n"
            "os.makedirs('/workspace/layer', exist_ok=True)\n"
            "if not os.path.lexists('/workspace/layer/out'):\n"
            "    os.symlink('/etc/hostname', '/workspace/layer/out')\n"
        )
        sdist(self.source, "gblink", "1.0", setup, {})
        answer = self.python("pip:gblink", "print('ran')")
        self.assert_status(answer, 126)
        self.assertIn("symbolic links are not accepted", answer.message)
        self.assertEqual(self.layers(), [])

    def test_the_callers_own_search_path_stays_in_front(self):
        code = "import os; print(os.environ['PYTHONPATH'].split(':')[0])"
        answer = self.python("pip:gbalpha", code, "--env", "PYTHONPATH=/workspace/mine")
        self.assertEqual(answer.out, b"/workspace/mine\n", str(answer))

    def test_the_landlock_tier_finds_them_too(self):
        # Not below /tmp, in place of which that tier shows a directory of the sandbox's own.
        self.cache = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-test.", dir="/var/tmp"))
        self.cache.chmod(0o755)
        answer = self.python(
            "pip:gbalpha", "import gbalpha; print(gbalpha.NAME)", "--tier", "landlock"
        )
        if answer.status == 125 and b"Landlock" in answer.err:
            self.skipTest("no landlock tier here")
        self.assertEqual(answer.out, b"alpha one\n", str(answer))


@unittest.skipUnless(
    pathlib.Path("/usr/bin/npm").exists(), "no npm here: apt-get install npm, or Node.js with it"
)
class Npm(PackageCase):
    def setUp(self):
        super().setUp()
        self.need("javascript")
        npm_archive(self.source, "gb-alpha", "1.0.0", {"index.js": "module.exports = 'alpha one'"})

    def test_a_package_of_the_source_can_be_required(self):
        answer = self.javascript("npm:gb-alpha", "console.log(require('gb-alpha'))")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"alpha one\n")

    def test_a_module_can_import_it(self):
        path = self.file("main.mjs", "import alpha from 'gb-alpha'; console.log(alpha)")
        answer = self.run_with("npm:gb-alpha", str(path))
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"alpha one\n")

    def test_what_a_package_needs_is_installed_in_the_version_that_it_needs(self):
        npm_archive(self.source, "gb-alpha", "2.0.0", {"index.js": "module.exports = 'alpha two'"})
        npm_archive(
            self.source,
            "@gb/beta",
            "1.2.3",
            {"index.js": "module.exports = 'beta on ' + require('gb-alpha')"},
            dependencies={"gb-alpha": "^1.0.0"},
        )
        code = "console.log(require('@gb/beta'), '/', require('gb-alpha'))"
        answer = self.javascript("npm:@gb/beta,npm:gb-alpha@2.0.0", code)
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"beta on alpha one / alpha two\n")

    def test_a_program_of_a_package_is_a_command(self):
        npm_archive(
            self.source,
            "gb-program",
            "1.0.0",
            {"cli.js": "#!/usr/bin/env node\nconsole.log('program', process.argv[2])\n"},
            bin={"gb-program": "cli.js"},
        )
        answer = self.run_with("npm:gb-program", "-l", "sh", "-e", "gb-program 'a b'")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"program a b\n")

    def test_an_install_script_runs_inside_the_walls(self):
        script = "require('fs').writeFileSync('made.js', `module.exports = ${"
        script += "require('fs').existsSync('/root')}`)"
        npm_archive(
            self.source,
            "gb-built",
            "1.0.0",
            {"build.js": script, "index.js": "module.exports = require('./made.js')"},
            scripts={"install": "node build.js"},
        )
        answer = self.javascript("npm:gb-built", "console.log(require('gb-built'))")
        if answer.status == 0 or b"made.js" not in answer.err:
            self.assert_status(answer, 0)
            self.assertEqual(answer.out, b"false\n")
        else:
            self.skipTest("this npm runs no install scripts unless they are allowed by name")

    def test_a_package_that_is_not_in_the_source_is_wrong_usage(self):
        for name in ("npm:gb-absent", "npm:gb-alpha@9.0.0"):
            with self.subTest(name=name):
                answer = self.javascript(name, "console.log('ran')", "--json")
                self.assert_status(answer, 2)
                self.assertEqual(answer.verdict["error"], "invalid")
                self.assertIn("npm pack", answer.verdict["hint"])

    def test_both_managers_go_together(self):
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "NAME = 'python'\n"})
        code = "python3 -c 'import gbalpha; print(gbalpha.NAME)'; node -p 'require(\"gb-alpha\")'"
        answer = self.run_with("pip:gbalpha,npm:gb-alpha", "-l", "sh", "-e", code)
        if b"python3-pip" in answer.err:
            self.skipTest("the system's Python has no pip")
        self.assertEqual(answer.out, b"python\nalpha one\n", str(answer))


class Refusals(PackageCase):
    def test_without_a_source_it_would_take_a_network(self):
        answer = run("-l", "sh", "-e", "true", "--packages", "pip:six", "--json")
        self.assert_status(answer, 126)
        self.assertEqual(answer.verdict["error"], "refused")
        self.assertIn("--package-source", answer.verdict["hint"])

    def test_what_is_no_name_is_wrong_usage(self):
        for text in ("six", "pip:--index-url=http://x", "pip:../six", "npm:https://x/y.tgz"):
            with self.subTest(text=text):
                self.assert_status(self.run_with(text, "-l", "sh", "-e", "true"), 2)
        self.assertEqual(self.layers(), [])

    def test_a_source_that_is_no_directory_is_wrong_usage(self):
        for source in (self.dir / "absent", self.file("file", "")):
            with self.subTest(source=source):
                answer = self.run_with("pip:six", "-l", "sh", "-e", "true", source=source)
                self.assert_status(answer, 2)

    @unittest.skipUnless(os.geteuid() == 0, "the guest is the same user as we")
    def test_a_source_that_the_guest_could_not_read_is_said_to_be_one(self):
        self.source.chmod(0o700)
        answer = self.run_with("pip:six", "-l", "sh", "-e", "true")
        self.assert_status(answer, 2)
        self.assertIn("chmod", answer.message)


if __name__ == "__main__":
    unittest.main()
