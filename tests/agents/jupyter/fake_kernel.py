# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel that misbehaves as it is told: the code of an execution names what it does.

The wire protocol is written out here, so that it is not the agent's own idea of it that is tested.
"""
import hashlib
import hmac
import json
import os
import pathlib
import sys
import uuid
from typing import Any

import zmq


class Kernel:
    def __init__(self, connection_file: str) -> None:
        info = json.loads(pathlib.Path(connection_file).read_text())
        self.key = info["key"].encode()
        self.context = zmq.Context()
        self.sockets = {}
        kinds = {"shell": zmq.ROUTER, "control": zmq.ROUTER, "stdin": zmq.ROUTER, "iopub": zmq.XPUB}
        self.late: list[str] = ["stdin"] if "LATE_STDIN" in os.environ else []
        self.info = info
        for name, kind in kinds.items():
            self.sockets[name] = self.context.socket(kind)
            self.sockets[name].linger = 5000
            if name not in self.late:
                self.bind(name)
        self.sockets["iopub"].xpub_verbose = 1  # Each subscription is heard, not only the first.
        self.client = b""
        self.parent: dict[str, Any] = {}

    def bind(self, name: str) -> None:
        info = self.info
        self.sockets[name].bind(f"{info['transport']}://{info['ip']}-{info[name + '_port']}")

    def sign(self, parts: list[bytes]) -> bytes:
        return hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()

    def parts(self, kind: str, content: Any, parent: Any = None) -> list[bytes]:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "fake",
                  "username": "fake", "date": "2026-01-01T00:00:00Z", "version": "5.3"}
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        parts = [json.dumps(header).encode(),
                 json.dumps(self.parent if parent is None else parent).encode(), b"{}", body]
        return [b"<IDS|MSG>", self.sign(parts), *parts]

    def publish(self, kind: str, content: Any, parent: Any = None) -> None:
        self.sockets["iopub"].send_multipart([b"topic", *self.parts(kind, content, parent)])

    def reply(self, kind: str, content: Any, socket: str = "shell", parent: Any = None) -> None:
        self.sockets[socket].send_multipart([self.client, *self.parts(kind, content, parent)])

    def receive(self, socket: str) -> tuple[str, dict[str, Any]]:
        self.client, delimiter, signature, *parts = self.sockets[socket].recv_multipart()
        if delimiter != b"<IDS|MSG>" or signature != self.sign(parts[:4]):
            sys.exit("a request with a wrong signature")
        self.parent = json.loads(parts[0])
        return self.parent["msg_type"], json.loads(parts[3])

    def status(self, state: str, parent: Any = None) -> None:
        self.publish("status", {"execution_state": state}, parent)

    def stream(self, text: Any, parent: Any = None) -> None:
        self.publish("stream", {"name": "stdout", "text": text}, parent)

    def begin(self) -> None:
        self.status("busy")
        self.publish("execute_input", {"code": "", "execution_count": 1})

    def ok(self, parent: Any = None) -> None:
        self.reply("execute_reply", {"status": "ok", "execution_count": 1}, parent=parent)

    def serve(self) -> None:
        while True:
            ready = zmq.select([self.sockets["shell"], self.sockets["control"]], [], [],
                               0.2 if self.late else None)[0]
            if not ready and self.late:
                self.bind(self.late.pop())
            for name in ("control", "shell"):
                if self.sockets[name] in ready:
                    self.handle(name)

    def handle(self, socket: str) -> None:
        kind, content = self.receive(socket)
        if kind == "kernel_info_request":
            self.status("busy")
            self.reply("kernel_info_reply", {
                "status": "ok", "protocol_version": "5.3",
                "language_info": {"name": "fake", "version": os.environ.get("FAKE", "0")}})
            self.status("idle")
        elif kind == "execute_request":
            getattr(self, "do_" + content["code"].partition(" ")[0])(content["code"])
        elif kind == "complete_request":
            self.reply("complete_reply", {"status": "ok", "matches": [1, "one", None, ["x"]],
                                          "cursor_start": "x", "cursor_end": 2**70})
        elif kind == "is_complete_request":
            self.reply("is_complete_reply", {"status": ["complete"], "indent": 4})
        elif kind == "shutdown_request" and "STUBBORN" not in os.environ:
            os._exit(0)
        # Inspection is never answered.

    def do_plain(self, _: str) -> None:
        self.begin()
        self.stream("ok")
        self.ok()
        self.status("idle")

    def do_forged(self, code: str) -> None:
        self.begin()
        for _ in range(int(code.split()[1])):
            parts = self.parts("stream", {"name": "stdout", "text": "forged"})
            parts[1] = b"0" * 64
            self.sockets["iopub"].send_multipart([b"topic", *parts])
        self.stream("genuine")
        self.ok()
        self.status("idle")

    def do_forged_reply(self, _: str) -> None:
        self.begin()
        parts = self.parts("execute_reply", {"status": "error", "execution_count": 7})
        parts[1] = self.sign([b"something else"])
        self.sockets["shell"].send_multipart([self.client, *parts])
        self.ok()
        self.status("idle")

    def do_reply_first(self, _: str) -> None:
        self.begin()
        self.ok()
        # The agent has the reply when it answers this.
        self.reply("input_request", {"prompt": "go", "password": False}, "stdin")
        request = self.parent
        self.receive("stdin")
        self.parent = request
        self.stream("after the reply")
        self.status("idle")

    def do_idle_first(self, _: str) -> None:
        self.begin()
        self.status("idle")
        self.reply("input_request", {"prompt": "go", "password": False}, "stdin")
        request = self.parent
        self.receive("stdin")
        self.parent = request
        self.ok()

    def do_no_idle(self, _: str) -> None:
        self.begin()
        self.ok()

    def do_no_reply(self, _: str) -> None:
        self.begin()
        self.status("idle")

    def do_no_execute_input(self, _: str) -> None:
        self.stream("out")
        self.ok()
        self.status("idle")

    def do_huge(self, _: str) -> None:
        self.begin()
        self.stream("x" * (65 << 20))
        self.ok()
        self.status("idle")

    def do_huge_before_idle(self, _: str) -> None:
        """The idle status is sent only when the agent has connected again."""
        self.begin()
        iopub = self.sockets["iopub"]
        while iopub.poll(0):
            iopub.recv()
        self.stream("x" * (65 << 20))
        self.ok()
        while iopub.recv()[:1] != b"\x01":  # A subscription.
            pass
        self.status("idle")

    def do_huge_reply(self, _: str) -> None:
        self.begin()
        self.reply("execute_reply", {"status": "ok", "payload": "x" * (65 << 20)})
        self.status("idle")

    def do_large(self, code: str) -> None:
        """Many large messages; the file says that all were handed to ZeroMQ."""
        _, count, path = code.split()
        self.begin()
        for number in range(int(count)):
            self.stream(f"{number:07}\n" + "x" * ((1 << 20) - 9) + "\n")
        self.ok()
        self.status("idle")
        pathlib.Path(path).touch()

    def do_garbage(self, _: str) -> None:
        self.begin()
        iopub = self.sockets["iopub"]
        for parts in ([b""], [b"<IDS|MSG>"], [b"<IDS|MSG>"] * 9, [b"x"] * 1000, [b"\xff" * 99] * 7,
                      self.parts("stream", b"not json"), self.parts("stream", b"[]"),
                      self.parts("stream", b"\xff\xfe"), self.parts("stream", {}, parent=[]),
                      self.parts("stream", b'{"text":' + b"[" * 5000 + b"]" * 5000 + b"}")):
            iopub.send_multipart(parts)
        iopub.send_multipart(self.parts("stream", {"name": "stdout", "text": "x"}) + [b""] * 1000)
        for kind, content in (
                ("stream", {"name": 1, "text": 2}), ("stream", {}), ("display_data", {"data": []}),
                ("display_data", {"data": {"text/plain": {"a": None}}, "metadata": 7}),
                ("execute_result", {"data": None, "execution_count": "x"}),
                ("error", {"ename": None, "evalue": [], "traceback": [1, "line", None]}),
                ("clear_output", {"wait": "yes"}), ("status", {"execution_state": []}),
                ("execute_input", {}), ("", {}), ("unheard_of", {}), ("comm_msg", {})):
            self.publish(kind, content)
        self.publish("stream", b'{"name":"stdout","text":"bad \xff byte"}')
        self.ok()
        self.status("idle")

    def do_others(self, _: str) -> None:
        """What belongs to other requests must not end this one."""
        other = {"msg_id": "other"}
        self.begin()
        self.status("idle", other)
        self.ok(other)
        self.reply("input_request", {"prompt": "not yours"}, "stdin", parent=other)
        self.stream("of another", other)
        self.ok()
        self.stream("own")
        self.status("idle")

    def do_error_in_reply(self, _: str) -> None:
        self.begin()
        self.reply("execute_reply", {"status": "error", "ename": "E", "evalue": "v",
                                     "traceback": ["t"], "execution_count": 1})
        self.status("idle")

    def do_abort(self, _: str) -> None:
        self.reply("execute_reply", {"status": "aborted"})
        self.status("idle")

    def do_wait_for_message(self, _: str) -> None:
        self.begin()
        request, client = self.parent, self.client
        kind, _content = self.receive("control")
        self.parent, self.client = request, client
        self.stream(kind)
        self.ok()
        self.status("idle")

    def do_exit(self, code: str) -> None:
        self.begin()
        self.stream("last words")
        for socket in self.sockets.values():
            socket.close()
        self.context.term()  # Until all is sent.
        os._exit(int(code.split()[1]))

    def do_exit_after(self, code: str) -> None:
        self.do_plain(code)
        for socket in self.sockets.values():
            socket.close()
        self.context.term()
        os._exit(int(code.split()[1]))


if __name__ == "__main__":
    Kernel(sys.argv[1]).serve()
