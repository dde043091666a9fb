// SPDX-License-Identifier: Apache-2.0
// What a FileClient and a file server decode: what was taken is within its bounds, stays below what
// was asked for, and means the same when it is said again.
#include <cstdint>
#include <string>
#include <vector>

#include "files/protocol.h"
#include "require.h"

namespace {

using namespace glovebox;

void check(const FileEntry& entry) {
  require(entry.metadata.size() <= files::kMaxAttributes);
  require(files::weight_of(entry) <=
          2 * files::kMaxPath + 2 * files::kMaxName + files::kMaxAttributeBytes);
  require(entry.mode <= 07777);
  require(entry.type <= FileEntry::Type::kOther && entry.target_type <= FileEntry::Type::kOther);
}

void check_below(const std::string& path) {
  require(!path.empty() && path.front() != '/' && path.back() != '/');
  require(("/" + path + "/").find("/../") == std::string::npos);
  require(path.find('\0') == std::string::npos);
}

void fuzz_order(std::string_view input) {
  const auto order = files::Order::decode(input);
  if (!order) {
    return;
  }
  require(order->path.find('\0') == std::string::npos);
  const auto again = files::Order::decode(order->encode());
  require(again && *again == *order);
}

void fuzz_failure(std::string_view input) {
  const auto failure = files::Failure::decode(input);
  if (!failure) {
    return;
  }
  require(failure->message.size() <= files::kMaxMessage);
  require(failure->encode() == input);
}

void fuzz_facts(std::string_view input) {
  const auto entry = files::decode_facts(input);
  if (!entry) {
    return;
  }
  check(*entry);
  require(entry->path.empty());
  const auto again = files::decode_facts(files::encode_facts(*entry));
  require(again && *again == *entry);
}

void fuzz_list(std::string_view input) {
  std::vector<FileEntry> entries;
  if (!files::decode_listed(input, entries)) {
    return;
  }
  WireWriter written;
  for (const FileEntry& entry : entries) {
    check(entry);
    check_below(entry.path);
    files::put_listed(written, entry);
  }
  std::vector<FileEntry> again;
  require(files::decode_listed(written.take(), again).has_value() && again == entries);
}

void fuzz_events(std::string_view input) {
  const auto events = files::decode_events(input);
  if (!events) {
    return;
  }
  WireWriter written;
  for (const FileEvent& event : *events) {
    check_below(event.name);
    files::put_event(written, event);
  }
  require(written.take() == input);
}

}  // namespace

// The first byte chooses the decoder.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      fuzz_order(input);
      break;
    case 1:
      fuzz_failure(input);
      break;
    case 2:
      fuzz_facts(input);
      break;
    case 3:
      fuzz_list(input);
      break;
    default:
      fuzz_events(input);
      break;
  }
  return 0;
}
