# SPDX-License-Identifier: Apache-2.0
"""Serves Python executions in CPython for WASI: no threads, no sockets, and no signals.

The zygote (zygote.cc) stops it at its first read of descriptor 0, which is where forks begin. From
then on descriptor 0 is the channel, for reading and for writing.
"""

import ast
import base64
import builtins
import codeop
import gc
import io
import json
import keyword
import linecache
import os
import re
import sys
import traceback
import types

from beginning import CHANNEL, begin

EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, VARIABLES, END = 1, 2, 3, 4, 5, 8, 9
(READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR, INPUT_REQUEST, DONE,
 REPLY) = 64, 65, 66, 67, 68, 69, 70, 71, 73, 74
PART = 127
MAX_PAYLOAD = 1 << 20
MAX_MESSAGE = 64 << 20
MOST_VARIABLES = 1000
FEATURES = ["complete", "inspect", "is_complete", "input", "variables"]
KINDS = {"_repr_html_": "text/html", "_repr_markdown_": "text/markdown", "_repr_svg_": "image/svg+xml",
         "_repr_latex_": "text/latex", "_repr_json_": "application/json", "_repr_png_": "image/png",
         "_repr_jpeg_": "image/jpeg"}


# Types whose values are nothing but their text.
PLAIN = frozenset((bool, bytes, complex, dict, float, int, list, set, str, tuple, type(None)))
TO_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode

arrived = bytearray()  # Of the channel, and not taken yet.


def read_exactly(size):
    """None at the end of the channel."""
    while len(arrived) < size:
        piece = os.read(CHANNEL, 1 << 16)
        if not piece:
            return None
        arrived.extend(piece)
    taken = bytes(arrived[:size])
    del arrived[:size]
    return taken


def receive():
    """The next message as (type, channel, payload), or None at the end."""
    whole = b""
    while (head := read_exactly(9)) is not None:
        size, kind, channel = int.from_bytes(head[:4], "little"), head[4], int.from_bytes(head[5:], "little")
        if size > MAX_PAYLOAD or len(whole) + size > MAX_MESSAGE:
            return None
        payload = read_exactly(size)
        if payload is None:
            return None
        whole += payload
        if kind != PART:
            return kind, channel, whole
    return None


def frame(kind, channel, payload):
    return len(payload).to_bytes(4, "little") + bytes((kind,)) + channel.to_bytes(4, "little") + payload


def frames(kind, channel, message):
    payload = message if isinstance(message, bytes) else TO_JSON(message).encode(errors="replace")
    if len(payload) <= MAX_PAYLOAD:
        return frame(kind, channel, payload)
    last = (len(payload) - 1) // MAX_PAYLOAD * MAX_PAYLOAD
    return b"".join(frame(PART, channel, payload[start:start + MAX_PAYLOAD])
                    for start in range(0, last, MAX_PAYLOAD)) + frame(kind, channel, payload[last:])


def write(data):
    while (written := os.write(CHANNEL, data)) < len(data):
        data = memoryview(data)[written:]


def send(kind, channel, message):
    write(frames(kind, channel, message))


class Raw(io.RawIOBase):
    """A standard stream whose bytes go in frames, so that both keep their order."""

    def __init__(self, agent, kind):
        self.agent, self.kind = agent, kind

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        for start in range(0, len(data), MAX_PAYLOAD):
            send(self.kind, self.agent.channel, data[start:start + MAX_PAYLOAD])
        return len(data)

    def fileno(self):
        return 1 if self.kind == STDOUT else 2


class Input(io.TextIOBase):
    """Standard input, whose lines the client is asked for."""

    def __init__(self, agent):
        self.agent = agent

    def readable(self):
        return True

    def readline(self, size=-1):
        line = self.agent.ask("")
        return "" if line is None else line + "\n"

    def read(self, size=-1):
        return "".join(iter(self.readline, ""))


class Agent:
    def __init__(self):
        self.channel = 0
        self.count = 0
        self.module = types.ModuleType("__main__")
        self.names = self.module.__dict__
        self.names["__builtins__"] = builtins
        self.names["display"] = self.display
        self.names["exit"] = self.names["quit"] = self.exit
        self.over = False

    def take_over(self):
        """The streams and `input`, as the code of executions finds them."""
        sys.modules["__main__"] = self.module
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.BufferedWriter(Raw(self, kind)), "utf-8", "replace",
                                                   line_buffering=True) for kind in (STDOUT, STDERR))
        sys.stdin = Input(self)
        sys.argv = [""]
        builtins.input = self.input

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # The guest may have put anything in its place.
                pass

    def ask(self, prompt, password=False):
        """A line from the client, or None where there is none."""
        self.flush()
        send(INPUT_REQUEST, self.channel, {"prompt": str(prompt), "password": password})
        while (message := receive()) is not None:
            kind, _, payload = message
            if kind == INPUT:
                answer = json.loads(payload)
                return None if answer.get("eof") else str(answer.get("text", ""))
        os._exit(1)

    def input(self, prompt=""):
        line = self.ask(prompt)
        if line is None:
            raise EOFError("no more input")
        return line

    def display(self, *values):
        self.flush()
        for value in values:
            send(DISPLAY, self.channel, {"data": bundle(value), "metadata": {}})

    def exit(self, *_):
        """The interpreter ends with the execution that calls this."""
        self.over = True

    def serve(self):
        send(READY, 0, {"language": "python", "version": sys.version.split()[0], "features": FEATURES})
        while (message := receive()) is not None:
            kind, channel, payload = message
            if kind == END:
                break
            try:
                request = json.loads(payload)
            except (ValueError, RecursionError):
                request = {}
            if kind == EXECUTE:
                self.channel = channel
                self.execute(request)
                if self.over:
                    break
            elif kind != INPUT:
                send(REPLY, channel, self.answer(kind, request))

    def execute(self, request):
        silent = bool(request.get("silent"))
        self.count += not silent
        send(STARTED, self.channel, b'{"execution_count":%d}' % self.count)
        held = b""  # Goes with the end of the execution.
        env = request.get("env") or {}
        before = {name: os.environ.get(name) for name in env}
        name = f"<cell {self.count}>"
        status = "ok"
        try:
            os.environ.update(env)
            if request.get("cwd"):
                os.chdir(request["cwd"])
            code = request["code"]
            linecache.cache[name] = len(code), None, code.splitlines(True), name
            value = self.run(code, name)
            self.flush()
            if value is not None and not silent:
                builtins._ = value
                held = frames(RESULT, self.channel,
                              {"data": bundle(value), "metadata": {}, "execution_count": self.count})
        except BaseException as problem:  # Whatever the guest raises ends its execution alone.
            status = "error"
            self.flush()
            send(ERROR, self.channel, described(problem))
        finally:
            for variable, value in before.items():
                if value is None:
                    os.environ.pop(variable, None)
                else:
                    os.environ[variable] = value
        write(held + frames(DONE, self.channel, b'{"status":"%s","execution_count":%d}'
                            % (status.encode(), self.count)))

    def run(self, code, name):
        """The value of the last expression."""
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            exec(compile(tree, name, "exec", 0, True), self.names)
        if last is None:
            return None
        if code.rstrip().endswith(";"):
            exec(compile(ast.Module([last], []), name, "exec", 0, True), self.names)
            return None
        return eval(compile(ast.Expression(last.value), name, "eval", 0, True), self.names)

    def answer(self, kind, request):
        try:
            if kind == COMPLETE:
                return self.complete(request["code"], request["cursor"])
            if kind == INSPECT:
                return self.inspect(request["code"], request["cursor"])
            if kind == IS_COMPLETE:
                return completeness(request["code"])
            if kind == VARIABLES:
                return {"variables": self.variables()}
        except BaseException as problem:  # Code of the guest's may run for it.
            return {"error": f"{type(problem).__name__}: {problem}"}
        return {"error": "this agent does not support this request"}

    def complete(self, code, cursor):
        word = re.search(r"[\w.]*\Z", code[:cursor]).group()
        owner, dot, start = word.rpartition(".")
        if dot:
            names = dir(self.find(owner))
        else:
            names = {*self.names, *dir(builtins), *keyword.kwlist}
        matches = sorted(f"{owner}{dot}{name}" for name in names
                         if name.startswith(start) and (start or not name.startswith("_")))
        return {"matches": matches[:1000] if word else [], "start": cursor - len(word), "end": cursor}

    def find(self, path):
        """What a dotted name stands for."""
        first, *rest = path.split(".")
        value = self.names[first] if first in self.names else getattr(builtins, first)
        for attribute in rest:
            value = getattr(value, attribute)
        return value

    def inspect(self, code, cursor):
        word = re.search(r"[\w.]*\Z", code[:cursor]).group() + re.match(r"\w*", code[cursor:]).group()
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", word):
            return {"found": False, "data": {}}
        value = self.find(word)
        text = f"{word}: {type(value).__name__}\n\n{getattr(value, '__doc__', None) or ''}"
        return {"found": True, "data": {"text/plain": text}}

    def variables(self):
        hidden = {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "display",
                  "exit", "quit"}
        found = []
        for name, value in list(self.names.items())[:MOST_VARIABLES]:
            if name not in hidden and not isinstance(value, types.ModuleType):
                found.append({"name": name, "type": type(value).__name__, "value": shown(value)[:200]})
        return found


def shown(value):
    try:
        return repr(value)
    except Exception as problem:
        return f"<{type(value).__name__}, whose repr raised {type(problem).__name__}>"


def bundle(value):
    """The value by media types, as notebooks have it."""
    data = {"text/plain": shown(value)}
    if type(value) in PLAIN:
        return data
    for method, kind in KINDS.items():
        try:
            made = getattr(value, method)() if not isinstance(value, type) and hasattr(value, method) else None
        except Exception:
            continue
        if made is not None:
            data[kind] = base64.b64encode(made).decode() if isinstance(made, bytes) else made
    return data


def described(problem):
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    text = "".join(traceback.TracebackException(type(problem), problem, trace, compact=True).format())
    return {"name": type(problem).__name__, "value": str(problem), "traceback": text.splitlines()}


def completeness(code):
    try:
        compiled = codeop.compile_command(code, "<cell>", "exec")
    except (SyntaxError, ValueError, OverflowError):
        return {"status": "invalid", "indent": ""}
    if compiled is not None:
        return {"status": "complete", "indent": ""}
    last = code.rstrip("\n").rpartition("\n")[2]
    indent = last[:len(last) - len(last.lstrip())] + ("    " if last.rstrip().endswith(":") else "")
    return {"status": "incomplete", "indent": indent}


def main():
    agent = Agent()
    # What each fork would otherwise be the first to do.
    agent.run("import json, math\n_ = [x for x in range(3)]; _", "<warm-up>")
    agent.names.pop("_", None)
    described(ValueError("warm"))
    gc.collect()
    gc.freeze()  # A collection in a fork would write to every object's page.
    # Here the forks begin: how they are to start comes first.
    begin()
    agent.take_over()
    agent.serve()
    agent.flush()
    os._exit(0)


main()
