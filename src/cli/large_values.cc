// SPDX-License-Identifier: Apache-2.0
#include "cli/large_values.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/base64.h"
#include "base/json/json.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The most that an agent keeps.
constexpr std::uint64_t kMaxSize = 64UL << 20;
constexpr std::uint64_t kPiece = 4UL << 20;
constexpr auto kFetchPatience = 30s;
constexpr std::size_t kMaxEntries = 1'000;

Error gone(const std::string& why) {
  return {ErrorCode::kNotFound, "the value is no longer available" + why,
          "show it again, or write it to a file in the cell"};
}

}  // namespace

bool LargeValues::note(std::size_t cell, const Event& event) {
  const std::vector<notebook::Reference> references = notebook::references_in(event.data);
  for (const notebook::Reference& reference : references) {
    kept_.push_back({cell, reference});
  }
  if (kept_.size() > kMaxEntries) {
    kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(kMaxEntries));
  }
  return !references.empty();
}

std::optional<LargeValues::Entry> LargeValues::find(std::string_view mime,
                                                    std::optional<std::size_t> cell) const {
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Entry& entry) {
    return entry.reference.mime == mime && (!cell || entry.cell == *cell);
  });
  return found != kept_.rend() ? std::optional(*found) : std::nullopt;
}

Result<std::string> LargeValues::fetch(Context& context, const notebook::Reference& reference) {
  auto bytes = notebook::bytes_of_fetched(
      GB_TRY(fetch_encoded(context, reference, Clock::now() + kFetchPatience)), reference.mime);
  return bytes ? Result<std::string>(std::move(*bytes)) : gone("");
}

Result<std::string> LargeValues::fetch_encoded(Context& context,
                                               const notebook::Reference& reference,
                                               Clock::time_point deadline,
                                               int cancel_fd) {
  if (!context.can("fetch")) {
    return Error(ErrorCode::kUnsupported, "this interpreter does not keep large values");
  }
  if (reference.size > kMaxSize) {
    return gone("");
  }
  std::string fetched;
  while (fetched.size() < reference.size) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd canceled{cancel_fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&canceled, 1, 0) > 0) {
      return Error(ErrorCode::kUnavailable, left.count() <= 0 ? "it took too long" : "interrupted");
    }
    const Json request = {{"ref", reference.name},
                          {"offset", fetched.size()},
                          {"size", std::min(kPiece, reference.size - fetched.size())}};
    const std::string answer =
        GB_TRY(context.ask(agent::Request::kFetch,
                           request.dump(-1, ' ', false, Json::error_handler_t::replace), left));
    const Json reply = Json::parse(answer, nullptr, false);
    if (!reply.is_object() || !reply.contains("base64") || !reply["base64"].is_string()) {
      const bool told = reply.is_object() && reply.contains("error") && reply["error"].is_string();
      return gone(told ? ": " + printable(reply["error"].get<std::string>().substr(0, 200)) : "");
    }
    const auto piece = from_base64(reply["base64"].get_ref<const std::string&>());
    if (!piece || piece->empty() || piece->size() > kPiece) {
      return gone("");
    }
    fetched += *piece;
  }
  return fetched;
}

}  // namespace glovebox::cli
