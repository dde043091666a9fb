#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks glovebox's limits under cgroup v2, as root and as a user with a delegated group.

Run it as root where cgroup v2 is the only one: inside the machine of run_in_vm.py, for instance.
Prints "ok NAME" or "FAIL NAME: why" for each check; exits with 1 if one failed.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from parts import part_of_today  # noqa: E402

CGROUP = pathlib.Path("/sys/fs/cgroup")
USER = 1000
# Emulated processors are some 20 times slower.
PATIENCE = 180

EAT_MEMORY = "block = bytearray(500 << 20)\nfor i in range(0, len(block), 4096): block[i] = 1\n"
FORK_BOMB = """
import os, time
born = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(600)
        born += 1
except OSError:
    pass
print(born, flush=True)
"""
SPIN = """
import time
end = time.monotonic() + 4
while time.monotonic() < end:
    pass
"""

# Groups that were given to glovebox, and the one that it steps into there.
GIVEN = re.compile(r"/given-\d+(/glovebox-host)?$")

checks = []


def check(function):
    checks.append(function)
    return function


class Glovebox:
    """The program, run by `user` in the cgroup that `group()` answers."""

    def __init__(self, program, user=0, group=lambda: CGROUP):
        self.program = program
        self.user = user
        self.group = group
        self.home = f"/tmp/home-{user}"
        os.makedirs(self.home, exist_ok=True)
        os.chown(self.home, user, user)

    def start(self, *arguments):
        # Every program in this line becomes the next one, so the process is glovebox in the end.
        return subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.group()),
             "setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--",
             self.program, *arguments],
            text=True, env=dict(os.environ, HOME=self.home), cwd="/tmp",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, output, errors

    def python(self, code, *options):
        limit = [] if "--time" in options else ["--time", "120"]
        return verdict_of(self.finish("run", "--json", "-l", "python", "-e", code, *limit, *options))


def verdict_of(finished):
    status, output, errors = finished
    try:
        return json.loads(output)
    except ValueError:
        raise AssertionError(f"no verdict; status {status}: {output} {errors}") from None


def expect(claim, *shown):
    if not claim:
        raise AssertionError(", ".join(str(what) for what in shown))


def programs():
    """The living processes that are no kernel threads: id and command."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_bytes()
            if command:
                found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def groups():
    return {str(folder) for folder in CGROUP.rglob("*") if folder.is_dir()}


@contextlib.contextmanager
def leaving_nothing():
    programs_before, groups_before = programs(), groups()
    yield
    programs_left = {pid: command for pid, command in programs().items()
                     if pid not in programs_before}
    expect(not programs_left, "programs left", programs_left)
    groups_left = {group for group in groups() - groups_before
                   if not GIVEN.search(group)}
    expect(not groups_left, "cgroups left", groups_left)


@check
def enforces_every_limit(glovebox):
    verdict = glovebox.python("print(6*7)")
    expect(verdict["status"] == "ok" and verdict["stdout"] == "42\n", verdict)
    expect(verdict["walls"]["cgroup"] == "v2", verdict["walls"])
    loose = [name for name, limit in verdict["limits"].items() if not limit["enforced"]]
    expect(not loose, "not enforced", loose)
    expect(verdict["usage"]["memory_peak"] > 1 << 20, verdict["usage"])


@check
def memory_beyond_the_limit_is_out_of_memory(glovebox):
    with leaving_nothing():
        verdict = glovebox.python(EAT_MEMORY, "--memory", "64M")
    expect(verdict["status"] == "out_of_memory", verdict)
    expect(verdict["limits"]["memory"]["hit"], verdict["limits"])


@check
def memory_below_the_limit_is_ok(glovebox):
    verdict = glovebox.python("print(len(bytearray(32 << 20)))", "--memory", "128M")
    expect(verdict["status"] == "ok", verdict)


@check
def a_fork_bomb_is_bounded(glovebox):
    with leaving_nothing():
        verdict = glovebox.python(FORK_BOMB, "--pids", "20", "--time", "60s")
    born = verdict["stdout"].split()
    expect(born and int(born[0]) < 20, verdict)
    expect(verdict["limits"]["pids"]["hit"], verdict)


@check
def a_sleeper_is_ended_and_leaves_nothing(glovebox):
    with leaving_nothing():
        verdict = glovebox.python("import os, time\nos.fork()\ntime.sleep(600)",
                                  "--time", "500ms")
    expect(verdict["status"] == "timeout", verdict)


@check
def half_a_processor_is_half_a_processor(glovebox):
    usage = glovebox.python(SPIN, "--cpus", "0.5", "--time", "100s")["usage"]
    # Without the limit it is all of the time. What a loaded host takes from the machine's processors
    # counts as used by whoever was on them.
    expect(usage["cpu_ms"] < 0.7 * usage["wall_ms"], usage)


@check
def time_on_the_processor_is_limited(glovebox):
    verdict = glovebox.python("while True: pass", "--cpu-time", "2s", "--time", "100s")
    expect(verdict["status"] == "timeout", verdict)


@check
def what_a_killed_glovebox_left_is_swept(glovebox):
    with leaving_nothing():
        before = set(programs())
        process = glovebox.start("run", "-l", "python", "-e",
                                 "print('here', flush=True)\nimport time\ntime.sleep(600)")
        expect(process.stdout.readline() == "here\n", "the guest did not start")
        process.kill()
        process.wait()
        deadline = time.monotonic() + PATIENCE
        while set(programs()) - before and time.monotonic() < deadline:
            glovebox.finish("doctor")
        expect(not set(programs()) - before, "guests outlive glovebox")
        glovebox.finish("doctor")


@check
def several_at_once_all_get_their_limits(glovebox):
    with leaving_nothing():
        running = [glovebox.start("run", "--json", "-l", "python", "-e", "print(6*7)")
                   for _ in range(4)]
        ended = [(process, *process.communicate(timeout=PATIENCE)) for process in running]
    for process, output, errors in ended:
        verdict = verdict_of((process.returncode, output, errors))
        expect(verdict["status"] == "ok" and verdict["walls"]["cgroup"] == "v2", verdict)


@check
def no_group_becomes_a_threaded_one(_):
    """As pids or cpu enabled over living processes would do: it could hold no sandbox then."""
    kinds = {str(path): path.read_text().strip() for path in CGROUP.rglob("cgroup.type")}
    expect(set(kinds.values()) <= {"domain"}, kinds)


def programs_of_gvisor_are_born_in_the_group(glovebox):
    """Started by Glovebox, and not by `runsc run`, which a note would say."""
    with leaving_nothing():
        running = glovebox.start("run", "--json", "--no-pool", "--tier", "gvisor", "--time", "100s",
                                 "-l", "bash", "-e", "read -r line")
        # Of what Glovebox starts, neither can be there without its group.
        places = {}
        deadline = time.monotonic() + PATIENCE
        while len(places) < 2 and time.monotonic() < deadline and running.poll() is None:
            for pid, command in programs().items():
                if command.startswith(("runsc-sandbox", "runsc-gofer")):
                    with contextlib.suppress(OSError):
                        places[command.split()[0]] = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
            time.sleep(0.1)
        output, errors = running.communicate(timeout=PATIENCE)
    expect(len(places) == 2 and len(set(places.values())) == 1, places)
    expect(all("/glovebox-" in place for place in places.values()), places)
    verdict = verdict_of((running.returncode, output, errors))
    expect(verdict["tier"] == "gvisor" and verdict["walls"]["cgroup"] == "v2", verdict)
    loose = [name for name, limit in verdict["limits"].items() if not limit["enforced"]]
    expect(loose == ["inodes"], "not enforced", loose)
    expect("runsc run" not in " ".join(verdict.get("notes", [])), verdict)


def groups_of_a_lonely_process_lie_in_its_own_group(glovebox):
    """As a unit of systemd's with Delegate=yes: outside, its limits would not hold for guests."""
    before = groups()
    running = glovebox.start("run", "--json", "--time", "600", "-l", "python", "-e",
                             "import time; time.sleep(600)")
    try:
        end = time.monotonic() + PATIENCE
        made = set()
        while not made and time.monotonic() < end and running.poll() is None:
            made = {group for group in groups() - before if not GIVEN.search(group)}
            time.sleep(0.1)
        expect(made, "no group was made", running.poll())
        outside = {group for group in made if not re.match(r"/sys/fs/cgroup/given-\d+/", group)}
        expect(not outside, "groups outside", outside)
    finally:
        running.terminate()
        running.communicate(timeout=PATIENCE)


def claimed(run):
    end = time.monotonic() + PATIENCE
    while "claim_us" not in (verdict := run())["timings"]:
        expect(time.monotonic() < end, "never from the pool", verdict)
    return verdict


def sandboxes_made_ahead_have_every_limit(glovebox):
    with leaving_nothing():
        pool = glovebox.start("pool", "--size", "2")
        try:
            expect(pool.stdout.readline().startswith("ready"), "no pool", pool.poll())
            # The first of each kind tells the pool what to make.
            ok = claimed(lambda: glovebox.python("print(6*7)", "--timings"))
            hungry = claimed(lambda: glovebox.python(EAT_MEMORY, "--memory", "64M", "--timings"))
        finally:
            pool.terminate()
            pool.communicate(timeout=PATIENCE)
    loose = [name for name, limit in ok["limits"].items() if not limit["enforced"]]
    expect(ok["stdout"] == "42\n" and not loose, ok)
    expect(hungry["status"] == "out_of_memory", hungry)


def says_what_it_cannot_limit(glovebox):
    verdict = glovebox.python("print(6*7)")
    expect(verdict["status"] == "ok" and verdict["walls"]["cgroup"] == "none", verdict)
    expect(not verdict["limits"]["cpus"]["enforced"], verdict["limits"])
    # Memory is measured.
    expect(verdict["limits"]["memory"]["enforced"], verdict["limits"])
    greedy = glovebox.python("kept = [bytearray(b'x' * (8 << 20)) for _ in range(100)]")
    expect(greedy["status"] == "out_of_memory", greedy)
    expect("no cgroup is delegated" in " ".join(verdict["notes"]), verdict["notes"])
    # Which hint depends on the machine whose files these are: it may be a container.
    said = glovebox.finish("doctor")[1]
    expect("no cgroup is delegated to this process\n    hint: " in said, said)


def make_group(path, owner):
    path.mkdir()
    for part in (path, path / "cgroup.procs", path / "cgroup.subtree_control",
                 path / "cgroup.threads"):
        os.chown(part, owner, owner)
    return path


def given_groups(owner, numbers=itertools.count()):
    """A new group for each run, as systemd-run makes one with Delegate=yes."""
    return lambda: make_group(CGROUP / f"given-{next(numbers)}", owner)


def crowded_group(path, owner):
    """A group that another process sits in, as a login session's."""
    make_group(path, owner)
    sleeper = subprocess.Popen(["sleep", "infinity"])
    (path / "cgroup.procs").write_text(str(sleeper.pid))
    return path


def scenes(program, short):
    session = crowded_group(CGROUP / "session", 0)
    manager = make_group(CGROUP / "manager", USER)
    (manager / "cgroup.subtree_control").write_text("+memory +pids +cpu +io")
    service = crowded_group(manager / "service", USER)
    lone = crowded_group(CGROUP / "lone", 0)
    kernels = [programs_of_gvisor_are_born_in_the_group] if shutil.which("runsc") else []
    if not kernels:
        print("not checked: programs of gvisor, for runsc is not installed", flush=True)
    # For runs that share one group with their pool.
    together = [*checks, sandboxes_made_ahead_have_every_limit]
    # What depends on where the groups lie.
    placed = [enforces_every_limit, a_fork_bomb_is_bounded, what_a_killed_glovebox_left_is_swept,
              no_group_becomes_a_threaded_one] if short else checks
    return [
        ("root", [*together, *kernels], Glovebox(program)),
        ("root in a session", [*placed, sandboxes_made_ahead_have_every_limit],
         Glovebox(program, group=lambda: session)),
        ("user with a group of its own", placed, Glovebox(program, USER, given_groups(USER))),
        ("root with a group of its own",
         [groups_of_a_lonely_process_lie_in_its_own_group, *placed],
         Glovebox(program, group=given_groups(0))),
        ("user below its own manager", together, Glovebox(program, USER, lambda: service)),
        ("user without a group", [says_what_it_cannot_limit],
         Glovebox(program, USER, lambda: lone)),
    ]


def run_check(name, function, glovebox):
    try:
        function(glovebox)
    except (AssertionError, OSError, KeyError, subprocess.TimeoutExpired) as failure:
        print(f"FAIL {name}: {type(failure).__name__} {failure}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glovebox", default=str(pathlib.Path(__file__).resolve().parents[2]
                                                  / "build/release/bin/glovebox"))
    parser.add_argument("--short", action="store_true",
                        help="in most scenes, check only what depends on where the groups lie")
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of the checks, every day another one")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only checks with TEXT in their name")
    options = parser.parse_args()
    if not (CGROUP / "cgroup.controllers").exists() or os.geteuid() != 0:
        sys.exit("v2_suite: needs root and cgroup v2 at /sys/fs/cgroup; see tests/vm/README.md")
    wanted = [(f"{title}: {function.__name__.replace('_', ' ')}", function, glovebox)
              for title, functions, glovebox in scenes(options.glovebox, options.short)
              for function in functions]
    results = [run_check(*each) for each in part_of_today(wanted, options.parts)
               if options.only in each[0]]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
