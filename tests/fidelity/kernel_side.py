# SPDX-License-Identifier: Apache-2.0
"""Runs cells in a real ipykernel, as a Jupyter client does."""

from __future__ import annotations

import queue
import subprocess
import time

from transcript import Cell, CellFailure, Transcript


class Kernel:
    """One ipykernel process. Use as a context manager."""

    def __init__(self, directory: str, environment: dict[str, str]) -> None:
        # Only here, so that the runner can say what is missing before anything else.
        import jupyter_client

        self._manager = jupyter_client.KernelManager(kernel_name="python3")
        # What the cells write to descriptors 1 and 2 a kernel also echoes on its own.
        self._manager.start_kernel(cwd=directory, env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self._client = self._manager.client()
        try:
            self._client.start_channels()
            self._client.wait_for_ready(timeout=60)
        except BaseException:
            self._manager.shutdown_kernel(now=True)
            raise

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, cell: Cell, timeout: float) -> Transcript:
        deadline = time.monotonic() + timeout
        transcript = Transcript()
        answers = list(cell.inputs)
        interrupted = False
        request = self._client.execute(cell.code, allow_stdin=True, stop_on_error=False)
        idle = False
        while not idle or cell.until not in transcript.text_of("stdout"):
            if time.monotonic() > deadline:
                raise CellFailure(f"no end within {timeout:g} s; until now: {transcript.outputs}")
            self._answer(transcript, answers)
            try:
                message = self._client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "status":
                idle = message["content"]["execution_state"] == "idle"
            _take(transcript, message["msg_type"], message["content"])
            if cell.interrupt_at and not interrupted:
                if cell.interrupt_at in transcript.text_of("stdout"):
                    interrupted = True
                    self._manager.interrupt_kernel()
        reply = self._reply(request, deadline)
        transcript.status = reply["status"]
        transcript.execution_count = reply["execution_count"]
        for payload in reply.get("payload", []):
            if payload["source"] == "page":
                transcript.outputs.append({"type": "page", "data": payload["data"]})
        return transcript

    def _answer(self, transcript: Transcript, answers: list[str]) -> None:
        try:
            message = self._client.get_stdin_msg(timeout=0)
        except queue.Empty:
            return
        # What the cell said before it asked is on the other channel and may come after.
        transcript.outputs.append({"type": "input", **message["content"]})
        self._client.input(answers.pop(0) if answers else "")

    def _reply(self, request: str, deadline: float) -> dict:
        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                message = self._client.get_shell_msg(timeout=left)
            except queue.Empty:
                raise CellFailure("no execute_reply") from None
            if message["parent_header"].get("msg_id") == request:
                return message["content"]


def _take(transcript: Transcript, kind: str, content: dict) -> None:
    if kind == "stream":
        transcript.stream(content["name"], content["text"])
    elif kind in ("display_data", "update_display_data"):
        transcript.outputs.append({
            "type": "display", "data": content["data"], "metadata": content["metadata"],
            "update": kind == "update_display_data",
            "display_id": content.get("transient", {}).get("display_id")})
    elif kind == "execute_result":
        transcript.outputs.append({
            "type": "result", "data": content["data"], "metadata": content["metadata"],
            "execution_count": content["execution_count"]})
    elif kind == "error":
        transcript.outputs.append({
            "type": "error", "name": content["ename"], "value": content["evalue"],
            "traceback": "\n".join(content["traceback"])})
    elif kind == "clear_output":
        transcript.outputs.append({"type": "clear", "wait": content["wait"]})
    elif kind.startswith("comm_"):
        transcript.outputs.append({"type": "comm", "what": kind, "data": content.get("data")})
