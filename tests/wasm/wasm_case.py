# SPDX-License-Identifier: Apache-2.0
"""Modules for the tests of the tier `wasm`, in the text format, and how they are run."""
import pathlib

from program import GLOVEBOX, Case, run

INSTALLED = pathlib.Path(GLOVEBOX).resolve().parents[1] / "libexec/glovebox/wasm"

IMPORTS = {
    "args_get": "(param i32 i32)",
    "args_sizes_get": "(param i32 i32)",
    "environ_get": "(param i32 i32)",
    "environ_sizes_get": "(param i32 i32)",
    "fd_read": "(param i32 i32 i32 i32)",
    "fd_write": "(param i32 i32 i32 i32)",
    "path_open": "(param i32 i32 i32 i32 i32 i64 i64 i32 i32)",
    "path_symlink": "(param i32 i32 i32 i32 i32)",
}


def module(body, imports=("fd_write",), data="", more=""):
    """A WASI command. `body` is that of _start, with locals $n and $e; `data` is at 256.

    $write prints some bytes of memory to a stream, by the vector at 0.
    """
    imported = "\n".join(
        f'(import "wasi_snapshot_preview1" "{name}" (func ${name} {IMPORTS[name]} (result i32)))'
        for name in dict.fromkeys(("fd_write", *imports)))
    return f"""(module {imported}
      (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
      (memory (export "memory") 4)
      (data (i32.const 256) "{data}")
      (func $write (param $to i32) (param $at i32) (param $size i32)
        (i32.store (i32.const 0) (local.get $at))
        (i32.store (i32.const 4) (local.get $size))
        (drop (call $fd_write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 8))))
      {more}
      (func (export "_start") (local $n i32) (local $e i32) {body}))"""


def printing(text, to=1):
    return module(f"(call $write (i32.const {to}) (i32.const 256) (i32.const {len(text)}))",
                  data=text)


EXITING = module("(call $proc_exit (i32.const 7))")

# What it is given, as it is: strings that each end with a zero.
ARGUMENTS = module("""
  (drop (call $args_sizes_get (i32.const 16) (i32.const 20)))
  (drop (call $args_get (i32.const 1024) (i32.const 65536)))
  (call $write (i32.const 1) (i32.const 65536) (i32.load (i32.const 20)))""",
                   ("args_get", "args_sizes_get"))
ENVIRONMENT = module("""
  (drop (call $environ_sizes_get (i32.const 16) (i32.const 20)))
  (drop (call $environ_get (i32.const 1024) (i32.const 65536)))
  (call $write (i32.const 1) (i32.const 65536) (i32.load (i32.const 20)))""",
                     ("environ_get", "environ_sizes_get"))

COPYING = module("""
  (loop $more
    (i32.store (i32.const 16) (i32.const 65536))
    (i32.store (i32.const 20) (i32.const 65536))
    (drop (call $fd_read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
    (if (i32.load (i32.const 24)) (then
      (call $write (i32.const 1) (i32.const 65536) (i32.load (i32.const 24)))
      (br $more))))""", ("fd_read",))

FLOODING = module("(loop $more (call $write (i32.const 1) (i32.const 0) (i32.const 65536)) (br $more))")

ENDLESS = module("(loop $more (local.set $n (i32.add (local.get $n) (i32.const 1))) (br $more))")

TRAPS = {
    "SIGABRT": module("unreachable"),
    "SIGSEGV": module("(drop (i32.load (i32.const -4)))"),
    "SIGFPE": module("(drop (i32.div_s (i32.const 1) (local.get $n)))"),
    "SIGILL": module("(call_indirect (local.get $n))", more="(table 1 funcref)"),
}
RECURSION = module("(call $deeper)", more="(func $deeper (call $deeper) (call $deeper))")

# Takes memory until it gets no more, and touches it.
GREEDY = module("""
  (loop $more
    (local.set $n (memory.grow (i32.const 256)))
    (if (i32.ne (local.get $n) (i32.const -1)) (then
      (memory.fill (i32.mul (local.get $n) (i32.const 65536)) (i32.const 1) (i32.const 16777216))
      (br $more))))""")


def opening(path, link=None):
    """Exits with 0 where some directory that the module was given leads to the path."""
    linked = "" if link is None else "".join(
        f"(drop (call $path_symlink (i32.const 256) (i32.const {len(link)}) (i32.const {fd}) "
        f"(i32.const {256 + len(link)}) (i32.const {len(path)})))" for fd in (3, 4, 5))
    at = 256 + len(link or "")
    tries = "".join(f"""
      (local.set $e (call $path_open (i32.const {fd}) (i32.const 1) (i32.const {at})
        (i32.const {len(path)}) (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0)
        (i32.const 16)))
      (if (i32.eqz (local.get $e)) (then (call $proc_exit (i32.const 0))))""" for fd in (3, 4, 5, 6))
    return module(f"{linked} {tries} (call $proc_exit (local.get $e))",
                  ("path_open", "path_symlink"), data=(link or "") + path)


class WasmCase(Case):
    def run_module(self, text, *options, **how):
        path = self.file("main.wat" if isinstance(text, str) else "main.wasm", text)
        return run("--tier", "wasm", *options[:options.index("--") if "--" in options else None],
                   str(path), *options[options.index("--") if "--" in options else len(options):],
                   **how)

    def verdict_of(self, text, *options, **how):
        return self.run_module(text, "--json", *options, **how).verdict

    def run_python(self, code, *options, **how):
        if not (INSTALLED / "python.cwasm").exists():
            self.skipTest("Python for the wasm tier is not installed")
        return run("--tier", "wasm", *options, "-l", "python", "-e", code, **how)
