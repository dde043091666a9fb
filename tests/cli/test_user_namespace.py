# SPDX-License-Identifier: Apache-2.0
"""glovebox as root of a user namespace: a rootless container, a pod with hostUsers: false."""

import json
import os
import pathlib
import subprocess
import unittest

from program import GLOVEBOX, PATIENCE_S, Case

AS_ROOT_OF = pathlib.Path(__file__).with_name("user_namespace.py")
# "INSIDE OUTSIDE COUNT" of the ids, and the user whose namespace it is.
OWN_IDS = ("0 200000 65536", 200000)
ONE_ID = ("0 1000 1", 1000)
MACHINES_ROOT = ("0 0 1", 0)
WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
# Who the guest is, and the capabilities that it has (capget(2)) or may get (PR_CAPBSET_READ).
WHO = """
import ctypes, os
libc = ctypes.CDLL(None)
held = (ctypes.c_uint32 * 6)()
assert libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), held) == 0
print(os.getuid(), any(held), any(libc.prctl(23, each, 0, 0, 0) == 1 for each in range(64)))
"""


@unittest.skipUnless(os.geteuid() == 0, "only root may map ids")
class UserNamespace(Case):
    def setUp(self):
        super().setUp()
        self.runtime = self.dir / "runtime"

    def ask(self, namespace, *words, before=(), **how):
        id_map, user = namespace
        self.runtime.mkdir(mode=0o700, exist_ok=True)
        self.dir.chmod(0o755)
        os.chown(self.runtime, user, user)
        environment = {**os.environ, "GLOVEBOX_RUNTIME_DIR": str(self.runtime), "HOME": "/tmp"}
        return subprocess.run(
            ["python3", AS_ROOT_OF, id_map, str(user), *before, GLOVEBOX, *words], check=False,
            capture_output=True, text=True, timeout=PATIENCE_S, env=environment, **how)

    def run_code(self, namespace, *options, code=WHO, **how):
        done = self.ask(namespace, "run", "--json", *options, "-l", "python", "-e", code, **how)
        self.assertTrue(done.stdout.startswith("{"), done)
        return json.loads(done.stdout)

    def check_powerless(self, verdict):
        self.assertEqual(verdict.get("status"), "ok", verdict)
        self.assertEqual(verdict["stdout"].split()[1:], ["False", "False"], verdict)
        self.assertTrue(verdict["walls"]["no_capabilities"], verdict)
        self.assertTrue(verdict["walls"]["no_new_privs"], verdict)

    def test_guests_have_ids_of_their_own_where_the_namespace_has_some(self):
        for tier in ("native", "landlock"):
            with self.subTest(tier=tier):
                verdict = self.run_code(OWN_IDS, "--tier", tier)
                self.check_powerless(verdict)
                self.assertEqual(verdict["walls"]["uid"], "mapped", verdict)
        uid = int(verdict["stdout"].split()[0])
        self.assertIn(uid, range(65534 - 4096, 65534))

    def test_live_interpreters_work_there(self):
        for namespace in (OWN_IDS, ONE_ID):
            with self.subTest(namespace=namespace):
                done = self.ask(namespace, "repl", input="a = 41\nprint(a + 1)\n")
                self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done)

    def test_root_of_an_ordinary_users_namespace_is_that_user(self):
        verdict = self.run_code(ONE_ID, "--tier", "native")
        self.check_powerless(verdict)
        self.assertEqual(verdict["stdout"].split()[0], "1000")
        verdict = self.run_code(ONE_ID, "--tier", "landlock")
        self.check_powerless(verdict)
        self.assertEqual(verdict["walls"]["uid"], "same", verdict)

    def test_without_capabilities_there_is_the_landlock_tier(self):
        for namespace in (OWN_IDS, ONE_ID):
            with self.subTest(namespace=namespace):
                verdict = self.run_code(namespace, "--tier", "landlock", before=WITHOUT_CAPABILITIES)
                self.check_powerless(verdict)

    def test_root_inside_is_alone_there_and_is_told_so(self):
        for namespace in (OWN_IDS, ONE_ID):
            with self.subTest(namespace=namespace):
                verdict = self.run_code(namespace, "--user", "root", code="import os; print(os.getuid())")
                self.assertEqual(verdict.get("status"), "ok", verdict)
                self.assertEqual(verdict["stdout"].split()[0], "0", verdict)
                self.assertRegex(" ".join(verdict["notes"]), "root is the only user here")

    def test_no_guest_is_ever_the_machines_root(self):
        for tier in ("native", "landlock"):
            with self.subTest(tier=tier):
                said = self.run_code(MACHINES_ROOT, "--tier", tier)
                self.assertEqual(said.get("schema"), "glovebox.error/1", said)
                self.assertRegex(said["message"], "would be root")
                self.assertRegex(said["hint"], "as an ordinary user")

    def test_nothing_is_left_behind(self):
        self.run_code(OWN_IDS, "--tier", "native")
        self.assertEqual(os.listdir(self.runtime), [])


if __name__ == "__main__":
    unittest.main()
