# SPDX-License-Identifier: Apache-2.0
"""Calls that become tasks: the extension of revision 2026-07-28, and the tasks of 2025-11-25."""
import time
import unittest

from client import Client, STATELESS, text_of

EXTENSION = "io.modelcontextprotocol/tasks"
TASKS = {"extensions": {EXTENSION: {}}}
FORMS = TASKS | {"elicitation": {}}
PATIENCE_S = 60
GREET = "name = input('name? ')\n'hello ' + name"
# Longer than a client is kept waiting.
SLOW = "import time\nprint('begun', flush=True)\ntime.sleep(4)\n'slept'"


def settled(get, statuses=("completed", "failed", "cancelled")):
    """The task, as `get` tells it, once it has one of the statuses."""
    end = time.monotonic() + PATIENCE_S
    while True:
        task = get()
        if task["status"] in statuses:
            return task
        if time.monotonic() > end:
            raise AssertionError(task)


class Extension(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client(version=STATELESS, capabilities=FORMS)
        cls.addClassCleanup(cls.client.close)

    def get(self, task):
        return self.client.request("tasks/get", {"taskId": task})["result"]

    def asking(self, code=GREET):
        """A task that has asked, and what it asks."""
        task = self.client.call("run_code", code=code, context="new")
        self.assertEqual(task["resultType"], "task", task)
        asked = settled(lambda: self.get(task["taskId"]), ["input_required"])
        return task["taskId"], asked["inputRequests"]

    def update(self, task, responses):
        return self.client.request("tasks/update", {"taskId": task, "inputResponses": responses})

    def test_the_server_says_that_it_has_tasks(self):
        found = self.client.request("server/discover")["result"]["capabilities"]
        self.assertEqual(found["extensions"][EXTENSION], {})
        self.assertNotIn("tasks", found)

    def test_what_is_quick_has_its_result_at_once(self):
        done = self.client.call("run_code", code="1 + 1")
        self.assertEqual(done["resultType"], "complete")
        self.assertEqual(done["structuredContent"]["result"], "2")

    def test_what_takes_long_becomes_a_task_whose_result_is_that_of_the_call(self):
        task = self.client.call("run_code", code=SLOW)
        self.assertEqual((task["resultType"], task["status"]), ("task", "working"))
        self.assertNotIn("content", task)
        self.assertEqual(self.get(task["taskId"])["statusMessage"], "begun")
        done = settled(lambda: self.get(task["taskId"]))
        self.assertEqual(done["result"]["structuredContent"]["result"], "'slept'")
        self.assertGreaterEqual(done["ttlMs"], 3_600_000)
        # Once more: it is kept.
        self.assertEqual(self.get(task["taskId"])["result"], done["result"])

    def test_code_that_asks_waits_in_its_task_until_it_is_answered(self):
        task, asked = self.asking()
        (key, request), = asked.items()
        self.assertEqual(request["method"], "elicitation/create")
        self.assertEqual(request["params"]["message"], "Code in a sandbox asks: name? ")
        # What is not asked, or is no response, is passed over.
        self.update(task, {"other": {"action": "accept"}, key: 7})
        self.assertEqual(self.get(task)["inputRequests"], asked)
        answer = {"action": "accept", "content": {"input": "Ada"}}
        self.assertEqual(self.update(task, {key: answer})["result"]["resultType"], "complete")
        done = settled(lambda: self.get(task))
        self.assertEqual(done["result"]["structuredContent"]["result"], "'hello Ada'")

    def test_no_two_questions_of_a_task_have_one_key(self):
        task, asked = self.asking("[input(str(i)) for i in range(3)]")
        keys = []
        for line in "abc":
            keys += asked
            self.update(task, {keys[-1]: {"action": "accept", "content": {"input": line}}})
            state = settled(lambda: self.get(task), ["input_required", "completed"]
                            if line != "c" else ["completed"])
            asked = state.get("inputRequests")
        self.assertEqual(len(set(keys)), 3)
        self.assertEqual(state["result"]["structuredContent"]["result"], "['a', 'b', 'c']")

    def test_a_program_that_fails_completes_its_task_with_an_error(self):
        task, asked = self.asking("input()\n1/0")
        self.update(task, {key: {"action": "decline"} for key in asked})
        done = settled(lambda: self.get(task))
        self.assertEqual(done["status"], "completed")
        self.assertTrue(done["result"]["isError"])

    def test_a_task_that_is_canceled_stops_its_code_and_not_its_interpreter(self):
        task, asked = self.asking()
        self.assertEqual(self.client.request("tasks/cancel", {"taskId": task})["result"]
                         ["resultType"], "complete")
        gone = self.get(task)
        self.assertEqual(gone["status"], "cancelled")
        self.assertNotIn("inputRequests", gone)
        # It makes no difference any more.
        self.update(task, {key: {"action": "accept"} for key in asked})
        self.client.request("tasks/cancel", {"taskId": task})
        self.assertEqual(self.get(task)["status"], "cancelled")
        self.assertEqual(self.client.call("run_code", code="2 + 2")["structuredContent"]["result"], "4")

    def test_a_call_canceled_before_it_is_a_task_is_over(self):
        with Client(version=STATELESS, capabilities=TASKS) as client:
            client.call("run_code", code="import time")
            for _ in range(10):
                number = client.send("tools/call", {"name": "run_code", "arguments": {
                    "code": "print('begun', flush=True)\ntime.sleep(60)"}}, progressToken=1)
                first = client.take()
                if "result" not in first:
                    break
                # The machine was so slow that it is a task already.
                client.request("tasks/cancel", {"taskId": first["result"]["taskId"]})
            # Until then it is told of as any call is.
            self.assertEqual(first["params"]["message"], "begun\n")
            client.notify("notifications/cancelled", {"requestId": number})
            again = client.call("run_code", code="5")
            if again["resultType"] == "task":  # The interpreter was still busy.
                again = settled(lambda: client.request(
                    "tasks/get", {"taskId": again["taskId"]})["result"])["result"]
            self.assertEqual(again["structuredContent"]["result"], "5", again)

    def test_unknown_tasks_and_wrong_updates_are_errors(self):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            for params in ({"taskId": "none", "inputResponses": {}}, {"taskId": 7}, {}):
                answer = self.client.request(method, params)
                self.assertEqual(answer["error"]["code"], -32602, (method, params))
        task, _ = self.asking()
        for wrong in (None, 7, []):
            self.assertEqual(self.update(task, wrong)["error"]["code"], -32602)
        self.client.request("tasks/cancel", {"taskId": task})

    def test_a_client_that_does_not_know_tasks_gets_none(self):
        with Client(version=STATELESS) as client:
            done = client.call("run_command", command="echo plain")
            self.assertEqual(done["structuredContent"]["stdout"], "plain\n")
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                error = client.request(method, {"taskId": "x", "inputResponses": {}})["error"]
                self.assertEqual(error["code"], -32021)
                self.assertEqual(error["data"]["requiredCapabilities"], TASKS)
            for method in ("tasks/list", "tasks/result"):
                self.assertEqual(client.request(method, {"taskId": "x"})["error"]["code"], -32601)

    def test_no_more_than_sixteen_are_under_way_and_others_run_without_a_task(self):
        with Client(version=STATELESS, capabilities=FORMS) as client:
            sent = [client.send("tools/call", {"name": "run_command", "arguments": {
                "command": "sleep 30"}}) for _ in range(16)]
            for number in sent:
                self.assertEqual(client.wait(number)["result"]["resultType"], "task")
            done = client.call("run_command", command="echo more")
            self.assertEqual(done["resultType"], "complete")
            self.assertEqual(done["structuredContent"]["stdout"], "more\n")


class Sessions(unittest.TestCase):
    """The client asks for a task with `task`."""

    @classmethod
    def setUpClass(cls):
        cls.client = Client(capabilities={"elicitation": {}})
        cls.addClassCleanup(cls.client.close)

    def begin(self, code, tool="run_code", name="code", **task):
        return self.client.request("tools/call", {"name": tool, "arguments": {name: code},
                                                  "task": task})

    def test_the_capability_and_the_list_say_what_can_be_a_task(self):
        self.assertEqual(self.client.first["capabilities"]["tasks"],
                         {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}})
        tools = self.client.request("tools/list")["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools if "execution" in tool],
                         ["run_code", "run_command"])
        with Client(version="2025-06-18") as client:
            self.assertNotIn("tasks", client.first["capabilities"])
            self.assertNotIn("execution", client.request("tools/list")["result"]["tools"][0])
            self.assertEqual(client.request("tasks/list")["error"]["code"], -32601)

    def test_a_task_is_told_of_at_once_and_its_result_fetched_later(self):
        task = self.begin("6 * 7", ttl=60_000)["result"]["task"]
        self.assertEqual(task["ttl"], 60_000)
        done = settled(lambda: self.client.request("tasks/get",
                                                   {"taskId": task["taskId"]})["result"])
        self.assertEqual(done["status"], "completed")
        for _ in range(2):
            result = self.client.request("tasks/result", {"taskId": task["taskId"]})["result"]
            self.assertEqual(result["structuredContent"]["result"], "42")
            self.assertEqual(result["_meta"]["io.modelcontextprotocol/related-task"],
                             {"taskId": task["taskId"]})
        listed = self.client.request("tasks/list")["result"]["tasks"]
        self.assertIn(task["taskId"], [each["taskId"] for each in listed])

    def test_who_waits_for_the_result_is_asked_what_the_task_asks(self):
        asked = []

        def respond(request):
            asked.append(request["params"])
            return {"action": "accept", "content": {"input": "Ada"}}

        self.client.respond = respond
        task = self.begin(GREET)["result"]["task"]["taskId"]
        settled(lambda: self.client.request("tasks/get", {"taskId": task})["result"],
                ["input_required"])
        result = self.client.request("tasks/result", {"taskId": task})["result"]
        self.assertEqual(result["structuredContent"]["result"], "'hello Ada'", text_of(result))
        self.assertEqual([each["_meta"]["io.modelcontextprotocol/related-task"]["taskId"]
                          for each in asked], [task])

    def test_a_task_can_be_canceled_once(self):
        task = self.begin("sleep 60", "run_command", "command")["result"]["task"]["taskId"]
        waiting = self.client.send("tasks/result", {"taskId": task})
        canceled = self.client.request("tasks/cancel", {"taskId": task})["result"]
        self.assertEqual(canceled["status"], "cancelled")
        self.assertIn("error", self.client.wait(waiting))
        self.assertEqual(self.client.request("tasks/cancel", {"taskId": task})["error"]["code"], -32602)

    def test_a_tool_that_is_never_slow_is_no_task(self):
        self.assertEqual(self.begin(".", "list_files", "path")["error"]["code"], -32601)


if __name__ == "__main__":
    unittest.main()
