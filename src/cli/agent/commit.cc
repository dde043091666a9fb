// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "cli/agent/apply.h"
#include "cli/agent/host_git.h"

namespace glovebox::cli {
namespace {

// As git-fast-import(1) reads a path.
std::string quoted_path(std::string_view path) {
  std::string text = "\"";
  for (const char c : path) {
    text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return text + "\"";
}

std::string data_of(std::string_view content) {
  return "data " + std::to_string(content.size()) + "\n" + std::string(content) + "\n";
}

}  // namespace

Result<std::string> commit_changes(const Checkout& checkout,
                                   const std::vector<Change>& changes,
                                   const std::string& branch,
                                   const std::string& message) {
  const HostGit git(checkout.path());
  const std::string reference = "refs/heads/" + branch;
  if (checkout.commit().empty()) {
    return Error(ErrorCode::kInvalid, "there is no commit that a branch could begin with",
                 "use --apply, or commit something first");
  }
  if (branch.starts_with('-') || branch.contains('\0') ||
      !git.ask({"check-ref-format", reference})) {
    return Error(ErrorCode::kInvalid, "invalid branch name '" + printable(branch) + "'");
  }
  if (git.ask({"show-ref", "--verify", "--quiet", reference})) {
    return Error(ErrorCode::kConflict, "the branch '" + printable(branch) + "' exists already",
                 "choose another name with --branch");
  }
  auto who = git.ask({"var", "GIT_COMMITTER_IDENT"});
  std::string identity =
      who ? *who : "glovebox agent <agent@localhost> " + std::to_string(::time(nullptr)) + " +0000";
  while (identity.ends_with('\n')) {
    identity.pop_back();
  }
  std::string stream = "commit " + reference + "\ncommitter " + identity + "\n" + data_of(message) +
                       "from " + checkout.commit() + "\n";
  for (const Change& change : changes) {
    if (change.kind == Change::Kind::kDeleted) {
      stream += "D " + quoted_path(change.path) + "\n";
    }
  }
  for (const Change& change : changes) {
    if (change.kind != Change::Kind::kDeleted) {
      const char* const mode = change.is_link ? "120000" : change.executable ? "100755" : "100644";
      stream += std::string("M ") + mode + " inline " + quoted_path(change.path) + "\n" +
                data_of(change.content);
    }
  }
  stream += "done\n";
  (void)GB_TRY(git.ask({"fast-import", "--quiet", "--done", "--date-format=raw"}, stream));
  std::string commit = GB_TRY(git.ask({"rev-parse", "--verify", reference}));
  while (commit.ends_with('\n')) {
    commit.pop_back();
  }
  return commit;
}

}  // namespace glovebox::cli
