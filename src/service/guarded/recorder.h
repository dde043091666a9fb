// SPDX-License-Identifier: Apache-2.0
// Recorder: does what the guard has allowed, and records it before the answer. One for each door.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/audit_trail.h"

namespace glovebox {

// Any thread. Without a trail it does and records nothing beyond the call.
class Recorder {
 public:
  // `door` is the name used in records. The trail and the service outlive it.
  Recorder(SandboxService& service, AuditTrail* trail, std::string door)
      : service_(service), trail_(trail), door_(std::move(door)) {}

  [[nodiscard]] AuditTrail* trail() const { return trail_; }

  // Returns `allowed`, and records it first if it is a refusal.
  Result<void> allowed(const Caller& caller, const Deed& deed, Result<void> allowed) const {
    if (!allowed && trail_ != nullptr) {
      trail_->note_refusal(caller, door_, deed, allowed.error());
    }
    return allowed;
  }

  // Does `call` if it is allowed. `note` adds to the deed what only the outcome tells.
  template <typename Call, typename Note>
  auto act(const Caller& caller, Deed deed, Result<void> may, Call call, Note note) const
      -> decltype(call()) {
    GB_TRY(allowed(caller, deed, std::move(may)));
    if (trail_ == nullptr) {
      return call();
    }
    const audit::Room room = GB_TRY(trail_->room(deed));
    auto done = call();
    if (done) {
      note(done, deed);
    }
    const std::uint64_t record =
        GB_TRY(trail_->note(caller, door_, deed, done ? nullptr : &done.error()));
    GB_TRY(trail_->wait(record));
    return done;
  }
  template <typename Call>
  auto act(const Caller& caller, Deed deed, Result<void> may, Call call) const -> decltype(call()) {
    return act(caller, std::move(deed), std::move(may), std::move(call), [](const auto&, Deed&) {});
  }

  // Something that runs code: ACTION.start is recorded before it begins, and ACTION.end, with the
  // status, before the verdict is told. Tool calls are recorded as they come. The records of what
  // was asked for reach the disk meanwhile, in the caller's thread, and the verdict waits for them;
  // for ACTION.end too, if the journal's durability is kAll. It is interrupted once an emergency
  // stop holds for it. If there is a tape, and the network is recorded, the tape has its room
  // when `call` begins, and the recording is on the disk before ACTION.end says so.
  using Execution = std::function<Result<void>(const EventSink& sink)>;
  Result<void> execute(const Caller& caller,
                       Deed deed,
                       Result<void> may,
                       const EventSink& sink,
                       const Execution& call,
                       NetworkTape* tape = nullptr) const;

  // A record that nobody waits for: it reaches the disk with the next one, or within a second.
  Result<void> remark(const Caller& caller, const Deed& deed) const;
  // A record of something that happens whether or not it can be recorded.
  void insist(const Caller& caller, const Deed& deed, const Error* error) const;
  // The files that `opening`, "X.open", was for: each change of them is recorded as "X.write",
  // "X.remove" and the like before it is made, and is not made if it cannot be recorded.
  [[nodiscard]] Result<FileClient> follow(const Caller& caller,
                                          const Deed& opening,
                                          Result<FileClient> files) const;

 private:
  Result<void> execute_recorded(const Caller& caller,
                                Deed start,
                                const EventSink& sink,
                                const Execution& call,
                                NetworkTape* tape) const;

  SandboxService& service_;
  AuditTrail* const trail_;
  const std::string door_;
};

}  // namespace glovebox
