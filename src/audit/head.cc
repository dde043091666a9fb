// SPDX-License-Identifier: Apache-2.0
#include "audit/head.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "audit/record_hash.h"
#include "audit/segments.h"
#include "base/json/json.h"
#include "spec/json/bounded_json.h"

namespace glovebox::audit {
namespace {

constexpr std::string_view kPurpose = "glovebox.audit/1 head";
constexpr std::string_view kSignature = R"(,"signature":")";
constexpr std::size_t kSignatureEnd = kSignature.size() + 128 + 2;  // With `"}`.

std::string_view trimmed(std::string_view place) {
  const std::size_t end = place.find_last_not_of(" \n");
  return end == std::string_view::npos ? std::string_view() : place.substr(0, end + 1);
}

Error no_head() {
  return {ErrorCode::kInvalid, "the head of the audit journal is damaged or was changed"};
}

}  // namespace

Result<std::string> head_line(const Head& head, const SigningKey& key) {
  std::string body = R"({"head":)" + std::to_string(head.number) + R"(,"hash":")" + head.hash +
                     R"(","segment":)" + std::to_string(head.segment) + R"(,"size":)" +
                     std::to_string(head.size) + R"(,"time":")" + head.time + R"(","signer":")" +
                     key.public_key().id() + '"';
  const std::string signature = GB_TRY(key.sign(kPurpose, body));
  return body + std::string(kSignature) + signature + "\"}";
}

Result<Head> parse_head(std::string_view line, const PublicKey& key) {
  if (line.size() < kSignatureEnd || line.size() > kHeadPlace) {
    return no_head();
  }
  const std::string_view body = line.substr(0, line.size() - kSignatureEnd);
  const std::string_view end = line.substr(body.size());
  const auto parsed = parse_json(line, {.values = 32, .depth = 2});
  if (!parsed || !parsed->is_object() || !end.starts_with(kSignature) || !end.ends_with("\"}") ||
      !key.verifies(kPurpose, body, end.substr(kSignature.size(), 128))) {
    return no_head();
  }
  const auto number = [&](const char* name) {
    const auto found = parsed->find(name);
    return found != parsed->end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  const auto text = [&](const char* name) {
    const auto found = parsed->find(name);
    return found != parsed->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Head head{.number = number("head"),
            .hash = text("hash"),
            .segment = number("segment"),
            .size = number("size"),
            .time = text("time")};
  if (head.number == 0 || !is_hash(head.hash) || head.segment == 0 || head.segment > head.number) {
    return no_head();
  }
  return head;
}

Result<std::optional<Head>> read_head(int directory, const PublicKey& key) {
  const UniqueFd file = GB_TRY(open_regular(directory, kHeadFile, O_RDONLY));
  std::string text(2 * kHeadPlace + 1, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got != static_cast<ssize_t>(2 * kHeadPlace)) {
    return no_head();
  }
  std::optional<Head> newest;
  bool damaged = false;
  for (std::size_t place = 0; place < 2; ++place) {
    const std::string_view line =
        trimmed(std::string_view(text).substr(place * kHeadPlace, kHeadPlace));
    if (line.empty()) {
      continue;
    }
    auto head = parse_head(line, key);
    damaged = damaged || !head;
    if (head && (!newest || head->number > newest->number)) {
      newest = *std::move(head);
      newest->place = static_cast<unsigned>(place);
    }
  }
  // If the power failed while one head was written, the other is still there.
  if (damaged && !newest) {
    return no_head();
  }
  return newest;
}

Result<void> write_head(int file, unsigned place, std::string_view line) {
  std::string text(line);
  if (text.size() >= kHeadPlace) {
    return Error(ErrorCode::kInternal, "the head of the audit journal does not fit its place");
  }
  text.resize(kHeadPlace - 1, ' ');
  text += '\n';
  const auto at = static_cast<off_t>((place % 2) * kHeadPlace);
  if (::pwrite(file, text.data(), text.size(), at) != static_cast<ssize_t>(text.size()) ||
      ::fdatasync(file) != 0) {
    return Error::from_errno("write the head of the audit journal");
  }
  return {};
}

Result<void> make_head_file(int directory) {
  if (const auto there = open_regular(directory, kHeadFile, O_RDONLY);
      there || there.error().code() != ErrorCode::kNotFound) {
    return there ? Result<void>() : there.error();
  }
  std::string empty(kHeadPlace - 1, ' ');
  empty += '\n';
  return replace_file(directory, kHeadFile, empty + empty, 0600);
}

}  // namespace glovebox::audit
