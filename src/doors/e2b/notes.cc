// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/notes.h"

#include "base/random.h"
#include "doors/e2b/fields.h"
#include "doors/e2b/tokens.h"

namespace glovebox::e2b {
namespace {

constexpr const char* kKey = "e2b";

bool flag_of(const Json& json, const char* name, bool otherwise) {
  const Json* value = member(json, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

}  // namespace

Result<SandboxNotes> make_notes(std::string_view tenant) {
  SandboxNotes notes;
  notes.access_token = make_token(tenant);
  notes.traffic_token = make_token(tenant);
  for (const char* language : {"python", "javascript"}) {
    notes.contexts[language] = {.id = random_hex(16), .made = {}};
  }
  return notes;
}

std::optional<SandboxNotes> read_notes(std::string_view extra) {
  const auto json = parse_object(extra);
  const Json* ours = json ? member(*json, kKey) : nullptr;
  if (ours == nullptr) {
    return std::nullopt;
  }
  SandboxNotes notes{.access_token = text_of(*ours, "access_token"),
                     .traffic_token = text_of(*ours, "traffic_token"),
                     .secure = flag_of(*ours, "secure", true),
                     .public_ports = flag_of(*ours, "public_ports", false),
                     .internet = {},
                     .template_id = text_of(*ours, "template"),
                     .network = Json::object(),
                     .contexts = {}};
  if (auto network = object_member(*ours, "network")) {
    notes.network = *std::move(network);
  }
  if (const Json* internet = member(*ours, "internet"); internet != nullptr) {
    notes.internet = internet->is_boolean() && internet->get<bool>();
  }
  if (const Json* contexts = member(*ours, "contexts"); contexts != nullptr) {
    for (const auto& [language, context] : contexts->items()) {
      notes.contexts[language] = {.id = text_of(context, "id"), .made = text_of(context, "made")};
    }
  }
  return notes;
}

std::string write_notes(std::string_view extra, const SandboxNotes& notes) {
  auto kept = parse_object(extra);
  Json json = kept ? std::move(*kept) : Json::object();
  Json contexts = Json::object();
  for (const auto& [language, context] : notes.contexts) {
    contexts[language] = {{"id", context.id}, {"made", context.made}};
  }
  Json ours{{"access_token", notes.access_token},
            {"traffic_token", notes.traffic_token},
            {"secure", notes.secure},
            {"public_ports", notes.public_ports},
            {"template", notes.template_id},
            {"contexts", std::move(contexts)}};
  if (!notes.network.empty()) {
    ours["network"] = notes.network;
  }
  if (notes.internet) {
    ours["internet"] = *notes.internet;
  }
  json[kKey] = std::move(ours);
  return to_line(json);
}

}  // namespace glovebox::e2b
