// SPDX-License-Identifier: Apache-2.0
// A sandbox as an archive, and an archive as a sandbox (docs/export.md has the format).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/text.h"
#include "service/local/archived_order.h"
#include "service/local/local_service.h"
#include "service/local/own_disk.h"
#include "spec/json/bounded_json.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr const char* kWorkspaceFile = "workspace.tar";
constexpr std::size_t kMostManifest = 512UL << 10;
constexpr std::size_t kMostSignature = 64;
constexpr std::size_t kMostFiles = 64;
constexpr std::uint64_t kMostBytes = 1ULL << 40;
constexpr std::size_t kPiece = 256UL << 10;

Error no_archive(const std::string& what) {
  return {ErrorCode::kInvalid, "this is not an archive of a sandbox: " + what,
          "use an archive that 'glovebox sandbox export' has written"};
}

Error ended_early() {
  return {ErrorCode::kInvalid, "the archive ends too early", "transfer it again"};
}

// The archive as it comes: two lines, then content.
class Incoming {
 public:
  explicit Incoming(const FileClient::Source& source) : source_(source) {}

  Result<std::string> line(std::size_t most) {
    std::string line;
    for (;;) {
      GB_TRY(fill());
      const std::string_view rest = std::string_view(piece_).substr(at_);
      const std::size_t end = rest.find('\n');
      line += rest.substr(0, end);
      if (line.size() > most) {
        return no_archive("its description is too long");
      }
      at_ += std::min(end == std::string_view::npos ? rest.size() : end + 1, rest.size());
      if (end != std::string_view::npos) {
        return line;
      }
    }
  }

  // At most `most` bytes, at least one; they last until the next call.
  Result<std::string_view> bytes(std::uint64_t most) {
    GB_TRY(fill());
    const std::string_view taken =
        std::string_view(piece_).substr(at_, std::min<std::uint64_t>(most, kPiece));
    at_ += taken.size();
    return taken;
  }

  Result<bool> has_ended() {
    GB_TRY(look());
    return piece_.empty();
  }

 private:
  // Gets the next piece if this one is used up. At the end of the archive it is empty.
  Result<void> look() {
    if (at_ < piece_.size()) {
      return {};
    }
    piece_.resize(kPiece);
    at_ = 0;
    const std::size_t got = GB_TRY(source_(piece_));
    piece_.resize(got);
    return {};
  }
  Result<void> fill() {
    GB_TRY(look());
    return piece_.empty() ? ended_early() : Result<void>();
  }

  const FileClient::Source& source_;
  std::string piece_;
  std::size_t at_ = 0;
};

// The size of all files of the manifest together; kInvalid if one is not a size.
Result<std::uint64_t> size_of_files(const json& manifest) {
  std::uint64_t whole = 0;
  for (const json& file : manifest.at("files")) {
    const json size = file.is_object() ? file.value("size", json()) : json();
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMostBytes - whole) {
      return no_archive("its list of files is invalid");
    }
    whole += size.get<std::uint64_t>();
  }
  return whole;
}

Result<json> read_manifest(std::string_view text) {
  auto manifest = parse_json(text);
  if (!manifest || !manifest->is_object() || manifest->value("format", json()) != kFormat ||
      !manifest->value("memory", json()).is_boolean() ||
      !manifest->value("sandbox", json()).is_object() ||
      !manifest->value("files", json()).is_array() || manifest->at("files").size() > kMostFiles) {
    return no_archive("its first line does not describe one");
  }
  return manifest;
}

// Takes all of the content, after which nothing may follow, and returns its hash.
Result<std::string> receive(Incoming& incoming, std::uint64_t size, CountedFile& file) {
  BytesHash hash;
  while (size > 0) {
    const std::string_view bytes = GB_TRY(incoming.bytes(size));
    GB_TRY(file.write(bytes));
    hash.add(bytes);
    size -= bytes.size();
  }
  if (!GB_TRY(incoming.has_ended())) {
    return no_archive("something follows its end");
  }
  return hash.hex();
}

// Removes something when nobody holds it any more; until then it counts.
struct Kept {
  explicit Kept(std::function<void()> removal) : remove(std::move(removal)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { remove(); }

  const std::function<void()> remove;
  std::optional<QuotaLease> lease{};
};

Result<void> send_file(int fd, const ArchiveSink& sink) {
  std::string piece(kPiece, '\0');
  if (::lseek(fd, 0, SEEK_SET) != 0) {
    return Error::from_errno("read what is exported");
  }
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0) {
      return Error::from_errno("read what is exported");
    }
    if (got == 0) {
      return {};
    }
    if (!sink.take({piece.data(), static_cast<std::size_t>(got)})) {
      return Error(ErrorCode::kUnavailable, "the export was canceled");
    }
  }
}

Result<void> send_archive(const std::string& manifest,
                          const std::string& signature,
                          const std::vector<UniqueFd>& files,
                          const ArchiveSink& sink) {
  const std::string head = manifest + "\n" + signature + "\n";
  const std::uint64_t content = GB_TRY(size_of_files(json::parse(manifest)));
  if (!sink.begin(head.size() + content) || !sink.take(head)) {
    return Error(ErrorCode::kUnavailable, "the export was canceled");
  }
  for (const UniqueFd& file : files) {
    GB_TRY(send_file(file.get(), sink));
  }
  return {};
}

}  // namespace

// Covers what it was built from; the files that workspaces begin with are in the archive itself.
std::string LocalService::digest_of(const Base& base) {
  if (!base.parts) {
    return {};
  }
  ContentHash hash;
  for (const std::string& key : base.parts->keys()) {
    if (key != base.parts->files) {
      hash.add(key);
    }
  }
  return hash.hex();
}

Result<void> LocalService::continue_archive(const OpenedArchive& archive,
                                            std::string_view template_name,
                                            Base& base) {
  if (digest_of(base) != archive.template_digest) {
    return Error(ErrorCode::kConflict,
                 "template '" + printable(template_name) +
                     "' is not the one that the archived sandbox was created from",
                 "transfer it with 'glovebox template export', or build it again");
  }
  base.archive = archive.files;
  base.image.clear();
  base.image_limits.reset();
  base.copied = archive.memory;
  return {};
}

Result<void> LocalService::export_archive(const Caller& caller,
                                          std::string_view id,
                                          const ArchiveSink& sink) {
  const SandboxInfo info = GB_TRY(book_.find(caller.tenant, id));
  const Base base = GB_TRY(base_of(caller, info));
  json order = GB_TRY(archived_order(info, base.name, digest_of(base)));
  if (info.state == SandboxState::kPaused && workspaces_.has_saved(info)) {
    std::vector<UniqueFd> files;
    const json made = GB_TRY(keeper_.call(
        "export_saved",
        {{"saved", workspaces_.saved(info.id)}, {"tier", info.tier}, {"order", std::move(order)}},
        {}, &files));
    return send_archive(made.value("manifest", std::string()),
                        made.value("signature", std::string()), files, sink);
  }
  GB_TRY(check_settled(info));
  GB_TRY(make_snapshots_directory());
  const std::string path = own_file();
  const QuotaLease counted = GB_TRY(pack_workspace(
      caller, info, path, GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_))));
  std::vector<UniqueFd> files;
  files.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  (void)::unlink(path.c_str());
  struct stat status {};
  if (!files.front() || ::fstat(files.front().get(), &status) != 0) {
    return own_disk_error("open what is exported");
  }
  const std::string hash = GB_TRY(hash_of_file(files.front().get()));
  const json manifest = {
      {"format", kFormat},
      {"memory", false},
      {"sandbox", std::move(order)},
      {"files", {{{"name", kWorkspaceFile}, {"size", status.st_size}, {"sha256", hash}}}}};
  return send_archive(manifest.dump(-1, ' ', false, json::error_handler_t::replace), {}, files,
                      sink);
}

Result<SandboxRequest> LocalService::open_archive(const Caller& caller,
                                                  const FileClient::Source& source) {
  Incoming incoming(source);
  const std::string text = GB_TRY(incoming.line(kMostManifest));
  const std::string signature = GB_TRY(incoming.line(kMostSignature));
  const json manifest = GB_TRY(read_manifest(text));
  const std::uint64_t size = GB_TRY(size_of_files(manifest));
  auto opened = std::make_shared<OpenedArchive>();
  SandboxRequest request =
      GB_TRY(read_archived_order(manifest.at("sandbox"), opened->template_digest));
  DiskBudget budget = GB_TRY(DiskBudget::begin(quotas_, caller.tenant, directory_));
  std::shared_ptr<Kept> kept;
  if (manifest.at("memory").get<bool>()) {
    CountedFile content = GB_TRY(CountedFile::create_nameless(directory_, std::move(budget), size));
    (void)GB_TRY(receive(incoming, size, content));
    const std::string name = random_name();
    opened->memory = workspaces_.saved(name);
    kept = std::make_shared<Kept>([this, name] { workspaces_.remove_saved(name); });
    // The keeper's copy, which is there until the sandbox runs; ours goes at once.
    kept->lease = GB_TRY(quotas_.reserve(caller.tenant, disk_use(Bytes{size})));
    const std::array<int, 1> handed = {content.fd()};
    (void)GB_TRY(keeper_.call(
        "import_saved", {{"manifest", text}, {"signature", signature}, {"to", opened->memory}}, {},
        nullptr, handed));
  } else {
    GB_TRY(make_snapshots_directory());
    opened->files = own_file();
    CountedFile content = GB_TRY(CountedFile::create(opened->files, std::move(budget), size));
    kept = std::make_shared<Kept>([path = opened->files] { (void)::unlink(path.c_str()); });
    const json& files = manifest.at("files");
    const std::string hash = GB_TRY(receive(incoming, size, content));
    if (files.size() != 1 || files.front().value("sha256", json()) != hash) {
      return Error(ErrorCode::kInvalid,
                   "the archive is damaged: its files are not what was exported",
                   "transfer it again");
    }
    kept->lease = std::move(content).settle().second;
  }
  opened->kept = std::move(kept);
  request.archive = std::move(opened);
  return request;
}

}  // namespace glovebox
