// SPDX-License-Identifier: Apache-2.0
// What a FileClient and the file server say to each other, in frames (base/frame.h) on channel 0.
//
// The client asks for one thing at a time; each request has exactly one last reply: kDone, kEntry,
// kDescriptor or kFailed. A server that was told that it cannot pass descriptors out replies kEntry
// to kOpen, and the client reads the content with kRead; it replies kDone to kConnect, the client
// says kEnd, and both ends leave the protocol: from there on all bytes are the port's. Both ends
// are built together, but the server lives among guests: a client decodes what it says as hostile,
// and each decoder bounds what it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/wire.h"
#include "files/file_client.h"

namespace glovebox::files {

enum class Request : std::uint8_t {
  kStat = 1,
  kList,
  kMakeDirectory,
  kMove,
  kRemove,
  kOpen,   // A number by which kRead may name the file.
  kRead,   // Answered by kData, as much as there is of `length` bytes from `offset`, and kDone.
  kWrite,  // Then kData, and finally kEnd or kAbort, even if it has failed meanwhile.
  kPack,
  kUnpack,  // As kWrite.
  kWatch,   // Ended by kEnd.
  kConnect,
  kData,
  kEnd,
  kAbort,
};

enum class Reply : std::uint8_t {
  kDone = 1,
  kFailed,      // Failure.
  kEntry,       // Facts, of what the request named.
  kEntries,     // A piece of a list: Listed…
  kDescriptor,  // Facts or nothing; one descriptor goes with its first byte.
  kData,        // A piece of an archive or a file.
  kStarted,     // The watch is in place.
  kEvents,      // FileEvent…
  kWorking,     // There is progress, but nothing to tell yet.
};

// Each Linux path fits, and one below a directory of many levels.
inline constexpr std::size_t kMaxPath = 64UL * 1024;
inline constexpr std::size_t kMaxName = 256;  // Of a user or a group.
inline constexpr std::size_t kMaxMessage = 4096;
// Extended attributes of one file, of those that are ours (the kernel: XATTR_NAME_MAX).
inline constexpr std::size_t kMaxAttributes = 128;
inline constexpr std::size_t kMaxAttributeBytes = 64UL * 1024;
inline constexpr std::string_view kAttributePrefix = "user.e2b.";
// All names, owners and attributes of a list together.
inline constexpr std::size_t kMaxListBytes = 64UL << 20;
// What one frame of kEntries or kEvents carries: about so many bytes, and at most so many items.
inline constexpr std::size_t kBatchBytes = 64UL * 1024;
inline constexpr std::size_t kMaxBatch = 8192;
// How many files that it reads by frames a client may have open.
inline constexpr std::uint32_t kMostOpen = 1000;
// Content travels in pieces of this size.
inline constexpr std::size_t kPiece = 256UL * 1024;

// The payload of every request; what a kind does not use stays empty.
struct Order {
  std::string path{};
  std::string to{};  // kMove.
  // kList: levels. kPack: an ArchiveFormat. kWatch: 1 with all below. kConnect: the port. kOpen and
  // kRead: the file.
  std::uint32_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  WriteOptions write{};

  [[nodiscard]] std::string encode() const;
  static Result<Order> decode(std::string_view payload);
  friend bool operator==(const Order&, const Order&);
};

struct Failure {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  [[nodiscard]] std::string encode() const;
  static Result<Failure> decode(std::string_view payload);
};

// What is known of a file: a FileEntry whose path is relative to what the request named, and empty
// for that itself.
std::string encode_facts(const FileEntry& entry);
Result<FileEntry> decode_facts(std::string_view payload);

void put_listed(WireWriter& out, const FileEntry& entry);
// Appends to `entries`.
Result<void> decode_listed(std::string_view payload, std::vector<FileEntry>& entries);

void put_event(WireWriter& out, const FileEvent& event);
Result<std::vector<FileEvent>> decode_events(std::string_view payload);

// Whether a path leads below the directory that it is relative to, with no empty part, no "." and
// no "..". Its bytes may be any but zero.
bool is_below(std::string_view path);

// Bytes that an entry holds beyond its own size.
std::size_t weight_of(const FileEntry& entry);

}  // namespace glovebox::files
