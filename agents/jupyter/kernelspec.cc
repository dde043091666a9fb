// SPDX-License-Identifier: Apache-2.0
#include "kernelspec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "base/unique_fd.h"
#include "json_guard.h"

namespace glovebox::jupyter {
namespace {

constexpr std::size_t kMaxArguments = 256;
constexpr std::size_t kMaxVariables = 256;

Error unusable(const std::string& why) { return {ErrorCode::kInvalid, "kernelspec: " + why}; }

// A NUL would end the string early for execve(2), which would then run something other than what
// was read.
Result<std::string> c_string(const Json& value, const std::string& what) {
  if (!value.is_string()) {
    return unusable(what + " is not a string");
  }
  auto text = value.get<std::string>();
  if (text.find('\0') != std::string::npos) {
    return unusable(what + " contains a NUL byte");
  }
  return text;
}

Result<std::vector<std::string>> read_argv(const Json& spec) {
  const auto found = spec.find("argv");
  if (found == spec.end() || !found->is_array() || found->empty() ||
      found->size() > kMaxArguments) {
    return unusable("argv is not a list of 1 to " + std::to_string(kMaxArguments) + " strings");
  }
  std::vector<std::string> argv;
  for (const Json& item : *found) {
    argv.push_back(GB_TRY(c_string(item, "argv")));
  }
  if (argv.front().empty()) {
    return unusable("argv does not name a program");
  }
  return argv;
}

Result<std::vector<std::pair<std::string, std::string>>> read_environment(const Json& spec) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto found = spec.find("env");
  if (found == spec.end() || found->is_null()) {
    return variables;
  }
  if (!found->is_object() || found->size() > kMaxVariables) {
    return unusable("env is not an object of at most " + std::to_string(kMaxVariables) +
                    " strings");
  }
  for (const auto& [name, value] : found->items()) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return unusable("env contains an invalid variable name");
    }
    variables.emplace_back(name, GB_TRY(c_string(value, "env")));
  }
  return variables;
}

Result<InterruptMode> read_interrupt_mode(const Json& spec) {
  const std::string mode = string_at(spec, "interrupt_mode", "signal");
  if (mode == "signal") {
    return InterruptMode::kSignal;
  }
  if (mode == "message") {
    return InterruptMode::kMessage;
  }
  return unusable("interrupt_mode must be signal or message");
}

bool is_kernel_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

// Fills in all placeholders in one pass, so that a path which holds one is not filled in again.
std::string filled_in(std::string_view text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string result;
  while (!text.empty()) {
    const auto match = std::find_if(values.begin(), values.end(), [text](const auto& value) {
      return text.starts_with(value.first);
    });
    if (match == values.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += match->second;
      text.remove_prefix(match->first.size());
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> Kernelspec::command(const std::string& connection_file) const {
  std::vector<std::string> filled;
  filled.reserve(argv.size());
  for (const std::string& argument : argv) {
    filled.push_back(filled_in(argument, {{"{connection_file}", connection_file},
                                          {"{resource_dir}", resource_dir},
                                          {"{prefix}", "/usr"}}));
  }
  return filled;
}

Result<Kernelspec> parse_kernelspec(std::string_view text) {
  const Json json = GB_TRY(parse_json_object(text, kMaxKernelspec));
  Kernelspec spec;
  spec.argv = GB_TRY(read_argv(json));
  spec.environment = GB_TRY(read_environment(json));
  spec.interrupt_mode = GB_TRY(read_interrupt_mode(json));
  spec.language = string_at(json, "language");
  spec.display_name = string_at(json, "display_name");
  return spec;
}

Result<Kernelspec> load_kernelspec(const std::string& path) {
  // Non-blocking, so that a FIFO with this name does not hold us.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return Error::from_errno("open " + printable(path));
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kInvalid, printable(path) + " is not a regular file");
  }
  // One byte over the limit, which parse_json then refuses.
  std::string text(kMaxKernelspec + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read " + printable(path));
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  auto spec = parse_kernelspec(text);
  if (!spec) {
    return std::move(spec).error().within(printable(path));
  }
  spec->resource_dir = std::filesystem::path(path).parent_path().string();
  return spec;
}

std::vector<std::string> kernel_folders(std::string_view jupyter_path, std::string_view home) {
  std::vector<std::string> folders;
  while (!jupyter_path.empty()) {
    const std::size_t end = std::min(jupyter_path.find(':'), jupyter_path.size());
    // A relative folder would mean a different one in each working directory.
    if (jupyter_path.front() == '/') {
      folders.push_back(std::string(jupyter_path.substr(0, end)) + "/kernels");
    }
    jupyter_path.remove_prefix(std::min(end + 1, jupyter_path.size()));
  }
  if (home.starts_with('/')) {
    folders.push_back(std::string(home) + "/.local/share/jupyter/kernels");
  }
  folders.emplace_back("/usr/local/share/jupyter/kernels");
  folders.emplace_back("/usr/share/jupyter/kernels");
  return folders;
}

Result<Kernelspec> find_kernelspec(std::string_view name, const std::vector<std::string>& folders) {
  if (!is_kernel_name(name)) {
    return Error(ErrorCode::kInvalid, "invalid kernel name \"" + printable(name) + "\"");
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + std::string(name) + "/kernel.json";
    if (access(path.c_str(), F_OK) == 0) {
      return load_kernelspec(path);
    }
  }
  return Error(ErrorCode::kNotFound, "kernel \"" + std::string(name) + "\" is not installed");
}

}  // namespace glovebox::jupyter
