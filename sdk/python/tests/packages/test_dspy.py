# SPDX-License-Identifier: Apache-2.0
"""DSPy's interpreter protocol, and a whole run of a module whose model is scripted."""

import base64

import dspy
import pytest
from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreter, FinalOutput
from dspy.utils.dummies import DummyLM

from glovebox.adapters.dspy import GloveboxInterpreter


@pytest.fixture
def interpreter():
    interpreter = GloveboxInterpreter(output_fields=[{"name": "answer"}])
    yield interpreter
    interpreter.shutdown()


def test_it_keeps_the_protocol(interpreter):
    assert isinstance(interpreter, CodeInterpreter)


def test_state_and_variables_stay(interpreter):
    assert interpreter.execute("x = 40", {"given": [1, 2]}) is None
    assert interpreter.execute("print(x + given[1])") == "42"


def test_what_is_submitted_is_final(interpreter):
    assert interpreter.execute("SUBMIT(answer={'a': 1})") == FinalOutput({"answer": {"a": 1}})
    assert interpreter.execute("SUBMIT(7)") == FinalOutput({"answer": 7})


def test_errors_are_of_their_kind(interpreter):
    with pytest.raises(CodeExecutionError, match="ZeroDivisionError"):
        interpreter.execute("1 / 0")
    with pytest.raises(SyntaxError):
        interpreter.execute("1 +")
    assert interpreter.execute("print(1)") == "1"


def test_tools_are_called_from_inside_and_their_errors_are_raised_there():
    def add(a: int, b: int = 1) -> int:
        return a + b

    def fail() -> None:
        raise ValueError("the reason")

    interpreter = GloveboxInterpreter(tools={"add": add, "fail": fail})
    try:
        assert interpreter.execute("print(add(40, b=2))") == "42"
        with pytest.raises(CodeExecutionError, match="the reason"):
            interpreter.execute("fail()")
    finally:
        interpreter.shutdown()


def test_a_whole_run_makes_a_chart_from_a_file():
    lm = DummyLM([
        {"reasoning": "Draw.", "code": """
open('sales.csv', 'w').write(sales)
import matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt
rows = [line.split(',') for line in open('sales.csv')]
plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])
plt.savefig('chart.png')
print(llm_query('How many rows?'), len(rows))"""},
        {"response": "two"},
        {"reasoning": "Done.", "code": """
import base64
SUBMIT(chart=base64.b64encode(open('chart.png', 'rb').read()).decode())"""}])
    rlm = dspy.RLM("sales -> chart", interpreter_factory=GloveboxInterpreter)
    with dspy.context(lm=lm):
        made = rlm(sales="jan,3\nfeb,5\n")
    assert base64.b64decode(made.chart).startswith(b"\x89PNG")
    assert "2" in made.trajectory[0]["output"], made.trajectory
