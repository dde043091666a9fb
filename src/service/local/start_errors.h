// SPDX-License-Identifier: Apache-2.0
// Why a process or an interpreter did not start, said of what the caller named.
#pragma once

#include "base/result.h"
#include "files/file_client.h"
#include "spec/command.h"

namespace glovebox {

// The kernel says the same of a missing directory as of a missing program, so it is looked up here,
// after the failure: kInvalid if the command cannot be started, else `error`. `files` are those of
// the sandbox.
Error explain_start(Result<FileClient> files, const Command& command, Error error);

}  // namespace glovebox
