# SPDX-License-Identifier: Apache-2.0
import unittest

from both import now, with_sandbox


class Git(unittest.TestCase):
    @with_sandbox
    async def test_a_repository_is_made_changed_shared_and_cloned(self, _, sandbox):
        git = sandbox.git
        await now(git.configure_user("A User", "user@example.com"))
        await now(git.set_config("pull.rebase", "false"))
        self.assertEqual(await now(git.get_config("user.name")), "A User")
        await now(git.dangerously_authenticate("name", "token", host="git.example.com"))
        await now(git.init("origin.git", bare=True, initial_branch="main"))
        await now(git.init("work", initial_branch="main"))
        await now(git.remote_add("work", "origin", "/home/user/origin.git"))
        self.assertEqual(await now(git.remote_get("work", "origin")), "/home/user/origin.git")

        await now(sandbox.files.write("work/a.txt", "one\n"))
        status = await now(git.status("work"))
        self.assertEqual((status.has_untracked, status.untracked_count, status.is_clean), (True, 1, False))
        await now(git.add("work"))
        status = await now(git.status("work"))
        self.assertEqual((status.has_staged, status.staged_count, status.total_count), (True, 1, 1))
        await now(git.commit("work", "first"))
        status = await now(git.status("work"))
        self.assertEqual((status.is_clean, status.has_changes, status.has_conflicts,
                          status.conflict_count, status.unstaged_count), (True, False, False, 0, 0))
        await now(git.push("work", remote="origin", branch="main"))

        await now(git.create_branch("work", "side"))
        self.assertEqual((await now(git.branches("work"))).current_branch, "side")
        await now(git.checkout_branch("work", "main"))
        await now(git.delete_branch("work", "side"))
        self.assertEqual((await now(git.branches("work"))).branches, ["main"])

        await now(sandbox.files.write("work/a.txt", "two\n"))
        await now(git.restore("work", ["a.txt"]))
        self.assertEqual(await now(sandbox.files.read("work/a.txt")), "one\n")
        await now(sandbox.files.write("work/a.txt", "three\n"))
        await now(git.reset("work", mode="hard"))
        self.assertEqual(await now(sandbox.files.read("work/a.txt")), "one\n")

        await now(git.clone("/home/user/origin.git", "copy"))
        await now(sandbox.files.write("copy/b.txt", "of the copy\n"))
        await now(git.add("copy"))
        await now(git.commit("copy", "second"))
        await now(git.push("copy"))
        await now(git.pull("work", remote="origin", branch="main"))
        self.assertEqual(await now(sandbox.files.read("work/b.txt")), "of the copy\n")


if __name__ == "__main__":
    unittest.main()
