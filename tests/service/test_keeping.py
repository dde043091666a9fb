# SPDX-License-Identifier: Apache-2.0
"""What the keeper holds for a sandbox is bounded, and nobody who waits holds up anybody else."""

import contextlib
import json
import pathlib
import socket
import time
import unittest

from daemon import Case, wait_until

MIB = 1 << 20


class Keeper:
    """What the keeper of a daemon uses."""

    def __init__(self, daemon):
        self.directory = pathlib.Path(f"/proc/{daemon.keeper()}")

    def memory(self):
        for line in (self.directory / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("no VmRSS")

    def threads(self):
        return len(list((self.directory / "task").iterdir()))

    def wake_ups(self):
        """Of each of its threads, how often it has waited for something."""
        found = {}
        for task in (self.directory / "task").iterdir():
            with contextlib.suppress(OSError):
                for line in (task / "status").read_text().splitlines():
                    if line.startswith("voluntary_ctxt_switches:"):
                        found[task.name] = int(line.split()[1])
        return found


class Memory(Case):
    def setUp(self):
        self.sandbox = self.create()
        self.sandbox.context().execute("pass")
        self.keeper = Keeper(self.daemon)
        self.before = self.keeper.memory()

    def grown(self):
        return self.keeper.memory() - self.before

    def test_a_long_session_costs_no_more_than_the_budget_and_can_be_read(self):
        context = self.sandbox.context()
        peak = 0
        for number in range(150):
            context.execute(f"print('x' * 900000); {number}")
            peak = max(peak, self.grown())
        self.assertLess(peak, 110 * MIB)
        notebook = json.loads(context.must(200, "GET", "/notebook").body)
        note, *cells = notebook["cells"]
        self.assertEqual(note["cell_type"], "markdown")
        self.assertIn("earlier cells are no longer kept", "".join(note["source"]))
        self.assertIn("; 149", "".join(cells[-1]["source"]))
        self.assertGreater(len(cells), 10)
        self.assertEqual(context.must(200, "GET", "/notebook.html").status, 200)

    def test_output_that_nobody_reads_costs_no_more_than_the_budget(self):
        argv = ["sh", "-c", "head -c 1000000 /dev/zero; exec sleep 600"]
        for _ in range(120):
            self.sandbox.must(201, "POST", "/processes", {"argv": argv})
        self.assertLess(self.grown(), 80 * MIB)
        self.assertEqual(len(self.sandbox.must(200, "GET", "/processes")["processes"]), 120)

    def test_sources_of_cells_and_kept_results_are_counted_too(self):
        context = self.sandbox.context()
        for number in range(20):
            code = "#" + "s" * (6 * MIB) + f"\nprint('x' * 900000); {number}"
            key = {"Idempotency-Key": f"counted-{number}"}
            self.assertEqual(context.execute(code, key)["status"], "ok")
        self.assertLess(self.grown(), 120 * MIB)

    def test_a_result_that_is_no_longer_kept_is_not_computed_twice(self):
        context = self.sandbox.context()
        context.execute("count = 0")
        key = {"Idempotency-Key": "first"}
        context.execute("count += 1", key)
        other = self.sandbox.context()
        for _ in range(60):
            other.execute("print('x' * 900000)")
        again = context.must(409, "POST", "/execute", {"code": "count += 1"}, headers=key)
        self.assertIn("no longer kept", json.dumps(again))
        self.assertEqual(context.value("count"), "1")


class Bounds(Case):
    def test_a_key_with_other_code_is_refused(self):
        context = self.create().context()
        key = {"Idempotency-Key": "compared"}
        self.assertEqual(context.execute("print(1)", key)["stdout"], "1\n")
        self.assertEqual(context.execute("print(1)", key)["stdout"], "1\n")
        refused = context.must(409, "POST", "/execute", {"code": "print(2)"}, headers=key)
        self.assertIn("hint", refused)

    def test_forks_count_among_the_contexts_of_a_sandbox(self):
        sandbox = self.create(limits={"memory": "2G", "pids": 1000})
        context = sandbox.context()
        point = context.must(201, "POST", "/checkpoint")["checkpoint"]
        for _ in range(70):
            answer = self.daemon.ask("POST", context.path + "/fork", {"checkpoint": point})
            if answer.status != 201:
                break
        self.assertEqual(answer.status, 429, str(answer))
        self.assertEqual(len(sandbox.must(200, "GET", "/contexts")["contexts"]), 64)

    def test_processes_that_have_ended_do_not_count(self):
        sandbox = self.create()
        for _ in range(530):
            sandbox.must(201, "POST", "/processes", {"argv": ["true"]})
        events = self.daemon.stream("POST", sandbox.path + "/processes", {"argv": ["echo", "a"]})
        self.assertEqual(events.until("ended")["exit_code"], 0)


class Waiting(Case):
    def slow_reader(self, context, **request):
        """Has code executed, and reads nothing of what it says."""
        reader = socket.create_connection(("127.0.0.1", self.daemon.port))
        self.addCleanup(reader.close)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body, headers = self.daemon.head(request, {"Accept": "application/x-ndjson"}, "own")
        head = [f"POST {context.path}/execute HTTP/1.1", "Host: x"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        head += [f"Content-Length: {len(body)}", "", ""]
        reader.sendall("\r\n".join(head).encode() + body.encode())
        # Its beginning, so that it runs; and no more than that.
        self.assertIn(b"200", reader.recv(64))
        return reader

    def is_busy(self, context):
        known = context.sandbox.must(200, "GET", "/contexts")["contexts"]
        return [one["busy"] for one in known if one["id"] == context.id][0]

    def test_a_slow_reader_delays_no_limit(self):
        context = self.create().context()
        flood = "while True: print('x' * 1000)"
        self.slow_reader(context, code=flood, limits={"time": "1s"})
        self.assertEqual(context.execute("1 + 1")["status"], "ok")

    def test_a_slow_reader_delays_no_interrupt(self):
        context = self.create().context()
        flood = "while True: print('x' * 1000)"
        self.slow_reader(context, code=flood, limits={"time": "10m"})
        wait_until(lambda: self.is_busy(context), "the execution")
        context.must(204, "POST", "/interrupt")
        self.assertEqual(context.execute("1 + 1")["status"], "ok")

    def test_a_reader_that_is_only_late_gets_all(self):
        context = self.create().context()
        events = context.start("for i in range(20000): print(i, 'x' * 1000)")
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual([int(line.split()[0]) for line in text.splitlines()], list(range(20000)))

    def test_a_notebook_does_not_wait_for_the_cell_that_runs(self):
        context = self.create().context()
        context.execute("print('finished')")
        events = context.start("import time\nprint('begun', flush=True)\ntime.sleep(600)")
        events.until("stdout")
        notebook = json.loads(context.must(200, "GET", "/notebook").body)
        self.assertIn("finished", json.dumps(notebook))
        context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("verdict")["status"], "canceled")

    def test_time_stands_still_for_executions_and_processes_of_a_paused_sandbox(self):
        sandbox = self.create()
        context = sandbox.context()
        slowly = "import time\nprint('begun', flush=True)\nfor i in range(10): time.sleep(0.1)\n7"
        cell = context.start(slowly, limits={"time": "4s"})
        cell.until("stdout")
        process = self.daemon.stream(
            "POST",
            sandbox.path + "/processes",
            {"argv": ["sh", "-c", "echo begun; for i in 1 2 3 4 5; do sleep 0.2; done"]}
            | {"timeout": "4s"},
        )
        process.until("stdout")
        sandbox.must(204, "POST", "/pause")
        resume_at = time.monotonic() + 6  # Longer than either may take.
        wait_until(lambda: time.monotonic() > resume_at, "a pause beyond the limits")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(cell.until("verdict")["status"], "ok")
        self.assertEqual(process.until("ended")["exit_code"], 0)

    def test_a_limit_still_holds_after_a_pause(self):
        sandbox = self.create()
        context = sandbox.context()
        endless = context.start("print('begun', flush=True)\nwhile True: pass", limits={"time": "2s"})
        endless.until("stdout")
        process = self.daemon.stream(
            "POST",
            sandbox.path + "/processes",
            {"argv": ["sh", "-c", "echo begun; exec sleep 600"], "timeout": "2s"},
        )
        process.until("stdout")
        sandbox.must(204, "POST", "/pause")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(endless.until("verdict")["status"], "timeout")
        self.assertEqual(process.until("ended")["signal"], 9)

    def test_processes_that_do_nothing_cost_nothing(self):
        keeper = Keeper(self.daemon)
        sandbox = self.create()
        threads = keeper.threads()
        for _ in range(100):
            sandbox.must(201, "POST", "/processes", {"argv": ["sleep", "600"]})
        self.assertLess(keeper.threads() - threads, 50)
        before = keeper.wake_ups()
        later = time.monotonic() + 2
        wait_until(lambda: time.monotonic() > later, "two seconds")
        after = keeper.wake_ups()
        self.assertLess(sum(n - before.get(task, n) for task, n in after.items()), 2000)


if __name__ == "__main__":
    unittest.main()
