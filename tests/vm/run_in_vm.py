#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on this machine's files under another kernel, with cgroup v2 only.

QEMU emulates the machine in software; the root file system is this machine's, read-only through
virtio-fs, with a writable layer in memory on top. Exits with the command's own status; 124 when
the time is up, 125 when the machine did not run the command.
"""

import argparse
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import initramfs
import kernel

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
MODULES = ("virtio_pci", "virtio_console", "virtiofs", "overlay")
# Nothing outlives this script, however it ends.
WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
TIMED_OUT = 124
NOT_RUN = 125


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="bash command to run as root in /root")
    parser.add_argument("--share", action="append", default=[], metavar="DIR",
                        help="directory below /tmp or /run, or on another mount, to share")
    parser.add_argument("--memory", default="2G", help="memory of the machine (default: 2G)")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--console", action="store_true", help="also show kernel messages")
    return parser.parse_args()


def find_program(*candidates):
    for candidate in candidates:
        path = shutil.which(candidate)
        if path:
            return path
    raise SystemExit(f"run_in_vm: {candidates[0]} is missing; install what "
                     f"{HERE}/apt-packages.txt names")


def start_file_server(work, shares):
    """virtiofsd has no read-only mode, so it gets a read-only view in a mount namespace."""
    view = work / "view"
    view.mkdir()
    binds = [("/", view)] + [(share, f"{view}{share}") for share in shares]
    script = "set -e\n" + "".join(
        f"mount --bind {shlex.quote(str(source))} {shlex.quote(str(target))}\n"
        for source, target in binds)
    script += "".join(f"mount -o remount,bind,ro {shlex.quote(str(target))}\n"
                      for _, target in reversed(binds))
    script += shlex.join(["exec", find_program(*VIRTIOFSD), "-f",
                          f"--socket-path={work}/files.socket", "-o", f"source={view}",
                          "-o", "sandbox=chroot,cache=always,log_level=err"])
    server = subprocess.Popen([*WITH_US, "unshare", "--mount", "--propagation", "private",
                               "sh", "-c", script],
                              stdin=subprocess.DEVNULL, stderr=open(work / "files.log", "wb"))
    deadline = time.monotonic() + 30
    while not (work / "files.socket").exists():
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            log = (work / "files.log").read_text(errors="replace")
            raise SystemExit(f"run_in_vm: the file server did not start (it needs root)\n{log}")
        time.sleep(0.02)
    return server


def qemu_command(options, work, image):
    return [
        *WITH_US, find_program("qemu-system-x86_64"),
        "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", "-machine", "q35,smm=off,memory-backend=ram",
        "-cpu", "max", "-smp", "2",
        "-accel", "tcg,thread=multi", "-m", options.memory,
        "-object", f"memory-backend-memfd,id=ram,size={options.memory},share=on",
        "-kernel", str(image), "-initrd", str(work / "initramfs"),
        "-append", "console=ttyS0 panic=-1 rdinit=/init",
        "-chardev", f"file,id=console,path={work}/console", "-serial", "chardev:console",
        "-chardev", f"socket,id=files,path={work}/files.socket",
        "-device", "vhost-user-fs-pci,chardev=files,tag=host",
        "-device", "virtio-serial-pci",
        "-chardev", "stdio,id=output,signal=off",
        "-device", "virtserialport,chardev=output,name=output",
        "-chardev", f"file,id=status,path={work}/status",
        "-device", "virtserialport,chardev=status,name=status",
    ]


def run(options, work):
    found = kernel.find()
    # What is not on the root mount, or hidden by the machine's own /tmp, has to be named.
    shares = [os.path.realpath(folder) for folder in [REPOSITORY, *options.share]]
    initramfs.write(work / "initramfs", HERE / "init.sh", find_program("busybox"),
                    found.module_files(MODULES), shares, options.command)
    server = start_file_server(work, shares)
    machine = None
    try:
        # At the end of its input QEMU would close the output port too, so the pipe stays open.
        machine = subprocess.Popen(qemu_command(options, work, found.image),
                                   stdin=subprocess.PIPE)
        machine.wait(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        print(f"run_in_vm: not done after {options.timeout:g} s", file=sys.stderr)
        return TIMED_OUT
    finally:
        for process in (machine, server):
            if process:
                process.kill()
                process.wait()
        if options.console:
            show_logs(work)
    status = (work / "status").read_text().strip() if (work / "status").exists() else ""
    if not status:
        print("run_in_vm: the machine ended before the command did", file=sys.stderr)
        if not options.console:
            show_logs(work)
        return NOT_RUN
    return int(status)


def show_logs(work):
    for log in (work / "files.log", work / "console"):
        if log.exists():
            print(log.read_text(errors="replace"), file=sys.stderr)


def main():
    options = parse_arguments()
    # So that a polite end cleans up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="glovebox-vm-") as work:
        return run(options, pathlib.Path(work))


if __name__ == "__main__":
    sys.exit(main())
