# SPDX-License-Identifier: Apache-2.0
"""Sandboxes for the command line of Deep Agents, found and made as it does that."""

import importlib.metadata
import pathlib
import re

import chart
import pytest
from deepagents import create_deep_agent
from deepagents_code.integrations.sandbox_factory import create_sandbox
from deepagents_code.integrations.sandbox_provider import SandboxNotFoundError
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage

from glovebox import Client
from glovebox.adapters.deepagents_code import GloveboxProvider

GROUP = "deepagents_code.sandbox_providers"
PROJECT = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.fixture(autouse=True)
def entry_point(monkeypatch, tmp_path):
    """That of the package, as if it were installed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    value = re.search(rf'\[project.entry-points."{GROUP}"\]\nglovebox = "(.*)"', PROJECT.read_text())[1]
    own, found = importlib.metadata.EntryPoint("glovebox", value, GROUP), importlib.metadata.entry_points

    def with_own(**wanted):
        every = found(**wanted)
        return [*every, own] if wanted.get("group") == GROUP else every

    monkeypatch.setattr(importlib.metadata, "entry_points", with_own)


def ids():
    with Client() as client:
        return [each.id for each in client.sandboxes.list()]


def test_a_sandbox_is_made_set_up_and_ended(tmp_path):
    setup = tmp_path / "setup.sh"
    setup.write_text("echo prepared > /workspace/prepared.txt")
    with create_sandbox("glovebox", setup_script_path=str(setup)) as backend:
        assert backend.id in ids()
        done = backend.execute("cat prepared.txt; pwd")
        assert (done.exit_code, done.output) == (0, "prepared\n/workspace\n")
        with create_sandbox("glovebox", sandbox_id=backend.id) as again:
            assert again.execute("cat prepared.txt").output == "prepared\n"
        assert backend.id in ids()
    assert ids() == []


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


def test_a_whole_agent_makes_a_chart_from_a_file():
    code = ("import pandas as pd, matplotlib; matplotlib.use('Agg'); "
            "pd.read_csv('sales.csv').plot(x='month', y='sold').figure.savefig('chart.png')")
    command = (r"printf 'month,sold\nJan,3\nFeb,5\n' > sales.csv && "
               f'python3 -c "{code}" && head -c 4 chart.png | tail -c 3')
    model = Scripted(responses=[
        AIMessage("", tool_calls=[{"name": "execute", "id": "1", "args": {"command": command}}]),
        AIMessage("done")])
    with create_sandbox("glovebox") as backend:
        state = create_deep_agent(model, backend=backend).invoke({"messages": [("user", "Draw.")]})
        said = [each.content for each in state["messages"] if each.type == "tool"]
        assert chart.ANSWER in said[0], said
        assert backend.download_files(["/workspace/chart.png"])[0].content.startswith(b"\x89PNG")


def test_parameters_and_snapshots_are_those_of_a_sandbox():
    with create_sandbox("glovebox", snapshot_name="default", params={"env": {"A": "b"}}) as backend:
        assert backend.execute("echo $A").output == "b\n"


def test_one_that_does_not_exist_is_not_found():
    with pytest.raises(SandboxNotFoundError):
        GloveboxProvider().get_or_create(sandbox_id="nonesuch")
    with pytest.raises(SandboxNotFoundError):
        GloveboxProvider().delete(sandbox_id="nonesuch")
