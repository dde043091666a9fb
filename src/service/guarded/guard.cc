// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/guard.h"

#include <string>
#include <utility>

namespace glovebox {
namespace {

bool has(const Caller& caller, Need need) {
  switch (need) {
    case Need::kRead:
      return caller.may(kScopeRead);
    case Need::kLook:
      return caller.may(kScopeRead) || caller.may(kScopeRun);
    case Need::kRun:
      return caller.may(kScopeRun);
    case Need::kAdmin:
      return caller.may(kScopeAdmin);
    case Need::kApprove:
      return caller.may(kScopeApprove);
  }
  return false;
}

std::string_view name_of(Need need) {
  switch (need) {
    case Need::kRead:
    case Need::kLook:
      break;
    case Need::kRun:
      return kScopeRun;
    case Need::kAdmin:
      return kScopeAdmin;
    case Need::kApprove:
      return kScopeApprove;
  }
  return kScopeRead;
}

Error lacks(std::string_view scope) {
  return {ErrorCode::kRefused, "this key lacks the scope '" + std::string(scope) + "'",
          "use a key with this scope; an administrator can create one with 'glovebox key create'"};
}

Error confined(std::string_view to) {
  return {ErrorCode::kRefused, "this token gives access to only one " + std::string(to),
          "use an API key"};
}

class GuardedFeed final : public ProcessFeed {
 public:
  GuardedFeed(SandboxService& service, Caller caller, std::unique_ptr<ProcessFeed> inner)
      : service_(service), caller_(std::move(caller)), inner_(std::move(inner)) {}
  [[nodiscard]] int fd() const override { return inner_->fd(); }
  Result<ProcessEvent> next() override {
    GB_TRY(service_.admit(caller_, kScopeRun));
    return inner_->next();
  }

 private:
  SandboxService& service_;
  const Caller caller_;
  const std::unique_ptr<ProcessFeed> inner_;
};

}  // namespace

Result<void> Guard::key(const Caller& caller, Need need) const {
  return has(caller, need) ? service_.admit(caller, name_of(need)) : lacks(name_of(need));
}

Result<void> Guard::tenant(const Caller& caller, Need need) const {
  if (!caller.sandbox.empty() || !caller.volume.empty()) {
    return confined(caller.volume.empty() ? "sandbox" : "volume");
  }
  return key(caller, need);
}

Result<void> Guard::sandbox(const Caller& caller, Need need, std::string_view id) const {
  if (!caller.volume.empty() || (!caller.sandbox.empty() && caller.sandbox != id)) {
    return confined(caller.volume.empty() ? "sandbox" : "volume");
  }
  return key(caller, need);
}

Result<void> Guard::volume(const Caller& caller, Need need, std::string_view id) const {
  if (!caller.sandbox.empty() || (!caller.volume.empty() && caller.volume != id)) {
    return confined(caller.volume.empty() ? "sandbox" : "volume");
  }
  return key(caller, need);
}

Result<void> Guard::not_stopped(const Caller& caller, std::string_view sandbox) const {
  const auto stop = service_.stop_of(caller.tenant, sandbox);
  return stop ? Result<void>(refusal_by(*stop)) : Result<void>();
}

Result<void> Guard::end(const Caller& caller, std::string_view id) const {
  GB_TRY(sandbox(caller, Need::kRun, id));
  return caller.may(kScopeAdmin) ? Result<void>() : not_stopped(caller, id);
}

Result<void> Guard::work(const Caller& caller, std::string_view sandbox) const {
  GB_TRY(sandbox.empty() ? tenant(caller, Need::kRun) : this->sandbox(caller, Need::kRun, sandbox));
  return not_stopped(caller, sandbox);
}

Result<void> Guard::recipe(const Caller& caller, const Recipe& recipe) const {
  GB_TRY(work(caller));
  if (takes_admin(recipe) && !caller.may(kScopeAdmin)) {
    return Error(ErrorCode::kRefused,
                 "host paths and package sources in a recipe require the scope 'admin'",
                 "upload an image instead: PUT /v1/templates/NAME/archive");
  }
  return {};
}

Result<void> Guard::scope(const Caller& caller, std::string_view scope) const {
  return caller.may(scope) ? service_.admit(caller, scope) : lacks(scope);
}

Result<std::unique_ptr<ProcessFeed>> Guard::feed(const Caller& caller,
                                                 Result<std::unique_ptr<ProcessFeed>> feed) const {
  if (!feed) {
    return feed;
  }
  return std::unique_ptr<ProcessFeed>(
      std::make_unique<GuardedFeed>(service_, caller, *std::move(feed)));
}

Result<FileClient> limited(FileAccess access, Result<FileClient> files) {
  if (files && access == FileAccess::kRead) {
    files->only_read();
  }
  return files;
}

}  // namespace glovebox
