// SPDX-License-Identifier: Apache-2.0
#include "cli/judge_cases.h"

// As where languages are read: a program must use the library in one form only.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <fcntl.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): strverscmp is not in <cstring>.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "language/toml_guard.h"

namespace glovebox::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxCases = 100'000;
// For one file, and for all together: they are held in memory.
constexpr std::size_t kMaxFile = 256U << 20;
constexpr std::size_t kMaxTotal = 2UL << 30;
constexpr const char* kSettings = "cases.toml";

Error cannot_read(const fs::path& path) {
  return {ErrorCode::kInvalid,
          Error::from_errno("read '" + printable(path.string()) + "'").message(),
          "check the path and its permissions"};
}

// Nothing if there is no such file.
Result<std::optional<std::string>> read_file(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) {
    return std::optional<std::string>();
  }
  std::string text;
  std::array<char, 64 * 1024> block;
  for (ssize_t got = 1; fd && got != 0;) {
    got = ::read(fd.get(), block.data(), block.size());
    if (got < 0) {
      return cannot_read(path);
    }
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) {
      return Error(ErrorCode::kInvalid, "'" + printable(path.string()) + "' is larger than 256 MiB",
                   "split the case into smaller ones");
    }
  }
  return fd ? Result<std::optional<std::string>>(std::move(text)) : cannot_read(path);
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".in") {
      names.push_back(entry.path().stem().string());
    }
    if (names.size() > kMaxCases) {
      return Error(ErrorCode::kInvalid,
                   "'" + printable(directory) + "' holds more than 100,000 cases",
                   "judge them in several runs");
    }
  }
  if (error) {
    return Error(ErrorCode::kInvalid, "read '" + printable(directory) + "': " + error.message(),
                 "pass the directory of the cases with --cases");
  }
  if (names.empty()) {
    return Error(ErrorCode::kInvalid, "'" + printable(directory) + "' holds no cases",
                 "a case is a file NAME.in with the expected output in NAME.out or NAME.ans");
  }
  std::ranges::sort(names, [](const std::string& one, const std::string& other) {
    return ::strverscmp(one.c_str(), other.c_str()) < 0;
  });
  return names;
}

Result<void> apply(const toml::table& settings, judge::Case& to) {
  const auto wrong = [&to](const char* key, const char* wanted) {
    return Error(ErrorCode::kInvalid, std::string(kSettings) + ": '" + key + "' of case '" +
                                          printable(to.name) + "' must be " + wanted);
  };
  for (const auto& [key, value] : settings) {
    if (key == "points") {
      const auto points = value.value<double>();
      if (!points || !(*points >= 0) || *points > 1e9) {
        return wrong("points", "a number from 0 to 1e9");
      }
      to.points = *points;
    } else if (key == "time") {
      const auto time = parse_duration(value.value_or(std::string()));
      if (!time || time->count() == 0) {
        return wrong("time", "a duration such as \"2s\"");
      }
      to.time = *time;
    } else if (key == "memory") {
      const auto memory = parse_bytes(value.value_or(std::string()));
      if (!memory || memory->count == 0) {
        return wrong("memory", "a size such as \"256M\"");
      }
      to.memory = *memory;
    } else {
      return Error(ErrorCode::kInvalid,
                   std::string(kSettings) + ": unknown key '" + printable(std::string(key)) +
                       "' of case '" + printable(to.name) + "'",
                   "the keys are points, time and memory");
    }
  }
  return {};
}

Result<void> apply_settings(const std::string& text, std::vector<judge::Case>& cases) {
  const GuardedToml guarded = guard_toml(text);
  const auto at = [](std::size_t line) {
    return std::string(kSettings) + ", line " + std::to_string(line) + ": ";
  };
  if (guarded.fault) {
    return Error(ErrorCode::kInvalid, at(guarded.fault->line) + guarded.fault->what);
  }
  const toml::parse_result parsed = toml::parse(guarded.text);
  if (!parsed) {
    return Error(ErrorCode::kInvalid,
                 at(parsed.error().source().begin.line) + printable(parsed.error().description()));
  }
  for (const auto& [name, value] : parsed.table()) {
    const auto found = std::ranges::find(cases, std::string_view(name), &judge::Case::name);
    if (found == cases.end() || value.as_table() == nullptr) {
      return Error(
          ErrorCode::kInvalid,
          std::string(kSettings) + ": there is no case '" + printable(std::string(name)) + "'",
          "each table is named after a case: [NAME] for NAME.in");
    }
    GB_TRY(apply(*value.as_table(), *found));
  }
  return {};
}

}  // namespace

Result<std::vector<judge::Case>> read_cases(const std::string& directory, bool needs_expected) {
  std::vector<judge::Case> cases;
  std::size_t total = 0;
  for (const std::string& name : GB_TRY(names_in(directory))) {
    const fs::path stem = fs::path(directory) / name;
    auto input = GB_TRY(read_file(stem.string() + ".in"));
    auto expected = GB_TRY(read_file(stem.string() + ".out"));
    if (!expected) {
      expected = GB_TRY(read_file(stem.string() + ".ans"));
    }
    if (!expected && needs_expected) {
      return Error(
          ErrorCode::kInvalid, "case '" + printable(name) + "' has no expected output",
          "write it to '" + printable(name) + ".out', or pass a --checker that needs none");
    }
    cases.push_back({.name = name,
                     .input = std::move(input).value_or(std::string()),
                     .expected = std::move(expected).value_or(std::string())});
    total += cases.back().input.size() + cases.back().expected.size();
    if (total > kMaxTotal) {
      return Error(ErrorCode::kInvalid, "the cases are larger than 2 GiB together",
                   "judge them in several runs");
    }
  }
  if (const auto settings = GB_TRY(read_file(fs::path(directory) / kSettings)); settings) {
    GB_TRY(apply_settings(*settings, cases));
  }
  return cases;
}

}  // namespace glovebox::cli
