// SPDX-License-Identifier: Apache-2.0
// Kernelspec: what `kernel.json` says about how a kernel is started.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::jupyter {

inline constexpr std::size_t kMaxKernelspec = 64 * 1024;

enum class InterruptMode {
  kSignal,   // SIGINT to the kernel.
  kMessage,  // An interrupt_request on the control channel.
};

struct Kernelspec {
  std::vector<std::string> argv;  // Not empty; "{connection_file}" is not yet filled in.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string language;
  std::string display_name;
  std::string resource_dir;  // The folder of kernel.json: "{resource_dir}" in argv.
  InterruptMode interrupt_mode = InterruptMode::kSignal;

  // The arguments with {connection_file}, {resource_dir} and {prefix} filled in.
  [[nodiscard]] std::vector<std::string> command(const std::string& connection_file) const;
};

// Fails with kInvalid if the text is not a usable kernelspec. Unknown members are ignored, as in
// Jupyter.
Result<Kernelspec> parse_kernelspec(std::string_view text);

// Reads at most kMaxKernelspec bytes of a regular file.
Result<Kernelspec> load_kernelspec(const std::string& path);

// Where to look for kernels, in this order: the folders of `jupyter_path` (written like
// $JUPYTER_PATH), the user's, then the system's.
[[nodiscard]] std::vector<std::string> kernel_folders(std::string_view jupyter_path,
                                                      std::string_view home);

// Loads <folder>/<name>/kernel.json from the first folder that has it. Fails with kInvalid if the
// name is not valid, and with kNotFound if no folder has it.
Result<Kernelspec> find_kernelspec(std::string_view name, const std::vector<std::string>& folders);

}  // namespace glovebox::jupyter
