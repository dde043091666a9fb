#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every attack of cases/ in a sandbox and judges, inside and outside, that it was refused.

An attack prints `ATTEMPT name answer` lines, where the answer is an errno's name, `done`, or a word
of its own. Each must be one that its case expects; and the host must be as it was before.
"""

import argparse
import ctypes
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.append(str(HERE.parent / "conformance"))

import group_f
from differences import Expected
from host import Host
from oracles import ORACLES, WITH_RULES
from parts import part_of_today
from positions import PLACE, POSITIONS, TELL, why_not_here

TIMEOUT_SECONDS = 180
SKIPPED = 77
CANNOT = 125  # Of `glovebox run`: no such sandbox could be made.
NESTED = ("nested", "nested-root")
KEYS = {"position", "number", "title", "language", "code", "expect", "status", "options", "tiers", "control",
        "oracle", "most", "needs", "limits", "hit", "runs_compiled", "cgroup", "user", "group_f"}
TIERS = ["native", "landlock", "gvisor", "microvm", "docker"]
CLONE_NEWNS, CLONE_NEWIPC = 0x20000, 0x8000000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 0x40000, 2


def main():
    arguments = parse_arguments()
    if arguments.skip_missing and (why := why_no_sandbox(arguments)):
        print(f"skipped: {why}")
        return SKIPPED
    cases = load_cases(arguments.case)
    if arguments.cgroup_only:
        cases = [case for case in cases if case.get("cgroup", False)]
    if arguments.control:
        cases = [case for case in cases if works_without_walls(case, arguments)]
        if arguments.position in POSITIONS:
            cases = [case for case in cases if not why_not_here(case, POSITIONS[arguments.position])]
    if arguments.accounts != "all":
        wanted = arguments.accounts == "only"
        cases = [case for case in cases if (case.get("oracle") == "accounts") == wanted]
    if arguments.accounts == "none" or arguments.position == "vmm":
        leave_shared_namespaces()
    cases = part_of_today(cases, arguments.parts)
    uid = arguments.as_user if arguments.as_user is not None else os.geteuid()
    host = Host(uid)
    runner = Runner(arguments, host, uid)
    try:
        if arguments.pool:
            runner.start_pool()
        results = [runner.run(case) for case in cases]
    finally:
        runner.end_pool()
        host.remove()
    return summarise(arguments, results)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--glovebox", required=True, type=pathlib.Path,
                        help="program to attack")
    parser.add_argument("--neighbour", type=pathlib.Path, metavar="GLOVEBOX",
                        help="program that runs a second sandbox beside the attacked one, if "
                             "--glovebox prints nothing before its sandbox ends")
    parser.add_argument("--tier", default="native", choices=TIERS)
    parser.add_argument("--as-user", type=int, metavar="UID", help="run glovebox as this user")
    parser.add_argument("--position", metavar="NAME",
                        help="where to run the attacker instead of in its own process: 'context', "
                             "'zygote', 'template-root', 'vmm'; 'nested' where it may make namespaces, and "
                             "'nested-root' as root of namespaces that it has made")
    parser.add_argument("--user", default="user", choices=["user", "root"],
                        help="who the attacker is inside the sandbox")
    parser.add_argument("--pool", action="store_true",
                        help="attack from sandboxes prepared by 'glovebox pool'")
    parser.add_argument("--patience", type=int, default=1, metavar="N",
                        help="multiply the time limit of each case by N, for emulated processors")
    parser.add_argument("--control", action="store_true",
                        help="run attacks without a sandbox; succeeds if each is judged a failure")
    parser.add_argument("--case", type=int, action="append", metavar="NN",
                        help="run only this case; repeatable")
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of the cases, every day another one; all of them "
                             "if GLOVEBOX_ALL_PARTS is set")
    parser.add_argument("--cgroup-only", action="store_true",
                        help="run only what depends on the version of cgroups")
    parser.add_argument("--accounts", default="all", choices=["all", "only", "none"],
                        help="'only' runs the cases that sample the counts of the whole host, 'none' "
                             "the others, which may run beside anything else (default: all)")
    parser.add_argument("--skip-missing", action="store_true",
                        help="exit with 77 where the tier makes no sandbox at all")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--verbose", action="store_true", help="show what each attack printed")
    return parser.parse_args()


def load_cases(wanted):
    cases = []
    for path in sorted((HERE / "cases").glob("*.toml")):
        case = tomllib.loads(path.read_text(encoding="utf-8"))
        unknown = case.keys() - KEYS
        if unknown or not case.get("expect"):
            sys.exit(f"{path.name}: unknown keys {sorted(unknown)} or nothing expected")
        case["file"] = path.stem
        cases.append(case)
    if wrong := group_f.problems(cases):
        sys.exit("\n".join(wrong))
    return [case for case in cases if not wanted or case["number"] in wanted]


def leave_shared_namespaces():
    """Gives this process its own mounts and System V objects: what tests beside it do with the
    host's is no trace of an attack. Only root can, and only root's tests make any."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0
            or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0):
        sys.exit(f"no namespaces of its own: {os.strerror(ctypes.get_errno())}")
    # Where others mount. The kernel ends a mount in all namespaces when its directory is removed in one.
    with open("/proc/self/mountinfo", "rb") as mounts:
        places = [line.split()[4] for line in mounts]
    for place in reversed(places):
        if place.startswith((b"/tmp/", b"/run/")):
            libc.umount2(place, MNT_DETACH)


def has_network_rules(case):
    return case.get("oracle") in WITH_RULES or "--allow-net" in case.get("options", [])


def why_not_as_root_inside(case):
    if case["language"] != "python":
        return "it is no Python"
    if has_network_rules(case) and case.get("position") != "nested-root":
        return "its own network has no way out at all, which 155 shows"
    if case["number"] == 67:
        return "the first process of a pid namespace cannot stop itself"
    return None


def works_without_walls(case, arguments):
    control = case.get("control", False)
    as_root = os.geteuid() == 0 and not arguments.as_user
    return (arguments.tier in case.get("tiers", TIERS)
            and (control is True or (control == "root" and as_root)))


class Runner:
    def __init__(self, arguments, host, uid):
        self.arguments = arguments
        self.host = host
        self.uid = uid
        # The most special place comes last.
        judged_as = getattr(POSITIONS.get(arguments.position), "judged_as", None)
        self.judged_tier = judged_as or arguments.tier
        self.places = [self.judged_tier, self.judged_tier + "-user"][:1 if uid == 0 else 2]
        self.places += ["realm"] if arguments.position in POSITIONS and not judged_as else []
        self.places += ["nested"] if arguments.position == "nested-root" else []
        self.places += [arguments.position] if arguments.position else []
        if arguments.user == "root":
            self.places += ["rootuser", "rootuser-user"][:1 if uid == 0 else 2]
        self.position = None
        if arguments.position in POSITIONS:
            self.position = POSITIONS[arguments.position](host)
        self.pool = None
        if not arguments.control:
            self.host.neighbour = self.neighbour
        self.identity = {}
        if os.geteuid() == 0 and uid != 0:
            self.identity = {"user": uid, "group": uid, "extra_groups": []}
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                            "HOME": host.home, "XDG_RUNTIME_DIR": host.runtime,
                            "GLOVEBOX_RUNTIME_DIR": host.slots,
                            "TMPDIR": "/tmp", "LANG": "C.UTF-8",
                            "GLOVEBOX_ATTACK_SECRET": host.secret}
        if "DOCKER_HOST" in os.environ:
            self.environment["DOCKER_HOST"] = os.environ["DOCKER_HOST"]

    def neighbour(self, code):
        """Starts a second sandbox of the same user, which runs `code` and has nothing to do with
        the attacker's."""
        program = self.arguments.neighbour or self.arguments.glovebox
        command = [str(program.resolve()), "run", "--tier", self.judged_tier, "--time",
                   f"{TIMEOUT_SECONDS}s", "-l", "python", "-e", code]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd="/",
                                env=self.environment, **self.identity)

    def start_pool(self):
        self.pool = subprocess.Popen([str(self.arguments.glovebox.resolve()), "pool"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/",
                                     env=self.environment, **self.identity)
        if not self.pool.stdout.readline():
            sys.exit("no pool could be started")

    def end_pool(self):
        if self.pool:
            self.pool.terminate()
            self.pool.communicate(timeout=TIMEOUT_SECONDS)

    def teach_pool(self, command):
        """Until it has such a sandbox: those for cases with limits or files of their own."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < end:
            done = subprocess.run([*command, "-e", ""], stdin=subprocess.DEVNULL,
                                  capture_output=True, cwd="/", env=self.environment,
                                  timeout=TIMEOUT_SECONDS, check=False, **self.identity)
            if "claim_us" in json.loads(done.stdout).get("timings", {}):
                return

    def run(self, case):
        reason = self.reason_to_skip(case)
        if reason:
            return self.tell(case, "skipped", [reason])
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            output, verdict, complaints = self.attack(case)
            complaints += self.host.complaints(output)
            # Otherwise the pool was still making the next one.
            if complaints or not verdict.get("not_ahead") or time.monotonic() >= end:
                break
        if verdict.get("not_ahead"):
            complaints.append("no sandbox that was made ahead")
        complaints += judge_attempts(case, self.places, output, verdict.get("status", "ok"))
        if not self.arguments.control:
            complaints += judge_verdict(case, self.places, verdict)
        if self.arguments.verbose:
            print(output, verdict.get("stderr", ""), sep="\n")
        return self.tell(case, "failed" if complaints else "refused", complaints)

    def attack(self, case):
        """What the guest said, the verdict, and what the oracle complains of."""
        self.host.begin_case()
        most = for_tier(case.get("most", {}), *self.places)
        oracle = ORACLES[case.get("oracle")](self.host, most)
        try:
            if self.arguments.control:
                output, verdict = self.run_bare(case)
            else:
                output, verdict = self.run_in(case, oracle)
            return output, verdict, oracle.complaints(verdict)
        except subprocess.TimeoutExpired:
            return "", {"status": "never ended"}, []
        finally:
            oracle.remove()

    def reason_to_skip(self, case):
        if self.judged_tier not in case.get("tiers", TIERS):
            return "not in this tier"
        if self.position and (why := why_not_here(case, self.position)):
            return why
        if (not self.arguments.control
                and case.get("user", self.arguments.user) != self.arguments.user):
            return f"not in this way: it is for a guest that is {case['user']}"
        if case.get("position", self.arguments.position) != self.arguments.position:
            return f"not in this way: it is for the position {case['position']}"
        if self.arguments.position == "nested-root" and (why := why_not_as_root_inside(case)):
            return f"not in this position: {why}"
        if self.pool and has_network_rules(case):
            return "not in this way: a pool has no sandboxes with network rules"
        if (case.get("runs_compiled") and not self.arguments.control
                and self.arguments.tier == "landlock" and self.arguments.as_user):
            return "a linker cannot make its output executable here"
        for program in case.get("needs", []):
            if not shutil.which(program, path=self.environment["PATH"]):
                return f"{program} is not installed"
        for limit in [] if self.arguments.control else case.get("limits", []):
            # The verdict said so beforehand; and without it the attack would hurt the machine.
            if not self.enforced_limits().get(limit):
                return f"the limit of {limit} is not enforced here, and the verdict says so"
        return None

    @functools.cache
    def enforced_limits(self):
        command = [*self.command([]), "-l", "bash", "-e", "true"]
        done = subprocess.run(command, capture_output=True, cwd="/", env=self.environment,
                              timeout=TIMEOUT_SECONDS, check=False, **self.identity)
        if done.returncode:
            sys.exit(f"no sandbox of this tier can be built: {done.stderr.decode().strip()}")
        verdict = json.loads(done.stdout)
        # Without a cgroup, what the kernel keeps for processes is not measured (SECURITY.md).
        return {name: limit["enforced"] for name, limit in verdict["limits"].items()} | {
            "cgroup's memory": verdict["walls"].get("cgroup") != "none"}

    def command(self, options):
        # Emulated processors are slow; the cases that are about time say their own.
        if "--time" not in options:
            options = ["--time", f"{TIMEOUT_SECONDS // 2}s", *options]
        program = [str(self.arguments.glovebox.resolve())]
        if self.position:
            program += self.position.options
            if self.position.options:
                options = ["--env", f"PYTHONPATH={PLACE}", *options]
        if self.arguments.user == "root":
            options = ["--user", "root", *options]
        if self.arguments.position in NESTED:
            options = ["--nested", *options]
        return [*program, "run", "--json", "--tier",
                self.arguments.tier, "--env", f"GLOVEBOX_ATTACK_MARK={self.host.mark}", *options]

    def code(self, case):
        code = case["code"]
        if case["language"] == "python":
            prelude = (HERE / "guest.py").read_text(encoding="utf-8")
            if self.arguments.position == "nested-root":
                prelude += (HERE / "nested.py").read_text(encoding="utf-8")
            code = prelude + code
        for name, value in self.host.tokens.items():
            code = code.replace(f"@{name}@", value)
        return code

    def run_in(self, case, oracle):
        environment = self.environment | getattr(oracle, "environment", {})
        options = [*oracle.options, *with_patience(case.get("options", []), self.arguments.patience)]
        command = [*self.command(options), "-l", case["language"]]
        if self.pool:
            self.teach_pool(command)
        code = self.code(case)
        if self.position:
            self.position.lay_out(code)
            code = TELL
        done = subprocess.run([*command, "-"], input=code.encode(), capture_output=True, cwd="/",
                              env=environment, timeout=TIMEOUT_SECONDS, check=False,
                              **self.identity)
        answer = done.stdout.decode("utf-8", "replace")
        try:
            verdict = json.loads(answer)
        except ValueError:
            verdict = {"status": f"no verdict, exit {done.returncode}"}
        verdict.setdefault("status", f"no verdict, {verdict.get('message')}")
        if self.arguments.position == "vmm" and (said := self.position.said(verdict)) is not None:
            return said, {"status": "ok", "leaks": self.host.secret in said}
        verdict["not_ahead"] = self.pool and "claim_us" not in verdict.get("timings", {})
        # The whole answer is searched for canaries; attempts count only from the guest's stdout.
        verdict["leaks"] = self.host.secret in answer + done.stderr.decode("utf-8", "replace")
        if not verdict.get("stderr"):
            verdict["stderr"] = done.stderr.decode("utf-8", "replace")
        return verdict.get("stdout", ""), verdict

    def run_bare(self, case):
        interpreter = "python3" if case["language"] == "python" else "bash"
        command = [shutil.which(interpreter, path=self.environment["PATH"]), "-"]
        environment = self.environment
        errors_to = subprocess.PIPE
        if self.position:
            self.position.lay_out(self.code(case))
            command, more = self.position.bare(command[0])
            environment = environment | more
            errors_to = subprocess.STDOUT  # Both are one file in a realm, too.
        if self.uid == 0:
            # Root could hurt the host: what it changes stays in these, while the files are shared.
            command = ["unshare", "-m", "-i", "-u", "-p", "-f", "--mount-proc", *command]
        done = subprocess.run(command, input=self.code(case).encode(), cwd=self.host.home,
                              stdout=subprocess.PIPE, stderr=errors_to, env=environment,
                              timeout=TIMEOUT_SECONDS, start_new_session=True, check=False,
                              **self.identity)
        errors = (done.stderr or b"").decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace"), {"stderr": errors}

    def tell(self, case, outcome, complaints):
        print(f"{outcome:8}{case['file']}  {case['title']}", flush=True)
        for complaint in complaints:
            print(f"          {complaint}", flush=True)
        return {"case": case["file"], "number": case["number"], "outcome": outcome,
                "complaints": complaints}


def with_patience(options, patience):
    """A case's options, with all times in them `patience` times as long."""
    is_time = [option.endswith("time") for option in ["", *options]]
    return [f"{int(option.removesuffix('s')) * patience}s" if follows_time else option
            for option, follows_time in zip(options, is_time)]


def for_tier(table, *places):
    """What a table says, with what its sub-tables `landlock` or `landlock-user` say instead."""
    answers = {name: answer for name, answer in table.items() if not isinstance(answer, dict)}
    for place in places:
        answers |= table.get(place, {})
    return answers


def judge_attempts(case, places, output, status):
    expected = for_tier(case["expect"], *places)
    seen = {}
    for line in output.splitlines():
        words = line.split(maxsplit=2)
        if len(words) >= 2 and words[0] == "ATTEMPT":
            seen.setdefault(words[1], []).append(words[2] if len(words) > 2 else "")
    # An empty list allows no answer: the attempt must not happen at all. "ended" among the answers:
    # it may be ended for its limits before it has one.
    complaints = [f"{name}: never attempted" for name in expected
                  if name not in seen and expected[name]
                  and (status == "ok" or "ended" not in expected[name])]
    for name, answers in seen.items():
        allowed = expected.get(name, [])
        allowed = [allowed] if isinstance(allowed, str) else allowed
        complaints += [f"{name}: {answer}, expected {' or '.join(allowed) or 'no such attempt'}"
                       for answer in answers if answer not in allowed]
    return complaints


def why_no_sandbox(arguments):
    """None, or what glovebox says where the tier cannot be used."""
    tried = subprocess.run([arguments.glovebox.resolve(), "run", "--tier", arguments.tier, "-l", "sh", "-e", "true"],
                           check=False, capture_output=True, text=True)
    # However else the guest has ended, there was a sandbox.
    return tried.stderr.strip() if tried.returncode == CANNOT else None


def judge_verdict(case, places, verdict):
    status = case.get("status", ["ok"])
    status = {"any": status} if isinstance(status, list) else status
    allowed = next(status[place] for place in (*reversed(places), "any") if place in status)
    complaints = []
    if verdict["status"] not in allowed:
        complaints.append(f"status {verdict['status']}, expected {' or '.join(allowed)}; "
                          f"signal {verdict.get('signal')}; {verdict.get('stderr', '')[-300:]!r}")
    for limit in case.get("hit", []):
        # Only a cgroup counts processes that it refused, and only those of the host's own kernel.
        has_cgroup = verdict.get("walls", {}).get("cgroup") != "none"
        counted = limit != "pids" or (has_cgroup and verdict.get("tier") != "gvisor")
        if counted and not verdict.get("limits", {}).get(limit, {}).get("hit"):
            complaints.append(f"the verdict does not say that the limit of {limit} was hit")
    if verdict.get("leaks"):
        complaints.append("a canary's text is in the answer")
    return complaints


def place_of(arguments):
    """What the table of differences calls it (tests/conformance/places.py)."""
    if arguments.tier == "docker":
        return f"docker-{os.environ.get('GLOVEBOX_DOCKER_RUNTIME') or 'runc'}"
    by_root = arguments.as_user is None and os.geteuid() == 0
    return arguments.tier if by_root else f"{arguments.tier}-user"


def summarise(arguments, results):
    count = {outcome: sum(result["outcome"] == outcome for result in results)
             for outcome in ("refused", "failed", "skipped")}
    print(f"{count['refused']} attacks refused, {count['failed']} failed, "
          f"{count['skipped']} skipped")
    if arguments.json:
        report = {"tier": arguments.tier, "results": results}
        arguments.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    if arguments.control:
        # Without walls a judge that still says "refused" is blind.
        return 0 if results and count["failed"] == len(results) else 1
    expected = Expected("attacks", place_of(arguments))
    surprises = [result["case"] for result in results
                 if result["outcome"] == "skipped" and expected.of(result["case"]) is None
                 and not result["complaints"][0].startswith("not in this ")]
    if surprises:
        print("unexpected skips:", ", ".join(surprises))
    return 1 if not results or count["failed"] or surprises else 0


if __name__ == "__main__":
    sys.exit(main())
