# SPDX-License-Identifier: Apache-2.0
"""Lists and calls every tool with the MCP Inspector, on standard input and output and over HTTP.

`inspector --cli` connects for each thing it does, so it lists the tools, and `mcpdo`, of the same
package, calls them over one connection. Both check results against their schemas.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "service"))
from daemon import GLOVEBOX, Daemon  # noqa: E402  pylint: disable=wrong-import-position

PATIENCE_S = 120
CLIENTS = "node_modules/@modelcontextprotocol/inspector/clients"
CALLS = json.loads((HERE / "calls.json").read_text(encoding="utf-8"))
# The revisions with sessions, and the one without.
ERAS = ("legacy", "modern")


class Inspector:
    def __init__(self, node, build, home):
        self.programs = {name: [node, build / CLIENTS / path] for name, path in
                         {"inspector": "launcher/build/index.js", "mcpdo": "mcpdo/build/mcp-bin.js"}.items()}
        # Nothing of the person's who runs this, whose Inspector may have servers and tokens.
        self.environment = os.environ | {
            "HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory",
            "MCP_INSPECTOR_DAEMON_DIR": str(home / "daemon"), "MCP_INSPECTOR_DAEMON_TOKEN": "of this test",
            "PATH": f"{pathlib.Path(node).parent}:{os.environ['PATH']}"}

    def ask(self, program, *words):
        done = subprocess.run([*self.programs[program], *words], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode:
            raise AssertionError(f"{program} {words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def list_tools(self, *server):
        """Exits with 6 where a schema is one that some client cannot use."""
        for era in ERAS:
            found = self.ask("inspector", "--cli", *server, "--method", "tools/list", "--strict",
                             "--protocol-era", era, "--format", "json", "--quiet")
            names = {tool["name"] for tool in found["result"]["tools"]}
            assert names == {name for name, _, _ in CALLS}, names

    def call_tools(self, name, *server):
        self.ask("mcpdo", "--format", "json", "connect", f"@{name}", *server)
        for tool, arguments, expected in CALLS:
            result = self.ask("mcpdo", "--format", "json", "--connection", name, "tools/call", tool,
                              json.dumps(arguments))
            assert not result.get("isError"), (tool, result)
            for key, value in expected.items():
                assert result["structuredContent"][key] == value, (tool, key, result)


@contextlib.contextmanager
def served():
    daemon = Daemon()
    try:
        daemon.start()
        yield (f"http://127.0.0.1:{daemon.port}/mcp", "--transport", "http",
               "--header", f"Authorization: Bearer {daemon.key}")
    finally:
        daemon.discard()


def run(node, build):
    """The names of what failed."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="gb-inspector.") as home, served() as http, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        inspector = Inspector(node, build, pathlib.Path(home))
        servers = {"stdio": (GLOVEBOX, "mcp"), "http": http}
        try:
            tasks = {f"Inspector, {what.__name__}, {name}": pool.submit(what, *words)
                     for name, server in servers.items()
                     for what, words in ((inspector.list_tools, server),
                                         (inspector.call_tools, (name, *server)))}
            for name, task in tasks.items():
                problem = task.exception()
                print(f"{name}: {problem or 'ok'}", flush=True)
                failed += [name] if problem else []
        finally:
            subprocess.run([*inspector.programs["mcpdo"], "daemon", "stop"], env=inspector.environment,
                           capture_output=True, timeout=PATIENCE_S)
    return failed
