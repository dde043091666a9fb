# SPDX-License-Identifier: Apache-2.0
"""Positions in the realm: where what a tenant brought runs before any sandbox of its own does.

zygote         the attack is a module that the warm interpreter preloads
template-root  the attack is the python3 of the tenant's own root, which then goes on as a real one;
               a hostile libc could do no more, for it would be in the same process

What the attack said is told by a fork: the realm must have survived it. Only Python is tried, and
only what asks for nothing of a run: a realm has no limits, files and results of the caller's.

And one below a machine of the tier microvm, with the same bounds:

vmm            the attack has the place of QEMU in a clone, as a guest that took it over would; the
               sandbox around it is one of the tier native, by whose rules it is judged
"""

import base64
import os
import subprocess
import zlib

# Where the sandboxes show the folder; and the host's programs, so that a root needs only its own.
PLACE = "/opt/attack"
BASE = "/opt/base"
PYTHON = "bin/python3"
TELL = "import sys; print(sys.modules['attacked'].output)"
RUN_OPTIONS = {"options", "limits", "hit", "status", "runs_compiled"}
RUN_ORACLES = {"out-directory", "copied-in", "processor-time", "rules-for-one-server",
               "rules-for-one-name"}

# The attack finds no descriptor but those that it was given: what it says is a file in place of 1.
ATTACK = """
import os, sys, traceback
def attack(code):
    attacker, stdout = os.getpid(), sys.stdout
    said = os.memfd_create("said")
    os.dup2(said, 1)
    os.close(said)
    sys.stdout = open(1, "w", closefd=False)
    try:
        exec(compile(code, "attack", "exec"), {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    if os.getpid() != attacker:
        os._exit(0)
    sys.stdout = stdout
    os.lseek(1, 0, os.SEEK_SET)
    output = open(1, encoding="utf-8", errors="replace", closefd=False).read()
    os.dup2(2, 1)
    return output
"""


def why_not_here(case, position):
    if case["language"] != "python":
        return "not in this position: it is no Python"
    if RUN_OPTIONS & case.keys() or case.get("oracle") in RUN_ORACLES:
        return "not in this position: it is about a run's limits, files or results"
    if case["number"] in position.powers:
        return f"not in this position: {position.powers[case['number']]}"
    return None


class Zygote:
    powers = {38: "a zygote forks by clone3, and 112 tries what that could give it"}
    program_options = ["--preload", "attacked"]

    def __init__(self, host):
        self.folder = os.path.join(host.folder, "brought")
        os.mkdir(self.folder, 0o755)
        self.options = [*self.program_options, "--mount", f"{self.folder}:{PLACE}"]

    def lay_out(self, code):
        self.write("attacked.py", f"{ATTACK}\noutput = attack({code!r})\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def bare(self, python):
        """The command that does the same without walls, and what it needs in its environment."""
        return [python, "-B", "-c", "import attacked; " + TELL], {"PYTHONPATH": self.folder}


class TemplateRoot(Zygote):
    """A root of links to the host's /usr, but for its python3."""

    def __init__(self, host):
        super().__init__(host)
        self.root = os.path.join(self.folder, "root")
        self.options = [*self.program_options, "--root", self.root, "--mount", f"/usr:{BASE}"]
        os.makedirs(os.path.join(self.root, "usr/bin"))
        os.makedirs(self.root + PLACE)
        for name in ("bin", "lib", "lib64", "sbin"):
            os.symlink(f"usr/{name}", os.path.join(self.root, name))
        for name in os.listdir("/usr"):
            if name not in ("bin", "local"):
                os.symlink(f"{BASE}/{name}", os.path.join(self.root, "usr", name))
        for name in os.listdir("/usr/bin"):
            if name != "python3":
                os.symlink(f"{BASE}/bin/{name}", os.path.join(self.root, "usr/bin", name))

    def lay_out(self, code):
        self.write("root/usr/bin/python3", f"""#!{BASE}/{PYTHON} -B
{ATTACK}
output = attack({code!r})
print(output, flush=True)  # For who runs it bare: what follows may no longer be possible.
said = os.memfd_create("said", 0)
os.write(said, output.encode())
os.lseek(said, 0, os.SEEK_SET)
os.execve(sys.executable, ["python3", *sys.argv[1:]], dict(os.environ, ATTACKED=str(said)))
""")
        self.write("root" + PLACE + "/attacked.py",
                   "import os\noutput = open(int(os.environ['ATTACKED'])).read()\n")

    def bare(self, python):
        command = [python, "-B", f"{self.root}/usr/bin/python3", "-B", "-c",
                   "import attacked; " + TELL]
        return command, {"PYTHONPATH": self.root + PLACE}


class Vmm(Zygote):
    """QEMU itself boots the machine whose clones are attacked. Needs mounts of its own."""
    judged_as = "native"
    powers = {52: "it may end the machine, and nobody could tell",
              85: "it has the machine's streams, and the sockets of its monitor and its state"}
    program_options = []
    program = "/usr/bin/qemu-system-x86_64"
    # Files of the same package, and a directory that is there and empty: what can be covered.
    real_program = "/usr/bin/qemu-system-i386"
    place = "/usr/games"
    mark = "attacked:"

    def __init__(self, host):
        super().__init__(host)
        self.options = []
        self.write("qemu", f"""#!/usr/bin/python3 -IB
import sys
if "-incoming" not in sys.argv:
    if any(word.endswith("share=on") for word in sys.argv):
        import os
        os.execv({self.real_program!r}, [{self.program!r}, *sys.argv[1:]])  # Makes the template.
    sys.exit(1)  # What was said last is what is told.
sys.path.insert(0, {self.place!r})
import base64, os, zlib
os.chdir("/workspace")
for name in os.environ.keys() - {{"PATH"}}:
    del os.environ[name]
import attacked
said = base64.b64encode(zlib.compress(attacked.output.encode()))
os.write(2, b"{self.mark}" + said + b"\\n")
""")
        for source, target in ((self.program, self.real_program),
                               (os.path.join(self.folder, "qemu"), self.program),
                               (self.folder, self.place)):
            subprocess.run(["mount", "--bind", source, target], check=True)

    def said(self, verdict):
        """What the attack has printed, of a verdict that says why there was no sandbox."""
        _, mark, text = verdict.get("message", "").partition(self.mark)
        return zlib.decompress(base64.b64decode(text)).decode() if mark else None


POSITIONS = {"vmm": Vmm, "zygote": Zygote, "template-root": TemplateRoot}
