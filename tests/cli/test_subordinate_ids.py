# SPDX-License-Identifier: Apache-2.0
"""Root inside as an ordinary user who has ids in /etc/subuid and /etc/subgid. The user, and the files
that name it, exist in a mount namespace of the test's own only."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import program

sys.path.insert(0, str(program.ROOT / "tests/service"))
import images  # noqa: E402
from daemon import Daemon  # noqa: E402

USER, NAME = 61234, "lent"
FIRST, SIZE = 1_234_000_000, 16_384
FILES = ("passwd", "subuid", "subgid")
CGROUPS = pathlib.Path("/sys/fs/cgroup")

# Who has one id only can set no other owner.
PACKAGE = r"""
mkdir -p tree/DEBIAN tree/opt/greet again
printf 'Package: greet\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >tree/DEBIAN/control
echo hello >tree/opt/greet/secret
dpkg-deb --build tree greet.deb >/dev/null
dpkg-deb --fsys-tarfile greet.deb >greet.tar
tar --delete -f greet.tar ./opt/greet/secret
tar -rf greet.tar -C tree --owner=33 --group=42 ./opt/greet/secret
tar -xpf greet.tar -C again --numeric-owner && stat -c '%u:%g' again/opt/greet/secret
"""


def groups_of_ours():
    """Directories of control groups below those that we are in."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS / f"gb-test-{os.getpid()}"]
    made = []
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in {"memory", "pids"} & set(names.split(",")):
            made.append(CGROUPS / name / path.strip("/") / f"gb-test-{os.getpid()}")
    return made


@unittest.skipUnless(os.geteuid() == 0, "only root can become an ordinary user")
@unittest.skipUnless(os.path.exists("/usr/bin/newuidmap"), "newuidmap is not installed")
@unittest.skipUnless(all(os.path.exists(f"/etc/{name}") for name in FILES),
                     "there is no /etc/subuid to mount the test's own over")
class SubordinateIds(program.Case):
    def setUp(self):
        super().setUp()
        self.dir.chmod(0o755)
        self.file("passwd", pathlib.Path("/etc/passwd").read_text() +
                  f"{NAME}:x:{USER}:{USER}::/nonexistent:/bin/sh\n")
        self.give(f"{NAME}:{FIRST}:65536\n")
        runtime = self.dir / "run"
        runtime.mkdir(0o700)
        shutil.chown(runtime, USER, USER)
        self.groups = groups_of_ours()
        for group in self.groups:
            try:
                group.mkdir()
            except OSError as problem:
                self.skipTest(f"no control group can be made: {problem}")
            self.addCleanup(group.rmdir)
            for path in (group, *(group / name for name in (
                    "tasks", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"))):
                if path.exists():
                    shutil.chown(path, USER, USER)

    def give(self, lines):
        for name in FILES[1:]:
            self.file(name, lines)

    def wrapper(self, prelude="", grouped=True, groups="--clear-groups"):
        """A command that runs the words behind it as that user."""
        binds = "".join(f"mount --bind '{self.dir}/{name}' /etc/{name}\n" for name in FILES)
        joins = "".join(f"echo 0 >'{group}/cgroup.procs'\n" for group in self.groups if grouped)
        return ["unshare", "--mount", "sh", "-ec",
                f"{binds}{joins}{prelude}\nexec setpriv --reuid {USER} --regid {USER} {groups} "
                f'env XDG_RUNTIME_DIR="{self.dir}/run" XDG_CACHE_HOME="{self.dir}/run/cache" "$@"',
                "sh"]

    def command(self, *words, user="root", **how):
        """The words of `glovebox run` as that user."""
        inside = ("--user", user) if user else ()
        return [*self.wrapper(**how), program.GLOVEBOX, "run", *inside, *words]

    def daemon(self):
        """A daemon of that user."""
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        shutil.chown(daemon.dir, USER, USER)
        daemon.wrapper = self.wrapper()
        return daemon.start()

    def run_as_user(self, script, *options, **how):
        done = subprocess.run(self.command("--json", *options, "-l", "bash", "-e", script, **how),
                              capture_output=True, timeout=program.PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        answer = program.Answer(done)
        self.assertTrue(answer.out, str(answer))
        return answer.verdict

    def end_with_test(self, process):
        """By the end of its input, so that it takes its control groups with it."""
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, program.PATIENCE_S)
        self.addCleanup(process.stdin.close)

    def said(self, verdict):
        return verdict["stdout"].strip(), " ".join(verdict["notes"])

    def test_root_has_other_users_and_gives_them_files(self):
        out, notes = self.said(self.run_as_user(
            "cat /proc/self/uid_map | tr -s ' \\n' ' '; echo; touch f; chown 33:42 f; "
            "stat -c %u:%g f; useradd -m alice; su alice -c 'id -un; cd; touch mine; "
            "stat -c %U mine; echo x >/root/x' 2>&1; setpriv --reuid 65534 --regid 65534 "
            "--clear-groups id -un; kill -0 1 2>&1; id -G"))
        low = SIZE - 16
        self.assertTrue(out.startswith(
            f"0 {USER} 1 1 {FIRST} {low} 65520 {FIRST + low} 16"), out)
        self.assertRegex(out, r"33:42\nalice\nalice\n.*/root/x: Permission denied\nnobody\n")
        self.assertTrue(out.endswith("\n0"), out)
        self.assertNotIn("only user", notes)
        self.assertIn("/usr is read-only", notes)

    def test_files_of_a_package_have_their_owners(self):
        out, _ = self.said(self.run_as_user(PACKAGE))
        self.assertEqual(out, "33:42")
        self.give("")
        verdict = self.run_as_user(PACKAGE)
        self.assertIn("Cannot change ownership", verdict["stderr"])

    def test_an_image_runs_as_its_user_and_root_changes_all_of_it(self):
        layer = images.tar_of(images.small_root(f"/usr/bin/{name}" for name in ("chown", "stat")))
        image = self.file("image.tar", images.oci_layout([layer], says={"User": "1234"}))
        for user, expected in (("", b"1234\n1\n"), ("65532", b"65532\n1\n"), ("root", b"0\n7:8\n")):
            with self.subTest(user=user):
                done = subprocess.run(
                    self.command("--image", image, "--", "bash", "-c",
                                 "id -u; { echo x >/usr/x; } 2>/dev/null || echo $?; "
                                 "[ ! -e /usr/x ] || { chown 7:8 /usr/x; stat -c %u:%g /usr/x; }",
                                 user=user),
                    capture_output=True, timeout=program.PATIENCE_S, check=False,
                    stdin=subprocess.DEVNULL)
                self.assertEqual(done.stdout, expected, done)

    def test_a_daemon_runs_what_is_made_from_an_image_as_its_user_while_there_are_ids(self):
        self.give(f"{NAME}:{FIRST}:{SIZE}\n")
        daemon = self.daemon()
        layer = images.tar_of(images.small_root(f"/usr/bin/{name}" for name in ("id", "stat")))
        answer = daemon.ask("PUT", "/v1/templates/app/archive?format=docker",
                            images.docker_save([layer], says={"User": "1234"}),
                            {"Content-Type": "application/x-tar"})
        self.assertEqual(json.loads(answer.body.splitlines()[-1])["type"], "built", answer)
        asks = {"argv": ["bash", "-c", "id -u; echo x >own; stat -c %u own .; "
                                       "{ echo x >/usr/x; } 2>/dev/null || echo refused"]}
        first = daemon.create(template="app")
        self.assertEqual(first.must(200, "POST", "/commands", asks)["stdout"],
                         "1234\n1234\n1234\nrefused\n")
        root = first.must(200, "POST", "/commands", {"argv": ["id", "-u"], "user": "root"})
        self.assertEqual(root["stdout"], "0\n")
        # All ids are taken: the image's user is not exchanged for another one in silence.
        refused = daemon.ask("POST", "/v1/sandboxes", {"template": "app"})
        self.assertIn("have all ids of /etc/subuid", refused.json["message"])
        guest = daemon.create(template="app", user="user")
        self.assertEqual(guest.must(200, "POST", "/commands", {"argv": ["id", "-u"]})["stdout"],
                         "1000\n")
        daemon.must(204, "DELETE", first.path)
        ran = daemon.must(200, "POST", "/v1/run", {"template": "app", "language": "bash",
                                                   "code": "id -u"})
        self.assertEqual(ran["stdout"], "1234\n", ran)

    def test_doctor_says_how_many_sandboxes_can_have_several_users_and_what_is_missing(self):
        def found(**how):
            done = subprocess.run([*self.wrapper(**how), program.GLOVEBOX, "doctor", "--json"],
                                  capture_output=True, timeout=program.PATIENCE_S, check=False)
            findings = json.loads(done.stdout)["findings"]
            return next(each for each in findings if each["what"] == "users")

        users = found()
        self.assertEqual((users["ok"], users["detail"][:2]), (True, "4 "), users)
        users = found(prelude="mount --bind /dev/null /etc/subgid")
        self.assertFalse(users["ok"])
        self.assertIn("fewer than 16384 ids", users["detail"])
        self.assertIn("usermod --add-subuids", users["hint"])

    def test_other_users_are_lent_ids_outside_and_two_sandboxes_share_none(self):
        running = []
        for _ in range(2):
            process = subprocess.Popen(
                self.command("-l", "bash", "-e", "setpriv --reuid 33 --regid 33 --clear-groups "
                             "sh -c 'echo ready; read line; true'"),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.end_with_test(process)
            self.assertEqual(process.stdout.readline(), "ready\n")
            running.append(process)
        seen = set()
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                uids = re.search(r"^Uid:\t(\d+)\t(\d+)\t(\d+)\t", status.read_text(), re.M).groups()
            except (OSError, AttributeError):
                continue
            seen |= {int(uid) for uid in uids if FIRST <= int(uid) < FIRST + 65_536}
        self.assertEqual(seen, {FIRST + 32, FIRST + SIZE + 32})
        for process in running:
            process.stdin.close()
            self.assertEqual(process.wait(program.PATIENCE_S), 0)

    def test_without_free_ids_root_is_alone_and_a_note_says_so(self):
        self.give(f"{NAME}:{FIRST}:{SIZE}\n")
        holder = subprocess.Popen(self.command("-l", "bash", "-e", "echo ready; read line; true"),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.end_with_test(holder)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        out, notes = self.said(self.run_as_user("id -u; touch f; chown 33 f 2>&1"))
        self.assertRegex(out, r"^0\nchown: .*Invalid argument")
        self.assertIn("other sandboxes of this user have all ids", notes)
        holder.stdin.close()
        self.assertEqual(holder.wait(program.PATIENCE_S), 0)
        _, notes = self.said(self.run_as_user("true"))
        self.assertNotIn("only user", notes)

    def test_where_nothing_can_be_lent_root_is_alone_and_a_note_says_why(self):
        fails = self.file("fails", "#!/bin/sh\necho 'no such luck' >&2; exit 1\n")
        fails.chmod(0o755)
        for why, how in (
                ("fewer than 16384 ids", {"prelude": "umount /etc/subuid; mount --bind /dev/null "
                                                     "/etc/subuid"}),
                ("newuidmap maps no ids: no such luck",
                 {"prelude": f"mount --bind '{fails}' /usr/bin/newuidmap"}),
                ("newgidmap maps no ids",
                 {"prelude": "mount --bind /bin/false /usr/bin/newgidmap"}),
                ("no cgroup limits the processes of several users", {"grouped": False})):
            with self.subTest(why):
                verdict = self.run_as_user("id -u", **how)
                out, notes = self.said(verdict)
                self.assertEqual(out, "0")
                self.assertIn("root is the only user here", notes)
                self.assertIn(why, notes)

    def test_the_groups_of_the_user_are_left_outside(self):
        out, _ = self.said(self.run_as_user("id -G; grep ^Groups /proc/self/status",
                                            groups="--groups 4,27"))
        self.assertRegex(out, r"^0\nGroups:\s*$")

    def test_a_limit_on_processes_holds_for_all_users_together(self):
        verdict = self.run_as_user(
            "for uid in 33 34 35 36; do setpriv --reuid $uid --clear-groups sh -c '"
            "for i in 1 2 3 4 5 6 7 8; do sleep 100 & done; wait' & done; wait 2>&1",
            "--pids", "20", "--time", "3s")
        self.assertEqual((verdict["limits"]["pids"]["enforced"], verdict["limits"]["pids"]["hit"]),
                         (True, True), verdict)


if __name__ == "__main__":
    unittest.main()
