# SPDX-License-Identifier: Apache-2.0
"""The tools for models without a framework: their schemas, and the calls that come back."""

import json
import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from glovebox import Sandbox  # noqa: E402
from glovebox.adapters.schemas import Toolbox  # noqa: E402
from served import shared_daemon, url  # noqa: E402

PICTURE = ("from IPython.display import Image, display\n"
           "display(Image(b'\\x89PNG\\r\\n\\x1a\\nrest', format='png'))\nprint('drawn')")


class Calls(unittest.TestCase):
    def setUp(self):
        sandbox = Sandbox.create(url=url(), api_key=shared_daemon().key)
        self.addCleanup(sandbox.close)
        self.addCleanup(sandbox.kill)
        self.toolbox = Toolbox(sandbox)

    def use(self, name, **arguments):
        return self.toolbox.anthropic_result(
            {"type": "tool_use", "id": "t1", "name": name, "input": arguments})

    def test_schemas_have_the_form_that_each_vendor_reads(self):
        anthropic = {each["name"]: each for each in self.toolbox.anthropic()}
        self.assertEqual(list(anthropic), ["run_code", "run_command", "read_file", "write_file"])
        self.assertEqual(anthropic["run_code"]["input_schema"]["required"], ["code"])
        self.assertEqual({each["type"] for each in self.toolbox.openai()}, {"function"})
        chat = self.toolbox.openai(responses=False)[0]["function"]
        self.assertEqual((chat["name"], "parameters" in chat), ("run_code", True))
        json.dumps([self.toolbox.openai(), self.toolbox.anthropic()])

    def test_a_tool_use_block_gets_text_and_pictures(self):
        found = self.use("run_code", code=PICTURE)
        self.assertEqual((found["tool_use_id"], found["is_error"]), ("t1", False))
        self.assertEqual([each["type"] for each in found["content"]], ["text", "image"])
        self.assertIn("drawn", found["content"][0]["text"])

    def test_variables_and_files_stay_from_call_to_call(self):
        self.use("write_file", path="d/f", content="41")
        self.use("run_code", code="x = int(open('d/f').read())")
        self.assertEqual(self.use("run_code", code="x + 1")["content"][0]["text"], "42")
        self.assertEqual(self.use("read_file", path="d/f")["content"][0]["text"], "41")
        self.assertEqual(self.use("run_command", command="cat d/f; exit 3")["content"][0]["text"],
                         "41\n[error, exit status 3]")

    def test_what_fails_is_an_error_for_the_model(self):
        for name, arguments, word in (
                ("run_code", {"code": "1 / 0"}, "ZeroDivisionError"),
                ("read_file", {"path": "nonesuch"}, "No such file"),
                ("nonesuch", {}, "there is no tool"), ("run_code", {"wrong": 1}, "unexpected")):
            found = self.use(name, **arguments)
            self.assertTrue(found["is_error"], name)
            self.assertIn(word, found["content"][0]["text"])

    def test_both_of_openais_calls_are_answered(self):
        arguments = json.dumps({"command": "echo hi"})
        item = types.SimpleNamespace(type="function_call", name="run_command", call_id="c1",
                                     arguments=arguments)
        self.assertEqual(self.toolbox.openai_result(item), {
            "type": "function_call_output", "call_id": "c1", "output": "hi\n"})
        call = {"id": "c2", "function": {"name": "run_command", "arguments": arguments}}
        self.assertEqual(self.toolbox.openai_result(call), {
            "role": "tool", "tool_call_id": "c2", "content": "hi\n"})


if __name__ == "__main__":
    unittest.main()
