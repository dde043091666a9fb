# SPDX-License-Identifier: Apache-2.0
"""An engine of libglovebox, and what a program that has one notices of it: nothing."""

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_uint, c_void_p, sizeof

from test_abi import BUILD, LIBRARY

EXAMPLE = os.environ.get("GB_EXAMPLE", str(BUILD / "tests/gb_example_first"))
OK, INVALID, NOT_FOUND, EXHAUSTED, UNSUPPORTED, UNAVAILABLE, STOPPED = 0, 1, 2, 4, 5, 6, 9
ON_PIECE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
PATIENCE_S = 60


class Error(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("code", c_int), ("message", c_char * 1024),
                ("hint", c_char * 1024)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("words", POINTER(c_char_p)), ("word_count", c_size_t),
                ("programs", c_char_p), ("log", c_int)]


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("method", c_char_p), ("target", c_char_p),
                ("body", c_char_p), ("body_size", c_size_t), ("content_type", c_char_p),
                ("headers", POINTER(c_char_p)), ("header_count", c_size_t),
                ("silence_ms", c_uint), ("most_body", c_size_t), ("on_piece", ON_PIECE),
                ("data", c_void_p)]


library = ctypes.CDLL(LIBRARY)
library.glovebox_call.argtypes = [c_void_p, c_void_p, POINTER(c_void_p), POINTER(Error)]
library.glovebox_close.argtypes = library.glovebox_response_free.argtypes = [c_void_p]
library.glovebox_connect.argtypes = [c_void_p, POINTER(c_int), POINTER(Error)]
library.glovebox_open.argtypes = [c_void_p, POINTER(c_void_p), POINTER(Error)]
library.glovebox_response_body.argtypes = [c_void_p, POINTER(c_size_t)]
library.glovebox_response_body.restype = c_void_p
library.glovebox_response_header.argtypes = [c_void_p, c_char_p]
library.glovebox_response_header.restype = c_char_p
library.glovebox_response_status.argtypes = [c_void_p]


def words_of(texts):
    return (c_char_p * len(texts))(*(each.encode() for each in texts))


class Failed(Exception):
    def __init__(self, code, error):
        super().__init__(error.message.decode(), error.hint.decode())
        self.code, self.message, self.hint = code, error.message.decode(), error.hint.decode()


class Engine:
    def __init__(self, *words, programs=None, log=0):
        options = Options(sizeof(Options), words_of(words), len(words),
                          programs.encode() if programs else None, log)
        self.handle, error = c_void_p(), Error(size=sizeof(Error))
        if code := library.glovebox_open(byref(options), byref(self.handle), byref(error)):
            raise Failed(code, error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        library.glovebox_close(self.handle)
        self.handle = None

    def call(self, method, target, body=None, headers=(), **more):
        """The status, the body and the content type."""
        content = None if body is None else json.dumps(body).encode()
        request = Request(size=sizeof(Request), method=method.encode(), target=target.encode(),
                          body=content, headers=words_of(headers), header_count=len(headers), **more)
        response, error = c_void_p(), Error(size=sizeof(Error))
        if code := library.glovebox_call(self.handle, byref(request), byref(response), byref(error)):
            raise Failed(code, error)
        size = c_size_t()
        at = library.glovebox_response_body(response, byref(size))
        found = (library.glovebox_response_status(response), ctypes.string_at(at, size.value),
                 library.glovebox_response_header(response, b"CONTENT-type"))
        library.glovebox_response_free(response)
        return found

    def must(self, status, *request):
        found, body, _ = self.call(*request)
        if found != status:
            raise AssertionError(f"{request[:2]}: {found} {body[:500]!r}")
        return json.loads(body) if body else None

    def connect(self):
        connection, error = c_int(-1), Error(size=sizeof(Error))
        if code := library.glovebox_connect(self.handle, byref(connection), byref(error)):
            raise Failed(code, error)
        return socket.socket(fileno=connection.value)

    def sandbox(self):
        return "/v1/sandboxes/" + self.must(201, "POST", "/v1/sandboxes", {})["id"]


def processes_with(data):
    """Those of ours whose command line names the directory `data`."""
    found = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(data) in words and words[1] in (b"serve", b"keeper"):
            found[words[1].decode()] = int(directory.name)
    return found


def wait_for_end(pids):
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([fd], [], [], PATIENCE_S)[0]:
                raise AssertionError(f"{pid} does not end")
        finally:
            os.close(fd)


class WithData(unittest.TestCase):
    """An engine whose directory, and thereby whose processes, are known."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gb-embed.")
        self.addCleanup(self.folder.cleanup)
        self.data = self.folder.name + "/data"

    def engine(self, *words):
        engine = Engine("--data", self.data, *words)
        self.addCleanup(lambda: engine.handle and engine.close())
        return engine


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = Engine()
        cls.addClassCleanup(cls.engine.close)

    def test_code_runs_in_a_sandbox_and_leaves_a_file(self):
        sandbox = self.engine.sandbox()
        verdict = self.engine.must(200, "POST", f"{sandbox}/contexts/default/execute",
                                   {"code": "open('a', 'w').write('b'); 6 * 7"})
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "42")
        self.assertEqual(self.engine.call("GET", f"{sandbox}/files/a")[1], b"b")
        self.engine.must(204, "DELETE", sandbox)
        self.assertEqual(self.engine.call("GET", sandbox)[0], 410)

    def test_a_run_ends_with_a_verdict(self):
        verdict = self.engine.must(200, "POST", "/v1/run",
                                   {"language": "python", "code": "print(6 * 7)"})
        self.assertEqual((verdict["stdout"], verdict["status"]), ("42\n", "ok"))

    def test_an_error_of_the_api_is_a_response(self):
        status, body, kind = self.engine.call("GET", "/v1/sandboxes/nonesuch")
        self.assertEqual((status, kind), (404, b"application/json"))
        self.assertTrue(json.loads(body)["hint"])

    def test_events_come_as_they_happen(self):
        sandbox, pieces = self.engine.sandbox(), []
        go = threading.Event()

        def on_piece(_, at, size):
            pieces.append(ctypes.string_at(at, size))
            if b"first" in pieces[-1]:
                go.set()
            return 0

        release = threading.Thread(target=lambda: go.wait(PATIENCE_S) and self.engine.must(
            200, "PUT", f"{sandbox}/files/go", "x"))
        release.start()
        status, body, _ = self.engine.call(
            "POST", f"{sandbox}/contexts/default/execute",
            {"code": "import os, time\nprint('first', flush=True)\n"
                     "while not os.path.exists('go'): time.sleep(0.01)"},
            ["Accept: application/x-ndjson"], on_piece=ON_PIECE(on_piece))
        release.join()
        self.assertEqual((status, body), (200, b""))
        kinds = [json.loads(line)["type"] for line in b"".join(pieces).splitlines() if line.strip()]
        self.assertEqual((kinds[0], kinds[-1]), ("started", "verdict"))

    def test_a_caller_that_has_enough_ends_the_call(self):
        with self.assertRaises(Failed) as caught:
            self.engine.call("GET", "/openapi.json", on_piece=ON_PIECE(lambda *_: 1))
        self.assertEqual(caught.exception.code, STOPPED)
        self.assertEqual(self.engine.call("GET", "/healthz")[0], 200)

    def test_a_response_is_bounded(self):
        with self.assertRaises(Failed) as caught:
            self.engine.call("GET", "/openapi.json", most_body=1000)
        self.assertEqual(caught.exception.code, EXHAUSTED)
        self.assertIn("more than 1000 bytes", caught.exception.message)

    def test_silence_is_bounded(self):
        sandbox = self.engine.sandbox()
        with self.assertRaises(Failed) as caught:
            self.engine.call("POST", f"{sandbox}/contexts/default/execute",
                             {"code": "import time; time.sleep(60)"}, silence_ms=100)
        self.assertEqual(caught.exception.code, UNAVAILABLE)
        self.engine.must(204, "DELETE", sandbox)

    def test_a_request_cannot_smuggle_another_one(self):
        for method, target, headers in (("GET /", "/", ()), ("GET", "/ HTTP/1.1", ()),
                                        ("GET", "/", ["A: b\r\nC: d"]), ("GET", "/", ["A"])):
            with self.assertRaises(Failed) as caught:
                self.engine.call(method, target, headers=headers)
            self.assertEqual(caught.exception.code, INVALID)

    def test_several_threads_call_at_once(self):
        sandbox, found = self.engine.sandbox(), []
        threads = [threading.Thread(target=lambda: found.append(
            self.engine.call("GET", sandbox)[0])) for _ in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(found, [200] * 20)

    def test_a_connection_speaks_http_and_needs_no_key(self):
        with self.engine.connect() as connection:
            connection.settimeout(PATIENCE_S)
            connection.sendall(b"GET /v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            said = b"".join(iter(lambda: connection.recv(65536), b""))
        self.assertTrue(said.startswith(b"HTTP/1.1 200 "), said[:200])

    def test_a_wrong_key_is_refused_even_here(self):
        self.assertEqual(self.engine.call("GET", "/v1/keys", headers=["X-API-KEY: gb_wrong"])[0], 401)

    def test_a_structure_without_its_size_is_invalid_and_a_newer_one_unsupported(self):
        response, error = c_void_p(), Error(size=sizeof(Error))
        request = Request(size=0, method=b"GET", target=b"/")
        self.assertEqual(library.glovebox_call(self.engine.handle, byref(request), byref(response),
                                               byref(error)), INVALID)

        class Newer(ctypes.Structure):
            _fields_ = [("known", Request), ("more", c_size_t)]

        newer = Newer(Request(size=sizeof(Newer), method=b"GET", target=b"/healthz"), 0)
        self.assertEqual(library.glovebox_call(self.engine.handle, byref(newer), byref(response),
                                               byref(error)), OK)
        library.glovebox_response_free(response)
        newer.more = 1
        self.assertEqual(library.glovebox_call(self.engine.handle, byref(newer), byref(response),
                                               byref(error)), UNSUPPORTED)


class Life(WithData):
    def test_it_and_its_keeper_end_when_it_is_closed(self):
        engine = self.engine()
        engine.sandbox()
        found = processes_with(self.data)
        self.assertEqual(set(found), {"serve", "keeper"})
        engine.close()
        self.assertEqual(processes_with(self.data), {})

    def test_it_and_its_keeper_end_with_a_program_that_is_killed(self):
        for forks in (False, True):
            with self.subTest(forks=forks):
                code = ("import sys, os, time; sys.path[:0] = [sys.argv[1]]; import test_engine;"
                        "engine = test_engine.Engine('--data', sys.argv[2]); engine.sandbox();"
                        + ("os.fork() or time.sleep(600);" if forks else "")
                        + "print('open', flush=True); time.sleep(600)")
                host = subprocess.Popen(
                    [sys.executable, "-c", code, str(pathlib.Path(__file__).parent), self.data],
                    stdout=subprocess.PIPE, start_new_session=True)
                self.addCleanup(host.stdout.close)
                self.assertEqual(host.stdout.readline(), b"open\n")
                found = processes_with(self.data)
                self.assertEqual(set(found), {"serve", "keeper"})
                host.kill()  # A child that it has forked still has all of its descriptors.
                host.wait()
                wait_for_end(found.values())
                if forks:
                    os.killpg(host.pid, signal.SIGKILL)

    def test_its_keeper_ends_with_it_and_the_program_gets_an_error(self):
        engine = self.engine()
        engine.sandbox()
        found = processes_with(self.data)
        os.kill(found["serve"], signal.SIGKILL)
        wait_for_end(found.values())
        for call in (lambda: engine.call("GET", "/healthz"), engine.connect):
            with self.assertRaises(Failed) as caught:
                call()
            self.assertEqual(caught.exception.code, UNAVAILABLE)
        engine.close()

    def test_without_data_nothing_of_it_is_left(self):
        before = set(pathlib.Path(tempfile.gettempdir()).glob("glovebox-private-*"))
        with Engine() as engine:
            engine.must(200, "GET", "/healthz")
            made = set(pathlib.Path(tempfile.gettempdir()).glob("glovebox-private-*")) - before
            self.assertGreaterEqual(len(made), 1)
        after = set(pathlib.Path(tempfile.gettempdir()).glob("glovebox-private-*"))
        self.assertLess(len(made & after), len(made))

    def test_what_it_cannot_do_is_an_error_with_a_hint(self):
        with self.assertRaises(Failed) as caught:
            Engine(programs="/nonesuch")
        self.assertEqual(caught.exception.code, NOT_FOUND)
        self.assertIn("/nonesuch", caught.exception.message)
        self.engine()
        with self.assertRaises(Failed) as caught:
            self.engine()
        self.assertIn(f"uses the data directory {self.data}", caught.exception.message)
        self.assertTrue(caught.exception.hint)
        with self.assertRaises(Failed) as caught:
            Engine("--nonesuch")
        self.assertEqual(caught.exception.code, UNAVAILABLE)


class Host(WithData):
    """In this process, so that what would be noticed is noticed."""

    def test_the_program_has_no_new_child_signal_thread_or_setting(self):
        heard = []
        before = signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
        self.addCleanup(signal.signal, signal.SIGCHLD, before)

        def settings():
            status = pathlib.Path("/proc/self/status").read_text().splitlines()
            kept = ("Umask", "SigBlk", "SigIgn", "SigCgt", "Threads", "NoNewPrivs", "Seccomp")
            return ([line for line in status if line.startswith(kept)], os.getcwd(),
                    dict(os.environ))

        at_first = settings()
        engine = self.engine()
        engine.must(200, "GET", "/healthz")
        self.assertEqual(settings(), at_first)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        engine.close()
        self.assertEqual(settings(), at_first)
        self.assertEqual(heard, [])

    def test_no_descriptor_outlives_an_exec_or_the_engine(self):
        def descriptors():
            found = {}
            for each in pathlib.Path("/proc/self/fd").iterdir():
                try:
                    found[each.name] = os.readlink(each)
                except OSError:
                    pass
            return found

        at_first = descriptors()
        engine = self.engine()
        engine.must(200, "GET", "/healthz")
        new = set(descriptors().items()) - set(at_first.items())
        self.assertGreaterEqual(len(new), 2)
        for number, _ in new:
            try:
                self.assertFalse(os.get_inheritable(int(number)))
            except OSError:
                pass  # That with which the directory was read.
        engine.close()
        self.assertEqual(len(descriptors()), len(at_first))

    def test_secrets_in_the_environment_stay_here(self):
        os.environ["MY_SECRET"] = os.environ["GLOVEBOX_API_KEY"] = "hunter2"
        self.addCleanup(os.environ.pop, "MY_SECRET")
        self.addCleanup(os.environ.pop, "GLOVEBOX_API_KEY")
        self.engine().must(200, "GET", "/healthz")
        for pid in processes_with(self.data).values():
            self.assertNotIn(b"hunter2", pathlib.Path(f"/proc/{pid}/environ").read_bytes())

    def test_a_child_after_fork_may_use_the_engine_and_does_not_end_it(self):
        engine = self.engine()
        sandbox = engine.sandbox()
        child = os.fork()
        if child == 0:
            status = engine.call("GET", sandbox)[0]
            engine.close()
            os._exit(0 if status == 200 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(engine.call("GET", sandbox)[0], 200)


class Example(unittest.TestCase):
    def test_the_example_in_c_runs(self):
        done = subprocess.run([EXAMPLE], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "the code printed: written\nthe file contains: 42\n",
                         done.stderr)


if __name__ == "__main__":
    unittest.main()
