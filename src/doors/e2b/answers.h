// SPDX-License-Identifier: Apache-2.0
// Whole answers: JSON, and the refusals in the form that E2B's clients look for. Clients tell a
// sandbox that is gone from other failures by `code` in the body, not by the status.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/e2b/fields.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

// None of these reports whether the peer got the answer: a peer that is gone needs none.
void answer(http::Response& response, int status, const Json& body, http::Headers extra = {});
void answer_empty(http::Response& response, int status);
void answer_text(http::Response& response, int status, std::string_view text);

// {"code":…,"message":…,"hint":…}, with a default hint if `hint` is empty. Says when to retry if
// that is worthwhile.
void refuse(http::Response& response,
            int status,
            std::string_view message,
            std::string_view hint = {});
void refuse(http::Response& response, const Error& error);

// As E2B's edge answers for a sandbox: {"sandboxId","message","code"}.
void refuse_traffic(http::Response& response,
                    int status,
                    std::string_view sandbox,
                    std::string_view message);
// The sandbox never existed, is dead, or is paused.
void refuse_gone(http::Response& response, std::string_view sandbox);

}  // namespace glovebox::e2b
