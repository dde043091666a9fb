// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_pages.h"

#include "context/notebook/page.h"

namespace glovebox {
namespace {

constexpr std::size_t kMostOfTenant = 1;
constexpr std::size_t kMostOfAll = 4;
constexpr std::size_t kMostPageBytes = 256UL << 20;

}  // namespace

Result<void> LocalPages::enter(const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  const auto found = rendering_.find(tenant);
  if (all_ >= kMostOfAll || (found != rendering_.end() && found->second >= kMostOfTenant)) {
    return Error(ErrorCode::kExhausted, "too many notebooks are being rendered",
                 "try again in 2 seconds, or download the notebook itself")
        .with_retry_after(std::chrono::seconds(2));
  }
  ++rendering_[tenant];
  ++all_;
  return {};
}

void LocalPages::leave(const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  --all_;
  const auto found = rendering_.find(tenant);
  if (--found->second == 0) {
    rendering_.erase(found);
  }
}

Result<std::string> LocalPages::render(const std::string& tenant, std::string_view ipynb) {
  GB_TRY(enter(tenant));
  std::string page;
  const auto rendered =
      notebook::render_page(ipynb, [&page](std::string_view piece) -> Result<void> {
        if (page.size() + piece.size() > kMostPageBytes) {
          return Error(ErrorCode::kExhausted, "the page is larger than 256 MiB",
                       "download the notebook itself");
        }
        page += piece;
        return {};
      });
  leave(tenant);
  if (!rendered && rendered.error().code() == ErrorCode::kInvalid) {
    // Nothing is wrong with the request.
    return Error(ErrorCode::kInternal, rendered.error().message(), "download the notebook itself");
  }
  return rendered ? Result<std::string>(std::move(page)) : rendered.error();
}

}  // namespace glovebox
