// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/request_log.h"

#include <algorithm>

#include "base/json/json.h"
#include "base/time_text.h"
#include "trace/span.h"

namespace glovebox::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxField = 1'024;  // Bytes of a line's field, before they are escaped.

// What a request counts as. A proxied one may have any word as its method, and each new label would
// cost memory for ever.
std::string_view method_label(std::string_view method) {
  constexpr std::array<std::string_view, 7> kUsual = {"GET",   "HEAD",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OPTIONS"};
  const auto found = std::ranges::find(kUsual, method);
  return found != kUsual.end() ? *found : "other";
}

// Notes what goes out through it.
class Watched final : public Response {
 public:
  explicit Watched(Response& inner) : inner_(inner) {}

  Result<void> send(int status, const Headers& headers, std::string_view body) override {
    status_ = status;
    bytes_ += body.size();
    return inner_.send(status, headers, body);
  }
  Result<void> start(int status, const Headers& headers) override {
    status_ = status;
    return inner_.start(status, headers);
  }
  Result<void> write(std::string_view piece) override {
    bytes_ += piece.size();
    return inner_.write(piece);
  }
  Result<void> write_file(int fd, std::uint64_t offset, std::uint64_t length) override {
    bytes_ += length;
    return inner_.write_file(fd, offset, length);
  }
  Result<void> finish() override { return inner_.finish(); }
  Result<void> follow(int status,
                      const Headers& headers,
                      std::unique_ptr<PieceSource> source) override {
    auto done = inner_.follow(status, headers, std::move(source));
    status_ = done ? status : status_;
    return done;
  }
  void abort() override {
    status_ = 499;  // As other servers log a response that was cut off.
    inner_.abort();
  }
  Result<std::unique_ptr<WebSocket>> upgrade(std::string_view protocol) override {
    auto made = inner_.upgrade(protocol);
    status_ = made ? 101 : status_;
    return made;
  }
  Result<void> relay(UniqueFd peer, std::string_view first) override {
    auto done = inner_.relay(std::move(peer), first);
    status_ = done ? 200 : status_;  // The guest's own status passes by unread.
    return done;
  }

  // 500 for a request that was left unanswered, as the server answers then.
  [[nodiscard]] int status() const { return status_; }
  // Of the answer's body, before it is framed.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Response& inner_;
  int status_ = 500;
  std::uint64_t bytes_ = 0;
};

// The path of the target: what is behind it may hold tokens.
std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// Bytes that are no UTF-8 are replaced, and control characters escaped: a line stays one line.
std::string to_line(Request& request,
                    const Watched& watched,
                    std::chrono::steady_clock::duration took,
                    std::string_view trace_id) {
  const RequestFacts& facts = request.facts();
  const auto field = [](std::string_view text) { return std::string(text.substr(0, kMaxField)); };
  Json line{{"at", to_rfc3339(std::chrono::system_clock::now())},
            {"event", "request"},
            {"peer", field(request.peer())},
            {"door", facts.door},
            {"method", field(request.method())},
            {"path", field(path_of(request.target()))},
            {"route", facts.route},
            {"status", watched.status()},
            {"ms", std::chrono::duration<double, std::milli>(took).count()},
            {"bytes", watched.bytes()},
            {"key", field(facts.key)},
            {"tenant", field(facts.tenant)},
            {"sandbox", field(facts.sandbox)},
            {"request_id", field(facts.id)}};
  if (!trace_id.empty()) {
    line["trace_id"] = trace_id;
  }
  return line.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// By the names that OpenTelemetry's semantic conventions have for HTTP; ours for the rest.
void describe(trace::Span& span, Request& request, const Watched& watched) {
  if (!span) {
    return;
  }
  const RequestFacts& facts = request.facts();
  const std::string method(method_label(request.method()));
  span.rename(method + " " + facts.route);
  span.set("http.request.method", method);
  span.set("http.route", facts.route);
  span.set("url.path", std::string(path_of(request.target())));
  span.set("http.response.status_code", std::int64_t{watched.status()});
  span.set("client.address", std::string(request.peer()));
  span.set("glovebox.door", std::string(facts.door));
  for (const auto& [name, value] :
       {std::pair("glovebox.tenant", facts.tenant), std::pair("glovebox.key", facts.key),
        std::pair("glovebox.sandbox", facts.sandbox), std::pair("glovebox.request_id", facts.id)}) {
    if (!value.empty()) {
      span.set(name, value);
    }
  }
  if (watched.status() >= 500) {
    span.fail("");
  }
}

trace::Span begin_span(trace::Tracer* tracer, const Request& request) {
  const auto header = tracer != nullptr ? request.header("traceparent") : std::nullopt;
  return {tracer, header ? trace::parse_traceparent(*header) : std::nullopt, "request",
          trace::SpanKind::kServer};
}

}  // namespace

void RequestLog::watch(Request& request,
                       Response& response,
                       const std::function<void(Response& response)>& serve) {
  const auto start = std::chrono::steady_clock::now();
  Watched watched(response);
  trace::Span span = begin_span(tracer_, request);
  // Also when `serve` throws, which the server answers.
  struct AtEnd {
    explicit AtEnd(std::function<void()> act) : act_(std::move(act)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { act_(); }

   private:
    std::function<void()> act_;
  };
  ++in_flight_;
  const AtEnd at_end([&] {
    --in_flight_;
    const auto took = std::chrono::steady_clock::now() - start;
    sent_bytes_ += watched.bytes();
    refused_keys_ += watched.status() == 401 ? 1 : 0;
    count(request.facts(), method_label(request.method()), watched.status(), took);
    describe(span, request, watched);
    if (line_) {
      line_(to_line(request, watched, took, span.trace_id()));
    }
  });
  serve(watched);
}

void RequestLog::count(const RequestFacts& facts,
                       std::string_view method,
                       int status,
                       std::chrono::steady_clock::duration took) {
  Key key{.door = facts.door,
          .method = facts.route == "none" ? "other" : method,
          .route = facts.route};
  const std::scoped_lock lock(mutex_);
  ++requests_[key][status];
  durations_[std::move(key)].add(took);
}

std::string RequestLog::text() const {
  std::string text =
      "# HELP glovebox_http_requests_total Requests by door, route and status.\n"
      "# TYPE glovebox_http_requests_total counter\n";
  const std::scoped_lock lock(mutex_);
  const auto labels = [](const Key& key) {
    return "door=\"" + std::string(key.door) + "\",method=\"" + std::string(key.method) +
           "\",route=\"" + key.route + "\"";
  };
  for (const auto& [key, statuses] : requests_) {
    for (const auto& [status, count] : statuses) {
      text += "glovebox_http_requests_total{" + labels(key) + ",status=\"" +
              std::to_string(status) + "\"} " + std::to_string(count) + "\n";
    }
  }
  text +=
      "# HELP glovebox_http_request_seconds Time from the request's head to the end of its "
      "handler.\n"
      "# TYPE glovebox_http_request_seconds histogram\n";
  for (const auto& [key, histogram] : durations_) {
    text += histogram.text("glovebox_http_request_seconds", labels(key));
  }
  text +=
      "# HELP glovebox_http_requests_in_flight Requests in progress.\n"
      "# TYPE glovebox_http_requests_in_flight gauge\n"
      "glovebox_http_requests_in_flight " +
      std::to_string(in_flight_) +
      "\n# HELP glovebox_http_refused_keys_total Requests without a valid key or token.\n"
      "# TYPE glovebox_http_refused_keys_total counter\n"
      "glovebox_http_refused_keys_total " +
      std::to_string(refused_keys_) +
      "\n# HELP glovebox_http_sent_bytes_total Bytes of responses, without relayed ones.\n"
      "# TYPE glovebox_http_sent_bytes_total counter\n"
      "glovebox_http_sent_bytes_total " +
      std::to_string(sent_bytes_) + "\n";
  return text;
}

}  // namespace glovebox::http
