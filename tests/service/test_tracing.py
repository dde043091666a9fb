# SPDX-License-Identifier: Apache-2.0
"""Traces, as a collector gets them that takes OTLP over HTTP."""

import http.server
import json
import threading
import unittest

from daemon import Daemon, wait_until

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NOT_SAMPLED = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


class Collector:
    """What it gets is in `requests`; `statuses` are its next answers, then 200."""

    def __init__(self, port=0):
        self.requests = []
        self.statuses = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = collector.statuses.pop(0) if collector.statuses else 200
                collector.requests.append((status, self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def spans(self):
        return [span
                for status, _, _, request in list(self.requests) if status == 200
                for of_resource in request["resourceSpans"]
                for scope in of_resource["scopeSpans"]
                for span in scope["spans"]]

    def named(self, name, trace=None):
        return [span for span in self.spans()
                if span["name"] == name and trace in (None, span["traceId"])]

    def one(self, name, trace=None):
        return wait_until(lambda: self.named(name, trace), f"the span {name}")[0]


def attributes(span):
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


class Tracing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.stop)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--access-log", "--policy", "untrusted", "--audit", "durable",
                              "--otlp-endpoint", f"http://127.0.0.1:{cls.collector.port}"]
        cls.daemon.start()

    def children(self, span):
        return {each["name"]: each for each in self.collector.spans()
                if each.get("parentSpanId") == span["spanId"]}

    def test_a_run_has_a_span_for_each_step_down_to_the_sandbox(self):
        self.daemon.must(200, "POST", "/v1/run", {"language": "python", "code": "print('SECRET')"},
                         headers={"traceparent": CALLER})
        run = self.collector.one("POST /v1/run", CALLER.split("-")[1])
        self.assertEqual(run["parentSpanId"], CALLER.split("-")[2])
        self.assertEqual(run["kind"], 2)
        said = attributes(run)
        self.assertEqual(said["http.response.status_code"], "200")
        self.assertEqual(said["http.route"], "/v1/run")
        self.assertEqual(said["glovebox.door"], "rest")
        self.assertEqual(said["glovebox.tenant"], "default")
        children = self.children(run)
        self.assertLessEqual({"policy", "admission", "keeper run", "audit"}, set(children))
        call = children["keeper run"]
        self.assertEqual(attributes(call)["glovebox.status"], "ok")
        steps = self.children(call)
        self.assertLessEqual({"warden", "run"}, set(steps))
        for step in steps.values():
            self.assertGreaterEqual(int(step["startTimeUnixNano"]), int(call["startTimeUnixNano"]))
            self.assertLessEqual(int(step["startTimeUnixNano"]), int(step["endTimeUnixNano"]))
        self.assertGreaterEqual(int(call["startTimeUnixNano"]), int(run["startTimeUnixNano"]))
        self.assertLessEqual(int(call["endTimeUnixNano"]), int(run["endTimeUnixNano"]))

    def test_a_sandbox_and_its_executions_are_traces_that_the_access_log_names(self):
        sandbox = self.daemon.create()
        sandbox.must(200, "POST", "/contexts/default/execute", {"code": "1 + 1"})
        created = self.collector.one("POST /v1/sandboxes")
        self.assertNotIn("parentSpanId", created)
        executed = self.collector.one(
            "POST /v1/sandboxes/{id}/contexts/{cid}/execute")
        self.assertEqual(attributes(executed)["glovebox.sandbox"], sandbox.id)
        self.assertNotEqual(executed["traceId"], created["traceId"])
        self.assertIn("keeper execute", self.children(executed))
        self.assertIn("keeper create", self.children(created))
        self.assertTrue(self.children(self.children(created)["keeper create"]))
        lines = [json.loads(line) for line in (self.daemon.dir / "serve.log").read_text().splitlines()
                 if line.startswith("{")]
        self.assertIn(executed["traceId"], [line.get("trace_id") for line in lines])

    def test_a_mistake_of_the_client_is_no_failure_of_the_daemon(self):
        self.daemon.must(404, "GET", "/v1/sandboxes/nothing/usage",
                         headers={"traceparent": CALLER.replace("4bf", "6bf")})
        failed = self.collector.one("GET /v1/sandboxes/{id}/usage",
                                    CALLER.split("-")[1].replace("4bf", "6bf"))
        self.assertEqual(attributes(failed)["http.response.status_code"], "404")
        self.assertNotIn("status", failed)

    def test_a_trace_that_its_caller_does_not_record_is_not_sent(self):
        self.daemon.must(200, "GET", "/v1/sandboxes", headers={"traceparent": NOT_SAMPLED})
        self.daemon.must(200, "GET", "/v1/languages", headers={"traceparent": CALLER})
        self.collector.one("GET /v1/languages", CALLER.split("-")[1])
        self.assertEqual([], self.collector.named("GET /v1/sandboxes", NOT_SAMPLED.split("-")[1]))

    def test_no_code_and_no_key_are_in_traces(self):
        self.daemon.must(200, "POST", "/v1/run?token=SECRET",
                         {"language": "python", "code": "print('SECRET')"},
                         headers={"traceparent": CALLER.replace("4bf", "7bf")})
        self.collector.one("POST /v1/run", CALLER.split("-")[1].replace("4bf", "7bf"))
        whole = json.dumps([request for _, _, _, request in self.collector.requests])
        self.assertNotIn("SECRET", whole)
        self.assertNotIn(self.daemon.key, whole)

    def test_the_collector_learns_who_sends(self):
        self.daemon.must(200, "GET", "/v1/sandboxes")
        wait_until(lambda: self.collector.requests, "a request")
        _, path, headers, request = self.collector.requests[0]
        self.assertEqual(path, "/v1/traces")
        self.assertEqual(headers["Content-Type"], "application/json")
        resource = attributes(request["resourceSpans"][0]["resource"])
        self.assertEqual(resource["service.name"], "glovebox")
        self.assertTrue(resource["service.version"])


class Collectors(unittest.TestCase):
    """That fail."""

    def start(self, collector, *options):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--otlp-endpoint", f"http://127.0.0.1:{collector.port}", *options]
        return daemon.start()

    def counts(self, daemon):
        text = daemon.must(200, "GET", "/metrics").body.decode()
        return {outcome: int(text.split(f'glovebox_trace_spans_total{{outcome="{outcome}"}} ')[1]
                             .split("\n")[0]) for outcome in ("sent", "left_out")}

    def test_one_that_is_away_delays_nobody_and_gets_the_spans_when_it_is_back(self):
        away = Collector()
        away.stop()
        daemon = self.start(away)
        daemon.must(200, "GET", "/v1/languages", headers={"traceparent": CALLER})
        wait_until(lambda: "cannot send traces" in (daemon.dir / "serve.log").read_text(),
                   "a warning")
        self.assertEqual(self.counts(daemon), {"sent": 0, "left_out": 0})
        back = Collector(away.port)
        self.addCleanup(back.stop)
        back.one("GET /v1/languages", CALLER.split("-")[1])
        wait_until(lambda: "takes them again" in (daemon.dir / "serve.log").read_text(), "a line")

    def test_one_that_is_busy_gets_them_again_and_one_that_refuses_does_not(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        collector.statuses = [503, 400]
        daemon = self.start(collector)
        daemon.must(200, "GET", "/v1/languages", headers={"traceparent": CALLER})
        wait_until(lambda: self.counts(daemon)["left_out"] > 0, "spans that were refused")
        first, second = [json.dumps(request[3]) for request in collector.requests[:2]]
        self.assertIn(CALLER.split("-")[1], first)
        self.assertIn(CALLER.split("-")[1], second)
        daemon.must(200, "GET", "/v1/languages")
        collector.one("GET /v1/languages")

    def test_the_daemon_sends_what_waits_before_it_ends(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        daemon = self.start(collector, "--trace-ratio", "0")
        daemon.must(200, "GET", "/v1/sandboxes")
        daemon.must(200, "GET", "/v1/languages", headers={"traceparent": CALLER})
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(1, len(collector.named("GET /v1/languages", CALLER.split("-")[1])))
        self.assertEqual([], collector.named("GET /v1/sandboxes"))


if __name__ == "__main__":
    unittest.main()
