// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/metrics.h"

#include <algorithm>
#include <charconv>

namespace glovebox::rest {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

void Metrics::count(std::string_view method,
                    std::string_view route,
                    int status,
                    std::chrono::steady_clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const auto bucket = static_cast<std::size_t>(
      std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin());
  Key key{.method = std::string(method), .route = std::string(route)};
  const std::scoped_lock lock(mutex_);
  ++requests_[key][status];
  Histogram& histogram = durations_[std::move(key)];
  ++histogram.buckets[bucket];
  histogram.sum += seconds;
  ++histogram.count;
}

std::string Metrics::text() const {
  std::string text =
      "# HELP glovebox_http_requests_total Requests handled by the REST API.\n"
      "# TYPE glovebox_http_requests_total counter\n";
  const std::scoped_lock lock(mutex_);
  const auto labels = [](const Key& key) {
    return "method=\"" + key.method + "\",route=\"" + key.route + "\"";
  };
  for (const auto& [key, statuses] : requests_) {
    for (const auto& [status, count] : statuses) {
      text += "glovebox_http_requests_total{" + labels(key) + ",status=\"" +
              std::to_string(status) + "\"} " + std::to_string(count) + "\n";
    }
  }
  text +=
      "# HELP glovebox_http_request_seconds Time from the request's head to the end of the "
      "response.\n"
      "# TYPE glovebox_http_request_seconds histogram\n";
  for (const auto& [key, histogram] : durations_) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.buckets.size(); ++i) {
      below += histogram.buckets[i];
      text += "glovebox_http_request_seconds_bucket{" + labels(key) + ",le=\"" +
              (i < kBounds.size() ? number(kBounds[i]) : "+Inf") + "\"} " + std::to_string(below) +
              "\n";
    }
    text += "glovebox_http_request_seconds_sum{" + labels(key) + "} " + number(histogram.sum) +
            "\nglovebox_http_request_seconds_count{" + labels(key) + "} " +
            std::to_string(histogram.count) + "\n";
  }
  text +=
      "# HELP glovebox_http_requests_in_flight Requests in progress.\n"
      "# TYPE glovebox_http_requests_in_flight gauge\n"
      "glovebox_http_requests_in_flight " +
      std::to_string(in_flight_) +
      "\n# HELP glovebox_http_refused_keys_total Requests without a valid key.\n"
      "# TYPE glovebox_http_refused_keys_total counter\n"
      "glovebox_http_refused_keys_total " +
      std::to_string(refused_keys_) + "\n";
  return text;
}

}  // namespace glovebox::rest
