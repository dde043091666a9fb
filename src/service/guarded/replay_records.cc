// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/replay_records.h"

#include <chrono>
#include <type_traits>
#include <utility>

#include "base/digest/digest.h"
#include "spec/json/network_rules_json.h"
#include "spec/json/raw_json.h"
#include "spec/limit_fields.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

// Of one stream, as JSON; above the first it is only hashed, above the second not even that.
constexpr std::size_t kMostText = 64UL << 10;
constexpr std::size_t kMostHashed = 16UL << 20;
constexpr std::size_t kMostFileNames = 100;

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

// `size` is that of the bytes as JSON.
Json told(std::string_view bytes, std::size_t size) {
  Json stream{{"bytes", bytes.size()}, {"sha256", sha256_hex(bytes)}};
  if (size <= kMostText) {
    stream["text"] = bytes;
  }
  return stream;
}

// `text` is a JSON string.
Json stream_of(std::string_view text) {
  if (text.size() > kMostHashed) {
    return {{"left_out", true}};
  }
  const Json value = Json::parse(text, nullptr, false);
  return value.is_string() ? told(value.get_ref<const std::string&>(), text.size()) : Json();
}

// `text` is a JSON list. Written anew, so that spaces make no difference.
Json results_of(std::string_view text) {
  if (text.size() > kMostHashed) {
    return {{"left_out", true}};
  }
  const std::string plain =
      Json::parse(text, nullptr, false).dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kQuoted = 2;  // A quotation mark in a string takes two bytes, at least.
  return told(plain, plain.size() * kQuoted);
}

void put_environment(Json& body, const Environment& env) {
  for (const auto& [name, value] : env) {
    body["env"][name] = value;
  }
}

// What runs and sandboxes have in common.
template <typename Request>
void put_place(Json& body, const Request& request) {
  if (request.template_name != Request().template_name) {
    body["template"] = request.template_name;
  }
  const auto put = [&body](const char* name, const auto& value) {
    if (!value.empty()) {
      body[name] = value;
    }
  };
  put("image", request.image);
  put("limits", limits_of(request.limits));
  put("tier", request.tier.exactly);
  put("min_tier", request.tier.at_least);
  put("policy", request.policies);
  put_environment(body, request.env);
  if (request.as_root || request.as_guest) {
    body["user"] = request.as_root ? "root" : "user";
  }
  if (request.nested) {
    body["nested"] = true;
  }
  if (request.network != NetworkRules()) {
    body["network"] = Json::parse(to_json(request.network));
  }
}

// As a client writes them.
Json checks_of(const Checks& checks) {
  Json body = Json::object();
  if (!checks.commands.empty()) {
    body["commands"] = checks.commands;
  }
  if (!checks.files.empty()) {
    body["files"] = checks.files;
  }
  for (const std::string& schema : checks.schemas) {
    body["output_schema"] = Json::parse(schema, nullptr, false);
  }
  for (const std::string& criteria : checks.reviews) {
    body["review"] = criteria;
  }
  return body;
}

}  // namespace

Json request_body(const RunRequest& request) {
  Json body{{"language", request.language}, {"code", request.code}};
  const auto put = [&body](const char* name, const auto& value) {
    if (!value.empty()) {
      body[name] = value;
    }
  };
  put_place(body, request);
  put("name", request.name);
  put("arguments", request.arguments);
  put("stdin", request.standard_input);
  put("files", request.files);
  put("verify", request.verify);
  if (!request.checks.empty()) {
    body["checks"] = checks_of(request.checks);
  }
  put("replay_network", request.replay_network);
  if (request.language.empty()) {
    body.erase("language");
  }
  return body;
}

Json request_body(const SandboxRequest& request) {
  Json body = Json::object();
  put_place(body, request);
  for (const VolumeMount& volume : request.volumes) {
    body["volumes"].push_back({{"name", volume.volume}, {"path", volume.path}});
  }
  return body;
}

Json request_body(const ContextRequest& request) {
  Json body{{"language", request.language}};
  if (!request.cwd.empty()) {
    body["cwd"] = request.cwd;
  }
  put_environment(body, request.env);
  return body;
}

Json request_body(const ExecuteRequest& request) {
  Json body{{"code", request.code}};
  put_environment(body, request.env);
  if (Json limits = limits_of(request.limits); !limits.empty()) {
    body["limits"] = std::move(limits);
  }
  for (const auto& [name, is] :
       {std::pair{"recover", request.recover}, std::pair{"allow_input", request.allow_input},
        std::pair{"dry_run", request.dry_run.wanted}}) {
    if (is) {
      body[name] = true;
    }
  }
  if (!request.store_history) {
    body["store_history"] = false;
  }
  for (const auto& tool : request.tools.tools) {
    body["tools"].push_back(tool.name);
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
  if (const auto results = raw_member(verdict, "results");
      results && !raw_items(*results).empty()) {
    output["results"] = results_of(*results);
  }
  Json files = Json::array();
  const auto list = raw_member(verdict, "files");
  for (const std::string_view item : list ? raw_items(*list) : std::vector<std::string_view>()) {
    if (files.size() == kMostFileNames) {
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
