// SPDX-License-Identifier: Apache-2.0
// A journal that somebody has changed: its lines, its head, a witness, and all of it together.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include <string>

#include "audit/head.h"
#include "audit/record.h"
#include "audit/record_hash.h"
#include "audit/segments.h"
#include "audit/verify.h"
#include "base/digest/digest.h"
#include "require.h"
#include "scratch.h"

namespace audit = glovebox::audit;

namespace {

constexpr std::string_view kPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    "-----END PUBLIC KEY-----\n";

// Lines whose hashes are right get past the first check.
std::string with_hashes(std::string_view text) {
  std::string made;
  std::string previous = audit::no_hash();
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string body = R"({"seq":)" + std::to_string(++number) + R"(,"prev":")" + previous + "\"," +
                       std::string(line);
    previous = audit::end_line(body);
    made += body;
  }
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const audit::PublicKey key = audit::PublicKey::parse(kPem).value();
  if (const auto link = audit::parse_link(text)) {
    require(link->hashed.size() < text.size());
    require(link->signed_part.size() <= link->hashed.size());
    require(link->number > 0);
  }
  (void)audit::parse_record(text);
  (void)audit::parse_head(text, key);
  (void)audit::parse_witness(text);
  (void)audit::PublicKey::parse(text);
  static const Scratch scratch;
  for (const std::string& content : {std::string(text), with_hashes(text)}) {
    const glovebox::UniqueFd directory(
        ::open(scratch.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    {
      const glovebox::UniqueFd file(::openat(directory.get(), audit::segment_name(1).c_str(),
                                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      require(::write(file.get(), content.data(), content.size()) ==
              static_cast<ssize_t>(content.size()));
    }
    const auto report = audit::verify(directory.get(), key, {});
    // There is no head, so something is always wrong.
    require(report && !report->problems.empty());
  }
  return 0;
}
