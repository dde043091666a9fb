// SPDX-License-Identifier: Apache-2.0
// LocalPages: notebooks as HTML pages, rendered outside of this process.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// Any thread; holds no lock while it renders.
class LocalPages {
 public:
  // The page for the text of an .ipynb file. kExhausted while the tenant, or all tenants together,
  // have as many pages rendered as they may: each takes up to 2 GiB of memory.
  Result<std::string> render(const std::string& tenant, std::string_view ipynb);

 private:
  Result<void> enter(const std::string& tenant);
  void leave(const std::string& tenant);

  std::mutex mutex_;
  std::map<std::string, std::size_t> rendering_;  // By tenant; only those with a page.
  std::size_t all_ = 0;
};

}  // namespace glovebox
