#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page that shows the results of run_code in clients with MCP Apps (src/doors/mcp/app/results.html).

`test_app.py --write` puts the digests of its script and its style into its policy, and
`test_app.py --picture FILE` takes a picture of it. Both need no server; pictures need chromium.
"""
import base64
import hashlib
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from client import Client, STATELESS

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "src/doors/mcp/app/results.html"
MIME = "text/html;profile=mcp-app"
APPS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": [MIME]}}}
URI = "ui://glovebox/results.html"
BROWSER = shutil.which("chromium")
MARKUP = "<img src=x onerror='parent.document.title=1'>"
PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
         "ErkJggg==")


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def pieces(page):
    """What is between the tags of the style and of the script."""
    return [re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1] for tag in ("script", "style")]


def with_digests(page):
    script, style = map(digest, pieces(page))
    page = re.sub("script-src '[^']*'", f"script-src '{script}'", page, count=1)
    return re.sub("style-src '[^']*'", f"style-src '{style}'", page, count=1)


ROWS = 120
RESULT = {
    "content": [{"type": "text", "text": "shown"}],
    "structuredContent": {
        "status": "ok",
        "tables": [{"columns": [{"name": "city", "type": "object",
                                 "values": [f"city {ROWS - row}" for row in range(ROWS)]},
                                {"name": MARKUP, "type": "int64", "values": [row * 7 % 50 for row in range(ROWS)]}],
                    "rows": 5_000, "index": {"name": None, "type": "int64", "values": list(range(ROWS))},
                    "truncated": True}],
        "charts": [{"title": "Speed", "type": "line", "x_label": "time (s)", "y_label": "speed",
                    "x_scale": "linear", "y_scale": "linear",
                    "elements": [{"label": "first", "points": [[x, (x - 20) ** 2] for x in range(40)]},
                                 {"label": MARKUP, "points": [[x, 10 * x] for x in range(40)]}]},
                   {"title": "Counts", "type": "bar", "x_label": "kind", "y_label": "count",
                    "elements": [{"label": label, "group": group, "value": value}
                                 for group, factor in (("a", 1), ("b", 2))
                                 for value, label in enumerate(["x", "y", MARKUP], factor)]}]}}

# A client's page: it shows the app in a frame as clients do, gives it a result, and reports what it did.
HOST = """<!DOCTYPE html><title>0</title><body style="margin:0"><script>
const given = GIVEN;
const frame = document.createElement('iframe');
frame.sandbox = 'allow-scripts' + (given.look ? ' allow-same-origin' : '');
frame.style = 'width:720px;height:2100px;border:0';
frame.srcdoc = given.page;
const seen = [];
const post = message => frame.contentWindow.postMessage({jsonrpc: '2.0', ...message}, '*');
addEventListener('message', event => {
  if (event.source !== frame.contentWindow) return;
  seen.push(event.data.method || 'response ' + event.data.id);
  if (event.data.method === 'ui/initialize') {
    post({id: event.data.id, result: {protocolVersion: '2026-01-26', hostInfo: {name: 'host', version: '1'},
      hostCapabilities: {}, hostContext: {theme: given.theme || 'light'}}});
  } else if (event.data.method === 'ui/notifications/initialized') {
    post({method: 'ui/notifications/tool-input', params: {arguments: {}}});
    post({method: 'ui/notifications/tool-result', params: given.result});
    post({id: 7, method: 'ui/resource-teardown', params: {}});
  } else if (event.data.id === 7) {
    const found = given.look ? look(frame.contentDocument) : {};
    document.body.append(Object.assign(document.createElement('pre'),
      {id: 'report', textContent: JSON.stringify({seen, found, title: document.title})}));
  }
});
function look(page) {
  const cells = place => [...page.querySelectorAll(`tbody tr td:nth-child(${place})`)].map(each => each.textContent);
  const buttons = [...page.querySelectorAll('th button')];
  const found = {said: page.querySelector('.said')?.textContent, heads: buttons.map(each => each.textContent),
    first: cells(2), lines: page.querySelectorAll('path.mark-line').length,
    bars: page.querySelectorAll('rect.mark').length, images: page.querySelectorAll('img').length,
    text: page.querySelector('main').textContent, numbers: [], down: []};
  if (buttons.length > 2 && given.turn) {
    buttons[2].click();
    found.numbers = cells(3);
    buttons[2].click();
    found.down = cells(3);
    found.sorted = page.querySelectorAll('th')[2].ariaSort;
    page.querySelector('nav button:nth-child(2)').click();
    found.second = page.querySelector('.said').textContent;
  }
  return found;
}
document.body.append(frame);
</script>"""


def browse(arguments, **given):
    """What Chromium prints of the host's page."""
    # "</script" in JSON would end the script.
    host = HOST.replace("GIVEN", json.dumps({"page": PAGE.read_text(encoding="utf-8"), **given})
                        .replace("<", "\\u003c")).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(host)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, \
            tempfile.TemporaryDirectory(prefix="glovebox-app-", ignore_cleanup_errors=True) as data:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={data}", "--virtual-time-budget=4000", *arguments,
             f"http://127.0.0.1:{server.server_port}/"],
            capture_output=True, text=True, timeout=120)
        server.shutdown()
    return done.stdout


class Page(unittest.TestCase):
    def test_its_policy_lets_nothing_run_but_its_own_script_and_loads_nothing(self):
        page = PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, with_digests(page), "run tests/mcp/test_app.py --write")
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("unsafe", page)
        self.assertEqual(re.findall(r"https?://(?!www\.w3\.org/2000/svg)\S*", page), [])
        for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            self.assertNotIn(way_in, page)

    @unittest.skipUnless(BROWSER, "needs chromium")
    def test_in_a_browser_it_sorts_turns_pages_and_draws_and_results_stay_text(self):
        printed = browse(["--dump-dom"], result=RESULT, look=True, turn=True)
        report = json.loads(re.search(r'<pre id="report">(.*?)</pre>', printed, re.DOTALL)[1]
                            .replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        found = report["found"]
        self.assertEqual(report["seen"][:2], ["ui/initialize", "ui/notifications/initialized"])
        self.assertEqual(found["said"], "1–20 of 120 (the first of 5000)")
        self.assertEqual(found["heads"], ["", "city", MARKUP])
        self.assertEqual(found["first"][:2], ["city 120", "city 119"])
        self.assertEqual((found["lines"], found["bars"], found["images"]), (2, 6, 0))
        self.assertEqual(found["numbers"], sorted(found["numbers"], key=int))
        self.assertEqual((found["down"][0], found["sorted"]), ("49", "descending"))
        self.assertEqual(found["second"], "21–40 of 120 (the first of 5000)")
        self.assertIn(MARKUP, found["text"])
        self.assertEqual(report["title"], "0")

    @unittest.skipUnless(BROWSER, "needs chromium")
    def test_in_a_frame_of_its_own_it_takes_hostile_results_too(self):
        hostile = [
            {"content": [{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="},
                         {"type": "image", "mimeType": "image/png", "data": "x' onload='1"},
                         {"type": "image", "mimeType": "image/png", "data": PIXEL}]},
            {"content": 7, "structuredContent": {"tables": [7, {"columns": [{"values": 7}, None]}], "charts": {}}},
            {"structuredContent": {"charts": [{"type": "line", "elements": [
                {"points": [[None, 1], ["a", 2], [1, {}], 7]}]}, {"type": "bar", "elements": [{"value": 1e308}, {"value": -1e308}]},
                {"type": "scatter", "x_scale": "datetime", "elements": [{"points": [["x", 1]]}]}]}}]
        for result, images in zip(hostile, (1, 0, 0)):
            printed = browse(["--dump-dom"], result=result, look=True)
            report = json.loads(re.search(r'<pre id="report">(.*?)</pre>', printed, re.DOTALL)[1]
                                .replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
            self.assertEqual(report["found"]["images"], images, result)


class Server(unittest.TestCase):
    def test_only_clients_with_apps_are_told_of_the_page(self):
        for version in (STATELESS, "2025-11-25"):
            with Client(version=version, capabilities=APPS) as client:
                tools = client.request("tools/list")["result"]["tools"]
                told = {tool["name"]: tool["_meta"] for tool in tools if "_meta" in tool}
                self.assertEqual(told, {"run_code": {"ui": {"resourceUri": URI}}})
                listed = client.request("resources/list")["result"]["resources"]
                self.assertEqual([(each["uri"], each["mimeType"]) for each in listed], [(URI, MIME)])
                contents, = client.request("resources/read", {"uri": URI})["result"]["contents"]
                self.assertEqual((contents["mimeType"], contents["text"]),
                                 (MIME, PAGE.read_text(encoding="utf-8")))
                self.assertEqual(contents["_meta"]["ui"]["csp"], {})
        for capabilities in ({}, {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}}}):
            with Client(capabilities=capabilities) as client:
                self.assertFalse(any("_meta" in tool for tool in client.request("tools/list")["result"]["tools"]))
                self.assertEqual(client.request("resources/list")["result"]["resources"], [])
                self.assertIn("error", client.request("resources/read", {"uri": URI}))

    def test_tables_and_charts_are_data_for_clients_with_apps_alone(self):
        code = ("import matplotlib.pyplot as plt, pandas\n"
                "plt.plot([1, 2, 3], [1, 4, 9], label='squares')\nplt.title('Squares')\nplt.show()\n"
                "pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")
        with Client(capabilities=APPS) as client:
            done = client.call("run_code", code=code)
            if "ModuleNotFoundError" in json.dumps(done):
                self.skipTest("needs pandas and matplotlib")
            data = done["structuredContent"]
            chart, = data["charts"]
            self.assertEqual((chart["type"], chart["title"]), ("line", "Squares"))
            self.assertEqual(chart["elements"][0]["points"], [[1, 1], [2, 4], [3, 9]])
            table, = data["tables"]
            self.assertEqual([each["name"] for each in table["columns"]], ["a", "b"])
        with Client() as client:
            data = client.call("run_code", code=code)["structuredContent"]
            self.assertFalse({"charts", "tables"} & set(data))


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(with_digests(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    elif "--picture" in sys.argv:
        browse([f"--screenshot={sys.argv[-1]}", "--window-size=740,2120"], result=RESULT,
               theme="dark" if "--dark" in sys.argv else "light")
    else:
        unittest.main()
