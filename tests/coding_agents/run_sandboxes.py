#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sandboxes that coding agents bring, as npm has them, in a sandbox with --nested: Anthropic's
sandbox-runtime (srt), Claude Code's around the commands of a scripted model, and that of Codex. Exit
status 77 when npm is missing or its registry cannot be reached.
"""
import json
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("tools", "tests/cli")]
import npm_packages  # noqa: E402
import program  # noqa: E402

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
PACKAGES = ("@anthropic-ai/sandbox-runtime@0.0.78", "@anthropic-ai/claude-code@2.1.332",
            "@openai/codex@0.171.0")
BUILD = ROOT / "build/agent-sandboxes"
SETTINGS = {"network": {"allowedDomains": ["allowed.example"], "deniedDomains": []},
            "filesystem": {"denyRead": ["/workspace/secret"], "allowWrite": ["/workspace/out"],
                           "denyWrite": []}}
# Of Claude Code: every command of its tool Bash is in its sandbox, and needs no leave then.
CLAUDE_SETTINGS = {"sandbox": {
    "enabled": True, "failIfUnavailable": True, "autoAllowBashIfSandboxed": True,
    "allowUnsandboxedCommands": False, "network": {"allowedDomains": ["allowed.example"]}}}
CLAUDE_COMMAND = """printf 'made by a tool\\n' > made.txt
touch ../outside; touch /tmp/outside
curl -sS -m 20 http://other.example
python3 -c 'import socket; socket.socket(socket.AF_UNIX)'
id -un; exit 0"""


def install():
    stamp = BUILD / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == list(PACKAGES):
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    npm_packages.npm("install", BUILD, "--prefix", str(BUILD), *PACKAGES)
    stamp.write_text(json.dumps(PACKAGES))


class Sandboxes(program.Case):
    def inside(self, script, *options, nested=True):
        answer = program.run(*["--nested"] * nested, "--time", "100s", "--pids", "400", *options,
                             "-l", "bash", "-e", script)
        self.assert_status(answer, 0)
        return answer.out.decode()

    def claude(self, nested):
        """What became of CLAUDE_COMMAND, which a model has Claude Code run."""
        program_of_npm = BUILD / f"node_modules/@anthropic-ai/claude-code-linux-{MACHINE}/claude"
        settings = self.file("settings.json", json.dumps(CLAUDE_SETTINGS))
        here = pathlib.Path(__file__).parent
        return json.loads(self.inside(
            "python3 claude_inside.py", "--memory", "3G", "--disk", "1G",
            "--env", f"COMMAND={CLAUDE_COMMAND}", "--file", f"{program_of_npm}:claude",
            "--file", f"{settings}:settings.json",
            *(word for name in ("claude_inside.py", "vendors.py")
              for word in ("--file", f"{here / name}:{name}")), nested=nested))

    def test_srt_holds_a_command_to_its_files_and_hosts(self):
        settings = self.file("settings.json", json.dumps(SETTINGS))
        inner = self.file("inner.sh", """
echo "as $(id -un)"; cat secret/key; touch refused; touch out/made; ls out
curl -sS -m 20 http://other.example; echo
python3 -c 'import socket; socket.socket(socket.AF_UNIX)'
""")
        node = npm_packages.new_enough_node(BUILD)
        options = ["--file", f"{node}:node"] if not node.startswith("/usr/") else []
        modules = BUILD / "node_modules"
        others = ("@anthropic-ai", "@openai", ".bin", ".package-lock.json")
        names = ["@anthropic-ai/sandbox-runtime",
                 *(found.name for found in modules.iterdir() if found.name not in others)]
        packages = [word for name in names
                    for word in ("--file", f"{modules / name}:srt/node_modules/{name}")]
        said = self.inside(
            "mkdir out secret; echo hidden >secret/key; PATH=/workspace:$PATH "
            "node srt/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js "
            "--settings settings.json bash inner.sh 2>&1; true", "--memory", "1G", *options,
            *packages, "--file", f"{settings}:settings.json", "--file", f"{inner}:inner.sh")
        self.assertIn("as guest\n", said)
        self.assertNotIn("hidden", said)
        self.assertIn("cannot touch 'refused': Read-only file system", said.replace(
            "/workspace/refused", "refused"))
        self.assertIn("\nmade\n", said)
        self.assertIn("Connection blocked by network allowlist", said)
        self.assertIn("PermissionError", said)

    def test_claude_code_holds_the_commands_of_its_model_to_the_project(self):
        told = self.claude(nested=True)
        self.assertEqual(told["status"], 0, told)
        self.assertEqual(told["made"], "made by a tool\n", told)
        self.assertEqual(told["outside"], [])
        result = told["tool"]["content"]
        self.assertEqual(result.count("Read-only file system"), 2, result)
        self.assertIn("Connection blocked by network allowlist", result)
        self.assertIn("PermissionError", result)
        self.assertIn("\nguest\n", result)

    def test_claude_code_runs_no_command_where_its_sandbox_cannot_be(self):
        told = self.claude(nested=False)
        self.assertTrue(told["tool"]["is_error"], told)
        self.assertIn("No permissions to create new namespace", told["tool"]["content"])
        self.assertIsNone(told["made"])
        self.assertEqual(told["outside"], [])

    def test_codex_holds_a_command_to_its_workspace(self):
        vendor, = (BUILD / f"node_modules/@openai/codex-linux-{MACHINE}/vendor").iterdir()
        said = self.inside(
            "export CODEX_HOME=$PWD/.codex; mkdir $CODEX_HOME\n"
            "codex/bin/codex sandbox -- sh -c 'echo in; touch mine; touch /usr/mine' 2>&1\n"
            "codex/bin/codex sandbox -c 'sandbox_mode=\"workspace-write\"' -- sh -c "
            "'touch mine && ls mine; python3 -c \"import socket; socket.socket()\"' 2>&1; true",
            "--memory", "3G", "--disk", "1G",
            *(word for name in ("bin/codex", "codex-resources/bwrap")
              for word in ("--file", f"{vendor}/{name}:codex/{name}")))
        self.assertTrue(said.startswith("in\n"), said)
        self.assertEqual(said.count("Read-only file system"), 2, said)
        self.assertIn("\nmine\n", said)
        self.assertIn("PermissionError", said)


def main():
    try:
        install()
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
