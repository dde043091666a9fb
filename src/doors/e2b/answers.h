// SPDX-License-Identifier: Apache-2.0
// Whole answers: JSON, and the refusals in the form that E2B's clients look for. They tell a
// sandbox that is gone from another failure by `code` in the body, not by the status.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/e2b/fields.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

// None of these says whether the peer got it: who is gone asks for nothing any more.
void answer(http::Response& response, int status, const Json& body, http::Headers extra = {});
void answer_empty(http::Response& response, int status);
void answer_text(http::Response& response, int status, std::string_view text);

// {"code":…,"message":…,"hint":…}, with a usual hint for an empty one. Says when to come again
// where that is worth it.
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
// It was never there, is dead, or is paused.
void refuse_gone(http::Response& response, std::string_view sandbox);

}  // namespace glovebox::e2b
