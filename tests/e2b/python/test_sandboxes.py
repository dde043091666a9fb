# SPDX-License-Identifier: Apache-2.0
import asyncio
import unittest

import e2b
from e2b import Template
from e2b_code_interpreter import AsyncSandbox, Sandbox
from sandboxes import InSandbox


class Sandboxes(InSandbox):
    def test_a_sandbox_is_found_by_its_metadata(self):
        with Sandbox.create(metadata={"mark": "this one"}) as other:
            found = Sandbox.list(query=e2b.SandboxQuery(metadata={"mark": "this one"})).next_items()
            self.assertEqual([each.sandbox_id for each in found], [other.sandbox_id])

    def test_variables_outlive_a_pause(self):
        self.sandbox.run_code("kept = 5")
        self.sandbox.pause()
        self.assertEqual(self.sandbox.get_info().state, e2b.SandboxState.PAUSED)
        self.sandbox.connect()
        self.assertEqual(self.sandbox.run_code("kept").text, "5")

    def test_another_client_connects_to_it(self):
        self.sandbox.files.write("shared", "seen")
        self.assertEqual(Sandbox.connect(self.sandbox.sandbox_id).files.read("shared"), "seen")

    def test_what_was_killed_is_not_found(self):
        other = Sandbox.create()
        self.assertTrue(other.is_running())
        self.assertTrue(other.kill())
        self.assertFalse(other.is_running())
        with self.assertRaises(e2b.NotFoundException):
            Sandbox.connect(other.sandbox_id)

    def test_a_snapshot_has_the_files(self):
        self.sandbox.files.write("in-snapshot", "1")
        snapshot = self.sandbox.create_snapshot()
        with Sandbox.create(snapshot.snapshot_id) as other:
            self.assertEqual(other.files.read("in-snapshot"), "1")

    def test_a_template_is_built_and_started(self):
        template = (Template().from_template("base").set_envs({"NAME": "value"})
                    .run_cmd("echo built > /home/user/built"))
        Template.build(template, alias="python-sdk")
        with Sandbox.create("python-sdk") as made:
            self.assertEqual(made.commands.run("cat built; echo $NAME").stdout, "built\nvalue\n")

    def test_the_asynchronous_client_runs_many_commands_at_once(self):
        async def use():
            sandbox = await AsyncSandbox.create()
            try:
                execution = await sandbox.run_code("6 * 7")
                done = await asyncio.gather(
                    *(sandbox.commands.run(f"echo {number}") for number in range(10)))
                return execution.text, [each.stdout for each in done]
            finally:
                await sandbox.kill()

        self.assertEqual(asyncio.run(use()), ("42", [f"{number}\n" for number in range(10)]))


if __name__ == "__main__":
    unittest.main()
