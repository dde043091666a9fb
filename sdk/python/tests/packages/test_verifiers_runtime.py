# SPDX-License-Identifier: Apache-2.0
"""A whole rollout of verifiers, whose agent is a program in a sandbox: its model is scripted, and is
served by verifiers' own interception.
"""

import http.server
import json
import threading

import chart
import pytest
import verifiers.v1 as vf
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import SubprocessConfig

from glovebox import AsyncClient
from glovebox.adapters.verifiers_runtime import glovebox_runtime

DRAW = """rows = [line.split(',') for line in open('sales.csv')]
import matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])
plt.savefig('chart.png')"""
SCRIPT = [f"python3 -c \"{DRAW}\"", "head -c 4 chart.png | tail -c 3", ""]
# Asks the model for a command, runs it, and says what it printed, until there is none.
AGENT = """
import json, os, subprocess, sys, urllib.request
url, secret, model, prompt = sys.argv[1:]
messages = [{"role": "user", "content": prompt}]
while True:
    asked = urllib.request.Request(
        url + "/chat/completions", json.dumps({"model": model, "messages": messages}).encode(),
        {"Authorization": "Bearer " + secret, "Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    said = json.load(opener.open(asked))["choices"][0]["message"]
    messages.append({"role": "assistant", "content": said["content"]})
    if not said["content"]:
        break
    done = subprocess.run(said["content"], shell=True, capture_output=True, text=True)
    messages.append({"role": "user", "content": done.stdout + done.stderr or "(nothing)"})
"""


class Program(vf.Harness[vf.HarnessConfig]):
    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, **_):
        await runtime.write("agent.py", AGENT.encode())
        return await runtime.run_program(
            ["python3", "agent.py", endpoint, secret, ctx.model, data.prompt], {})


class Drawing(vf.Task[vf.TaskData]):
    async def setup(self, trace, runtime):
        await runtime.write("sales.csv", b"jan,3\nfeb,5\n")

    @vf.reward
    async def is_drawn(self, runtime) -> float:
        return float((await runtime.read("chart.png")).startswith(b"\x89PNG"))


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(each["role"] == "assistant" for each in asked["messages"])
        self.server.heard.append(asked["messages"][-1]["content"])
        message = {"role": "assistant", "content": SCRIPT[turn]}
        body = json.dumps({
            "id": "c", "object": "chat.completion", "created": 0, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "x")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        server.heard = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def test_a_whole_rollout_makes_a_chart_from_a_file_of_its_task(model):
    agent = vf.Agent(vf.AgentConfig(
        model="scripted", runtime=SubprocessConfig(), client=EvalClientConfig(
            base_url=f"http://127.0.0.1:{model.server_address[1]}/v1", api_key_var="MODEL_KEY")))
    agent.harness = Program(vf.HarnessConfig(id="program"))
    task = Drawing(vf.TaskData(idx=0, prompt="Draw the sales."))
    async with agent, glovebox_runtime() as runtime:
        trace = await agent.run(task, runtime=runtime)
    assert trace.ok, trace.errors
    assert trace.rewards["is_drawn"].score == 1.0
    assert model.heard == ["Draw the sales.", "(nothing)", chart.ANSWER]
    assert trace.agent.runtime.type == "glovebox"
    async with AsyncClient() as client:
        assert [each.id async for each in client.sandboxes.list()] == []


async def test_programs_have_their_variables_and_files_their_limits():
    async with glovebox_runtime() as runtime:
        view = runtime.with_env({"A": "task"})
        done = await view.run(["sh", "-c", "echo $A $B; echo e >&2; exit 3"], {"B": "own"})
        assert (done.exit_code, done.stdout, done.stderr) == (3, "task own\n", "e\n")
        await runtime.write("deep/a.bin", b"\x00\xff\x01")
        assert await runtime.read("deep/a.bin") == b"\x00\xff\x01"
        with pytest.raises(SandboxError, match="over the 2 byte limit"):
            await runtime.read("deep/a.bin", max_bytes=2)
        with pytest.raises(SandboxError, match="none"):
            await runtime.read("none")
        await runtime.run_background(["sh", "-c", "echo $A; echo done > mark"], {"A": "b"}, "log")
        done = await runtime.run(["sh", "-c", "until [ -s mark ]; do :; done; cat log"], {})
        assert done.stdout == "b\n"
        assert await runtime.alive()
    assert not await runtime.alive()
