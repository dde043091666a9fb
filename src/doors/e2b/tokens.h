// SPDX-License-Identifier: Apache-2.0
// Tokens of a sandbox or a volume, and the signatures of URLs made with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::e2b {

// A token that tells whose sandbox it opens. The service finds a sandbox only for its tenant, and
// E2B's clients show a sandbox nothing but the token that it gave them; so the tenant travels in
// it. Only its 128 random bits prove anything.
std::string make_token(std::string_view tenant);
std::string token_of(std::string_view tenant, std::string_view secret);
std::optional<std::string> tenant_of_token(std::string_view token);

// Takes the same time for all `given` of one size. An empty secret equals nothing.
bool equal_secrets(std::string_view given, std::string_view secret);

// What a signed URL of /files says of itself; empty texts for what it does not have.
struct SignedRequest {
  std::string path;
  bool writes = false;
  std::string user;
  std::string expiration;  // Unix seconds, as in the URL.
};
// "v1_…", as the clients compute it (e2b: src/sandbox/signature.ts).
std::string signature_of(const SignedRequest& request, std::string_view token);

}  // namespace glovebox::e2b
