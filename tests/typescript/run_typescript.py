#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the behaviour table of the TypeScript SDK, and the examples of its pages, against a daemon.

The package is built (sdk/typescript/build) and installed beside the tests, which are compiled
against it. Exit status 77 when npm is missing or its registry cannot be reached.
"""
import argparse
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


def prepare(build):
    """Builds the package and the tests into `build`; the program node."""
    node = builder.build(build / "node_modules/glovebox", build)
    (build / "sdk").mkdir(exist_ok=True)
    shutil.copy(SDK / "tsconfig.json", build / "sdk")
    work = build / "behaviour"
    npm_packages.copy_fresh(HERE, work / "tests")
    names = write_examples(work / "tests")
    (work / "sdk").mkdir(exist_ok=True)
    shutil.copy(SDK / "tsconfig.json", work / "sdk")
    shutil.copy(HERE / "tsconfig.json", work)
    (work / "package.json").write_text('{"type": "module"}\n')
    shutil.rmtree(work / "compiled", ignore_errors=True)
    if not builder.compile_project(node, build, work):
        sys.exit("the tests do not compile")
    return node, work / "compiled", names


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=builder.CACHE,
                        help="directory to build in (default: %(default)s)")
    parser.add_argument("--runtime", help="program that runs the tests instead of node")
    parser.add_argument("--only", default="", help="pattern of the rows to run")
    options = parser.parse_args()
    if subprocess.run([SDK / "generate", "--check"], check=False).returncode != 0:
        return 1
    try:
        node, compiled, examples = prepare(options.build)
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)

    daemon = Daemon(user="")
    with tempfile.TemporaryDirectory(prefix="gb-packages.") as offered:
        os.chmod(offered, 0o755)
        wheel(pathlib.Path(offered), "ts_offered", "1.0",
              {"ts_offered.py": "def low():\n    return 'low'\n"})
        daemon.options = ["--network", "any", "--package-source", offered]
        try:
            daemon.start()
            url = f"http://127.0.0.1:{daemon.port}"
            given = {"TEST_URL": url, "TEST_KEY": daemon.key, "TEST_SOCKET": str(daemon.unix),
                     "TEST_VERSION": version(), "GLOVEBOX": GLOVEBOX}
            done = subprocess.run(
                [options.runtime or node, "--test", "--test-reporter", "spec",
                 *(["--test-name-pattern", options.only] if options.only else []),
                 compiled / "table.test.js"], env=os.environ | given, check=False)
            failed = done.returncode != 0
            for name in [] if options.only else examples:
                print(f"example {name}", flush=True)
                done = subprocess.run([node, compiled / f"{name}.js"], check=False, cwd=offered,
                                      env=os.environ | {"GLOVEBOX_URL": url,
                                                        "GLOVEBOX_API_KEY": daemon.key})
                failed = failed or done.returncode != 0
        finally:
            daemon.discard()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
