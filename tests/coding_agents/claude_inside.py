# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox of ours: Claude Code with a sandbox of its own, and the service that it asks, on
loopback. Its model has the command in COMMAND run. Prints what the service was told, as JSON."""

import json
import os
import pathlib
import subprocess

from vendors import Vendors

HERE = pathlib.Path(__file__).resolve().parent

vendors = Vendors(command=os.environ.pop("COMMAND"))
project = HERE / "project"
project.mkdir()
done = subprocess.run(
    [HERE / "claude", "-p", "make a file", "--settings", HERE / "settings.json"], cwd=project,
    env={**os.environ, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{vendors.port}",
         "ANTHROPIC_API_KEY": "sk-ant-of-nobody", "DISABLE_AUTOUPDATER": "1",
         "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
made = project / "made.txt"
print(json.dumps({
    "status": done.returncode, "said": done.stdout, "complained": done.stderr,
    "tool": vendors.results[0] if vendors.results else None,
    "made": made.read_text() if made.exists() else None,
    "outside": [str(path) for path in (HERE / "outside", pathlib.Path("/tmp/outside"))
                if path.exists()]}))
