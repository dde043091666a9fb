# SPDX-License-Identifier: Apache-2.0
"""Where the suites run: the tiers, by who starts their sandboxes and what builds them."""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TESTS / "containers"))
import unknown_runsc  # noqa: E402
from dockerd import Docker  # noqa: E402  pylint: disable=wrong-import-position
from podman import PodmanService  # noqa: E402  pylint: disable=wrong-import-position

CANNOT = 125  # Of `glovebox run`: no such sandbox could be made.
USER = 61236  # Nobody else's: some suites count what a user has.
# The guest that every tier can run, and no other.
PROBES = {"wasm": ["-l", "python", "-e", ""]}
PROBE = ["-l", "bash", "-e", "true"]


@dataclasses.dataclass(frozen=True)
class Place:
    name: str
    tier: str
    as_user: bool = False
    runtime: str = ""  # Of Docker's engine; with none, the engine is Podman.
    runsc_run: bool = False  # With a build of runsc that we do not know, and so leave the start to.
    # How much slower than `native` it may be.
    patience: int = 1

    def shown(self):
        by = f" with {self.runtime}" if self.runtime else " of Podman" if self.tier == "docker" else ""
        start = " started by `runsc run`" if self.runsc_run else ""
        return f"`{self.tier}`{by}{start}{' of a user' if self.as_user else ''}"


PLACES = {place.name: place for place in (
    Place("native", "native"),
    Place("native-user", "native", as_user=True),
    Place("landlock", "landlock"),
    Place("landlock-user", "landlock", as_user=True),
    Place("gvisor", "gvisor", patience=4),
    Place("gvisor-runsc-run", "gvisor", runsc_run=True, patience=4),
    Place("docker-runc", "docker", runtime="runc", patience=4),
    Place("docker-runsc", "docker", runtime="runsc", patience=8),
    Place("docker-podman", "docker", patience=4),
    Place("microvm", "microvm", patience=8),
    Place("wasm", "wasm"),
    Place("wasm-user", "wasm", as_user=True),
)}


class Missing(Exception):
    """The place is not on this machine; the reason."""


class Opened:
    """A place in which sandboxes can be made."""

    def __init__(self, place, environment, scratch):
        self.place = place
        self.environment = environment
        self.scratch = scratch
        self.identity = {}
        if place.as_user:
            self.identity = {"user": USER, "group": USER, "extra_groups": []}

    def run(self, command, **how):
        return self.run_as_root(command, **self.identity, **how)

    def run_as_root(self, command, **how):
        """For a suite that becomes the user by itself."""
        return subprocess.run(command, env=self.environment, check=False, cwd=self.scratch,
                              stdin=subprocess.DEVNULL, **how)


@contextlib.contextmanager
def opened(place, glovebox):
    """An Opened, or Missing. A container engine is one of our own, and ends with it."""
    if place.as_user and os.geteuid() != 0:
        raise Missing("only root can be another user")
    environment = dict(os.environ, GLOVEBOX=str(glovebox))
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="gb-conformance."))
    scratch.chmod(0o711)
    engine = None
    try:
        if place.as_user:
            own = scratch / "own"
            own.mkdir(mode=0o700)
            os.chown(own, USER, USER)
            environment |= {"HOME": str(own), "XDG_RUNTIME_DIR": str(own), "TMPDIR": "/tmp"}
            environment.pop("GLOVEBOX_RUNTIME_DIR", None)
            scratch = own
        if place.runsc_run:
            if unknown_runsc.installed() is None:
                raise Missing("runsc is not installed")
            environment["GLOVEBOX_RUNSC"] = str(unknown_runsc.copy_to(scratch))
        if place.tier == "docker":
            if place.runtime and shutil.which(place.runtime, path=Docker.path()) is None:
                raise Missing(f"{place.runtime} is not installed")
            engine = Docker(runtimes=[place.runtime]) if place.runtime else PodmanService()
            if why := engine.start():
                raise Missing(why)
            environment |= {"DOCKER_HOST": engine.host, "GLOVEBOX_DOCKER_RUNTIME": place.runtime}
        made = Opened(place, environment, scratch)
        tried = made.run([glovebox, "run", "--tier", place.tier, *PROBES.get(place.tier, PROBE)],
                         capture_output=True, text=True)
        # However else the guest has ended: there was a sandbox, and the suites say what is wrong.
        if tried.returncode == CANNOT:
            raise Missing(tried.stderr.strip())
        yield made
    finally:
        if engine:
            engine.discard()
        shutil.rmtree(scratch.parent if place.as_user else scratch, ignore_errors=True)
