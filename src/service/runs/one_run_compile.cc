// SPDX-License-Identifier: Apache-2.0
// Compiling the program of a run.
#include <string>
#include <utility>

#include "base/text.h"
#include "service/runs/one_run.h"
#include "service/runs/transfer.h"

namespace glovebox {
namespace {

// A product that goes from one sandbox to another, through our memory.
constexpr Bytes kMostProduct = 64_MiB;

}  // namespace

Result<bool> OneRun::compile() {
  if (!plan_.steps.compile) {
    return true;
  }
  observer_.enter("compile");
  GB_TRY(place_->set_limits(request_.compile_limits));
  RunOptions options{.limits = request_.compile_limits, .cancel_fd = request_.cancel_fd};
  options.observer.started = started("compile");
  RunOutcome outcome = GB_TRY(place_->run(*plan_.steps.compile, options));
  verdict().timings.push_back({"compile", outcome.usage.wall});
  if (outcome.status == Status::kOk && !request_.compile_only) {
    // What the compiler left beside the program is not the guest's doing.
    GB_TRY(place_->mark());
    GB_TRY(place_->set_limits(request_.limits));
    return true;
  }
  const Status status = outcome.status;
  verdict().limits = place_->limit_reports(request_.compile_limits);
  conclude(verdict(), std::move(outcome));
  if (status != Status::kCanceled && status != Status::kOk) {
    if (status != Status::kError && status != Status::kSignaled) {
      verdict().notes.push_back("the compiler ended with " + std::string(to_string(status)));
    }
    verdict().status = Status::kCompileError;
  }
  return false;
}

Result<std::string> OneRun::take_product(const std::string& name) {
  if (verdict().status != Status::kOk) {
    return std::string();
  }
  auto product = read_made(*place_, name, kMostProduct);
  if (!product) {
    verdict().status = Status::kCompileError;
    verdict().notes.push_back(printable(product.error().message()));
    return std::string();
  }
  return product;
}

}  // namespace glovebox
