# SPDX-License-Identifier: Apache-2.0
"""Harbor's own oracle agent solves a task in a sandbox, by the program `harbor`."""

import json
import logging
import pathlib
import subprocess
import sys

import pytest
from harbor.models.task.config import EnvironmentConfig, NetworkPolicy
from harbor.models.trial.paths import TrialPaths

from glovebox.adapters.harbor import GloveboxEnvironment

ENVIRONMENT = "glovebox.adapters.harbor:GloveboxEnvironment"
DOCKERFILE = "FROM default\nWORKDIR /workspace\nCOPY sales.csv sales.csv\n"
TASK = """
version = "1.0"
[agent]
timeout_sec = 120
[verifier]
timeout_sec = 120
[environment]
network_mode = "no-network"
"""
SOLUTION = """#!/bin/bash
set -e
cat > chart.py <<'END'
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
rows = [line.strip().split(",") for line in open("sales.csv")]
plt.bar([row[0] for row in rows], [int(row[1]) for row in rows])
plt.savefig("chart.png")
END
python3 chart.py
"""
CHECK = """#!/bin/bash
if [ "$(head -c 4 chart.png | tail -c 3)" = PNG ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


@pytest.fixture
def task(tmp_path):
    files = {"task.toml": TASK, "instruction.md": "Draw the sales.",
             "environment/Dockerfile": DOCKERFILE, "environment/sales.csv": "jan,3\nfeb,5\n",
             "solution/solve.sh": SOLUTION, "tests/test.sh": CHECK}
    for name, content in files.items():
        path = tmp_path / "chart" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "chart"


def rewards(task, agent, out):
    harbor = pathlib.Path(sys.executable).with_name("harbor")
    done = subprocess.run(
        [harbor, "run", "-p", task, "-a", agent, "-e", ENVIRONMENT, "-o", out, "-y"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in out.glob("*/*/result.json")]
    assert results, done.stdout
    for each in results:
        assert each["exception_info"] is None, each["exception_info"]
    return [each["verifier_result"]["rewards"]["reward"] for each in results]


def test_the_oracle_solves_a_task_and_who_does_nothing_does_not(task, tmp_path):
    assert rewards(task, "oracle", tmp_path / "oracle") == [1.0]
    assert rewards(task, "nop", tmp_path / "nop") == [0.0]


@pytest.fixture
async def environment(task, tmp_path):
    made = GloveboxEnvironment(
        environment_dir=task / "environment", environment_name="chart", session_id="s",
        trial_paths=TrialPaths(tmp_path / "trial"), logger=logging.getLogger(),
        task_env_config=EnvironmentConfig(), persistent_env={"A": "b"},
        network_policy=NetworkPolicy(network_mode="no-network"))
    await made.start(force_build=False)
    yield made
    await made.stop(delete=True)


async def test_commands_have_a_directory_variables_and_a_time(environment):
    done = await environment.exec("pwd; echo $A$C; id -un; exit 3", env={"C": "d"})
    assert (done.stdout, done.return_code) == ("/workspace\nbd\nroot\n", 3)
    with pytest.raises(RuntimeError, match="more than 1 s"):
        await environment.exec("sleep 60", timeout_sec=1)


async def test_files_and_directories_go_in_and_come_out(environment, tmp_path):
    source = tmp_path / "source/deep"
    source.mkdir(parents=True)
    (source / "file").write_text("content")
    await environment.upload_dir(tmp_path / "source", "/somewhere/else")
    assert await environment.is_file("/somewhere/else/deep/file")
    await environment.upload_file(source / "file", "/one")
    await environment.download_file("/one", tmp_path / "back")
    await environment.download_dir("/somewhere", tmp_path / "out")
    assert (tmp_path / "back").read_text() == "content"
    assert (tmp_path / "out/else/deep/file").read_text() == "content"
