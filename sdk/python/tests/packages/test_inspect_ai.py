# SPDX-License-Identifier: Apache-2.0
"""Inspect's own checks of sandbox environments, as they come with `inspect_ai`; and a whole evaluation
with a scripted model.
"""

import chart
import pytest
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelAPI, ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash, python
from inspect_ai.util import SandboxEnvironmentSpec, sandbox
from inspect_ai.util._sandbox.self_check import *  # noqa: F401,F403

from glovebox.adapters.inspect_ai import GloveboxConfig, GloveboxSandboxEnvironment

# Root may do what the others expect to be refused.
AS_ROOT = {"test_exec_as_user"}


@pytest.fixture
async def sandbox_env(request):
    user = "root" if request.node.originalname in AS_ROOT else None
    environment = await GloveboxSandboxEnvironment.create(user=user)
    try:
        yield environment
    finally:
        await environment.end()


DRAW = """import matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt
rows = [line.split(',') for line in open('sales.csv')]
plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])
plt.savefig('chart.png')"""


@scorer(metrics=[accuracy()])
def drawn():
    async def score(state, target):
        return Score(value=int((await sandbox().read_file("chart.png", text=False)).startswith(b"\x89PNG")),
                     answer=state.output.completion)

    return score


async def test_a_whole_evaluation_makes_a_chart_from_a_file_of_its_sample(tmp_path, monkeypatch):
    async def count(self, text):
        return len(text) // 4  # Its own way needs a file from the network.

    monkeypatch.setattr(ModelAPI, "count_text_tokens", count)
    name = "mockllm/model"
    model = get_model(name, custom_outputs=[
        ModelOutput.for_tool_call(name, "python", {"code": DRAW}),
        ModelOutput.for_tool_call(name, "bash", {"command": "whoami; head -c 4 chart.png | tail -c 3"}),
        ModelOutput.from_content(name, chart.ANSWER)])
    task = Task(
        dataset=[Sample(input="Draw the sales.", target=chart.ANSWER,
                        files={"sales.csv": "jan,3\nfeb,5\n"})],
        solver=[use_tools(python(), bash()), generate()], scorer=drawn(),
        sandbox=SandboxEnvironmentSpec("glovebox", GloveboxConfig(user="root")))
    [log] = await eval_async(task, model=model, log_dir=str(tmp_path))
    assert log.status == "success", log.error
    [sample] = log.samples
    assert (sample.scores["drawn"].value, sample.scores["drawn"].answer) == (1, chart.ANSWER)
    said = [each.text for each in sample.messages if each.role == "tool"]
    assert f"root\n{chart.ANSWER}" in said[1], [(each.text, each.error) for each in sample.messages if each.role == "tool"]
