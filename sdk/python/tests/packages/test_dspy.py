# SPDX-License-Identifier: Apache-2.0
"""DSPy's interpreter protocol."""

import pytest
from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreter, FinalOutput

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
