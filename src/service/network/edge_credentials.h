// SPDX-License-Identifier: Apache-2.0
// EdgeCredentials: the secrets that the proxy of one sandbox fills in (glovebox-egress), and the
// certificate authority by which it reads requests within TLS.
//
// The authority is this sandbox's alone. Its certificate is trusted inside and nowhere else, and is
// good for the hosts of the secrets only, or of all rules if the network is recorded (name
// constraints, RFC 5280, 4.2.1.10), so that nobody who gets hold of its key can speak for another
// host.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/spec.h"
#include "spec/command.h"
#include "spec/credential_rules.h"
#include "spec/egress_protocol.h"
#include "spec/network_rules.h"
#include "spec/network_tape.h"

namespace glovebox {

// PEM. The key must reach nobody but the proxy.
struct EdgeAuthority {
  std::string certificate;
  std::string key;
};

// The certificates of the authorities that this machine trusts: the file that SSL_CERT_FILE names,
// else the system's. PEM; kUnavailable if there are none, or more than 900 KiB.
Result<std::string> machine_authorities();

// A value. Any thread.
class EdgeCredentials {
 public:
  // The credentials of a sandbox that has none.
  EdgeCredentials() = default;

  // With a new authority if a rule needs one. kNotFound for a secret without a value, kInvalid
  // for a value that no header can carry, kUnavailable without certificates of this host. No error
  // shows a value.
  static Result<EdgeCredentials> make(const CredentialRules& rules, const SecretValues& secrets);

  // For a sandbox whose network is recorded or answered from a recording: with an authority for all
  // hosts that the rules allow, since TLS to all of them is read. If a recording answers, nothing
  // is filled in, and no value is needed.
  static Result<EdgeCredentials> make(const NetworkRules& rules,
                                      const SecretValues& secrets,
                                      const NetworkTape& tape);

  // The same for rules that come later, with the authority that the sandbox trusts already.
  // kConflict if they concern hosts over TLS that this authority cannot speak for.
  [[nodiscard]] Result<EdgeCredentials> changed(const CredentialRules& rules,
                                                const SecretValues& secrets) const;

  // Adds the authority's certificate, and the variables of announce().
  void add_to(SandboxSpec& spec) const;

  // The placeholders, and what tells programs whom to trust. What the caller has set stays.
  void announce(Environment& env) const;

  [[nodiscard]] bool empty() const {
    return credentials_.substitutions.empty() && credentials_.settings.empty() &&
           credentials_.authority_key.empty();
  }
  [[nodiscard]] const egress::Credentials& credentials() const { return credentials_; }
  // The certificates that servers are checked against.
  [[nodiscard]] const std::string& trust() const { return trust_; }

 private:
  Result<void> add_authority(const std::string& constraints);

  CredentialRules rules_;
  CredentialRules covered_;  // Those that the authority was made for.
  egress::Credentials credentials_;
  std::string trust_;
};

}  // namespace glovebox
