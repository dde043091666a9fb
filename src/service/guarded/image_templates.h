// SPDX-License-Identifier: Apache-2.0
// ImageTemplates: the templates behind sandboxes and runs that name an image of a registry.
#pragma once

#include <functional>
#include <string>

#include "base/named_locks.h"
#include "base/result.h"
#include "service/api/sandbox_service.h"
#include "service/guarded/guard.h"
#include "service/guarded/recorder.h"
#include "spec/network_rules.h"

namespace glovebox {

// Any thread.
class ImageTemplates {
 public:
  // All must outlive it.
  ImageTemplates(SandboxService& service, const Guard& guard, const Recorder& recorder)
      : service_(service), guard_(guard), recorder_(recorder) {}

  // The name of the caller's template that is this image and nothing more. If there is none, it is
  // made: the image is pulled from any registry that is public, or that `rules` allow, and counts
  // against the caller's quota like any template. If several callers want the same image, the first
  // one pulls it. `wanted` says, about once a second, whether anybody still waits.
  //
  // kInvalid if it is not the name of an image, or if the registry does not give it; kRefused if
  // the operator lets nothing out; kUnavailable if nobody waits any longer.
  Result<std::string> find(const Caller& caller,
                           const std::string& image,
                           const NetworkRules& rules,
                           const std::function<bool()>& wanted);

  // The request with that template in place of its image.
  template <typename Request>
  Result<Request> in_place_of_image(const Caller& caller,
                                    const Request& request,
                                    const std::function<bool()>& wanted) {
    Request found = request;
    found.template_name = GB_TRY(find(caller, request.image, request.network, wanted));
    found.image.clear();
    return found;
  }

 private:
  SandboxService& service_;
  const Guard& guard_;
  const Recorder& recorder_;
  NamedLocks pulling_;  // By tenant and template.
};

}  // namespace glovebox
