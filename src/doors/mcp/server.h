// SPDX-License-Identifier: Apache-2.0
// Server: the Model Context Protocol, in all revisions that we speak, on one code path. It knows no
// transport, and what it offers only as Features.
//
// Revision 2026-07-28 is stateless: each request says its version in `_meta`. The revisions before
// it begin with `initialize`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/call.h"
#include "doors/mcp/conversation.h"
#include "doors/mcp/message.h"
#include "doors/mcp/tasks.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

// What a server offers. Safe to use from several threads.
class Features {
 public:
  virtual ~Features() = default;
  struct Info {
    std::string name;
    std::string title;
    std::string version;
  };
  [[nodiscard]] virtual Info info() const = 0;
  // For the model: how to use the tools.
  [[nodiscard]] virtual std::string instructions() const = 0;
  [[nodiscard]] virtual Json capabilities(bool stateless) const = 0;
  // Whether calls of its tools may become tasks, and whether this one may.
  [[nodiscard]] virtual bool has_tasks() const { return false; }
  [[nodiscard]] virtual std::optional<TaskUse> task_use(const Call&) const { return std::nullopt; }
  // A different number whenever the caller's list of resources has changed.
  [[nodiscard]] virtual std::uint64_t resource_changes(const Caller&) const { return 0; }
  // The arguments of a tool that clients over HTTP repeat in headers ("Mcp-Param-NAME").
  struct Mirrored {
    std::string argument;
    std::string name;
  };
  [[nodiscard]] virtual std::vector<Mirrored> mirrored(std::string_view /*tool*/) const {
    return {};
  }
  // Nothing for a method that it does not know. Blocks as long as the call takes.
  virtual std::optional<Reply> handle(const Call& call) = 0;
};

class Server {
 public:
  // The features outlive it.
  explicit Server(Features& features) : features_(features) {}

  // The response to a request, which was entered in its conversation; empty for one that was
  // canceled. Blocks; any thread.
  std::string answer(const Message& request,
                     Conversation& conversation,
                     Conversation::Entry& entry,
                     const Caller& caller,
                     const Outlet& outlet);

  // A notification or a response of the client.
  static void take(const Message& message, Conversation& conversation);

  [[nodiscard]] const Features& features() const { return features_; }

  // Whether it may take long: it runs code, or waits for somebody.
  [[nodiscard]] static bool is_long(const Message& request);

  // The revision that a request names in `_meta`; nothing if it is of one with `initialize`.
  static std::optional<std::string> stateless_version(const Message& request);

 private:
  Reply reply(const Message& request,
              Conversation& conversation,
              Cancellation& cancellation,
              const Caller& caller,
              const Outlet& outlet);
  Reply handle(const Call& call);
  Reply initialize(const Message& request, Conversation& conversation) const;
  [[nodiscard]] Json discover() const;
  [[nodiscard]] Json info() const;

  Features& features_;
  Tasks tasks_;
};

// The error of an unknown revision, which lists those that we speak.
RpcError unsupported_version(std::string_view requested);

}  // namespace glovebox::mcp
