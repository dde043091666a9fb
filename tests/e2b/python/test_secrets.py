# SPDX-License-Identifier: Apache-2.0
import unittest

import e2b
from both import every, now, of_both


class Secrets(unittest.TestCase):
    @of_both
    async def test_a_secret_is_made_listed_changed_and_destroyed(self, kind):
        secret = await now(kind.Secret.create("python", "first", metadata={"team": "a"}))
        self.assertEqual((await now(kind.Secret.get_info("python"))).secret_id, secret.secret_id)
        self.assertEqual((await now(kind.Secret.update("python", "second"))).version, 2)
        listed = await every(kind.Secret.list(limit=1))
        self.assertEqual([each.name for each in listed], ["python"])
        self.assertTrue(await now(kind.Secret.exists("python")))
        self.assertTrue(await now(kind.Secret.destroy(secret.secret_id)))
        self.assertFalse(await now(kind.Secret.exists("python")))
        with self.assertRaises(e2b.SecretNotFoundException):
            await now(kind.Secret.get_info("python"))

    @of_both
    async def test_a_header_may_name_it(self, kind):
        await now(kind.Secret.create("header", "value"))
        self.addCleanup(e2b.Secret.destroy, "header")
        rule = {"transform": {"headers": {"X-Key": kind.Secret.fill("header")}}}
        sandbox = await now(kind.Sandbox.create(
            network={"allow_out": ["example.com"], "deny_out": ["0.0.0.0/0"],
                     "rules": {"example.com": [rule]}}))
        try:
            told = (await now(sandbox.get_info())).network
            self.assertIn("e2b.secrets.header", str(told))
        finally:
            await now(sandbox.kill())
        self.assertTrue(await now(kind.Secret.destroy("header")))


if __name__ == "__main__":
    unittest.main()
