# SPDX-License-Identifier: Apache-2.0
"""E2B's users in sandboxes that have root inside: a daemon with --e2b-root."""

import unittest

import e2b
from sandboxes import InSandbox


class Users(InSandbox):
    def said(self, command, **options):
        return self.sandbox.commands.run(command, **options).stdout.strip()

    def test_user_is_the_default_and_root_is_root(self):
        self.assertEqual(self.said("id -un; echo $HOME; pwd"), "user\n/home/user\n/home/user")
        self.assertEqual(self.said("id -u; echo $HOME; pwd", user="root"), "0\n/root\n/root")

    def test_root_changes_what_user_cannot(self):
        with self.assertRaises(e2b.CommandExitException):
            self.sandbox.commands.run("touch /usr/local/bin/tool")
        self.sandbox.commands.run("printf '#!/bin/sh\\necho made\\n' > /usr/local/bin/tool && "
                                  "chmod 755 /usr/local/bin/tool", user="root")
        self.assertEqual(self.said("tool"), "made")

    def test_a_file_belongs_to_whom_it_was_written_for(self):
        self.sandbox.files.write("a.txt", "a")
        self.assertEqual(self.sandbox.files.write("b.txt", "b", user="root").path, "/root/b.txt")
        self.assertEqual(self.said("stat -c %U a.txt"), "user")
        self.assertEqual(self.said("stat -c %U b.txt", user="root"), "root")
        self.assertEqual(self.sandbox.files.read("b.txt", user="root"), "b")

    def test_a_user_that_nobody_made_is_refused(self):
        with self.assertRaises(e2b.AuthenticationException):
            self.sandbox.commands.run("id", user="nobody-here")


if __name__ == "__main__":
    unittest.main()
