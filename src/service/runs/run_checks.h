// SPDX-License-Identifier: Apache-2.0
// Those checks of a run that need no sandbox: they are made when the run has ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/checks.h"
#include "spec/verdict.h"

namespace glovebox {

// The report of a command that was run as a check.
CheckReport command_report(const std::string& command, const Verdict& ended);

// Whether the run made or changed the file, by the list of files in `run`.
CheckReport file_report(const std::string& file, const Verdict& run);

// Whether the run's standard output, all of it, conforms to the schema. A confined process reads
// it, for at most a few seconds; if that has to be ended, the output has not passed. An Error means
// that we could not ask the process.
Result<CheckReport> output_report(const std::string& schema, const Verdict& run);

// Adds them to the verdict, and takes `ok` from it if one has not passed.
void add_checks(Verdict& verdict, std::vector<CheckReport> reports);

}  // namespace glovebox
