# SPDX-License-Identifier: Apache-2.0
"""Clients that do all that can be done, and write down what they were told."""

import http.client
import json
import os
import threading

from daemon import Context, Sandbox
from harness import chance_of
from oracle import Known

# What a client sees of a daemon that dies under it.
LOST = (OSError, http.client.HTTPException, json.JSONDecodeError)
# A daemon that is up says so when it cannot just now.
BUSY = (429, 503)
# The tier of all sandboxes, where it is not the daemon's choice.
TIER = os.environ.get("GLOVEBOX_CHAOS_TIER", "")
# Where processes inside have names that the host sees.
NAMES_PROCESSES = TIER in ("", "native", "landlock")
MOST_SANDBOXES = 3  # For each worker.
# And of those of which something was killed and that may live all the same: the newest are looked at
# in the end. An idle one costs a processor something in some tiers.
MOST_SURVIVORS = 1
SIZES = (0, 1, 100, 4_000, 70_000, 1_500_000)


class NoAnswer(Exception):
    """Nobody knows whether it was done."""


class Refused(Exception):
    """It was not done, and the client was told so."""


class Worker:
    numbers = 0
    numbers_lock = threading.Lock()

    def __init__(self, oracle, name, over, restarting):
        self.oracle = oracle
        self.daemon = oracle.daemon
        self.over = over
        self.restarting = restarting
        self.chance = chance_of(f"worker {name}")
        self.mine = []
        self.survivors = []

    def work(self):
        steps = [
            (self.create, 2),
            (self.execute, 10),
            (self.write, 10),
            (self.read, 6),
            (self.rename, 3),
            (self.pause, 2),
            (self.snapshot, 1),
            (self.end, 1),
        ]
        functions, weights = zip(*steps)
        while not self.over.is_set():
            self.survivors += [one for one in self.mine if not one.ended and one.doomed == "maybe"]
            self.mine = [one for one in self.mine if not one.ended and one.doomed is None]
            step = self.chance.choices(functions, weights)[0] if self.mine else self.create
            try:
                while len(self.survivors) > MOST_SURVIVORS:
                    self.end(self.survivors.pop(0))
                if step == self.create:
                    step()
                else:
                    known = self.chance.choice(self.mine)
                    # Whatever needs it running resumes it, told of or not.
                    known.paused = known.paused and step == self.rename
                    step(known)
            except (NoAnswer, Refused):
                self.wait_for_the_next_one()

    def wait_for_the_next_one(self):
        # Of the daemons; while a keeper is replaced, as a client waits that was told to.
        with self.restarting:
            pass
        self.over.wait(0.02)

    def ask(self, known, allowed, *request, **how):
        """An answer with one of these statuses. Another one is a fault of the daemon's, unless it
        may be: of a sandbox that something was killed of, or while the keeper is replaced."""
        try:
            answer = self.daemon.ask(*request, **how)
        except LOST as lost:
            self.oracle.count(False)
            raise NoAnswer from lost
        self.oracle.count(True)
        if answer.status in allowed:
            return answer
        if answer.status == 503:
            raise NoAnswer  # It may have been under way when something died.
        if answer.status in BUSY:
            raise Refused
        if known is None or known.doomed is None:
            self.oracle.say(f"{request[0]} {request[1]} was answered with {answer}")
        raise Refused

    def create(self):
        if len(self.mine) >= MOST_SANDBOXES:
            return
        with Worker.numbers_lock:
            Worker.numbers += 1
            number = Worker.numbers
        made = f"made-{number}"
        self.oracle.tried.add(made)
        wishes = {"timeout": "1h", "auto_resume": True, "metadata": {"made": made}}
        wishes |= {"tier": TIER} if TIER else {}
        key = {"Idempotency-Key": made}
        # Of the first time: an answer to a later one may tell of what was made then, and died since.
        generation = self.oracle.generation
        while not self.over.is_set():
            try:
                answer = self.ask(None, (201, 409), "POST", "/v1/sandboxes", wishes, key)
            except NoAnswer:
                self.wait_for_the_next_one()
                continue
            break
        else:
            return
        if answer.status == 409:
            # Made by a request that was lost, and killed before this one.
            if generation == self.oracle.generation or "has ended" not in answer.json["message"]:
                self.oracle.say(f"the creation of {made} was answered with {answer}")
            return
        known = Known(number, Sandbox(self.daemon, answer.json["id"]))
        self.oracle.add(known, generation)
        self.mine.append(known)
        self.equip(known)

    def equip(self, known):
        """With a process that bears a name on the host, and an interpreter that does."""
        path = known.sandbox.path
        code = "seen = []"
        if NAMES_PROCESSES:
            code += (
                "\nimport ctypes, os; os.symlink('/bin/sleep', %r)\n"
                "ctypes.CDLL(None).prctl(15, %r)" % (known.marker, known.interpreter.encode())
            )
        context = self.ask(known, (201,), "POST", path + "/contexts", {})
        known.context = Context(known.sandbox, context.json["id"])
        key = {"Idempotency-Key": "equip"}
        done = None
        while done is None and not self.over.is_set():
            try:
                done = self.ask(
                    known, (200,), "POST", known.context.path + "/execute", {"code": code}, key
                )
            except NoAnswer:
                if known.doomed is not None:
                    raise
                self.wait_for_the_next_one()
        if done is None:
            return
        known.equipped = True
        if not NAMES_PROCESSES:
            return
        argv = {"argv": ["./" + known.marker, "3600"]}
        started = self.ask(known, (201,), "POST", path + "/processes", argv)
        known.process = started.json["pid"]

    def execute(self, known):
        if not known.equipped or (NAMES_PROCESSES and known.process is None):
            return self.end(known)
        if known.pending is None:
            known.executions += 1
            known.pending = known.executions
        number = known.pending
        code = f"seen.append({number}); print({number}, file=open('journal', 'a'), flush=True)"
        key = {"Idempotency-Key": f"count-{number}"}
        request = ("POST", known.context.path + "/execute", {"code": code}, key)
        answer = self.ask(known, (200,), *request)
        known.pending = None
        verdict = answer.json
        if verdict["status"] == "ok":
            known.confirmed.add(number)
        elif known.doomed is None:
            self.oracle.say(f"sandbox {known.number}: {verdict}")

    def write(self, known):
        path = f"f{self.chance.randrange(6)}"
        content = self.chance.randbytes(self.chance.choice(SIZES))
        known.unconfirmed.setdefault(path, []).append(content)
        known.files.setdefault(path, None)
        self.ask(known, (200,), "PUT", f"{known.sandbox.path}/files/{path}", content)
        # What was sent before to this name and not answered must not come after it.
        known.unconfirmed[path] = []
        known.files[path] = content

    def read(self, known):
        if not known.files:
            return
        path = self.chance.choice(list(known.files))
        answer = self.ask(known, (200, 404), "GET", f"{known.sandbox.path}/files/{path}")
        found = answer.body if answer.status == 200 else None
        if found not in known.may_hold(path) and known.doomed is None:
            self.oracle.say(f"sandbox {known.number}: {path} has {len(answer.body)} other bytes")

    def rename(self, known):
        name = str(self.chance.random())
        known.unconfirmed_names.add(name)
        changed = {"metadata": {"made": f"made-{known.number}", "name": name}}
        self.ask(known, (200,), "PATCH", known.sandbox.path, changed)
        known.name = name
        known.unconfirmed_names = set()

    def pause(self, known):
        # Where it is paused already, nobody was told.
        self.ask(known, (204, 409), "POST", known.sandbox.path + "/pause")
        known.paused = True

    def snapshot(self, known):
        name = f"snapshot-{known.number}-{self.chance.randrange(1 << 30)}"
        self.ask(known, (201,), "POST", known.sandbox.path + "/snapshot", {"name": name})
        self.oracle.snapshots[name] = {path: known.may_hold(path) for path in known.files}

    def end(self, known):
        # An answer that is lost may have been a yes.
        known.ended = True
        while True:
            try:
                self.ask(known, (204, 410), "DELETE", known.sandbox.path)
                return
            except NoAnswer:
                self.wait_for_the_next_one()
