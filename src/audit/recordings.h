// SPDX-License-Identifier: Apache-2.0
// Recordings: files in DIR/audit/network with what the network answered an execution. A file's name
// has the number of the record of the execution's start, and the tenant; the record of its end has
// the file's hash.
//
// A recording goes with its record: once retention has removed the record, the next recording, or
// the next Recordings of the directory, removes the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "audit/record.h"
#include "audit/verify.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::audit {

// Safe to use from any thread.
class Recordings {
 public:
  // `most`: bytes of all recordings of one tenant.
  static Result<std::unique_ptr<Recordings>> open(const std::string& journal, std::uint64_t most);

  // A file for one recording, with room on the disk. Without a keep(), it is removed.
  class Place {
   public:
    Place(Place&& other) noexcept
        : all_(std::exchange(other.all_, nullptr)),
          file_(std::move(other.file_)),
          tenant_(std::move(other.tenant_)),
          name_(std::move(other.name_)),
          room_(other.room_) {}
    Place& operator=(Place&&) = delete;
    ~Place();

    // The most bytes that keep() takes. 0: the tenant has (almost) as many as it may have.
    [[nodiscard]] std::uint64_t room() const { return room_; }
    // The bytes are on the disk when it returns. At most once. kExhausted if there are too many.
    Result<void> keep(std::string_view bytes);

   private:
    friend class Recordings;
    Place() = default;

    Recordings* all_ = nullptr;  // Null once it is kept or moved.
    UniqueFd file_;
    std::string tenant_;
    std::string name_;
    std::uint64_t room_ = 0;
  };
  // For the execution with this start, at most `wanted` bytes. kUnavailable if the disk has no
  // room, kConflict if that execution is already being recorded. This object outlives the place.
  Result<Place> begin(const std::string& tenant, std::uint64_t start, std::uint64_t wanted);

  // The recording with this hash. kNotFound if there is none, kConflict if it was changed.
  Result<std::string> read(const std::string& tenant,
                           std::uint64_t start,
                           std::string_view sha256) const;

 private:
  Recordings(UniqueFd journal, UniqueFd directory, std::uint64_t most)
      : journal_(std::move(journal)), directory_(std::move(directory)), most_(most) {}

  Result<void> look();
  void close(const Place& place, std::uint64_t kept);

  const UniqueFd journal_;
  const UniqueFd directory_;
  const std::uint64_t most_;
  std::mutex mutex_;                                            // Guards what follows.
  std::map<std::string, std::uint64_t, std::less<>> kept_;      // Bytes by tenant,
  std::map<std::string, std::uint64_t, std::less<>> promised_;  // and those of open places.
  std::set<std::string, std::less<>> open_;                     // The names of the open places.
  std::uint64_t first_ = 0;  // The oldest segment at the last look.
};

// What the record of an execution's end says about its recording; nothing if it has none.
struct RecordingClaim {
  std::uint64_t start = 0;
  std::string sha256{};
};
std::optional<RecordingClaim> recording_claim(const Record& end);

// Checks that the recordings that a journal's records name are there and were not changed. Adds
// what is wrong to a report.
Result<void> verify_recordings(int journal, Report& report);

}  // namespace glovebox::audit
