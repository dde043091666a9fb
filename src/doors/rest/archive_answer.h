// SPDX-License-Identifier: Apache-2.0
// An archive as an answer, in pieces as it is made.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "doors/rest/call.h"

namespace glovebox::rest {

// Answers with what `make` gives the sink. If `make` fails before the first byte, fails as it does;
// afterwards, the answer is cut off.
Result<void> send_archive(Call& call,
                          const std::string& type,
                          const std::function<Result<void>(const ArchiveSink& sink)>& make);

}  // namespace glovebox::rest
