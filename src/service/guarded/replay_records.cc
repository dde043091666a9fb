// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/replay_records.h"

#include <chrono>
#include <type_traits>

#include "base/digest/digest.h"
#include "spec/json/network_rules_json.h"
#include "spec/json/raw_json.h"
#include "spec/limit_fields.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

// Of one stream, as JSON; more is hashed alone, and beyond the second not even that.
constexpr std::size_t kMostText = 64UL << 10;
constexpr std::size_t kMostHashed = 16UL << 20;
constexpr std::size_t kMostFiles = 100;

Json limits_of(const LimitWishes& wishes) {
  Json limits = Json::object();
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    const auto& wish = wishes.*field.wish;
    if (!wish) {
      return;
    }
    if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
      limits[field.name] = static_cast<double>(wish->count()) / 1000;
    } else {
      limits[field.name] = to_plain(*wish);
    }
  });
  return limits;
}

// `text` is a JSON string.
Json stream_of(std::string_view text) {
  if (text.size() > kMostHashed) {
    return {{"left_out", true}};
  }
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_string()) {
    return nullptr;
  }
  const auto& bytes = value.get_ref<const std::string&>();
  Json stream{{"bytes", bytes.size()}, {"sha256", sha256_hex(bytes)}};
  if (text.size() <= kMostText) {
    stream["text"] = bytes;
  }
  return stream;
}

}  // namespace

Json request_body(const RunRequest& request) {
  Json body{{"language", request.language}, {"code", request.code}};
  const auto put = [&body](const char* name, const auto& value) {
    if (!value.empty()) {
      body[name] = value;
    }
  };
  if (request.template_name != RunRequest().template_name) {
    body["template"] = request.template_name;
  }
  put("image", request.image);
  put("name", request.name);
  put("arguments", request.arguments);
  put("stdin", request.standard_input);
  put("files", request.files);
  for (const auto& [name, value] : request.env) {
    body["env"][name] = value;
  }
  put("limits", limits_of(request.limits));
  put("tier", request.tier.exactly);
  put("min_tier", request.tier.at_least);
  if (request.as_root || request.as_guest) {
    body["user"] = request.as_root ? "root" : "user";
  }
  if (request.nested) {
    body["nested"] = true;
  }
  put("policy", request.policies);
  put("verify", request.verify);
  if (request.network != NetworkRules()) {
    body["network"] = Json::parse(to_json(request.network));
  }
  if (request.language.empty()) {
    body.erase("language");
  }
  return body;
}

Json output_of(std::string_view verdict) {
  Json output = Json::object();
  for (const char* const name : {"stdout", "stderr"}) {
    if (const auto text = raw_member(verdict, name)) {
      output[name] = stream_of(*text);
    }
  }
  Json files = Json::array();
  const auto list = raw_member(verdict, "files");
  for (const std::string_view item : list ? raw_items(*list) : std::vector<std::string_view>()) {
    if (files.size() == kMostFiles) {
      break;
    }
    const Json file = Json::parse(item, nullptr, false);
    files.push_back(file.is_object() ? file.value("path", std::string()).substr(0, 256)
                                     : std::string());
  }
  output["files"] = std::move(files);
  return output;
}

}  // namespace glovebox
