# SPDX-License-Identifier: Apache-2.0
"""Calls of sandboxes that both clients have, one test for each."""
import os
import unittest
import urllib.request

import e2b
from both import every, now, of_both, pieces, with_sandbox
from e2b_code_interpreter import Context


class Sandboxes(unittest.TestCase):
    @of_both
    async def test_the_class_does_with_an_id_what_an_object_does(self, kind):
        sandbox = await now(kind.Sandbox.create(timeout=60, metadata={"kind": kind.name}))
        own = sandbox.sandbox_id
        for which in (kind.Sandbox, sandbox):
            words = [own] if which is kind.Sandbox else []
            await now(which.set_timeout(*words, 100))
            self.assertEqual((await now(which.get_info(*words))).sandbox_id, own)
            await now(which.get_metrics(*words))
            await now(which.update_network(*words, network={"deny_out": ["10.0.0.0/8"]}))
            snapshot = await now(which.create_snapshot(*words))
            listed = await every(sandbox.list_snapshots() if which is sandbox
                                 else kind.Sandbox.list_snapshots(sandbox_id=own))
            self.assertIn(snapshot.snapshot_id, [each.snapshot_id for each in listed])
            self.assertTrue(await now(kind.Sandbox.delete_snapshot(snapshot.snapshot_id)))
            await now(which.pause(*words))
            await now(which.connect(*words))
            await now(which.beta_pause(*words))
            self.assertEqual((await now(which.get_info(*words))).state, e2b.SandboxState.PAUSED)
            await now(which.connect(*words))
            for fork in await now(which.fork(*words)):
                self.assertTrue(await now(fork.is_running()))
                self.assertTrue(await now(fork.kill() if which is sandbox
                                          else kind.Sandbox.kill(fork.sandbox_id)))
        query = e2b.SandboxQuery(metadata={"kind": kind.name})
        self.assertEqual([each.sandbox_id for each in await every(kind.Sandbox.list(query=query))], [own])
        self.assertTrue(await now(sandbox.kill()))

    @with_sandbox
    async def test_addresses_name_the_sandbox_and_its_ports(self, _, sandbox):
        self.assertEqual(sandbox.get_host(8080), f"8080-{sandbox.sandbox_id}.{sandbox.sandbox_domain}")
        self.assertEqual(sandbox.get_mcp_url(), f"https://{sandbox.get_host(50005)}/mcp")
        self.assertEqual(sandbox.envd_api_url, os.environ["E2B_SANDBOX_URL"])
        self.assertEqual(sandbox.connection_config.api_key, os.environ["E2B_API_KEY"])
        self.assertTrue(sandbox.envd_direct_url.startswith("http"))
        self.assertTrue(sandbox.traffic_access_token)

    @with_sandbox
    async def test_a_client_with_its_own_settings_has_all_classes(self, kind, sandbox):
        client = e2b.E2B(**{name: os.environ["E2B_" + name.upper()]
                            for name in ("api_key", "api_url", "sandbox_url")})
        bound = getattr(client, kind.Sandbox.__name__)
        self.assertEqual((await now(bound.connect(sandbox.sandbox_id))).sandbox_id, sandbox.sandbox_id)
        self.assertTrue(await now(getattr(client, kind.Template.__name__).exists("base")))
        self.assertEqual(await every(getattr(client, kind.Secret.__name__).list()), [])

    @with_sandbox
    async def test_files(self, kind, sandbox):
        files = sandbox.files
        await now(files.make_dir("folder"))
        await now(files.write("folder/a", "a"))
        await now(files.write_files([{"path": "folder/b", "data": b"bb"}]))
        self.assertEqual((await now(files.get_info("folder/b"))).size, 2)
        self.assertEqual([each.name for each in await now(files.list("folder"))], ["a", "b"])
        self.assertEqual(b"".join(await pieces(await now(files.read("folder/b", format="stream")))), b"bb")
        await now(files.rename("folder/b", "folder/c"))
        await now(files.remove("folder/c"))
        self.assertFalse(await now(files.exists("folder/c")))
        watcher = await now(files.watch_dir("folder", *[print] * (kind.name == "async")))
        await now(watcher.stop())
        signed = urllib.request.Request(
            sandbox.upload_url("folder/up"), method="POST",
            data=b'--x\r\nContent-Disposition: form-data; name="file"; filename="up"\r\n\r\nup\r\n--x--\r\n',
            headers={"Content-Type": "multipart/form-data; boundary=x"})
        urllib.request.urlopen(signed).close()
        with urllib.request.urlopen(sandbox.download_url("folder/up")) as answer:
            self.assertEqual(answer.read(), b"up")

    @with_sandbox
    async def test_commands(self, kind, sandbox):
        commands = sandbox.commands
        for end in ("command", "handle"):
            handle = await now(commands.run("cat", background=True, stdin=True))
            owner, words = (commands, [handle.pid]) if end == "command" else (handle, [])
            await now(owner.send_stdin(*words, "one\n"))
            await now(owner.close_stdin(*words))
            self.assertEqual((await now(handle.wait())).stdout, "one\n")
        handle = await now(commands.run("head -n 1", background=True, stdin=True))
        if kind.name == "async":
            typed = commands.stream_input(handle.pid)
            await typed.send("streamed\n")
            await typed.close()
        else:
            commands.stream_input(handle.pid, ["stream", "ed\n"])
        done = await now(handle.wait())
        self.assertEqual(done.stdout, "streamed\n")
        if kind.name == "async":
            self.assertEqual((handle.stdout, handle.stderr, handle.exit_code, handle.error),
                             ("streamed\n", "", 0, None))
        handle = await now(commands.run("sleep 4321", background=True))
        self.assertIn(handle.pid, [each.pid for each in await now(commands.list())])
        joined = await now(commands.connect(handle.pid))
        await now(joined.disconnect())
        self.assertTrue(await now(handle.kill()))

    @with_sandbox
    async def test_terminals(self, kind, sandbox):
        pty, waits = sandbox.pty, kind.name == "async"
        shown = []
        to_shown = [shown.append] if waits else []
        terminal = await now(pty.create(e2b.PtySize(rows=24, cols=80), *to_shown))
        await now(pty.resize(terminal.pid, e2b.PtySize(rows=10, cols=99)))
        if waits:
            typed = pty.stream_input(terminal.pid)
            await typed.send(b"stty size; exit\n")
            await terminal.wait()
        else:
            pty.stream_input(terminal.pid, [b"stty size; ", b"exit\n"])
            terminal.wait(on_pty=shown.append)
        self.assertIn(b"10 99", b"".join(shown))
        other = await now(pty.create(e2b.PtySize(rows=24, cols=80), *to_shown))
        joined = await now(pty.connect(other.pid, *to_shown))
        await now(pty.send_stdin(joined.pid, b"true\n"))
        self.assertTrue(await now(pty.kill(other.pid)))

    @with_sandbox
    async def test_code(self, _, sandbox):
        context = await now(sandbox.create_code_context())
        await now(sandbox.run_code("x = 1", context=context))
        await now(sandbox.restart_code_context(context))
        lost = await now(sandbox.run_code("x", context=context))
        self.assertEqual(lost.error.name, "NameError")
        self.assertIn("NameError", lost.error.to_json())
        self.assertIn(context.id, [each.id for each in await now(sandbox.list_code_contexts())])
        self.assertEqual(Context.from_json(vars(context)).id, context.id)
        await now(sandbox.remove_code_context(context))
        done = await now(sandbox.run_code("print('said'); 6 * 7"))
        self.assertEqual(done.text, "42")
        self.assertEqual(list(done.results[0].formats()), ["text"])
        self.assertIn("said", done.logs.to_json())
        self.assertIn("42", done.to_json())


if __name__ == "__main__":
    unittest.main()
