# SPDX-License-Identifier: Apache-2.0
"""A sandbox agent of the OpenAI Agents SDK, driven by that SDK's own scripted model; and what else
its sessions promise.
"""

import io
import json
import pathlib
import tarfile
import urllib.request

import chart
import pytest
from agents import RunConfig, Runner
from agents.sandbox import Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import File
from agents.sandbox.errors import (
    ExecTimeoutError, InvalidManifestPathError, WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError)
from agents.sandbox.snapshot import LocalSnapshotSpec
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText)

from glovebox import AsyncClient, AsyncSandbox
from glovebox.adapters.openai_agents_sandbox import (
    GloveboxSandboxClient, GloveboxSandboxClientOptions)

SALES = Manifest(entries={"sales.csv": File(content=b"jan,3\nfeb,5\n")})
DRAW = """python3 - <<'END'
import matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt
rows = [line.split(',') for line in open('sales.csv')]
plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])
plt.savefig('chart.png')
END
head -c 4 chart.png | tail -c 3"""


def call(name, **arguments):
    return ResponseFunctionToolCall(type="function_call", name=name, call_id=f"c-{name}",
                                    arguments=json.dumps(arguments))


def say(text):
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed",
        content=[ResponseOutputText(type="output_text", text=text, annotations=[])])


async def sandboxes():
    async with AsyncClient() as client:
        return [each.id async for each in client.sandboxes.list()]


@pytest.fixture
async def session():
    client = GloveboxSandboxClient()
    session = await client.create(manifest=SALES, options=GloveboxSandboxClientOptions())
    async with session:
        yield session
    await client.delete(session)


async def test_a_whole_run_makes_a_chart_from_a_file_and_its_sandbox_ends():
    seen = []
    model = ScriptedModel([[call("exec_command", cmd=DRAW)], [say("drawn")]])
    client = GloveboxSandboxClient()
    async with await client.create(manifest=SALES) as session:
        result = await Runner.run(
            SandboxAgent(name="analyst", model=model), "Draw the sales.",
            run_config=RunConfig(sandbox=SandboxRunConfig(session=session)))
        assert result.final_output == "drawn"
        outputs = [each.output for each in result.new_items if each.type == "tool_call_output_item"]
        assert chart.ANSWER in outputs[0], outputs
        assert await chart.is_drawn(session._inner.sandbox)
        seen += await sandboxes()
    model.assert_complete()
    assert seen and not set(seen) & set(await sandboxes())


async def test_a_run_makes_a_sandbox_of_its_own_from_the_manifest_of_its_agent():
    model = ScriptedModel([[call("exec_command", cmd="cat sales.csv; pwd")], [say("done")]])
    agent = SandboxAgent(name="reader", model=model, default_manifest=SALES)
    result = await Runner.run(agent, "Read.", run_config=RunConfig(
        sandbox=SandboxRunConfig(client=GloveboxSandboxClient())))
    outputs = [each.output for each in result.new_items if each.type == "tool_call_output_item"]
    assert "feb,5" in outputs[0] and "/workspace" in outputs[0]


async def test_files_are_bytes_and_stay_in_the_workspace(session):
    await session.write(pathlib.Path("deep/a.bin"), io.BytesIO(b"\x00\xff"))
    assert (await session.read(pathlib.Path("deep/a.bin"))).read() == b"\x00\xff"
    assert [each.path for each in await session.ls("deep")] == ["/workspace/deep/a.bin"]
    with pytest.raises(WorkspaceReadNotFoundError):
        await session.read(pathlib.Path("none"))
    await session.exec("ln", "-s", "/etc", "out", shell=False)
    for path in ("/etc/passwd", "../etc/passwd", "out/passwd"):
        with pytest.raises(InvalidManifestPathError):
            await session.read(pathlib.Path(path))


async def test_commands_have_bytes_a_status_and_a_time(session):
    done = await session.exec("printf '\\377'; exit 3")
    assert (done.stdout, done.exit_code) == (b"\xff", 3)
    with pytest.raises(ExecTimeoutError):
        await session.exec("sleep 60", timeout=0.2)


async def test_a_session_is_resumed_in_its_sandbox_or_from_its_snapshot(tmp_path):
    client = GloveboxSandboxClient()
    options = GloveboxSandboxClientOptions(pause_on_exit=True)
    snapshot = LocalSnapshotSpec(base_path=tmp_path)
    async with await client.create(manifest=SALES, options=options, snapshot=snapshot) as session:
        await session.exec("echo kept > kept.txt; ln -s kept.txt link; echo gone > /tmp/other")
    state = client.deserialize_session_state(
        json.loads(json.dumps(client.serialize_session_state(session.state))))
    async with await client.resume(state) as again:
        assert again.state.sandbox_id == session.state.sandbox_id
        assert (await again.exec("cat link /tmp/other")).stdout == b"kept\ngone\n"
    async with await AsyncSandbox.connect(state.sandbox_id):
        pass  # It ends.
    async with await client.resume(client.deserialize_session_state(
            client.serialize_session_state(again.state))) as other:
        assert other.state.sandbox_id != session.state.sandbox_id
        assert (await other.exec("cat link sales.csv")).stdout == b"kept\njan,3\nfeb,5\n"
    assert other.state.sandbox_id in await sandboxes()
    await client.delete(other)
    assert other.state.sandbox_id not in await sandboxes()


async def test_an_archive_that_leads_outside_is_refused(session):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../outside"))
    archive.seek(0)
    with pytest.raises(WorkspaceArchiveWriteError):
        await session.hydrate_workspace(archive)


async def test_a_port_that_is_exposed_is_reached():
    client = GloveboxSandboxClient()
    options = GloveboxSandboxClientOptions(exposed_ports=(8000,))
    async with await client.create(options=options, manifest=SALES) as session:
        await session.exec("python3 -m http.server 8000 > /dev/null 2>&1 & "
                           "until curl -s localhost:8000 > /dev/null; do :; done")
        endpoint = await session.resolve_exposed_port(8000)
        url = endpoint.url_for("http").replace(endpoint.host, "127.0.0.1", 1)
        request = urllib.request.Request(url, headers={"Host": f"{endpoint.host}:{endpoint.port}"})
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert opener.open(request).status in (200, 303)
