# SPDX-License-Identifier: Apache-2.0
"""Rows on commands, processes, terminals, ports and packages."""

import contextlib
import urllib.request

from claims import holds, raises, same, within
from glovebox import BadGateway, CommandError, Conflict, DryRunOptions, Network, NotFound
from world import NO_RETRY

SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(f"{self.path} {self.headers.get('X-API-KEY')}".encode())
    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).upper())
    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
server = http.server.HTTPServer(("127.0.0.1", 8000), Handler)
print("ready", flush=True)
server.serve_forever()
"""


async def started_server(sandbox):
    await sandbox.files.write("server.py", SERVER)
    process = await sandbox.commands.start(["python3", "server.py"])
    async for event in process.events():
        if event.type == "stdout":
            break
    return process


async def a_command_is_somebodys(world):
    async with await world.sandbox(user="root") as sandbox:
        same((await sandbox.commands.run("id -un")).stdout, "root\n")
        same((await sandbox.commands.run("id -un", user="nobody")).stdout, "nobody\n")
        process = await sandbox.commands.start("id -un", user="nobody")
        same((await process.wait()).stdout, "nobody\n")


async def a_command_ends_with_what_it_printed(world):
    async with await world.sandbox() as sandbox:
        done = await sandbox.commands.run("echo out; echo err >&2; exit 3")
        same((done.stdout, done.stderr, done.exit_code), ("out\n", "err\n", 3))
        same((done.ok, done.reason.value), (False, "error"))


async def arguments_are_no_shell(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.commands.run(["echo", "$HOME; ls"])).stdout, "$HOME; ls\n")


async def a_command_has_input_directory_and_variables(world):
    async with await world.sandbox() as sandbox:
        done = await sandbox.commands.run("cat; pwd; echo $A", stdin="in\n", cwd="/tmp", env={"A": "1"})
        same(done.stdout, "in\n/tmp\n1\n")


async def check_raises(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.commands.run("true", check=True)).exit_code, 0)
        with raises(CommandError) as caught:
            await sandbox.commands.run("echo why >&2; exit 4", check=True)
        same(caught.error.result.exit_code, 4)
        within("why", str(caught.error))


async def a_timeout_ends_a_command(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.commands.run("sleep 100", timeout=0.3)).reason.value, "timeout")
        done = await sandbox.commands.run("sleep 100", timeout="300ms", on_stdout=lambda text: None)
        same(done.reason.value, "timeout")


async def much_output_is_cut(world):
    async with await world.sandbox() as sandbox:
        done = await sandbox.commands.run("seq 1 100000", output="4K")
        same((done.truncated.stdout, done.bytes.stdout), (True, 588895))


async def bytes_of_commands_are_kept(world):
    async with await world.sandbox() as sandbox:
        same((await sandbox.commands.run("printf '\\377'")).stdout_bytes, b"\xff")
        process = await sandbox.commands.start("printf '\\377'")
        same((await process.wait()).stdout_bytes, b"\xff")


async def a_command_speaks_while_it_runs(world):
    async with await world.sandbox() as sandbox:
        out, err = [], []
        done = await sandbox.commands.run(
            "cat; echo err >&2", stdin="in\n", on_stdout=out.append, on_stderr=err.append)
        same(("".join(out), "".join(err)), ("in\n", "err\n"))
        same((done.stdout, done.stderr, done.exit_code), ("in\n", "err\n", 0))


async def events_of_a_command_end_with_its_end(world):
    async with await world.sandbox() as sandbox:
        events = [event async for event in sandbox.commands.stream("echo hi; exit 5")]
        same((events[0].type, events[-1].type, events[-1].exit_code), ("started", "ended", 5))


async def a_background_process_takes_input(world):
    async with await world.sandbox() as sandbox:
        process = await sandbox.commands.start(["tr", "a-z", "A-Z"], stdin=True, tag="upper")
        await process.send_stdin("hello ")
        await process.send_stdin(b"you")
        await process.close_stdin()
        same((await process.wait()).stdout, "HELLO YOU")


async def processes_are_listed_and_described(world):
    async with await world.sandbox() as sandbox:
        process = await sandbox.commands.start(["sleep", "1000"], tag="nap")
        found = {each.pid: each for each in await sandbox.commands.list()}
        same((found[process.pid].tag, found[process.pid].alive), ("nap", True))
        same((await sandbox.commands.get(process.pid).info()).argv, ["sleep", "1000"])


async def a_signal_ends_a_process(world):
    async with await world.sandbox() as sandbox:
        process = await sandbox.commands.start(["sleep", "1000"])
        await process.signal("SIGTERM")
        done = await process.wait()
        same((done.exit_code, done.signal, done.reason.value), (143, 15, "signaled"))


async def a_process_is_killed_once(world):
    async with await world.sandbox() as sandbox:
        process = await sandbox.commands.start(["sleep", "1000"])
        holds(await process.kill())
        same((await process.wait()).reason.value, "canceled")


async def an_unknown_process_is_not_found(world):
    async with await world.sandbox() as sandbox:
        with raises(NotFound):
            await sandbox.commands.get(99999).info()
        same(await sandbox.commands.get(99999).kill(), False)


async def a_terminal_has_a_size(world):
    async with await world.sandbox() as sandbox:
        async with await sandbox.commands.terminal(["bash", "--norc"], columns=100, rows=30) as terminal:
            await terminal.resize(120, 40)
            await terminal.process.resize(120, 40)
            await terminal.write("stty size; exit 7\n")
            same(await terminal.wait(), 7)


async def a_terminal_shows_what_is_typed(world):
    async with await world.sandbox() as sandbox:
        async with await sandbox.commands.terminal(["cat"]) as terminal:
            await terminal.write(b"hello\n")
            seen = b""
            async for piece in terminal:
                seen += piece
                if seen.count(b"hello") == 2:
                    break
            await terminal.signal("SIGKILL")
            same(await terminal.wait(), 137)


async def a_server_inside_is_reached(world):
    async with await world.sandbox() as sandbox:
        await started_server(sandbox)
        response = await sandbox.ports.request(8000, "/a b?q=1")
        # The key of the client stays outside.
        same(await response.read(), b"/a%20b?q=1 None")
        response = await sandbox.ports.request(8000, method="POST", content=b"loud")
        same(await response.read(), b"LOUD")


async def any_client_reaches_a_server_inside(world):
    async with await world.sandbox() as sandbox:
        await started_server(sandbox)
        request = urllib.request.Request(
            sandbox.ports.url(8000, "/x"), headers=sandbox.ports.headers())
        with urllib.request.urlopen(request, timeout=30) as response:
            same(response.read(), b"/x None")


async def a_token_opens_one_port(world):
    async with await world.sandbox() as sandbox:
        await started_server(sandbox)
        token = await sandbox.ports.token(8000, expires_in="10m")
        same(token.port, 8000)
        page = sandbox.ports.page(token)
        within(f"8000-{sandbox.id}.localhost", page)
        request = urllib.request.Request(
            world.url + "/y", headers={"Host": f"8000-{sandbox.id}.localhost",
                                       "X-Port-Token": token.token})
        with urllib.request.urlopen(request, timeout=30) as response:
            within(b"/y", response.read())


async def a_port_without_a_server_is_a_bad_gateway(world):
    async with await world.sandbox() as sandbox:
        with raises(BadGateway):
            await sandbox.ports.request(9999)


async def packages_are_installed_while_it_lives(world):
    async with await world.sandbox(tier="native") as sandbox:
        said = []
        verdict = await sandbox.install("pip:gb_upper==2.0", on_stdout=said.append)
        same(verdict.check().status.value, "ok")
        holds(said)
        same((await sandbox.execute("import gb_upper; gb_upper.high()")).text, "'low high'")


async def network_rules_are_rules(world):
    rules = Network(allow=["example.com:443"], deny=["bad.example.com"])
    async with await world.sandbox(tier="native", network=rules) as sandbox:
        same((await sandbox.info()).network["allow"], ["example.com:443"])
        await sandbox.commands.run(
            ["python3", "-c", "import urllib.request as r; r.urlopen('http://denied.example/')"])
        records = (await sandbox.connections()).connections
        same((records[0].host, records[0].verdict), ("denied.example", "denied"))
        changed = await sandbox.update(network=Network(allow=["example.org"]))
        same(changed.network["allow"], ["example.org"])


async def connections_of_a_run_are_in_its_verdict(world):
    async with world.client() as client:
        verdict = await client.run(
            "import urllib.request as r; r.urlopen('http://denied.example/')",
            network=Network(allow=["example.com:443"]))
        same([(each.host, each.verdict) for each in verdict.connections],
             [("denied.example", "denied")])


async def a_template_is_built_once(world):
    async with world.client() as client:
        name = world.name("built")
        steps = []
        made = await client.templates.build(
            name, files={"hello.txt": "hello"}, commands=["echo built > built.txt"],
            env={"A": "1"}, on_event=lambda event: steps.append(event.type))
        same((made.name, made.source), (name, "recipe"))
        within("built", steps)
        async with await world.sandbox(template=name) as sandbox:
            same((await sandbox.commands.run("cat hello.txt built.txt; echo $A")).stdout,
                 "hellobuilt\n1\n")
        within(name, [each.name for each in await client.templates.list()])
        await client.templates.remove(name)
        with raises(NotFound):
            await client.templates.get(name)


async def a_dry_run_of_a_command_shows_what_it_changes_and_waits(world):
    async with await world.sandbox(tier="native") as sandbox:
        said = []
        tried = await sandbox.commands.run("echo said; echo new > f", dry_run=True,
                                           on_stdout=said.append)
        same((tried.stdout, said), ("said\n", ["said\n"]))
        same([each.path for each in tried.dry_run.files.added], ["f"])
        holds(tried.dry_run.context is None and tried.dry_run.variables is None)
        with raises(Conflict):
            await sandbox.commands.run("true")
        await sandbox.discard(tried.dry_run)
        same((await sandbox.commands.run("cat f")).exit_code, 1)
        wish = DryRunOptions(network="open", timeout="1m")
        await sandbox.commit((await sandbox.commands.run("echo new > f", dry_run=wish)).dry_run.id)
        same((await sandbox.commands.run("cat f")).stdout, "new\n")


async def a_build_that_fails_says_why(world):
    async with world.client(retry=NO_RETRY) as client:
        log = []
        caught = None
        try:
            await client.templates.build(
                world.name("broken"), commands=["echo the reason; exit 3"],
                on_event=lambda event: log.append(event.text or ""))
        except Exception as error:
            caught = error
        holds(caught is not None and "exit" in str(caught) or "status" in str(caught), caught)
        within("the reason", "".join(log))


async def an_image_becomes_a_template(world):
    async with world.client() as client:
        with contextlib.ExitStack() as stack:
            archive = stack.enter_context(world.image())
            name = world.name("image")
            made = await client.templates.import_image(name, archive, "rootfs")
            same(made.source, "rootfs")
            await client.templates.remove(name)
