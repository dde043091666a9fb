# SPDX-License-Identifier: Apache-2.0
"""A module that calls every function of WASI with places, sizes and numbers that it has no right to."""
from wasm_case import WasmCase

# 4 stands for i32, 8 for i64: the parameters of each function of WASI preview 1, but for proc_exit.
FUNCTIONS = {
    "args_get": "44", "args_sizes_get": "44", "environ_get": "44", "environ_sizes_get": "44",
    "clock_res_get": "44", "clock_time_get": "484", "fd_advise": "4884", "fd_allocate": "488",
    "fd_datasync": "4", "fd_fdstat_get": "44", "fd_fdstat_set_flags": "44", "fd_fdstat_set_rights": "488",
    "fd_filestat_get": "44", "fd_filestat_set_size": "48", "fd_filestat_set_times": "4884",
    "fd_pread": "44484", "fd_prestat_dir_name": "444", "fd_prestat_get": "44", "fd_pwrite": "44484",
    "fd_read": "4444", "fd_readdir": "44484", "fd_seek": "4844", "fd_sync": "4", "fd_tell": "44",
    "fd_write": "4444", "path_create_directory": "444", "path_filestat_get": "44444",
    "path_filestat_set_times": "4444884", "path_link": "4444444", "path_open": "444448844",
    "path_readlink": "444444", "path_remove_directory": "444", "path_rename": "444444",
    "path_symlink": "44444", "path_unlink_file": "444", "poll_oneoff": "4444", "proc_raise": "4",
    "random_get": "44", "sched_yield": "", "sock_accept": "444", "sock_recv": "444444",
    "sock_send": "44444", "sock_shutdown": "44", "fd_renumber": "44", "fd_close": "4",
}
# Beyond the end of one page of memory, at its end, across it, and small.
VALUES = (-1, 65536, 65530, 3)
DESCRIPTORS = (0, 1, 3, -1)


def calls(name, parameters):
    for turn in range(len(VALUES)):
        values = [VALUES[(turn + place) % len(VALUES)] for place in range(len(parameters))]
        for first in DESCRIPTORS if name.startswith(("fd_", "path_")) else values[:1] or (0,):
            chosen = [first, *values[1:]][:len(parameters)]
            yield " ".join(f"({'i32' if kind == '4' else 'i64'}.const {value})"
                           for kind, value in zip(parameters, chosen))


def everything():
    imports = "".join(
        f'(import "wasi_snapshot_preview1" "{name}" (func ${name} (param '
        f'{" ".join("i32" if kind == "4" else "i64" for kind in parameters)}) (result i32)))\n'
        for name, parameters in FUNCTIONS.items())
    # Before the calls that close what the others use.
    body = "".join(f"(drop (call ${name} {arguments}))\n" for name, parameters in FUNCTIONS.items()
                   for arguments in calls(name, parameters))
    return f"""(module {imports}
      (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
      (memory (export "memory") 1 1)
      (func (export "_start") {body} (call $proc_exit (i32.const 42))))"""


class Hostile(WasmCase):
    def test_calls_end_in_errors_and_the_module_goes_on(self):
        verdict = self.verdict_of(everything(), "--time", "20s")
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("error", 42), verdict)

    def test_calls_without_a_memory_end_in_errors_too(self):
        verdict = self.verdict_of(everything().replace('(memory (export "memory") 1 1)', ""), "--time", "20s")
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("error", 42), verdict)
