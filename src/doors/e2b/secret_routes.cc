// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/secret_routes.h"

#include <optional>
#include <string>

#include "base/hex.h"
#include "doors/e2b/answers.h"
#include "doors/e2b/page.h"
#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

Json secret_json(const SecretInfo& info) {
  return {{"secretID", info.id},
          {"name", info.name},
          {"currentVersion", info.version},
          {"metadata", info.metadata},
          {"createdAt", to_rfc3339(info.created)},
          {"updatedAt", to_rfc3339(info.updated)}};
}

// The metadata of a change that names none stay as they are.
Result<std::optional<SecretMetadata>> metadata_of(const Json& body) {
  if (member(body, "metadata") == nullptr) {
    return std::optional<SecretMetadata>();
  }
  return std::optional(GB_TRY(text_map_member(body, "metadata")));
}

}  // namespace

void SecretRoutes::add_to(Routes& routes) {
  const auto handler = [this](auto method) {
    return [this, method](ControlCall& call) { return (this->*method)(call); };
  };
  routes.add("POST", "secrets", handler(&SecretRoutes::create));
  routes.add("GET", "secrets", handler(&SecretRoutes::list));
  routes.add("GET", "secrets/*", handler(&SecretRoutes::show));
  routes.add("POST", "secrets/*", handler(&SecretRoutes::change));
  routes.add("DELETE", "secrets/*", handler(&SecretRoutes::remove));
}

Result<void> SecretRoutes::create(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  SecretRequest request;
  request.name = GB_TRY(text_member(body, "name")).value_or("");
  request.value = GB_TRY(text_member(body, "value")).value_or("");
  request.metadata = GB_TRY(metadata_of(body)).value_or(SecretMetadata());
  answer(call.response, 201, secret_json(GB_TRY(service_.secrets().create(call.caller, request))));
  return {};
}

Result<void> SecretRoutes::list(ControlCall& call) {
  const std::size_t limit = GB_TRY(page_size(call.target));
  // The token of a page is the name before it, in hexadecimal: a name need not fit in a header
  // itself, and the secret may be gone when the next page is asked for.
  const auto after = from_hex(call.target.parameter("nextToken").value_or(""));
  if (!after) {
    return Error(ErrorCode::kInvalid, "invalid 'nextToken'");
  }
  const auto found = GB_TRY(service_.secrets().list(call.caller, *after, limit + 1));
  Json items = Json::array();
  http::Headers headers;
  for (const SecretInfo& info : found) {
    if (items.size() == limit) {
      headers.emplace_back("x-next-token", to_hex(found[limit - 1].name));
      break;
    }
    items.push_back(secret_json(info));
  }
  answer(call.response, 200, items, std::move(headers));
  return {};
}

Result<void> SecretRoutes::show(ControlCall& call) {
  answer(call.response, 200,
         secret_json(GB_TRY(service_.secrets().find(call.caller, call.arguments[0]))));
  return {};
}

Result<void> SecretRoutes::change(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const std::string value = GB_TRY(text_member(body, "value")).value_or("");
  const auto metadata = GB_TRY(metadata_of(body));
  answer(call.response, 200,
         secret_json(
             GB_TRY(service_.secrets().change(call.caller, call.arguments[0], value, metadata))));
  return {};
}

Result<void> SecretRoutes::remove(ControlCall& call) {
  GB_TRY(service_.secrets().remove(call.caller, call.arguments[0]));
  answer_empty(call.response, 204);
  return {};
}

}  // namespace glovebox::e2b
