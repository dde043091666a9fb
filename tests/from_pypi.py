# SPDX-License-Identifier: Apache-2.0
"""What a test takes from PyPI, by pip, into a directory outside the sources: once, until the file that
names the packages changes."""
import subprocess
import sys

SKIPPED = 77  # The exit status of a test that cannot run here.


def install(requirements, build):
    """Installs what the file names, for PYTHONPATH."""
    prepare(requirements, build, pip("install", "--upgrade", "--target", build, "-r", requirements))


def pip(command, *words, python=sys.executable):
    return [python, "-m", "pip", command, "--quiet", *words]


def prepare(requirements, build, *commands):
    """Runs the commands unless they have filled the directory from this very file. Where one fails,
    pip is missing or its index cannot be reached: says so, and exits with SKIPPED."""
    wanted = requirements.read_bytes()
    stamp = build / "installed.txt"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"skipped: {requirements.name}: {done.stderr.strip()[-500:]}")
            sys.exit(SKIPPED)
    build.mkdir(parents=True, exist_ok=True)
    stamp.write_bytes(wanted)
