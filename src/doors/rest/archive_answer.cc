// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/archive_answer.h"

namespace glovebox::rest {

Result<void> send_archive(Call& call,
                          const std::string& type,
                          const std::function<Result<void>(const ArchiveSink& sink)>& make) {
  bool begun = false;
  const ArchiveSink sink{.begin =
                             [&](std::uint64_t size) {
                               begun = true;
                               // A tenant has made it: no browser may take it for a page of ours.
                               return call
                                   .start(200, {{"Content-Type", type},
                                                {"Content-Length", std::to_string(size)},
                                                {"X-Content-Type-Options", "nosniff"}})
                                   .has_value();
                             },
                         .take =
                             [&](std::string_view bytes) {
                               return bytes.empty() ? !call.has_left()
                                                    : call.response.write(bytes).has_value();
                             }};
  auto done = make(sink);
  if (!begun) {
    return done;
  }
  if (done) {
    (void)call.response.finish();
  } else {
    call.response.abort();
  }
  return {};
}

}  // namespace glovebox::rest
