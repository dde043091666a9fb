// SPDX-License-Identifier: Apache-2.0
// The tool for ports: what listens in a sandbox, and requests to it.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "doors/mcp/tools.h"
#include "service/packages/package_index.h"
#include "spec/egress_protocol.h"

namespace glovebox::mcp {
namespace {

// It talks to a guest's server, so it runs as a guest, too: it prints one port a line, or the head
// of a response on standard error and its body on standard output.
constexpr const char* kProgram = R"py(
import http.client, itertools, socket, sys, urllib.parse

MOST_BODY = 1 << 20
NOBODY, NO_SOCKETS, NO_HTTP = 3, 4, 5

try:
    socket.socket().close()
except OSError:
    sys.exit(NO_SOCKETS)

if len(sys.argv) == 1:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                for words in map(str.split, itertools.islice(lines, 1, 10_000)):
                    if words[3] == "0A":
                        found.add(int(words[1].rsplit(":", 1)[1], 16))
        except OSError:
            pass
    print(*sorted(found), sep="\n")
    sys.exit()

port, method, target, body, *headers = sys.argv[1:]
target = urllib.parse.quote(target, safe="%/:=&?~#+!$,;'@()*[]|")
headers = dict(map(str.strip, line.split(":", 1)) for line in headers)
body = body.encode(errors="surrogateescape") or None
try:
    for host in ("127.0.0.1", "::1"):
        try:
            connection = http.client.HTTPConnection(host, int(port))
            connection.connect()
            break
        except OSError:
            connection = None
    if connection is None:
        sys.exit(NOBODY)
    connection.request(method, target, body, {"Host": "127.0.0.1:" + port, **headers})
    response = connection.getresponse()
    print(response.status, response.reason, file=sys.stderr)
    for name, value in response.getheaders():
        print(name + ": " + value, file=sys.stderr)
    sys.stderr.flush()
    left = MOST_BODY
    while left > 0:
        piece = response.read1(min(left, 65536))
        if not piece:
            break
        left -= len(piece)
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
except (OSError, ValueError, http.client.HTTPException) as problem:
    print(type(problem).__name__, problem, file=sys.stderr)
    sys.exit(NO_HTTP)
)py";
constexpr int kNobody = 3;
constexpr int kNoSockets = 4;
constexpr int kNoHttp = 5;

constexpr std::size_t kMostPorts = 256;
constexpr std::size_t kMostHeaders = 32;
constexpr std::size_t kMostBody = 65'536;
constexpr std::size_t kMostTarget = 8'192;
constexpr Bytes kMostHead{8'192};
constexpr Bytes kMostAnswer{1UL << 20};

struct PortRequest {
  std::optional<std::uint64_t> port{};
  std::string method{};
  std::string path{};
  std::string body{};
  std::vector<std::string> headers{};
};

Result<void> validate(const PortRequest& request) {
  const auto wrong = [](const char* what) { return Error(ErrorCode::kInvalid, what); };
  if (!request.port) {
    return request.method.empty() && request.path.empty() && request.body.empty() &&
                   request.headers.empty()
               ? Result<void>()
               : wrong("a request needs the argument 'port'");
  }
  if (*request.port == 0) {
    return wrong("argument 'port' must be an integer from 1 to 65535");
  }
  if (request.method.size() > 16 ||
      !std::ranges::all_of(request.method, [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return wrong("argument 'method' must be capital letters, such as POST");
  }
  if (!request.path.empty() && (request.path.front() != '/' || request.path.size() > kMostTarget)) {
    return wrong("argument 'path' must begin with '/' and have at most 8192 bytes");
  }
  if (request.body.size() > kMostBody) {
    return wrong(
        "argument 'body' must have at most 65536 bytes; write a file, and send it with "
        "run_code");
  }
  for (const std::string& header : request.headers) {
    if (header.find(':') == std::string::npos || header.size() > kMostTarget ||
        header.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return wrong("argument 'headers' must be lines such as \"Content-Type: application/json\"");
    }
  }
  if (request.path.find('\0') != std::string::npos ||
      request.body.find('\0') != std::string::npos) {
    return wrong("an argument has a NUL character");
  }
  return {};
}

// The error that takes the place of a result if there is none.
Result<void> check_end(const ProcessEvent& end, const Captured& head) {
  if (end.reason != Status::kOk && end.reason != Status::kError) {
    return {};
  }
  switch (end.exit_code) {
    case 0:
      return {};
    case kNobody:
      return Error(ErrorCode::kUnavailable, "nothing is listening on this port of the sandbox",
                   "start a server on 127.0.0.1 in the sandbox first, in the background");
    case kNoSockets:
      return Error(ErrorCode::kUnsupported, "programs in this sandbox cannot open network sockets",
                   "create a sandbox with the native tier");
    case kNoHttp:
      return Error(ErrorCode::kUnavailable, "the server did not send an HTTP response: " +
                                                printable(excerpt(to_utf8(head.bytes)).text));
    default:
      return Error(ErrorCode::kUnsupported,
                   "python3 of the sandbox, which this tool needs, ended with exit status " +
                       std::to_string(end.exit_code));
  }
}

// Reads lines of digits, which a guest wrote.
std::vector<std::uint16_t> ports_in(std::string_view text, bool has_network, bool has_packages) {
  std::vector<std::uint16_t> ports;
  while (!text.empty() && ports.size() < kMostPorts) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::uint16_t port = 0;
    const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), port);
    // A server that we have put there is not the guest's.
    const bool is_ours = (has_network && port == egress::kPort) ||
                         (has_packages && (port == kPipIndexPort || port == kNpmIndexPort));
    if (failed == std::errc() && end == line.data() + line.size() && port != 0 && !is_ours) {
      ports.push_back(port);
    }
  }
  return ports;
}

// How clients other than this one reach a port.
void put_ways(Json& entry,
              const std::optional<std::string>& domain,
              const std::string& sandbox,
              std::uint16_t port) {
  if (!domain) {
    return;
  }
  entry["path"] = "/v1/sandboxes/" + sandbox + "/ports/" + std::to_string(port) + "/";
  if (!domain->empty()) {
    entry["host"] = std::to_string(port) + "-" + sandbox + "." + *domain;
  }
}

Result<ToolResult> list_ports(ToolCall& call, const std::string& sandbox, std::string_view text) {
  ToolResult result;
  Json list = Json::array();
  std::string lines;
  const SandboxInfo info = GB_TRY(call.service.find(call.call.caller(), sandbox));
  for (const std::uint16_t port :
       ports_in(text, !info.network.allow.empty(), call.options.packages)) {
    Json entry{{"port", port}};
    put_ways(entry, call.options.port_domain, sandbox, port);
    lines += std::to_string(port);
    if (entry.contains("path")) {
      lines += ": at this daemon, with a key, " + entry["path"].get<std::string>();
    }
    lines += "\n";
    list.push_back(std::move(entry));
  }
  result.data()["ports"] = std::move(list);
  result.add_text(lines.empty() ? "nothing is listening"
                  : call.options.port_domain
                      ? lines
                      : lines + "Only this tool and the sandbox's own programs reach them.");
  call.tell_sandbox(result, sandbox);
  return result;
}

}  // namespace

Result<ToolResult> ports(ToolCall& call) {
  PortRequest wanted;
  wanted.port = call.arguments.count("port", 65'535);
  wanted.method = call.arguments.text("method");
  wanted.path = call.arguments.text("path");
  wanted.headers = call.arguments.texts("headers", kMostHeaders);
  wanted.body = call.arguments.text("body");
  ProcessRequest request;
  request.timeout =
      call.arguments.seconds("timeout", call.options.most_time).value_or(call.options.time);
  const std::string sandbox = GB_TRY(call.sandbox());
  GB_TRY(validate(wanted));
  // Isolated: files in the workspace do not stand in for modules.
  request.command.argv = {"python3", "-I", "-c", kProgram};
  if (wanted.port) {
    std::vector<std::string>& argv = request.command.argv;
    argv.insert(argv.end(),
                {std::to_string(*wanted.port), wanted.method.empty() ? "GET" : wanted.method,
                 wanted.path.empty() ? "/" : wanted.path, wanted.body});
    argv.insert(argv.end(), wanted.headers.begin(), wanted.headers.end());
  }
  const auto feed = GB_TRY(call.service.start_process(call.call.caller(), sandbox, request));
  OutputCapture out(kMostAnswer);
  OutputCapture err(kMostHead);
  const ProcessEvent end = GB_TRY(follow_to_end(
      call, sandbox, *feed,
      [&](std::string_view bytes) {
        out.write(bytes);
        return true;
      },
      err));
  const Captured body = out.finish();
  const Captured head = err.finish();
  GB_TRY(check_end(end, head));
  if (!wanted.port) {
    return list_ports(call, sandbox, body.bytes);
  }
  ToolResult result;
  const std::string shown = to_utf8(head.bytes);
  int status = 0;
  (void)std::from_chars(shown.data(), shown.data() + shown.size(), status);
  result.data()["status"] = status;
  put_text(call, result, "head", "", shown);
  put_text(call, result, "body", "", to_utf8(body.bytes));
  if (body.bytes.size() >= kMostAnswer.count) {
    result.add_text("[the response may go on: this tool reads 1 MiB of it]");
  }
  if (end.reason != Status::kOk) {
    result.fail();
    result.add_text(std::string(to_string(end.reason)) +
                    ": the response ended before it was whole. Pass a larger timeout, or ask for "
                    "less.");
  }
  call.tell_sandbox(result, sandbox);
  return result;
}

}  // namespace glovebox::mcp
