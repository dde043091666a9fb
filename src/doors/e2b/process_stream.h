// SPDX-License-Identifier: Apache-2.0
// What a process says, as the answer to a streaming call of process.Process.
#pragma once

#include <memory>

#include "doors/e2b/gate.h"
#include "doors/transport/http.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

// Answers the call, without a thread once it has begun. `feed` belongs to a process in the sandbox
// of the visit; the service outlives the answer. `until_deadline`: the process's time limit is that
// of this call, so if the process times out, so does the call.
void answer_with_process(SandboxService& service,
                         const Visit& visit,
                         http::Request& request,
                         http::Response& response,
                         bool until_deadline,
                         Result<std::unique_ptr<ProcessFeed>> feed);

}  // namespace glovebox::e2b
