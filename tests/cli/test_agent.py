# SPDX-License-Identifier: Apache-2.0
"""glovebox agent: a coding agent on a copy of a checkout. The agents are scripts, some of them
hostile; their vendor is a server of the test's own."""

import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import program
import test_sandbox

sys.path.append(str(program.ROOT / "tests/service"))
sys.path.append(str(program.ROOT / "tests/attacks"))
from reaching_daemon import start_reaching  # noqa: E402
from secure_network import Authority, SecureServer  # noqa: E402

KEY = "sk-the-real-key-of-the-test-4711"
QUESTION = b"[k]eep the sandbox: "
# Sends the key as its vendor's program would, and keeps what it saw of it.
VENDOR = """
import os, sys, urllib.request
key = os.environ["VENDOR_KEY"]
request = urllib.request.Request(sys.argv[1], headers={"X-Api-Key": key})
print(urllib.request.urlopen(request, timeout=60).read().decode())
open("seen", "w").write(key)
"""


class Case(test_sandbox.Case):
    """With a repository in `self.repository`, whose host's side is checked at the end."""

    @classmethod
    def setUpClass(cls):
        keys = tempfile.mkdtemp(prefix="glovebox-test-ca.")
        cls.addClassCleanup(shutil.rmtree, keys, ignore_errors=True)
        authority = Authority(keys)
        cls.vendor = SecureServer(authority.issue("vendor.example"))
        cls.addClassCleanup(cls.vendor.close)
        cls.other = SecureServer(authority.issue("other.example"))
        cls.addClassCleanup(cls.other.close)
        cls.daemon = start_reaching(cls, authority, ("vendor.example", "other.example"))
        cls.env = {"GLOVEBOX_URL": f"unix:{cls.daemon.unix}", "GLOVEBOX_API_KEY": "",
                   "VENDOR_KEY": ""}

    def setUp(self):
        super().setUp()
        self.env = {**self.env, "HOME": str(self.dir), "XDG_CONFIG_HOME": "",
                    "GIT_CONFIG_NOSYSTEM": "1"}
        self.repository = self.dir / "project"
        self.repository.mkdir()
        self.git("init", "-q", "-b", "trunk", ".")
        self.put("a.txt", "one\ntwo\nthree\n")
        self.put("src/main.c", "int main() {}\n")
        self.put(".gitignore", "build/\n.env\n")
        self.git("add", "-A")
        self.commit("first")
        self.put(".env", "PASSWORD=mine\n")
        self.git_files = self.of_git()

    def put(self, name, content):
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def read(self, name):
        return (self.repository / name).read_text()

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repository, check=True, text=True,
                              capture_output=True, env={**os.environ, **self.env}).stdout

    def commit(self, message):
        self.git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q",
                 "-m", message)
        self.git_files = self.of_git()

    def of_git(self):
        """What is in the repository's own directory."""
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in (self.repository / ".git").rglob("*") if path.is_file()}

    def words(self, script, *options):
        return ["agent", "--template", "default", "--command", script, str(self.repository),
                *options]

    def agent(self, script, *options, status=0):
        """A line of sh in place of an agent, without a terminal."""
        answer = self.ask(*self.words(script, *options), status=status)
        self.addCleanup(self.ask, "sandbox", "kill", "--all")
        return answer

    def sandboxes(self):
        return self.sandbox("ls", "-q").out.decode().split()

    def at_terminal(self, script, *options, answers=(b"y\n",)):
        """The same at a terminal, where a person answers, or a signal comes. All that it showed."""
        self.addCleanup(self.ask, "sandbox", "kill", "--all")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = self.start(*self.words(script, *options), stdin=theirs, stdout=theirs,
                             stderr=theirs)
        os.close(theirs)
        seen = b""
        for line in answers:
            seen += self.until(ours, QUESTION)
            if isinstance(line, bytes):
                os.write(ours, line)
            else:
                process.send_signal(line)
        seen += self.rest_of(ours)
        self.assertEqual(process.wait(program.PATIENCE_S), 0, seen)
        return seen.decode("utf-8", "replace")

    def rest_of(self, terminal):
        seen = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # The other end is closed.
                return seen
            seen += piece

    def start(self, *arguments, **how):
        process = subprocess.Popen(
            [program.GLOVEBOX, *arguments], env={**os.environ, **self.env}, cwd=self.dir, **how)
        self.addCleanup(process.wait, program.PATIENCE_S)
        self.addCleanup(process.kill)
        return process


class Checkouts(Case):
    def test_an_agent_has_the_files_and_the_history_as_they_are_here(self):
        self.put("a.txt", "one\nTWO\nthree\n")
        self.put("untracked", "new\n")
        answer = self.agent("git log --format=%s; git branch --show-current; git status --short; "
                            "ls -A; pwd", "--discard")
        self.assertEqual(answer.out.decode().splitlines(),
                         ["first", "trunk", " M a.txt", "?? untracked", ".git", ".gitignore",
                          "a.txt", "src", "untracked", "/workspace/project"])
        self.assertIn("the agent changed no files", answer.message)
        self.assertEqual(self.sandboxes(), [])

    def test_what_git_ignores_does_not_go_in(self):
        self.put("build/key", "secret")
        answer = self.agent("cat .env build/key || echo none", "--discard")
        self.assertEqual(answer.out, b"none\n")

    def test_without_history_the_files_are_one_commit(self):
        answer = self.agent("git log --format=%s; git status --short", "--no-history", "--discard")
        self.assertEqual(answer.out, b"The checkout as it was copied\n")

    def test_a_directory_that_is_no_repository_is_copied_whole(self):
        shutil.rmtree(self.repository / ".git")
        self.agent("cat .env > copied; ls -d .git", "--apply", status=2)
        self.agent("cat .env > copied", "--apply")
        self.assertEqual(self.read("copied"), "PASSWORD=mine\n")

    def test_a_part_of_a_repository_goes_in_without_its_history(self):
        whole = self.repository
        self.repository = whole / "src"
        answer = self.agent("git log --format=%s; ls; echo x > new", "--apply")
        self.assertIn("without the history", answer.message)
        self.assertTrue(answer.out.decode().startswith("The checkout as it was copied\nmain.c\n"))
        self.assertEqual((whole / "src/new").read_text(), "x\n")

    def test_submodules_are_named_and_left_out(self):
        (self.repository / "inner").mkdir()
        subprocess.run(["git", "init", "-q", "inner"], cwd=self.repository, check=True)
        self.put("inner/file", "x")
        answer = self.agent("ls -d inner || echo none", "--discard")
        self.assertIn("not copied: inner/ (a repository of its own)", answer.message)
        self.assertEqual(answer.out, b"none\n")


class Decisions(Case):
    CHANGE = ("sed -i s/two/TWO/ a.txt; rm src/main.c; chmod +x .gitignore; "
              "mkdir new; printf 'n' > new/file; ln -s ../a.txt new/link; mkdir build; echo > build/o")

    def assert_changed(self):
        self.assertEqual(self.read("a.txt"), "one\nTWO\nthree\n")
        self.assertFalse((self.repository / "src").exists())
        self.assertEqual(self.read("new/file"), "n")
        self.assertEqual(os.readlink(self.repository / "new/link"), "../a.txt")
        self.assertTrue(os.access(self.repository / ".gitignore", os.X_OK))
        self.assertFalse((self.repository / "build").exists())
        self.assertEqual(self.of_git(), self.git_files)

    def assert_as_before(self):
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

    def test_a_person_sees_the_diff_and_agrees(self):
        shown = self.at_terminal(self.CHANGE)
        self.assertIn("\x1b[31m-two\x1b[0m", shown)
        self.assertIn("\x1b[32m+TWO\x1b[0m", shown)
        self.assertIn("applied 5 changes to", shown)
        self.assert_changed()
        self.assertEqual(self.sandboxes(), [])

    def test_a_person_says_no(self):
        self.at_terminal(self.CHANGE, answers=[b"\n", b"n\n"])
        self.assert_as_before()
        self.assertEqual(self.sandboxes(), [])

    def test_a_person_keeps_the_sandbox(self):
        shown = self.at_terminal(self.CHANGE, answers=[b"k\n"])
        self.assert_as_before()
        (id,) = self.sandboxes()
        self.assertIn(f"glovebox sandbox cp {id}:project", shown)
        self.assertEqual(self.sandbox("cp", f"{id}:project/new/file", "-").out, b"n")
        self.sandbox("kill", id)

    def test_the_end_of_input_keeps_the_sandbox(self):
        self.at_terminal(self.CHANGE, answers=[b"\x04"])
        self.assert_as_before()
        self.sandbox("kill", *self.sandboxes())

    def test_an_interrupt_at_the_question_keeps_the_sandbox(self):
        self.at_terminal(self.CHANGE, answers=[signal.SIGINT])
        self.assert_as_before()
        self.sandbox("kill", *self.sandboxes())

    def test_nobody_to_ask_applies_nothing_and_loses_nothing(self):
        answer = self.agent(self.CHANGE)
        self.assertIn("hint: use --apply", answer.message)
        self.assertIn("+TWO", answer.out.decode())
        self.assert_as_before()
        self.assertEqual(len(self.sandboxes()), 1)

    def test_apply_asks_nobody(self):
        self.agent(self.CHANGE, "--apply")
        self.assert_changed()
        self.assertEqual(self.sandboxes(), [])

    def test_what_a_failed_agent_did_is_not_applied(self):
        answer = self.agent(self.CHANGE + "; exit 3", "--apply", status=3)
        self.assertIn("nothing was applied", answer.message)
        self.assert_as_before()
        self.assertEqual(len(self.sandboxes()), 1)

    def test_a_patch_is_one_for_git(self):
        self.agent(self.CHANGE, "--diff", "changes.patch")
        self.assert_as_before()
        self.git("apply", "../changes.patch")
        self.assert_changed()
        self.assertEqual(self.sandboxes(), [])

    def test_a_branch_has_the_changes_and_the_working_files_do_not(self):
        self.agent(self.CHANGE, "--branch", "agent/fix")
        self.assert_as_before()
        self.assertEqual(self.git("log", "--format=%s", "trunk..agent/fix"),
                         "Changes by command in a sandbox\n")
        self.assertEqual(self.git("diff", "--name-status", "trunk", "agent/fix").split("\n")[:-1],
                         ["M\t.gitignore", "M\ta.txt", "A\tnew/file", "A\tnew/link",
                          "D\tsrc/main.c"])
        self.git("checkout", "-q", "agent/fix")
        self.git_files = self.of_git()
        self.assert_changed()

    def test_a_branch_that_exists_or_has_no_name_is_refused(self):
        for name, what in (("trunk", "exists already"), ("a..b", "invalid branch name"),
                           ("-q", "invalid branch name")):
            answer = self.agent("echo > new", f"--branch={name}",
                                status=125 if name == "trunk" else 2)
            self.assertIn(what, answer.message)
            self.assertIn("still has the agent's files", answer.message)
        self.assertEqual(self.git("branch", "--list"), "* trunk\n")

    def test_a_file_that_was_changed_on_both_sides_is_a_conflict(self):
        script = ("echo theirs > a.txt; echo theirs > src/main.c; echo waiting; "
                  "while [ ! -e /tmp/go ]; do sleep 0.05; done")
        process = self.start(*self.words(script, "--apply"), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.until(process.stdout, b"waiting")
        self.put("a.txt", "mine\n")
        (id,) = self.sandboxes()
        self.sandbox("exec", id, "--", "touch", "/tmp/go")
        out, err = process.communicate(timeout=program.PATIENCE_S)
        self.assertEqual(process.returncode, 125, err)
        self.assertIn(b"nothing was applied: a.txt: changed or removed here meanwhile", err)
        self.assertIn(b"! a.txt  was changed here meanwhile", out)
        self.assertEqual(self.read("a.txt"), "mine\n")
        self.assertEqual(self.read("src/main.c"), "int main() {}\n")
        self.assertEqual(self.sandboxes(), [id])
        self.sandbox("kill", id)

    def test_what_git_ignores_here_is_not_replaced(self):
        self.put("build/kept", "mine\n")
        answer = self.agent("printf '' > .gitignore; mkdir build; echo theirs > build/kept", "--apply",
                            status=125)
        self.assertIn("build/kept: it exists here, and was not copied", answer.message)
        self.assertEqual(self.read("build/kept"), "mine\n")
        self.assertEqual(self.read(".gitignore"), "build/\n.env\n")


class Keys(Case):
    def profile(self, url):
        text = "\n".join([
            f"command = ['python3', '-c', {json.dumps(VENDOR)}, '{url}']",
            f"hosts = ['127.0.0.1:{self.vendor.port}', '127.0.0.1:{self.other.port}',"
            f" 'other.example:{self.other.port}']",
            "[[keys]]", "variable = 'VENDOR_KEY'", "prefix = 'sk-vendor-'",
            f"hosts = ['vendor.example:{self.vendor.port}']"])
        return str(self.file("vendor.toml", text))

    def run_vendor(self, *options, key=KEY, url=None, status=0):
        url = url or f"https://vendor.example:{self.vendor.port}/v1"
        self.vendor.requests.clear()
        self.other.requests.clear()
        self.env = {**self.env, "VENDOR_KEY": key}
        answer = self.ask("agent", "--template", "default", self.profile(url), str(self.repository),
                          *options, status=status)
        # Whatever happened: nothing that anybody is told has the value.
        self.assertNotIn(KEY, answer.out.decode() + answer.message)
        return answer

    def test_the_vendor_has_the_key_and_the_agent_a_placeholder(self):
        answer = self.run_vendor("--apply")
        self.assertIn(b"here you are", answer.out)
        self.assertEqual(self.vendor.headers("X-Api-Key"), [KEY])
        self.assertRegex(self.read("seen"), r"^sk-vendor-[0-9a-f]{48}$")

    def test_the_daemon_keeps_no_key(self):
        self.run_vendor("--keep", "--discard")
        secrets = self.daemon.must(200, "GET", "/secrets")
        self.assertEqual(secrets, [], secrets)
        shown = self.sandbox("info", *self.sandboxes(), "--json").out.decode()
        self.assertNotIn(KEY, shown)
        self.sandbox("kill", "--all")

    def test_another_host_gets_the_placeholder(self):
        self.run_vendor("--apply", url=f"https://other.example:{self.other.port}/")
        self.assertEqual(self.other.headers("X-Api-Key"), [self.read("seen")])

    def test_a_host_that_no_rule_names_is_not_reached(self):
        answer = self.agent("python3 -c 'import urllib.request as u; "
                            f"u.urlopen(\"https://vendor.example:{self.vendor.port}/\")'",
                            "--discard", status=1)
        self.assertIn("Error", answer.message)

    def test_without_its_key_no_agent_starts_unless_that_is_wanted(self):
        answer = self.run_vendor(key="", status=2)
        self.assertIn("VENDOR_KEY is not set", answer.message)
        self.assertIn("--no-key", answer.message)
        self.assertEqual(self.sandboxes(), [])
        self.run_vendor("--no-key", "--discard", key="", status=1)  # KeyError: no variable inside.

    def test_the_template_that_is_missing_is_named_with_the_way_to_build_it(self):
        self.env = {**self.env, "ANTHROPIC_API_KEY": KEY}
        answer = self.ask("agent", "claude", str(self.repository), status=2)
        self.assertIn("glovebox template build agent", answer.message)


class Hostile(Case):
    """What an agent may leave behind, which the host must bear."""

    def setUp(self):
        super().setUp()
        self.canary = self.dir / "canary"

    def apply(self, script, *options):
        answer = self.agent(script, "--apply", *options)
        # What a person does next, with git as it is configured here.
        self.git("status")
        self.git("diff")
        self.assertFalse(self.canary.exists())
        return answer

    def test_git_runs_nothing_that_the_agent_wrote(self):
        line = f"#!/bin/sh\\ntouch {self.canary}\\n"
        before = (self.repository / ".git/config").read_bytes()
        self.apply(
            f"printf '{line}' | tee .git/hooks/pre-commit .git/hooks/post-checkout evil.sh "
            "> .git/hooks/fsmonitor; chmod +x .git/hooks/* evil.sh; "
            "git config core.fsmonitor ./evil.sh; git config core.pager ./evil.sh; "
            "git config filter.evil.clean ./evil.sh; git config filter.evil.smudge ./evil.sh; "
            "git config diff.evil.textconv ./evil.sh; "
            "echo '* filter=evil diff=evil' > .gitattributes; echo changed >> a.txt")
        self.assertEqual((self.repository / ".git/config").read_bytes(), before)
        self.assertEqual(list((self.repository / ".git/hooks").glob("fsmonitor")), [])
        self.assertIn("changed", self.read("a.txt"))

    def test_hooks_and_settings_of_the_repository_here_do_not_run_for_us(self):
        for name in ("reference-transaction", "post-index-change", "pre-commit", "fsmonitor"):
            hook = self.repository / ".git/hooks" / name
            hook.write_text(f"#!/bin/sh\ntouch {self.canary}\n")
            hook.chmod(0o755)
        self.git("config", "core.fsmonitor", str(self.repository / ".git/hooks/fsmonitor"))
        self.canary.unlink(missing_ok=True)
        self.agent("echo > new", "--branch", "agent")
        self.assertFalse(self.canary.exists())

    def test_its_own_git_cannot_be_replaced_by_a_file_or_a_link(self):
        for script in ("rm -rf .git; echo 'gitdir: /tmp/evil' > .git; echo x > new",
                       "rm -rf .git; ln -s /tmp .git; echo x > new2",
                       "mkdir -p sub/.git; echo x > sub/.git/config; rm -rf .git; echo x > new3"):
            self.apply(script)
            self.assertTrue((self.repository / ".git/config").is_file())
            self.assertFalse((self.repository / "sub/.git").exists())

    def test_what_tools_run_unasked_is_applied_only_after_a_person_saw_it(self):
        script = "mkdir .vscode; echo x > .vscode/tasks.json; echo x > new"
        answer = self.apply(script)
        self.assertIn("not taken over: .vscode/tasks.json: tools run it unasked", answer.message)
        self.assertEqual(self.read("new"), "x\n")
        self.assertFalse((self.repository / ".vscode").exists())
        shown = self.at_terminal(script + "2")
        self.assertIn(".vscode/tasks.json  +1 -0  (tools run it unasked)", shown)
        self.assertEqual(self.read(".vscode/tasks.json"), "x\n")

    def test_links_out_of_the_checkout_are_not_made(self):
        answer = self.apply("ln -s /etc/passwd a; ln -s ../.. b; ln -s .git/config c; "
                            "mkdir d; ln -s .. d/up; ln -s d/up/../.. e; echo x > new")
        self.assertEqual(sorted(re.findall(r"not taken over: (\S+):", answer.message)),
                         ["a", "b", "c", "e"])
        self.assertEqual(os.readlink(self.repository / "d/up"), "..")
        for name in "abce":
            self.assertFalse((self.repository / name).is_symlink(), name)

    def test_a_directory_that_becomes_a_link_takes_nothing_outside_along(self):
        outside = self.dir / "outside"
        outside.mkdir()
        (outside / "main.c").write_text("mine")
        self.apply(f"rm -r src; ln -s {outside} src")
        self.assertEqual((outside / "main.c").read_text(), "mine")
        self.assertFalse((self.repository / "src").is_symlink())

    def test_names_with_control_characters_are_shown_escaped_and_left_behind(self):
        answer = self.apply(r"""printf x > "$(printf 'new\nline')"; printf x > "$(printf '\033[2Jx')"; """
                            r"""printf x > "$(printf '\342\200\256txt')"; echo x > new""")
        self.assertIn("not taken over: new\\nline: control characters", answer.message)
        self.assertNotIn("\x1b", answer.message + answer.out.decode())
        self.assertEqual(sorted(os.listdir(self.repository)),
                         [".env", ".git", ".gitignore", "a.txt", "new", "src"])

    def test_a_diff_drives_no_terminal(self):
        shown = self.at_terminal(r"printf '\033]0;title\007\033[2Jx\342\200\256\n' > new")
        self.assertNotIn("\x1b]", shown)
        self.assertNotIn("\x1b[2J", shown)
        self.assertIn("+\\x1b]0;title\\x07\\x1b[2Jx\\u202e", shown)

    def test_what_is_no_file_is_left_behind_and_deletes_nothing(self):
        answer = self.apply("rm a.txt; mkfifo a.txt pipe; echo x > src/main.c; chmod 000 src/main.c; "
                            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'")
        self.assertEqual(sorted(re.findall(r"not taken over: (\S+):", answer.message)),
                         ["a.txt", "pipe", "s", "src/main.c"])
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")
        self.assertEqual(self.read("src/main.c"), "int main() {}\n")

    def test_a_huge_diff_is_cut_and_says_so(self):
        answer = self.apply("seq 1 200000 > many; head -c 1000000 /dev/zero | tr '\\0' x > long")
        self.assertLess(len(answer.out), 200_000)
        self.assertIn("the diff has more lines", answer.out.decode())
        self.assertEqual(len(self.read("many").splitlines()), 200_000)

    def test_a_person_can_see_all_of_a_diff_before_agreeing(self):
        shown = self.at_terminal("seq 1 5000 > many", answers=[b"a\n", b"n\n"])
        self.assertIn("+5000", shown)

    def test_a_file_that_is_too_large_is_left_behind(self):
        answer = self.apply("truncate -s 65M large; echo x > new", "--disk", "1G")
        self.assertIn("not taken over: large: larger than 64 MiB", answer.message)
        self.assertTrue((self.repository / "new").exists())

    def test_thousands_of_files_come_back(self):
        self.apply("mkdir d; cd d; python3 -c 'for i in range(3000): print(i, file=open(f\"f{i}\", \"w\"))'",
                   "--inodes", "20000")
        self.assertEqual(len(list((self.repository / "d").iterdir())), 3000)
        self.assertEqual(self.read("d/f2999"), "2999\n")

    def test_more_changes_than_anybody_reads_are_an_error_and_stay(self):
        answer = self.agent("python3 -c 'for i in range(50001): open(f\"f{i}\", \"w\")'",
                            "--inodes", "100000", "--apply", status=125)
        self.assertIn("more than 50000 files are changed", answer.message)
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_an_agent_that_destroys_its_copy_deletes_only_what_it_had(self):
        self.apply("rm -rf ./* .git .gitignore")
        self.assertEqual(sorted(os.listdir(self.repository)), [".env", ".git"])
        self.git("checkout", "-q", ".")
