# SPDX-License-Identifier: Apache-2.0
"""Subscriptions: subscriptions/listen, and resources/subscribe of the revisions before it."""
import unittest

from client import Client, STATELESS

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}}
ID = "io.modelcontextprotocol/subscriptionId"


class Subscriptions(unittest.TestCase):
    def setUp(self):
        self.client = Client(version=STATELESS, capabilities=TASKS)
        self.addCleanup(self.client.close)

    def listen(self, **wanted):
        """The number of the stream, and what was agreed on."""
        number = self.client.send("subscriptions/listen", {"notifications": wanted})
        first = self.client.take()
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged", first)
        self.assertEqual(first["params"]["_meta"][ID], number)
        return number, first["params"]["notifications"]

    def begun(self, code):
        task = self.client.call("run_code", code=code)
        self.assertEqual(task["resultType"], "task", task)
        return task["taskId"]

    def until(self, number, method, wanted):
        """The first notification of the stream that is as wanted."""
        while True:
            message = self.client.take()
            self.assertNotIn("id", message)
            self.assertEqual(message["params"]["_meta"][ID], number)
            if message["method"] == method and wanted(message["params"]):
                return message["params"]

    def test_a_task_is_told_of_with_all_that_a_client_could_get(self):
        task = self.begun("name = input('name? ')\n'hello ' + name")
        number, agreed = self.listen(taskIds=[task, "none"], toolsListChanged=True)
        self.assertEqual(agreed, {"taskIds": [task]})
        asks = self.until(number, "notifications/tasks", lambda it: it["status"] == "input_required")
        key, = asks["inputRequests"]
        # Its response comes in between.
        update = self.client.send("tasks/update", {"taskId": task, "inputResponses": {
            key: {"action": "accept", "content": {"input": "Ada"}}}})
        seen = []
        while not seen or "result" not in seen[-1] or seen[-1]["id"] != number:
            seen.append(self.client.take())
        told = [each["params"] for each in seen if each.get("method") == "notifications/tasks"]
        self.assertEqual(told[-1]["result"]["structuredContent"]["result"], "'hello Ada'")
        self.assertEqual(seen[-1]["result"]["_meta"][ID], number)
        self.assertIn(update, [each.get("id") for each in seen])

    def test_what_a_task_prints_can_be_read_while_it_runs(self):
        task = self.begun("print('one', flush=True)\nprint('two', flush=True)\ninput()")
        uri = f"glovebox://task/{task}"
        number, agreed = self.listen(resourceSubscriptions=[uri, "glovebox://task/none"])
        self.assertEqual(agreed, {"resourceSubscriptions": [uri]})
        self.until(number, "notifications/resources/updated", lambda it: it["uri"] == uri)
        read = self.client.request("resources/read", {"uri": uri})["result"]
        self.assertIn("one\n", read["contents"][0]["text"])
        self.client.notify("notifications/cancelled", {"requestId": number})
        self.client.request("tasks/cancel", {"taskId": task})

    def test_a_new_output_is_another_list_of_resources(self):
        number, agreed = self.listen(resourcesListChanged=True)
        self.assertEqual(agreed, {"resourcesListChanged": True})
        call = self.client.send("tools/call", {"name": "run_code", "arguments": {
            "code": "print('x' * 100_000)"}})
        seen = [self.client.take(), self.client.take()]
        self.assertIn("notifications/resources/list_changed", [each.get("method") for each in seen])
        self.assertIn(call, [each.get("id") for each in seen])
        self.client.notify("notifications/cancelled", {"requestId": number})

    def test_what_cannot_be_listened_to_is_refused(self):
        for wanted in (None, 7, {"taskIds": 7}, {"taskIds": [7]}, {"taskIds": ["x"] * 65},
                       {"resourceSubscriptions": {}}):
            answer = self.client.request("subscriptions/listen", {"notifications": wanted})
            self.assertEqual(answer["error"]["code"], -32602, wanted)
        with Client(version=STATELESS) as client:
            answer = client.request("subscriptions/listen", {"notifications": {"taskIds": ["x"]}})
            self.assertEqual(answer["error"]["code"], -32021)
        with Client() as client:
            self.assertEqual(client.request("subscriptions/listen")["error"]["code"], -32601)


class OlderRevisions(unittest.TestCase):
    PRINTS = "import time\nwhile True:\n    print('one', flush=True)\n    time.sleep(0.05)"

    def setUp(self):
        self.client = Client()
        self.addCleanup(self.client.close)

    def begun(self):
        # In a context of its own: in one, the second waits for the first.
        call = {"name": "run_code", "arguments": {"code": self.PRINTS, "context": "new"}, "task": {}}
        task = self.client.request("tools/call", call)["result"]["task"]["taskId"]
        self.addCleanup(self.client.request, "tasks/cancel", {"taskId": task})
        return f"glovebox://task/{task}"

    def test_a_session_hears_of_what_a_task_prints_as_long_as_it_wants(self):
        uri = self.begun()
        self.assertEqual(self.client.request("resources/subscribe", {"uri": uri})["result"], {})
        told = next(each for each in iter(self.client.take, None)
                    if each.get("method") == "notifications/resources/updated")
        self.assertEqual(told["params"], {"uri": uri})
        read = self.client.request("resources/read", {"uri": uri})["result"]
        self.assertIn("one\n", read["contents"][0]["text"])

    def test_nothing_is_told_of_what_it_no_longer_wants(self):
        uri, other = self.begun(), self.begun()
        for each in (uri, other):
            self.client.request("resources/subscribe", {"uri": each})
        self.assertEqual(self.client.request("resources/unsubscribe", {"uri": uri})["result"], {})
        told = [self.client.take()["params"]["uri"] for _ in range(5)]
        self.assertEqual(told, [other] * 5)

    def test_a_result_that_is_kept_is_told_of_before_it(self):
        self.client.call("run_code", code="print('x' * 100_000)")
        self.assertEqual([each["method"] for each in self.client.notes],
                         ["notifications/resources/list_changed"])
        self.client.notes.clear()
        self.client.call("run_code", code="1")
        self.assertEqual(self.client.notes, [])

    def test_what_there_is_not_cannot_be_subscribed_to(self):
        for uri, code in (("glovebox://task/none", -32002), (7, -32602), ("x" * 5_000, -32602)):
            answer = self.client.request("resources/subscribe", {"uri": uri})
            self.assertEqual(answer["error"]["code"], code)
        said = self.client.first["capabilities"]["resources"]
        self.assertEqual(said, {"subscribe": True, "listChanged": True})


if __name__ == "__main__":
    unittest.main()
