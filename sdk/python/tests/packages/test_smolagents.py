# SPDX-License-Identifier: Apache-2.0
"""smolagents' CodeAgent runs its code in a sandbox, driven by a model that is scripted."""

import pytest
from smolagents import CodeAgent, tool
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.utils import AgentError

from glovebox.adapters.smolagents import GloveboxExecutor

CSV = "month,sales\\njan,3\\nfeb,5\\n"


@pytest.fixture
def executor():
    executor = GloveboxExecutor([], AgentLogger(level=LogLevel.OFF), timeout=10)
    yield executor
    executor.cleanup()


class Scripted(Model):
    """Says one line after the other."""

    def __init__(self, *steps):
        super().__init__(model_id="scripted")
        self.steps = list(steps)

    def generate(self, messages, **_):
        code = self.steps.pop(0)
        return ChatMessage(role=MessageRole.ASSISTANT,
                           content=f"Thought: next\n<code>\n{code}\n</code>")


def test_state_stays_between_steps(executor):
    executor("x = 41")
    found = executor("print('said')\nx + 1")
    assert (found.output, found.logs, found.is_final_answer) == ("42", "said\n", False)


def test_an_error_is_the_agents(executor):
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        executor("1 / 0")


def test_variables_are_sent(executor):
    executor.send_variables({"given": {"a": [1, 2]}})
    assert executor("given['a'][1]").output == "2"


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: The number.
    """
    return number * 2


def test_a_whole_run_makes_a_chart_from_a_file(executor):
    executor.sandbox.files.write("sales.csv", CSV.replace("\\n", "\n"))
    steps = Scripted(
        "import csv\nrows = list(csv.DictReader(open('sales.csv')))\n"
        "total = double(sum(int(row['sales']) for row in rows))\nprint(total)",
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
        "plt.bar([row['month'] for row in rows], [int(row['sales']) for row in rows])\n"
        "plt.savefig('chart.png')\nfinal_answer(total)")
    agent = CodeAgent(tools=[double], model=steps, executor=executor, verbosity_level=0,
                      additional_authorized_imports=["csv", "matplotlib", "matplotlib.pyplot"])
    assert agent.run("Draw the sales.") == 16
    assert executor.sandbox.files.read("chart.png").startswith(b"\x89PNG")
