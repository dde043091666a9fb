// SPDX-License-Identifier: Apache-2.0
#include "audit/recordings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "audit/query.h"
#include "audit/segments.h"
#include "base/digest/digest.h"
#include "base/json/json.h"
#include "base/sys/write_all.h"
#include "spec/egress_protocol.h"

namespace glovebox::audit {
namespace {

constexpr const char* kDirectory = "network";
constexpr std::size_t kDigits = 20;
constexpr std::size_t kMostTenant = 64;
// Less would hold next to nothing.
constexpr std::uint64_t kLeastRoom = 64UL << 10;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_tenant(std::string_view name) {
  return !name.empty() && name.size() <= kMostTenant &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == name.npos;
}

// "00000000000000000012.default". kInvalid for a tenant that a record cannot have.
Result<std::string> name_of(std::string_view tenant, std::uint64_t start) {
  if (!is_tenant(tenant)) {
    return Error(ErrorCode::kInvalid, "the recording names no tenant");
  }
  const std::string number = std::to_string(start);
  return std::string(kDigits - number.size(), '0') + number + "." + std::string(tenant);
}

struct Named {
  std::string name{};
  std::uint64_t start = 0;
  std::string tenant{};
};

Result<std::vector<Named>> list(int directory) {
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> entries(copy ? ::fdopendir(copy.get()) : nullptr);
  if (!entries) {
    return Error::from_errno("list the recordings of the audit journal");
  }
  (void)copy.release();
  std::vector<Named> found;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = ::readdir(entries.get())) {
    Named named{.name = entry->d_name};
    const char* const begin = named.name.data();
    const auto read = std::from_chars(begin, begin + named.name.size(), named.start);
    const auto digits = static_cast<std::size_t>(read.ptr - begin);
    if (read.ec == std::errc() && digits == kDigits && digits < named.name.size()) {
      named.tenant = named.name.substr(digits + 1);
      found.push_back(std::move(named));
    }
  }
  return found;
}

Error was_changed() {
  return {ErrorCode::kConflict, "the recording of the network was changed",
          "'glovebox audit verify' shows what else was"};
}

// Hands out a recording in pieces, which are not verified before the end: kConflict if they are not
// the bytes with this hash. kNotFound if there is no recording.
template <typename Sink>
Result<void> read_one(int directory,
                      std::string_view tenant,
                      std::uint64_t start,
                      std::string_view sha256,
                      Sink sink) {
  const std::string name = GB_TRY(name_of(tenant, start));
  const UniqueFd file = GB_TRY(open_regular(directory, name, O_RDONLY));
  BytesHash hash;
  std::uint64_t size = 0;
  std::vector<char> block(256UL << 10);
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return Error::from_errno("read a recording of the audit journal");
    }
    if (got == 0) {
      return hash.hex() == sha256 ? Result<void>() : was_changed();
    }
    const std::string_view piece(block.data(), static_cast<std::size_t>(got));
    size += piece.size();
    if (size > egress::kMostRecorded) {
      return was_changed();
    }
    hash.add(piece);
    sink(piece);
  }
}

Result<UniqueFd> open_recordings(int journal) {
  UniqueFd directory(
      ::openat(journal, kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return directory ? Result<UniqueFd>(std::move(directory))
                   : Error::from_errno("open the recordings of the audit journal");
}

}  // namespace

std::optional<RecordingClaim> recording_claim(const Record& end) {
  const auto details = nlohmann::json::parse(end.entry.details, nullptr, false);
  const auto found = details.is_object() ? details.find("network_recording") : details.end();
  if (!details.is_object() || found == details.end() || !found->is_object() ||
      !found->contains("sha256")) {
    return std::nullopt;
  }
  const auto start = details.find("start");
  const auto hash = found->find("sha256");
  if (start == details.end() || !start->is_number_unsigned() || !hash->is_string()) {
    return std::nullopt;
  }
  return RecordingClaim{.start = start->get<std::uint64_t>(), .sha256 = hash->get<std::string>()};
}

Result<std::unique_ptr<Recordings>> Recordings::open(const std::string& journal,
                                                     std::uint64_t most) {
  UniqueFd parent = GB_TRY(open_directory(journal));
  if (::mkdirat(parent.get(), kDirectory, 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make the directory of recordings");
  }
  UniqueFd directory = GB_TRY(open_recordings(parent.get()));
  std::unique_ptr<Recordings> opened(new Recordings(std::move(parent), std::move(directory), most));
  const std::scoped_lock lock(opened->mutex_);
  GB_TRY(opened->look());
  return opened;
}

// With the lock. Removes recordings that no longer belong to a record, and counts the others.
Result<void> Recordings::look() {
  const auto segments = GB_TRY(list_segments(journal_.get()));
  const std::uint64_t first = segments.empty() ? 1 : segments.front();
  if (first == first_) {
    return {};
  }
  first_ = first;
  kept_.clear();
  for (const Named& each : GB_TRY(list(directory_.get()))) {
    struct stat status {};
    if (open_.contains(each.name)) {
      continue;  // It counts once it is kept.
    }
    if (each.start < first) {
      (void)::unlinkat(directory_.get(), each.name.c_str(), 0);
    } else if (::fstatat(directory_.get(), each.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      kept_[each.tenant] += static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    }
  }
  return {};
}

Result<Recordings::Place> Recordings::begin(const std::string& tenant,
                                            std::uint64_t start,
                                            std::uint64_t wanted) {
  Place place;
  place.name_ = GB_TRY(name_of(tenant, start));
  place.tenant_ = tenant;
  {
    const std::scoped_lock lock(mutex_);
    GB_TRY(look());
    const std::uint64_t used = kept_[tenant] + promised_[tenant];
    const std::uint64_t room = std::min(wanted, most_ - std::min(most_, used));
    if (room < kLeastRoom) {
      return place;
    }
    if (!open_.insert(place.name_).second) {
      return Error(ErrorCode::kConflict, "the execution is being recorded already");
    }
    promised_[tenant] += room;
    place.room_ = room;
    place.all_ = this;
  }
  place.file_ = GB_TRY(open_regular(directory_.get(), place.name_, O_WRONLY | O_CREAT | O_EXCL));
  if (::fallocate(place.file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(place.room_)) !=
          0 &&
      errno != EOPNOTSUPP && errno != ENOSYS) {
    return Error(ErrorCode::kUnavailable, "the disk has no room for a recording of the network",
                 "free some space, or start the daemon without --audit-network");
  }
  return place;
}

void Recordings::close(const Place& place, std::uint64_t kept) {
  const std::scoped_lock lock(mutex_);
  open_.erase(place.name_);
  promised_[place.tenant_] -= place.room_;
  kept_[place.tenant_] += kept;
}

Recordings::Place::~Place() {
  if (all_ == nullptr) {
    return;
  }
  if (file_) {
    (void)::unlinkat(all_->directory_.get(), name_.c_str(), 0);
  }
  all_->close(*this, 0);
}

Result<void> Recordings::Place::keep(std::string_view bytes) {
  if (bytes.size() > room_) {
    return Error(ErrorCode::kExhausted,
                 "the recording of the network has more bytes than its room");
  }
  // Gives back what was allocated beyond them, too.
  if (!sys::write_all(file_.get(), bytes) ||
      ::ftruncate(file_.get(), static_cast<off_t>(bytes.size())) != 0 ||
      ::fsync(file_.get()) != 0 || ::fsync(all_->directory_.get()) != 0) {
    return Error::from_errno("write a recording of the network");
  }
  std::exchange(all_, nullptr)->close(*this, bytes.size());
  return {};
}

Result<std::string> Recordings::read(const std::string& tenant,
                                     std::uint64_t start,
                                     std::string_view sha256) const {
  std::string bytes;
  GB_TRY(read_one(directory_.get(), tenant, start, sha256,
                  [&](std::string_view piece) { bytes += piece; }));
  return bytes;
}

Result<void> verify_recordings(int journal, Report& report) {
  const auto directory = open_recordings(journal);
  return read_lines(journal, 0, [&](std::string_view line) {
    constexpr std::string_view kMark = R"("network_recording":)";
    if (line.find(kMark) == line.npos) {
      return true;  // True of almost all records, whose rest need not be read.
    }
    const auto record = parse_record(line);
    const auto claim = record ? recording_claim(*record) : std::nullopt;
    if (!claim) {
      return true;
    }
    const auto read = directory ? read_one(directory->get(), record->entry.tenant, claim->start,
                                           claim->sha256, [](std::string_view) {})
                                : Result<void>(directory.error());
    if (!read) {
      const auto name = name_of(record->entry.tenant, claim->start);
      report.problems.push_back(
          {.segment = std::string(kDirectory) + "/" + (name ? *name : std::string()),
           .record = record->number,
           .what = read.error().code() == ErrorCode::kConflict
                       ? "the recording's hash does not match: it was changed"
                       : "the recording cannot be read: " + read.error().message()});
    }
    return report.problems.size() < Report::kMostProblems;
  });
}

}  // namespace glovebox::audit
