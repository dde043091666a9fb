// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/template_build.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "base/sys/pipe.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/remote_events.h"
#include "cli/daemon/transfer_line.h"
#include "cli/daemon/whole_file.h"
#include "cli/output_writer.h"
#include "service/dockerfile/ignore.h"
#include "service/runs/filtered_archive.h"
#include "service/runs/transfer.h"
#include "service/templates/dockerfile_build.h"
#include "service/templates/recipe_toml.h"

namespace glovebox::cli {
namespace {

constexpr const char* kLines = "application/x-ndjson";

// The password is a secret of the daemon's, or comes from standard input.
Result<Json> login_of(const BuildOrder& order) {
  Json login = {{"username", order.login_user}};
  if (!order.login_secret.empty()) {
    login["secret"] = order.login_secret;
    return login;
  }
  if (::isatty(STDIN_FILENO) == 1) {
    return Error(ErrorCode::kInvalid, "the password of the registry is read from standard input",
                 "redirect it, for example from a file, or name a secret of the daemon with "
                 "--registry-secret");
  }
  std::string password = GB_TRY(read_program("-"));
  password.erase(std::min(password.find_last_not_of("\r\n") + 1, password.size()));
  if (password.empty()) {
    return Error(ErrorCode::kInvalid, "standard input has no password for the registry");
  }
  login["password"] = std::move(password);
  return login;
}

Result<Json> recipe_of(const BuildOrder& order) {
  Json recipe = Json::object();
  if (!order.registry.empty()) {
    recipe["base"] = {{"registry", order.registry}};
    if (!order.login_user.empty()) {
      recipe["base"]["login"] = GB_TRY(login_of(order));
    }
  } else if (!order.recipe.empty()) {
    const std::string text = GB_TRY(read_program(order.recipe));
    const std::string json = GB_TRY(recipe_json_from_toml(text));
    recipe = GB_TRY(parse_answer(json));
    if (!recipe.is_object()) {
      return Error(ErrorCode::kInvalid, "the recipe is not a table");
    }
  } else {
    recipe["base"] = {{"debootstrap", {{"suite", order.suite}}}};
  }
  for (const std::string& source : order.package_sources) {
    std::error_code error;
    const std::string whole = std::filesystem::absolute(source, error).string();
    recipe["package_sources"].push_back(error ? source : whole);
  }
  recipe["name"] = order.name;
  GB_TRY(put_network(recipe, order.network));
  return recipe;
}

// A stream of the image: a file, standard input, or a directory as a tar.
class ImageStream {
 public:
  ImageStream() = default;
  ImageStream(const ImageStream&) = delete;
  ImageStream& operator=(const ImageStream&) = delete;
  ~ImageStream() {
    fd_.reset();
    if (packer_.joinable()) {
      packer_.join();
    }
  }

  // A directory without what its .dockerignore excludes, plus the Dockerfile.
  Result<void> open_context(const std::string& path, const std::string& dockerfile) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return Error(ErrorCode::kInvalid, "'" + printable(path) + "' is not a directory",
                   "name the directory with the files that the Dockerfile copies");
    }
    const std::string ignored = path + "/.dockerignore";
    rules_ = GB_TRY(dockerfile::IgnoreRules::parse(
        ::access(ignored.c_str(), F_OK) == 0 ? GB_TRY(read_program(ignored)) : ""));
    const auto beside = GB_TRY(aside(dockerfile));
    return pack({{.source = path, .target = "."}, beside},
                [this](const std::string& name, bool is_directory) {
                  return rules_.ignores(name) && !(is_directory && rules_.has_exceptions());
                });
  }

  Result<void> open(const std::string& path) {
    if (path == "-") {
      fd_ = UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
      return {};
    }
    fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd_ || ::fstat(fd_.get(), &status) != 0) {
      return Error(ErrorCode::kInvalid,
                   Error::from_errno("read '" + printable(path) + "'").message(),
                   "check the path and its permissions");
    }
    size_ = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    return S_ISDIR(status.st_mode) ? pack({{.source = path, .target = "."}}, {}) : Result<void>();
  }

  Result<std::size_t> read(std::span<char> into) {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), into.data(), into.size());
      if (got == 0 && packer_.joinable()) {
        packer_.join();
        GB_TRY(std::move(packed_));
      }
      if (got >= 0) {
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return Error::from_errno("read the image");
      }
    }
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  Result<FileToCopy> aside(const std::string& dockerfile) {
    dockerfile_ = UniqueFd(::memfd_create("dockerfile", MFD_CLOEXEC));
    if (!dockerfile_ || ::write(dockerfile_.get(), dockerfile.data(), dockerfile.size()) !=
                            static_cast<ssize_t>(dockerfile.size())) {
      return Error::from_errno("pass on the Dockerfile");
    }
    return FileToCopy{.source = "/proc/self/fd/" + std::to_string(dockerfile_.get()),
                      .target = kSentAside};
  }

  // The files of a directory, each under its own name: a layout's index.json is at the top.
  Result<void> pack(std::vector<FileToCopy> files, LeaveOut leave_out) {
    sys::Pipe pipe = GB_TRY(sys::make_pipe());
    fd_ = std::move(pipe.read);
    packer_ = std::thread([this, to = std::move(pipe.write), files = std::move(files),
                           leave_out = std::move(leave_out)]() mutable {
      // A sandbox has devices of its own.
      packed_ = write_filtered_archive(to.get(), files, SpecialFiles::kLeftOut, leave_out);
      to.reset();
    });
    return {};
  }

  UniqueFd fd_;
  UniqueFd dockerfile_;
  dockerfile::IgnoreRules rules_;
  std::uint64_t size_ = 0;
  std::thread packer_;
  Result<void> packed_;  // Once the packer has ended.
};

Result<std::unique_ptr<http::ClientAnswer>> send_image(DaemonClient& daemon,
                                                       const BuildOrder& order) {
  const std::string format = !order.docker.empty() ? "docker"
                             : !order.oci.empty()  ? "oci"
                                                   : "rootfs";
  ImageStream image;
  GB_TRY(image.open(order.docker + order.oci + order.rootfs));
  TransferLine line(::isatty(STDERR_FILENO) == 1 && !order.quiet);
  line.begin(image.size());
  return daemon.stream_up("PUT",
                          "/v1/templates/" + encode(order.name) + "/archive?format=" + format,
                          kLines, [&](std::span<char> into) -> Result<std::size_t> {
                            const std::size_t count = GB_TRY(image.read(into));
                            line.add(count);
                            return count;
                          });
}

Result<std::unique_ptr<http::ClientAnswer>> send_context(DaemonClient& daemon,
                                                         const BuildOrder& order) {
  ImageStream context;
  const std::string file = order.recipe.empty() ? order.context + "/Dockerfile" : order.recipe;
  GB_TRY(context.open_context(order.context, GB_TRY(read_program(file))));
  const Json args = GB_TRY(pairs_json(order.build_args, "--build-arg"));
  Json network = Json::object();
  GB_TRY(put_network(network, order.network));
  return daemon.stream_up(
      "PUT",
      "/v1/templates/" + encode(order.name) +
          "/archive?format=dockerfile&dockerfile=" + kSentAside +
          "&cache=" + (order.no_cache ? "false" : "true") + "&build_args=" + encode(args.dump()) +
          (network.empty() ? "" : "&network=" + encode(network["network"].dump())),
      kLines, [&context](std::span<char> into) { return context.read(into); });
}

void show(const Json& event, const std::string& type) {
  if (type == "progress") {
    const std::string step = std::to_string(number_in(event, "step"));
    const std::string steps = std::to_string(number_in(event, "steps"));
    write_fully(STDERR_FILENO,
                "[" + step + "/" + steps + "] " + printable(text_in(event, "message")) + "\n");
  } else if (type == "log") {
    AnsiStripper stripper;
    const std::string text = stripper.strip(text_in(event, "text"));
    write_fully(STDERR_FILENO, text + (text.ends_with('\n') ? "" : "\n"));
  }
}

}  // namespace

Result<int> build_template(const BuildOrder& order) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(order.daemon));
  std::unique_ptr<http::ClientAnswer> answer;
  if (!order.context.empty()) {
    answer = GB_TRY(send_context(daemon, order));
  } else if (order.recipe.empty() && order.suite.empty() && order.registry.empty()) {
    answer = GB_TRY(send_image(daemon, order));
  } else {
    const Json recipe = GB_TRY(recipe_of(order));
    answer = GB_TRY(daemon.stream("POST", "/v1/templates", recipe, kLines));
  }
  EventLines lines(std::move(answer));
  while (const auto line = GB_TRY(lines.next_line())) {
    const Json event = GB_TRY(parse_answer(*line));
    const std::string type = text_in(event, "type");
    if (order.daemon.json) {
      write_fully(STDOUT_FILENO, *line + "\n");
    } else if (!order.quiet) {
      show(event, type);
    }
    if (type == "failed") {
      return error_in(event);
    }
    if (type == "built") {
      if (!order.daemon.json) {
        write_fully(STDOUT_FILENO, order.name + "\n");
      }
      return 0;
    }
  }
  return Error(ErrorCode::kUnavailable, "the build ended without a result",
               "run 'glovebox template ls' to see whether the template was built");
}

Result<int> export_template(const ExportOrder& order) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(order.daemon));
  const auto answer = GB_TRY(daemon.stream(
      "GET", "/v1/templates/" + encode(order.name) + "/archive?format=oci", Json(), ""));
  GB_TRY(save_body(*answer, order.output, ::isatty(STDERR_FILENO) == 1 && !order.quiet));
  return 0;
}

}  // namespace glovebox::cli
