# SPDX-License-Identifier: Apache-2.0
"""The APIs of the agents' vendors, as far as one scripted conversation goes: the model has a command
run by the agent's own tool, and then it says that it is done."""

import http.server
import json
import ssl
import threading

COMMAND = "printf 'made by a tool\\n' > made.txt"


class Vendors:
    """An HTTPS server on 127.0.0.1 with both APIs, or without a certificate one of plain HTTP.
    `keys` has what it was shown, by path; `results` what the tools returned."""

    def __init__(self, certificate=None, command=COMMAND):
        served = self
        self.command = command
        self.keys = []
        self.results = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                served.keys.append((self.path, self.key()))
                # No WebSocket: it asks again by POST.
                status = 426 if "Upgrade" in self.headers else 404
                self.answer(status, "application/json", b"{}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = self.path.split("?")[0]
                served.keys.append((path, self.key()))
                said = json.loads(body or b"{}")
                if path == "/v1/messages":
                    self.answer(*served.messages(said))
                elif path == "/v1/responses":
                    self.answer(200, "text/event-stream", served.responses(said))
                else:
                    self.answer(404, "application/json", b"{}")

            def key(self):
                bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
                return self.headers.get("X-Api-Key") or bearer

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def messages(self, said):
        """Anthropic's: status, type and body."""
        results = [block for message in said.get("messages", []) for block in message["content"]
                   if isinstance(block, dict) and block.get("type") == "tool_result"]
        tools = {tool.get("name") for tool in said.get("tools", [])}
        self.results += results
        use = not results and "Bash" in tools
        block = ({"type": "tool_use", "id": "toolu_1", "name": "Bash",
                  "input": {"command": self.command, "description": "Make a file"}}
                 if use else {"type": "text", "text": "It is done."})
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": said["model"],
                   "content": [block], "stop_reason": "tool_use" if use else "end_turn",
                   "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not said.get("stream"):
            return 200, "application/json", json.dumps(message).encode()
        empty = {**block, "input": {}} if use else {**block, "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                 if use else {"type": "text_delta", "text": block["text"]})
        return 200, "text/event-stream", events([
            {"type": "message_start",
             "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta",
             "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
             "usage": {"output_tokens": 1}},
            {"type": "message_stop"}])

    def responses(self, said):
        """OpenAI's: a body of events."""
        results = [item for item in said.get("input", [])
                   if isinstance(item, dict) and item.get("type", "").endswith("_call_output")]
        self.results += results
        item = {"type": "message", "role": "assistant", "id": "msg_1",
                "content": [{"type": "output_text", "text": "It is done."}]}
        if not results:
            tools = said.get("tools", []) + [
                tool for each in said.get("input", []) for tool in each.get("tools", [])]
            item = call_of(tools) or item
        return events([
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {
                "id": "resp_1", "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
                                          "input_tokens_details": None,
                                          "output_tokens_details": None}}}])


def call_of(tools):
    """A call of the tool that runs commands, by the name that this version gives it."""
    arguments = {"exec_command": {"cmd": COMMAND}, "shell_command": {"command": COMMAND},
                 "shell": {"command": ["bash", "-c", COMMAND]}}
    for tool in tools:
        if tool.get("type") == "namespace":
            call = call_of(tool["tools"])
            if call:
                return {**call, "namespace": tool["name"]}
        elif tool.get("name") in arguments:
            return {"type": "function_call", "id": "fc_1", "call_id": "call_1",
                    "name": tool["name"], "arguments": json.dumps(arguments[tool["name"]])}
        elif tool.get("name") == "exec" and tool.get("type") == "custom":
            code = f"await tools.exec_command({json.dumps({'cmd': COMMAND})})"
            return {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "exec",
                    "input": code}
    return None


def events(all_of_them):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                   for event in all_of_them).encode()
