// SPDX-License-Identifier: Apache-2.0
// What glovebox and glovebox-egress say to each other, over one stream socket (base/frame.h).
//
// glovebox sends one kOrder; then, if the order says so, one kCredentials and one kTrust, and the
// kRecording in pieces, of which the last is empty. When the sandbox is gone, it shuts down its
// end. The proxy sends one kReady when it accepts connections, then a kConnection for each that has
// ended, pieces of a kRecording if it records, and closes its end after the last. What a recording
// says is the proxy's own affair: glovebox keeps its bytes. Each side takes what the other one says
// as hostile: the proxy could have been taken over by a server that it talked to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/connection_record.h"
#include "spec/ip_address.h"
#include "spec/network_rules.h"

namespace glovebox::egress {

enum class Message : std::uint8_t {
  kOrder = 1,
  kReady = 2,
  kConnection = 3,
  kCredentials = 4,
  kTrust = 5,      // The authorities that servers are checked against: certificates in PEM.
  kRecording = 6,  // Bytes of a recording (src/egress/recording.h).
  kCut = 7,        // What comes now is not in the recording: it is full.
};

// Where the proxy listens inside the sandbox: on 127.0.0.1.
inline constexpr std::uint16_t kPort = 3128;

struct Endpoint {
  IpAddress address{};
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// A proxy that the host itself is behind. It speaks plain HTTP.
struct Upstream {
  std::string host;  // A name or an address.
  std::uint16_t port = 0;
  std::string credentials;  // Base64 of USER:PASSWORD (RFC 7617), or empty.
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

// Bytes that a recording has at most.
inline constexpr std::uint64_t kMostRecorded = 8ULL << 20;

// What the proxy does with a recording.
enum class Taping : std::uint8_t {
  kNone,
  kRecord,  // Keeps what is asked and answered, for which it reads TLS to all hosts.
  kReplay,  // Answers from a recording. The proxy connects nowhere, and asks no name server.
};

struct Order {
  NetworkRules rules{};
  // Which name servers to ask; if none, no name has an address. At most kMaxNameServers.
  std::vector<Endpoint> name_servers{};
  std::optional<Upstream> http_upstream{};   // For requests to http:// URLs.
  std::optional<Upstream> https_upstream{};  // For CONNECT.
  std::vector<NetworkRule> without_upstream{};
  // Allows only public addresses that are not this machine's, whatever the rules say, and uses no
  // proxy of the host, which would look names up unseen.
  bool public_only = false;
  NetworkBudget budget{};
  // kCredentials and kTrust follow.
  bool has_credentials = false;
  Taping taping = Taping::kNone;
  std::uint64_t recorded_bytes = 0;  // As many of kMostRecorded as this one may have.
  // As root: the user and group that the proxy becomes. Zero: it stays who it is.
  std::uint32_t identity = 0;

  static constexpr std::size_t kMaxNameServers = 8;

  // Requires: it fits a frame, as what parsed rules are made of does.
  [[nodiscard]] std::string encode() const;
  static Result<Order> decode(std::string_view payload);

  friend bool operator==(const Order&, const Order&) = default;
};

// What the proxy fills in, with its values. Never printed.
struct Credentials {
  struct Substitution {
    CredentialTarget target{};
    std::string placeholder{};
    std::string value{};
    friend bool operator==(const Substitution&, const Substitution&) = default;
  };
  struct Setting {
    CredentialTarget target{};
    std::string header{};
    std::string value{};
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  std::vector<Substitution> substitutions{};
  std::vector<Setting> settings{};
  // The authority of this one sandbox, in PEM; both empty if no target needs it.
  std::string authority_certificate{};
  std::string authority_key{};

  static constexpr std::size_t kMaxSubstitutions =
      CredentialRules::kMaxPlaceholders * CredentialRules::kMaxTargets;

  // kExhausted if it does not fit a frame.
  [[nodiscard]] Result<std::string> encode() const;
  static Result<Credentials> decode(std::string_view payload);

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// The rules with the values filled in. kNotFound names a secret without a value, kInvalid one whose
// value no header can carry; no value is shown.
Result<Credentials> make_credentials(const CredentialRules& rules, const SecretValues& secrets);

[[nodiscard]] std::string encode(const ConnectionRecord& connection);
// Texts that are longer than any of ours are cut.
Result<ConnectionRecord> decode_connection(std::string_view payload);

}  // namespace glovebox::egress
