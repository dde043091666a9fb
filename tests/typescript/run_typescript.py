#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the TypeScript SDK against a daemon.

    run_typescript.py            the behavior table, and the examples of the pages
    run_typescript.py --others   the library in Deno and in Bun, and each adapter with its package

The package is built (sdk/typescript/build) and installed beside the tests, which are compiled
against it. Exit status 77 when npm is missing or its registry cannot be reached.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SDK = ROOT / "sdk/typescript"
sys.dont_write_bytecode = True
for folder in ("tools", "tests/service", "tests/cli"):
    sys.path.append(str(ROOT / folder))
import npm_packages  # noqa: E402  pylint: disable=wrong-import-position
from daemon import GLOVEBOX, Daemon  # noqa: E402  pylint: disable=wrong-import-position
from package_files import wheel  # noqa: E402  pylint: disable=wrong-import-position

builder = types.ModuleType("builder")
builder.__file__ = str(SDK / "build")
exec(compile((SDK / "build").read_text(encoding="utf-8"), SDK / "build", "exec"), builder.__dict__)

EXAMPLE = re.compile(r"<!-- run typescript -->\n```ts\n(.*?)```", re.DOTALL)
PAGES = ("sdk/typescript/README.md", "docs/typescript.md")
OTHERS = HERE / "others"
RUNTIMES = {"deno": ("@deno/linux-x64-glibc/deno", "run", "--allow-all"),
            "bun": ("@oven/bun-linux-x64/bin/bun", "run")}


def version():
    return re.search(r"project\(glovebox VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def write_examples(folder):
    """Each marked example of the pages becomes a program of its own."""
    names = []
    for page in PAGES:
        for number, code in enumerate(EXAMPLE.findall((ROOT / page).read_text(encoding="utf-8"))):
            name = f"{pathlib.Path(page).stem.lower()}-{number}"
            (folder / f"{name}.ts").write_text(code, encoding="utf-8")
            names.append(name)
    return names


class Suite:
    """Tests that are compiled below `build`, where `node_modules` has what they import."""

    def __init__(self, source, build):
        self.node = builder.build(build / "node_modules/glovebox")
        self.work = build / "suite"
        self.compiled = self.work / "compiled"
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(source, self.work / "tests", ignore=shutil.ignore_patterns("others"))
        (self.work / "sdk").mkdir()
        shutil.copy(SDK / "tsconfig.json", self.work / "sdk")
        shutil.copy(source / "tsconfig.json", self.work)
        (self.work / "package.json").write_text('{"type": "module"}\n')

    def compile(self):
        if not builder.compile_project(self.node, builder.CACHE, self.work):
            sys.exit("the tests do not compile")

    def run(self, command, environment, directory=None):
        return subprocess.run(command, env=os.environ | environment, cwd=directory or self.compiled,
                              check=False).returncode == 0


@contextlib.contextmanager
def served():
    """Starts a daemon; the variables that say where it is."""
    daemon = Daemon(user="")
    with tempfile.TemporaryDirectory(prefix="gb-packages.") as offered:
        os.chmod(offered, 0o755)
        wheel(pathlib.Path(offered), "ts_offered", "1.0",
              {"ts_offered.py": "def low():\n    return 'low'\n"})
        daemon.options = ["--network", "any", "--package-source", offered]
        try:
            daemon.start()
            yield {"TEST_URL": f"http://127.0.0.1:{daemon.port}", "TEST_KEY": daemon.key,
                   "TEST_SOCKET": str(daemon.unix), "TEST_VERSION": version(), "GLOVEBOX": GLOVEBOX,
                   "TEST_MCP_SERVER": str(ROOT / "sdk/python/tests/servers/mcp_server.py")}
        finally:
            daemon.discard()


def as_default(given):
    return given | {"GLOVEBOX_URL": given["TEST_URL"], "GLOVEBOX_API_KEY": given["TEST_KEY"]}


def run_table(only):
    suite = Suite(HERE, builder.CACHE)
    # In a directory below that of the compiler, whose node_modules has the types of Node.
    examples = write_examples(suite.work / "tests")
    suite.compile()
    with served() as given:
        chosen = ["--test-name-pattern", only] if only else []
        passed = suite.run([suite.node, "--test", "--test-reporter", "spec", *chosen,
                            "table.test.js", "restart.test.js"], given)
        for name in [] if only else examples:
            print(f"example {name}", flush=True)
            passed = suite.run([suite.node, f"{name}.js"], as_default(given)) and passed
    return passed


def run_others(build):
    npm_packages.install(OTHERS, build)
    suite = Suite(OTHERS, build)
    suite.compile()
    with served() as given:
        passed = True
        for name, (program, *options) in RUNTIMES.items():
            print(f"{name}:", flush=True)
            program = build / "node_modules" / program
            passed = suite.run([program, *options, "runtimes.js"], given) and passed
        return suite.run([suite.node, "--test", "--test-reporter", "spec", "adapters.test.js",
                          "harness.test.js"], as_default(given)) and passed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--only", default="", help="pattern of the rows to run")
    options = parser.parse_args()
    if subprocess.run([SDK / "generate", "--check"], check=False).returncode != 0:
        return 1
    try:
        passed = run_others(builder.CACHE.with_name("typescript-others")) if options.others \
            else run_table(options.only)
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
