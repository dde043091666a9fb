# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that a test answers itself."""

import http.server
import threading


def serve(case, status, headers, look=lambda request: None):
    """Answers GET and HEAD on 127.0.0.1 until `case` is over, always the same and without a body.
    `look` sees each request before. Returns the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            look(self)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    case.addCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
    return server.server_address[1]
