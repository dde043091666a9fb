# SPDX-License-Identifier: Apache-2.0
"""What clients were told, kept outside of all that is killed; and the comparison with what is."""

import contextlib
import json
import threading


class Known:
    """One sandbox that a client was told of. Of one worker, which alone changes it; `doomed` is set
    by whoever kills something of it, before it does."""

    def __init__(self, number, sandbox):
        self.number = number
        self.sandbox = sandbox
        self.context = None
        self.marker = f"gbx{number}"  # What its process is called on the host.
        self.interpreter = f"gbi{number}"  # And its interpreter.
        self.process = None  # Its pid inside.
        self.equipped = False  # Whether its context is ready for executions.
        # What was killed of it: "interpreter"; "maybe" for what may have taken all of it, or
        # nothing; "gone" for what takes all of it.
        self.doomed = None
        self.paused = False
        self.ended = False
        self.files = {}  # Path to the content that was confirmed,
        self.unconfirmed = {}  # and to what was sent since, without an answer.
        self.executions = 0
        self.confirmed = set()  # Numbers of executions whose verdict was "ok".
        self.pending = None  # One that was sent, and not answered.
        self.name = None
        self.unconfirmed_names = set()

    def may_hold(self, path):
        return [self.files.get(path), *self.unconfirmed.get(path, ())]


class Oracle:
    """Of all workers. What is wrong is gathered in words."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.lock = threading.Lock()
        self.sandboxes = []
        self.tried = set()  # What their creators called them, told of or not.
        self.snapshots = {}  # Name to the files that it must have.
        self.generation = 0  # Kills that concern all sandboxes, also those on their way.
        self.all_die = False  # One of them is under way.
        self.wrong = []
        self.done = 0
        self.lost = 0  # Requests without an answer.

    def say(self, text):
        with self.lock:
            self.wrong.append(str(text))

    def count(self, answered):
        with self.lock:
            self.done += answered
            self.lost += not answered

    def add(self, known, generation):
        """One that was asked for in that generation."""
        with self.lock:
            unharmed = generation == self.generation and not self.all_die
            known.doomed = None if unharmed else "maybe"
            self.sandboxes.append(known)

    @contextlib.contextmanager
    def end_of_all(self, how):
        """Of those that are there; one that is made meanwhile may live or not."""
        self.all_die = True
        self.doom_all(how)
        try:
            yield
        finally:
            self.doom_all(how)
            self.all_die = False

    def doom_all(self, how):
        with self.lock:
            self.generation += 1
            for known in self.sandboxes:
                if known.doomed in (None, "interpreter") or how == "gone":
                    known.doomed = how

    def living(self):
        with self.lock:
            return [one for one in self.sandboxes if not one.ended and one.doomed is None]

    def check(self):
        """Once everything is quiet. Answers what is wrong."""
        listed = {one["id"]: one for one in self.list_all()}
        for known in self.sandboxes:
            self.check_sandbox(known, listed)
        known = {one.sandbox.id for one in self.sandboxes}
        for id, one in listed.items():
            # Made, and its maker was not told: that may be, and its list shows it.
            if id not in known and one["metadata"].get("made") not in self.tried:
                self.say(f"nobody asked for sandbox {id}: {one}")
        made = [one["metadata"].get("made") for one in listed.values()]
        for twice in {name for name in made if name and made.count(name) > 1}:
            self.say(f"a request with an idempotency key made two sandboxes: {twice}")
        for name, files in self.snapshots.items():
            self.check_snapshot(name, files)
        return self.wrong

    def list_all(self):
        after = ""
        while after is not None:
            page = self.daemon.must(200, "GET", f"/v1/sandboxes?limit=1000&after={after}")
            yield from page["sandboxes"]
            after = page["next"]

    def check_sandbox(self, known, listed):
        sandbox, what = known.sandbox, f"sandbox {known.number} ({known.sandbox.id})"
        there = self.daemon.ask("GET", sandbox.path).status
        # A creation does not wait for its record, which the keeper can replace. Where both are killed in
        # that moment, nobody knows of the sandbox any more.
        gone = (404, 410) if known.doomed == "gone" and not known.ended else (410,)
        if there not in (200, *gone) or (there == 200) != (sandbox.id in listed):
            self.say(f"{what}: {there}, and listed: {sandbox.id in listed}")
        if known.ended or known.doomed == "gone":
            if there not in gone:
                self.say(f"{what} is there, and must not be: {known.doomed or 'it was ended'}")
            return
        if there != 200:
            if known.doomed != "maybe":
                self.say(f"{what} is lost: {there}")
            return
        if known.paused and sandbox.info()["state"] == "paused":
            sandbox.must(200, "POST", "/resume")
        elif known.paused:
            self.say(f"{what} is not paused any more")
        name = sandbox.info()["metadata"].get("name")
        if name != known.name and name not in known.unconfirmed_names:
            self.say(f"{what} is named {name}, not {known.name} or {known.unconfirmed_names}")
        for path in known.files:
            self.check_file(known, what, path)
        self.check_executions(known, what)
        if known.process and known.doomed is None:
            pids = [one["pid"] for one in sandbox.must(200, "GET", "/processes")["processes"]]
            if known.process not in pids:
                self.say(f"{what}: process {known.process} is lost; there are {pids}")

    def check_file(self, known, what, path):
        answer = self.daemon.ask("GET", f"{known.sandbox.path}/files/{path}")
        found = answer.body if answer.status == 200 else None
        allowed = known.may_hold(path)
        if found not in allowed:
            self.say(
                f"{what}: {path} is {answer.status} with {len(answer.body)} bytes, and not one of "
                f"{[None if one is None else len(one) for one in allowed]} bytes that it may be"
            )

    def check_executions(self, known, what):
        if known.executions == 0:
            return
        answer = self.daemon.ask("GET", known.sandbox.path + "/files/journal")
        journal = answer.body.decode().split() if answer.status == 200 else []
        numbers = [int(one) for one in journal]
        twice = sorted({one for one in numbers if numbers.count(one) > 1})
        if twice:
            self.say(f"{what}: executed twice under one key: {twice} of {numbers}")
        if missing := known.confirmed - set(numbers):
            self.say(f"{what}: confirmed, and never executed: {sorted(missing)} not in {numbers}")
        if known.doomed is None and known.context:
            seen = json.loads(known.context.value("seen"))
            if missing := known.confirmed - set(seen):
                self.say(f"{what}: its interpreter forgot {sorted(missing)}: {seen}")

    def check_snapshot(self, name, files):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"template": name})
        if answer.status != 201:
            self.say(f"snapshot {name} is lost: {answer}")
            return
        path = "/v1/sandboxes/" + answer.json["id"]
        for file, allowed in files.items():
            found = self.daemon.ask("GET", f"{path}/files/{file}")
            if (found.body if found.status == 200 else None) not in allowed:
                self.say(f"snapshot {name}: {file} is not as it was: {found.status}")
        self.daemon.must(204, "DELETE", path)
