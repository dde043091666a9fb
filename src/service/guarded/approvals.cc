// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/approvals.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "guard/policy/call_assessment.h"

namespace glovebox {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::chrono::seconds kBeat{1};

bool same_text(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

Error not_approved(const Approval& approval, bool by_person) {
  const bool is_call = approval.kind == kToolCallKind;
  const std::string what = is_call ? "this call" : "this program";
  return {ErrorCode::kRefused,
          (by_person ? "a person refused " + what : "nobody approved " + what + " in time") + ": " +
              (is_call ? policy::reason_of_call(approval.assessment)
                       : reason_of(approval.assessment, "code")),
          "change the code, or ask somebody with the scope 'approve' to agree to it"};
}

}  // namespace

Result<void> Approvals::wait(Approval what, const std::function<bool(const Approval*)>& told) {
  what.code = to_utf8(std::string_view(what.code).substr(0, kMaxShownCode));
  what.id = random_name();
  what.asked = system_clock::now();
  what.expires = what.asked + patience_;
  const auto deadline = steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  if (remembered_.contains({what.tenant, what.hash})) {
    return {};
  }
  const auto waiting = std::ranges::count_if(
      entries_, [&](const auto& entry) { return entry.second.approval.tenant == what.tenant; });
  if (static_cast<std::size_t>(waiting) >= kMostWaiting) {
    return Error(
        ErrorCode::kExhausted,
        std::to_string(kMostWaiting) + " programs and calls of this tenant wait for approval",
        "decide about them first: glovebox approve");
  }
  const auto entry = entries_.emplace(what.id, Entry{.approval = what}).first;
  const Approval* question = &what;
  while (entry->second.state == State::kWaiting && steady_clock::now() < deadline) {
    // The listener may be slow, and may look at what waits.
    lock.unlock();
    const bool wanted = told(std::exchange(question, nullptr));
    lock.lock();
    if (!wanted && entry->second.state == State::kWaiting) {
      forget(entry);
      return Error(ErrorCode::kUnavailable, "the client left before a person decided");
    }
    changed_.wait_until(lock, std::min(deadline, steady_clock::now() + kBeat),
                        [&] { return entry->second.state != State::kWaiting; });
  }
  const State state = entry->second.state;
  forget(entry);
  if (state == State::kAgreed) {
    return {};
  }
  return not_approved(what, state == State::kRefused);
}

void Approvals::forget(std::map<std::string, Entry>::iterator entry) {
  decided_.emplace_back(entry->second.approval.tenant, entry->first);
  if (decided_.size() > kMostDecided) {
    decided_.pop_front();
  }
  entries_.erase(entry);
}

std::vector<Approval> Approvals::waiting(std::string_view tenant) const {
  std::vector<Approval> found;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, entry] : entries_) {
      if (entry.approval.tenant == tenant && entry.state == State::kWaiting) {
        found.push_back(entry.approval);
      }
    }
  }
  std::ranges::sort(found, {}, &Approval::asked);
  return found;
}

Result<void> Approvals::decide(const Caller& caller,
                               std::string_view id,
                               const ApprovalReply& reply) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(std::string(id));
  if (found == entries_.end() || found->second.approval.tenant != caller.tenant) {
    if (std::ranges::find(decided_, std::pair(caller.tenant, std::string(id))) != decided_.end()) {
      return Error(ErrorCode::kConflict,
                   "this approval is decided, or nobody waits for it any more");
    }
    return Error(ErrorCode::kNotFound, "no approval '" + printable(id) + "'",
                 "GET /v1/approvals lists what waits");
  }
  Entry& entry = found->second;
  if (entry.state != State::kWaiting) {
    return Error(ErrorCode::kConflict, "this approval is decided already");
  }
  if (system_clock::now() >= entry.approval.expires) {
    return Error(ErrorCode::kConflict, "this approval has expired");
  }
  if (!same_text(reply.hash, entry.approval.hash)) {
    return Error(ErrorCode::kConflict, "the hash is not that of what waits for approval",
                 "send the 'hash' of the program that you looked at");
  }
  entry.state = reply.agree ? State::kAgreed : State::kRefused;
  if (reply.agree && reply.remember && remembered_.size() < kMostRemembered) {
    remembered_.emplace(caller.tenant, entry.approval.hash);
  }
  changed_.notify_all();
  return {};
}

}  // namespace glovebox
