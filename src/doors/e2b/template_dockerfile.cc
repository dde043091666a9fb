// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_dockerfile.h"

#include <utility>

#include "base/shell_words.h"
#include "base/text.h"
#include "doors/e2b/options.h"
#include "spec/guest.h"

namespace glovebox::e2b {
namespace {

// Copies the content of a directory, or files into one, or a file to a new name.
constexpr const char* kCopy = R"sh( || exit 1
set -e
shopt -s nullglob dotglob
if [ -d "$from" ]; then
  mkdir -p "$to"
  cp -a "$from/." "$to/"
else
  IFS=
  files=($from)
  [ ${#files[@]} -gt 0 ] || { echo "nothing matches $from" >&2; exit 1; }
  if [ "${to%/}" != "$to" ] || [ -d "$to" ] || [ ${#files[@]} -gt 1 ]; then
    mkdir -p "$to"
    cp -a "${files[@]}" "$to/"
  else
    mkdir -p "$(dirname "$to")"
    cp -a "${files[0]}" "$to"
  fi
fi)sh";

// As one word of an instruction, whatever is in it.
std::string as_word(const std::string& text) {
  std::string word = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') {
      word += '\\';
    }
    word += c;
  }
  return word + "\"";
}

// The name or number of an account of the image, with or without a group.
Result<void> check_account(const std::string& user) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
  if (user.empty() || user.size() > 64 || user.find_first_not_of(kAllowed) != std::string::npos) {
    return Error(ErrorCode::kInvalid,
                 "'" + printable(user.substr(0, 64)) + "' is not a valid user name");
  }
  return {};
}

// E2B's user is the guest of the sandboxes, by its number: the image need not know the name.
std::string guest() { return std::to_string(kGuestUid) + ":" + std::to_string(kGuestGid); }

std::string run(const std::string& command) {
  const Json words = {"/bin/bash", "-l", "-c", command};
  return "RUN " + words.dump(-1, ' ', true, Json::error_handler_t::replace);
}

class Writer {
 public:
  Writer(const std::string& image, const FindUpload& find_upload) : find_upload_(find_upload) {
    build_.dockerfile.text = "FROM " + image + "\n";
    add("USER root", 0);  // Whatever user the image names: E2B's steps begin as root.
  }

  Result<void> take(const Json& step, std::size_t number) {
    const std::string type = GB_TRY(text_member(step, "type")).value_or("");
    const std::vector<std::string> args = GB_TRY(texts_member(step, "args"));
    for (const std::string& arg : args) {
      if (type != "RUN" && arg.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
        return Error(ErrorCode::kUnsupported,
                     "a value of the step '" + printable(type) + "' has more than one line");
      }
    }
    if (type == "RUN" && !args.empty()) {
      const std::string user = args.size() > 1 && !args[1].empty() ? args[1] : user_;
      GB_TRY(check_account(user));
      become(user, number);
      add(run(args[0]), number);
      return {};
    }
    if (type == "WORKDIR" && args.size() == 1) {
      directory_ = args[0].starts_with('/') ? args[0] : directory_ + "/" + args[0];
      add("WORKDIR " + as_word(directory_), number);
      return {};
    }
    if (type == "USER" && args.size() == 1) {
      user_ = args[0];
      return check_account(user_);
    }
    if (type == "ENV" && !args.empty() && args.size() % 2 == 0) {
      std::string instruction = "ENV";
      for (std::size_t i = 0; i < args.size(); i += 2) {
        instruction += " " + args[i] + "=" + as_word(args[i + 1]);
      }
      add(instruction, number);
      return {};
    }
    if (type == "COPY" && args.size() >= 2) {
      return copy(args, number, GB_TRY(text_member(step, "filesHash")).value_or(""));
    }
    return Error(ErrorCode::kUnsupported, "the step '" + printable(type) + "' is not supported");
  }

  // Who runs in the sandboxes is for E2B's door to say, not for the steps.
  ImageBuild finish() && {
    become("root", build_.steps.back());
    return std::move(build_);
  }

 private:
  // All steps but RUN are root's. Whenever a step runs as the user, the home and what root has put
  // there meanwhile belong to the user, as they do in the sandboxes.
  void become(const std::string& user, std::size_t step) {
    if (user == current_) {
      return;
    }
    if (user == "user") {
      become("root", step);
      const std::string home = shell_quoted(kHome);
      add(run("mkdir -p " + home + " && chown -R " + guest() + " " + home), step);
    }
    add("USER " + (user == "user" ? guest() : user), step);
    current_ = user;
  }

  void add(const std::string& instruction, std::size_t step) {
    build_.dockerfile.text += instruction + "\n";
    build_.steps.push_back(step);
  }

  Result<void> copy(const std::vector<std::string>& args,
                    std::size_t number,
                    const std::string& hash) {
    std::string archive = find_upload_(hash);
    if (archive.empty()) {
      return Error(ErrorCode::kInvalid, "the files of this step were not uploaded");
    }
    become("root", number);
    const std::string name = "copy-" + std::to_string(number) + ".tar";
    const std::string scratch = "/.copy-" + std::to_string(number);
    const std::string target = args[1].starts_with('/') ? args[1] : directory_ + "/" + args[1];
    build_.dockerfile.files.push_back({.name = name, .path = std::move(archive)});
    add("ADD " + name + " " + scratch + "/", number);
    add(run(copy_script(args, target, scratch)), number);
    return {};
  }

  const FindUpload& find_upload_;
  ImageBuild build_;
  std::string directory_ = kHome;
  std::string user_ = "root";     // Of the next RUN.
  std::string current_ = "root";  // As the Dockerfile has it.
};

}  // namespace

std::string copy_script(const std::vector<std::string>& args,
                        const std::string& target,
                        const std::string& scratch) {
  const std::string mode = args.size() > 3 ? args[3] : "";
  std::string text = "to=" + shell_quoted(target) + "; from=" + shell_quoted(args[0]) + "; cd " +
                     shell_quoted(scratch) + kCopy;
  if (!mode.empty()) {
    text += "\nchmod -R " + shell_quoted(mode) + " \"$to\"";
  }
  return text + "\ncd /; rm -rf " + shell_quoted(scratch);
}

Result<ImageBuild> build_of_image(const std::string& image,
                                  const Json* steps,
                                  const FindUpload& find_upload,
                                  std::string& failed_step) {
  if (image.find_first_of(" \t\r\n$\"'\\") != std::string::npos) {
    return Error(ErrorCode::kInvalid,
                 "'" + printable(image.substr(0, 200)) + "' is not the name of an image");
  }
  Writer writer(image, find_upload);
  for (std::size_t i = 0; steps != nullptr && i < steps->size(); ++i) {
    failed_step = std::to_string(i + 1);
    GB_TRY(writer.take((*steps)[i], i + 1));
  }
  return std::move(writer).finish();
}

}  // namespace glovebox::e2b
