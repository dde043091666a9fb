// SPDX-License-Identifier: Apache-2.0
// Names to addresses. One thread: that of its event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/egress_protocol.h"
#include "spec/ip_address.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace glovebox::egress {

class Resolver {
 public:
  // The addresses of a name, at most kMostAddresses, as name servers told them: nobody has checked
  // them. kNotFound if there are none, kUnavailable if no name server answered.
  using Answer = std::function<void(Result<std::vector<IpAddress>>)>;
  static constexpr std::size_t kMostAddresses = 16;

  virtual ~Resolver() = default;
  // Calls `answer` once, from the event loop or before this returns.
  virtual void resolve(const std::string& name, Answer answer) = 0;
};

// Asks the given name servers over DNS. Only make() may read files. A lookup takes at most 15
// seconds.
class DnsResolver final : public Resolver {
 public:
  static Result<std::unique_ptr<DnsResolver>> make(const std::vector<Endpoint>& name_servers);
  ~DnsResolver() override;
  DnsResolver(const DnsResolver&) = delete;
  DnsResolver& operator=(const DnsResolver&) = delete;

  // Must be called once, before the first resolve(). The loop must not end before this object.
  void run_on(boost::asio::io_context& loop);

  void resolve(const std::string& name, Answer answer) override;

 private:
  struct Engine;
  explicit DnsResolver(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace glovebox::egress
