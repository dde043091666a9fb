# SPDX-License-Identifier: Apache-2.0
"""The contestants: how each is asked to run a guest, or why it cannot be measured here.

To add one: a function that takes the Setting and returns a Contestant, in ALL below. It raises
Absent with the reason when the program is not there or does not work.
"""

import dataclasses
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time

import mounts

GUEST = ["/bin/true"]
# Far above what any peer needs to start: one that hangs is skipped, and does not hang us.
PATIENCE_S = 60
POOL_SIZE = 4


class Absent(Exception):
    """Why a contestant cannot be measured here."""


@dataclasses.dataclass
class Contestant:
    # From a guest's argv to the argv to start, whose first word is a path.
    command: object
    # What stands between the guest and the host, for the reader of the table.
    walls: str
    version: str = ""
    # The mount namespace to start it in, when ours will not do.
    namespace: object = None
    # Walls that should stand and do not; known of glovebox alone.
    missing_walls: tuple = ()
    # Waits until nothing goes on any more that a start of it began.
    settle: object = None

    def ask(self, guest):
        with mounts.inside(self.namespace):
            return ask(self.command(guest))


@dataclasses.dataclass
class Setting:
    glovebox: str
    start_docker: bool
    # Closed after the measurement: temporary directories, images, daemons.
    cleanup: object

    def directory(self):
        return pathlib.Path(self.cleanup.enter_context(
            tempfile.TemporaryDirectory(prefix="glovebox-bench-")))


def find(program):
    path = shutil.which(program)
    if path is None:
        raise Absent(f"no {program} in PATH")
    return path


def ask(argv, **options):
    """What a helper command printed; Absent when it failed."""
    try:
        done = subprocess.run(argv, stdin=options.pop("stdin", subprocess.DEVNULL),
                              capture_output=True, timeout=PATIENCE_S, check=False, **options)
    except subprocess.TimeoutExpired:
        raise Absent(f"{' '.join(argv[:3])} … did not answer in {PATIENCE_S} s") from None
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Absent(f"{' '.join(argv[:3])} … ended with {done.returncode}: {' '.join(last)}")
    return done.stdout.decode("utf-8", "replace")


def first_line(argv):
    return ask(argv).strip().splitlines()[0]


def bare(_):
    return Contestant(lambda guest: guest, walls="none")


def glovebox(setting):
    return described_glovebox(setting, ["run", "-q", "--no-pool"])


def glovebox_pool(setting):
    """The same with a `glovebox pool` beside it. What the pool does after a claim must not disturb
    the next contestant, so that one waits for it."""
    contestant = described_glovebox(setting, ["run", "-q"])
    program = contestant.command([])[0]

    def living():
        return sum(not name.startswith(".") for name in os.listdir(runtime_directory()))

    before = living()
    pool = subprocess.Popen([program, "pool", "--size", str(POOL_SIZE)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE)
    setting.cleanup.callback(pool.wait)
    setting.cleanup.callback(pool.terminate)
    if not pool.stdout.readline():
        raise Absent("the pool did not start")
    if "claim_us" not in json.loads(ask([program, "run", "--json", "--timings", *GUEST]))["timings"]:
        raise Absent("runs from here take nothing from the pool")

    def settle():
        deadline = time.monotonic() + PATIENCE_S
        while living() != before + POOL_SIZE and time.monotonic() < deadline:
            time.sleep(0.002)

    settle()
    contestant.settle = settle
    contestant.walls = "the same, made ahead"
    return contestant


def runtime_directory():
    if os.geteuid() == 0:
        return os.environ.get("GLOVEBOX_RUNTIME_DIR", "/run/glovebox")
    xdg = os.environ.get("XDG_RUNTIME_DIR")
    return f"{xdg}/glovebox" if xdg else f"/tmp/glovebox-{os.geteuid()}"


def described_glovebox(setting, words):
    program = shutil.which(os.path.abspath(setting.glovebox))
    if program is None:
        raise Absent(f"no program {setting.glovebox}")
    walls = json.loads(ask([program, *words, "--json", *GUEST]))["walls"]
    missing = missing_walls(walls)
    described = ("user, mount, pid, net, ipc, uts, cgroup namespaces; seccomp; Landlock; no "
                 f"capabilities; cgroup {walls['cgroup']}; a root of its own")
    if missing:
        described = f"NOT ALL WALLS: without {', '.join(missing)}"
    return Contestant(lambda guest: [program, *words, *guest], walls=described,
                      version=first_line([program, "--version"]), missing_walls=missing)


def missing_walls(walls):
    """Names of the walls that a verdict says do not stand. A wall that this code does not know
    counts when it is false, none or zero; but that there is no network is one that stands. That the
    guest is no user of the host is one of them."""
    return [name for name, value in walls.items()
            if (value in (False, 0, "none") and name != "network") or (name, value) == ("uid", "same")]


def bwrap(_):
    program = find("bwrap")
    arguments = ["--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
                 "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
                 "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent"]
    return Contestant(lambda guest: [program, *arguments, *guest],
                      walls="user, mount, pid, net, ipc, uts, cgroup namespaces; /usr read-only; "
                            "all capabilities (of its user namespace); no seccomp; no cgroup",
                      version=first_line([program, "--version"]))


def firejail(_):
    program = find("firejail")
    arguments = ["--quiet", "--noprofile", "--private", "--net=none", "--caps.drop=all",
                 "--nonewprivs", "--seccomp"]
    return Contestant(lambda guest: [program, *arguments, *guest],
                      walls="mount, pid, net, ipc, uts namespaces; the host's root but /home; "
                            "seccomp; no capabilities; no cgroup",
                      version=first_line([program, "--version"]))


def crun(setting):
    program = find("crun")

    def command(guest):
        # One container name: `crun run` removes its container before it ends.
        return [program, "--cgroup-manager=cgroupfs", "run", "--bundle",
                str(oci_bundle(program, setting, guest)), f"glovebox-bench-{os.getpid()}"]
    contestant = Contestant(command, walls="mount, pid, net, ipc, uts namespaces; /usr read-only; "
                                           "few capabilities; no seccomp; cgroup",
                            version=first_line([program, "--version"]))
    try:
        ask(command(GUEST))
        return contestant
    except Absent as reason:
        # It refuses hosts that have a second cgroup hierarchy beside their first.
        contestant.namespace = mounts.without("/sys/fs/cgroup/unified")
        if contestant.namespace is None:
            raise reason
        setting.cleanup.callback(os.close, contestant.namespace)
        contestant.ask(GUEST)
        return contestant


def oci_bundle(program, setting, guest):
    bundle = setting.directory()
    root = bundle / "rootfs"
    for name in ("usr", "proc", "dev", "sys", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    ask([program, "spec"], cwd=bundle)
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["process"]["terminal"] = False
    config["process"]["args"] = guest
    config["mounts"] = [mount for mount in config["mounts"]
                        if not mount["destination"].startswith("/sys")]
    config["mounts"] += [
        {"destination": "/usr", "type": "bind", "source": "/usr",
         "options": ["rbind", "ro", "nosuid", "nodev"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "nodev", "mode=1777"]},
    ]
    # What a glovebox has without being asked.
    config["linux"]["resources"].update(
        {"memory": {"limit": 512 << 20}, "pids": {"limit": 256},
         "cpu": {"quota": 100_000, "period": 100_000}})
    path.write_text(json.dumps(config))
    return bundle


def docker(setting):
    program = find("docker")
    client = [program]
    if setting.start_docker:
        client += ["-H", start_dockerd(setting)]
    try:
        version = ask([*client, "version", "--format", "{{.Server.Version}}"]).strip()
    except Absent:
        raise Absent("no daemon answers (--start-docker starts one for the measurement)") from None
    image = f"glovebox-bench:{os.getpid()}"
    ask_with_input([*client, "import", "-", image], small_root([*GUEST, "/bin/echo"]))
    setting.cleanup.callback(
        subprocess.run, [*client, "rmi", "-f", image], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return Contestant(lambda guest: [*client, "run", "--rm", "--network", "none", image, *guest],
                      walls="mount, pid, net, ipc, uts namespaces; seccomp; few capabilities; "
                            "cgroup; an image of its own",
                      version=version)


def ask_with_input(argv, data):
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return ask(argv, stdin=file)


def start_dockerd(setting):
    program = find("dockerd")
    place = setting.directory()
    socket = f"unix://{place}/docker.sock"
    log = setting.cleanup.enter_context(open(place / "log", "wb"))
    daemon = subprocess.Popen(
        [program, "--host", socket, "--data-root", place / "data", "--exec-root", place / "exec",
         "--pidfile", place / "pid", "--bridge=none", "--iptables=false",
         "--ip-forward=false"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop():
        daemon.terminate()
        daemon.wait()
        # It leaves the namespace of containers that share the host's network.
        left = place / "exec/netns/default"
        if left.exists():
            subprocess.run(["umount", "-l", left], stderr=subprocess.DEVNULL, check=False)
    setting.cleanup.callback(stop)
    deadline = time.monotonic() + PATIENCE_S
    while not (place / "docker.sock").exists():
        if daemon.poll() is not None or time.monotonic() > deadline:
            lines = (place / "log").read_text(errors="replace").strip().splitlines()
            raise Absent(f"dockerd did not start: {' '.join(lines[-1:])}")
        time.sleep(0.1)
    return socket


def small_root(programs):
    """A tar archive with these programs of this host and the libraries that they load."""
    paths = set(programs)
    for program in programs:
        paths.update(re.findall(r"(/\S+) \(0x", ask(["ldd", program])))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for path in sorted(paths):
            tar.add(path)
    return archive.getvalue()


def runsc(_):
    program = find("runsc")
    last = None
    for platform in ("systrap", "ptrace"):
        start = [program, "--ignore-cgroups", "--network=none", f"--platform={platform}", "do"]
        try:
            ask([*start, *GUEST])
        except Absent as reason:
            last = reason
            continue
        return Contestant(lambda guest, start=start: [*start, *guest],
                          walls=f"a kernel of its own in user space ({platform}); no cgroup",
                          version=first_line([program, "--version"]))
    raise last


ALL = {"bare": bare, "glovebox": glovebox, "glovebox-pool": glovebox_pool, "bwrap": bwrap,
       "firejail": firejail, "crun": crun, "docker": docker, "runsc": runsc}
