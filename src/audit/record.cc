// SPDX-License-Identifier: Apache-2.0
#include "audit/record.h"

#include <algorithm>
#include <charconv>

#include "audit/record_hash.h"
#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/bounded_json.h"

namespace glovebox::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFirst = R"({"seq":)";
constexpr std::string_view kPrevious = R"(,"prev":")";
constexpr std::string_view kHash = R"(,"hash":")";
constexpr std::string_view kSignatureMember = R"(,"signature":")";
constexpr std::string_view kEnd = R"("})";
constexpr std::size_t kSignatureSize = 128;
// Bytes of a record without room for growing: its texts, and what the chain adds to them.
constexpr std::size_t kUsualFields = 256;
constexpr std::size_t kUsualFrame = 512;

std::string cut(std::string_view text) { return to_utf8(text.substr(0, kMostText)); }

// Whether JSON has the text as it is, between quotes, as almost all are: ids, names, actions.
bool is_plain(std::string_view text) {
  return text.size() <= kMostText && std::ranges::all_of(text, [](char c) {
           return c >= ' ' && c <= '~' && c != '"' && c != '\\';
         });
}

void put(std::string& body, std::string_view name, std::string_view text) {
  if (text.empty()) {
    return;
  }
  body += ",\"";
  body += name;
  body += "\":";
  if (is_plain(text)) {
    body += '"';
    body += text;
    body += '"';
  } else {
    body += Json(cut(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

Error no_record(std::string_view why) {
  return {ErrorCode::kInvalid, "this is not a record: " + std::string(why)};
}

// Takes the field `name`, whose value has this many characters, and its quote from the end of
// `text`, and returns the value.
std::string_view take_last(std::string_view& text, std::string_view name, std::size_t size) {
  const std::size_t length = name.size() + size + 1;
  if (text.size() < length || text.substr(text.size() - length, name.size()) != name ||
      text.back() != '"') {
    return {};
  }
  const std::string_view value = text.substr(text.size() - size - 1, size);
  text.remove_suffix(length);
  return value;
}

}  // namespace

std::string fields_of(const Entry& entry) {
  std::string fields;
  fields.reserve(kUsualFields + entry.details.size());
  put(fields, "tenant", entry.tenant);
  put(fields, "key", entry.key);
  put(fields, "door", entry.door);
  put(fields, "action", entry.action);
  put(fields, "sandbox", entry.sandbox);
  put(fields, "context", entry.context);
  put(fields, "subject", entry.subject);
  put(fields, "decision", entry.decision);
  put(fields, "result", entry.result);
  fields += R"(,"details":)";
  fields += entry.details.empty() ? "{}" : entry.details;
  return fields;
}

std::string body_of(std::string_view fields,
                    std::uint64_t number,
                    std::string_view previous,
                    std::string_view time,
                    std::uint64_t uptime_ms) {
  std::string body;
  body.reserve(fields.size() + kUsualFrame);
  body += kFirst;
  body += std::to_string(number);
  body += kPrevious;
  body += previous;
  body += R"(","time":")";
  body += time;
  body += R"(","uptime_ms":)";
  body += std::to_string(uptime_ms);
  body += fields;
  return body;
}

std::string end_line(std::string& body, std::string_view signature) {
  if (!signature.empty()) {
    body += kSignatureMember;
    body += signature;
    body += '"';
  }
  std::string hash = sha256_hex(body);
  body += kHash;
  body += hash;
  body += kEnd;
  body += '\n';
  return hash;
}

Result<Link> parse_link(std::string_view line) {
  if (line.size() > kMostLine || !line.starts_with(kFirst) || !line.ends_with('}')) {
    return no_record("its form is wrong");
  }
  Link link;
  const char* const digits = line.data() + kFirst.size();
  const auto [after, wrong] = std::from_chars(digits, line.data() + line.size(), link.number);
  const auto at = static_cast<std::size_t>(after - line.data());
  // A number can be written in one way only.
  if (wrong != std::errc() || link.number == 0 || *digits == '0' ||
      line.substr(at, kPrevious.size()) != kPrevious) {
    return no_record("it has no number");
  }
  link.previous = line.substr(at + kPrevious.size(), kHashSize);
  if (!is_hash(link.previous) || line.substr(at + kPrevious.size() + kHashSize, 2) != "\",") {
    return no_record("it does not name the record before");
  }
  std::string_view rest = line.substr(0, line.size() - 1);
  link.hash = take_last(rest, kHash, kHashSize);
  if (!is_hash(link.hash)) {
    return no_record("it has no hash");
  }
  link.hashed = rest;
  link.signature = take_last(rest, kSignatureMember, kSignatureSize);
  link.signed_part = rest;
  return link;
}

Result<Record> parse_record(std::string_view line) {
  const Link link = GB_TRY(parse_link(line));
  const nlohmann::json parsed = GB_TRY(parse_json(line));
  if (!parsed.is_object()) {
    return no_record("it is not an object");
  }
  bool whole = true;
  const auto text = [&](const char* name) -> std::string {
    const auto found = parsed.find(name);
    if (found == parsed.end()) {
      return {};
    }
    whole = whole && found->is_string();
    return found->is_string() ? found->get<std::string>() : std::string();
  };
  Record record{.number = link.number,
                .time = text("time"),
                .entry = {.tenant = text("tenant"),
                          .key = text("key"),
                          .door = text("door"),
                          .action = text("action"),
                          .sandbox = text("sandbox"),
                          .context = text("context"),
                          .subject = text("subject"),
                          .decision = text("decision"),
                          .result = text("result")},
                .hash = std::string(link.hash)};
  const auto uptime = parsed.find("uptime_ms");
  const auto details = parsed.find("details");
  if (!whole || uptime == parsed.end() || !uptime->is_number_unsigned() ||
      details == parsed.end() || !details->is_object() || record.entry.action.empty() ||
      record.time.empty()) {
    return no_record("a field is missing or is of another type");
  }
  record.uptime_ms = uptime->get<std::uint64_t>();
  record.entry.details = details->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return record;
}

}  // namespace glovebox::audit
