# SPDX-License-Identifier: Apache-2.0
"""Programs that bring a sandbox of their own, in a sandbox with --nested."""

import os
import unittest

from program import Case, run

WRAP = "bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev"


@unittest.skipUnless(os.geteuid() == 0, "a cgroup that limits memory")
class Nested(Case):
    def inside(self, script, *options, status=0, nested=True):
        answer = run(*(["--nested"] if nested else []), *options, "-l", "bash", "-e", script)
        self.assert_status(answer, status)
        return answer.out.decode()

    def test_bubblewrap_makes_every_namespace_with_a_proc_and_devices(self):
        script = f"""set -e
{WRAP} sh -c 'echo "pid $$"; ls /proc | grep -c "^[0-9]"; cat /sys/class/net/lo 2>&1; echo x >/dev/null' | head -2
{WRAP} --hostname inner --uid 0 --gid 0 --tmpfs /tmp sh -c 'hostname; id -u; touch /tmp/mine && echo written'
{WRAP} sh -c 'touch /usr/mine 2>&1; touch /workspace/mine 2>&1; true'
"""
        said = self.inside(script)
        self.assertRegex(said, r"^pid \d\n\d\ninner\n0\nwritten\n")
        self.assertEqual(said.count("Read-only file system"), 2, said)

    def test_bubblewrap_can_forbid_further_user_namespaces(self):
        said = self.inside(f"{WRAP} --unshare-user --disable-userns sh -c "
                           "'unshare -U true 2>&1; cat /proc/sys/user/max_user_namespaces'")
        self.assertIn("No space left on device", said)

    def test_its_loopback_is_up_and_leads_nowhere(self):
        code = ("import socket, sys\\n"
                "s = socket.create_server((\"127.0.0.1\", 0))\\n"
                "socket.create_connection(s.getsockname()); print(\"loopback\")\\n"
                "try: socket.create_connection((\"192.0.2.1\", 80), 5)\\n"
                "except OSError as e: print(e.strerror)\\n")
        said = self.inside(f"printf '{code}' >net.py; {WRAP} python3 net.py")
        self.assertEqual(said, "loopback\nNetwork is unreachable\n")

    def test_unshare_mounts_a_proc_and_a_tmpfs_of_its_own(self):
        said = self.inside(
            "unshare --user --map-root-user --mount --pid --fork --mount-proc "
            "sh -c 'mount -t tmpfs none /tmp && touch /tmp/mine && readlink /proc/self; ls /tmp'")
        self.assertRegex(said, r"^\d\nmine\n$")

    def test_a_sandbox_within_it_can_install_filters(self):
        code = ("import ctypes, struct, errno, os\n"
                "libc = ctypes.CDLL(None, use_errno=True)\n"
                "code = ctypes.create_string_buffer(struct.pack('HBBI', 0x20, 0, 0, 0)"
                " + struct.pack('HBBI', 0x15, 0, 1, 83) + struct.pack('HBBI', 6, 0, 0, 0x50001)"
                " + struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
                "program = struct.pack('HxxxxxxQ', 4, ctypes.addressof(code))\n"
                "assert libc.prctl(22, 2, program, 0, 0) == 0\n"
                "try: os.mkdir('d')\n"
                "except OSError as e: print(errno.errorcode[e.errno])\n")
        answer = run("--nested", "-l", "python", "-e", code)
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"EPERM\n")

    def test_a_process_has_room_for_a_few_filters_and_not_for_many(self):
        code = ("import ctypes, struct\n"
                "libc = ctypes.CDLL(None)\n"
                "def install(size):\n"
                "    code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000) * size)\n"
                "    program = struct.pack('HxxxxxxQ', size, ctypes.addressof(code))\n"
                "    return libc.prctl(22, 2, program, 0, 0) == 0\n"
                "total, size = 0, 4096\n"
                "while size:\n"
                "    if install(size): total += size\n"
                "    else: size //= 2\n"
                "print(total)\n")
        answer = run("--nested", "-l", "python", "-e", code)
        self.assert_status(answer, 0)
        self.assertTrue(800 <= int(answer.out) <= 2500, str(answer))

    def test_namespaces_are_bounded_however_deep_they_are(self):
        deep = self.inside("n=0; f() { unshare -U -r bash -c \"echo $1; $(declare -f f); "
                           "f $(($1 + 1))\" 2>/dev/null; }; f 1; true")
        self.assertLess(int(deep.split()[-1]), 33)
        wide = self.inside("for i in $(seq 40); do unshare -U sleep 60 2>&1 & done; "
                           "while [ $(pgrep -c sleep) -lt 30 ]; do :; done; "
                           # Those as well that have not become "sleep" yet.
                           "kill $(jobs -p) 2>/dev/null; wait; true")
        self.assertIn("No space left on device", wide)

    def test_memory_of_a_file_system_of_its_own_counts(self):
        answer = run("--nested", "--memory", "64M", "--json", "-l", "bash", "-e",
                     "unshare -Urm sh -c 'mount -t tmpfs none /tmp; head -c 200M /dev/zero >/tmp/x'")
        self.assertEqual(answer.verdict["status"], "out_of_memory", str(answer))

    def test_the_verdict_says_which_walls_stood(self):
        answer = run("--nested", "--json", "-l", "bash", "-e", "true")
        walls = answer.verdict["walls"]
        self.assertEqual((walls["seccomp"], walls["landlock"]), ("nested", 0))
        self.assertTrue(walls["no_new_privs"] and walls["no_capabilities"])
        self.assertTrue(any("namespaces and mounts" in note for note in answer.verdict["notes"]))

    def test_without_it_there_are_none(self):
        self.inside(f"{WRAP} true", status=1, nested=False)
        self.inside("unshare -U true", status=1, nested=False)

    def test_what_it_cannot_be_combined_with_is_refused_with_a_hint(self):
        for options, said in {("--user", "root"): "leave out --nested or --user root",
                              ("--tier", "landlock"): "leave out --nested",
                              ("--tier", "gvisor"): "leave out --nested"}.items():
            answer = run("--nested", *options, "-l", "bash", "-e", "true")
            self.assertNotEqual(answer.status, 0)
            self.assertIn(said, answer.message)
        self.assertIn("--nested", run("--nested", "--seccomp", "strict", "-e", "1").message)
        policy = self.file("p.toml", "[commands]\nrefuse = [\"curl\"]\n")
        answer = run("--nested", "--policy", str(policy), "-l", "bash", "-e", "true")
        self.assertIn("leave out --nested", answer.message, str(answer))


@unittest.skipUnless(os.geteuid() == 0, "an ordinary user to become")
class OfAUser(Case):
    def test_without_a_cgroup_that_limits_memory_it_is_refused(self):
        self.dir.chmod(0o755)
        home = self.dir / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        answer = run("--nested", "--json", "-l", "bash", "-e", "true", user=65534, cwd=home,
                     env={"HOME": str(home), "XDG_RUNTIME_DIR": str(home),
                          "GLOVEBOX_RUNTIME_DIR": str(home / "run")})
        if answer.status == 0:
            self.skipTest("this user has a cgroup that limits memory")
        self.assertIn("requires a cgroup for its memory and processes", str(answer))


if __name__ == "__main__":
    unittest.main()
