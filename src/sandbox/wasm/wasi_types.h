// SPDX-License-Identifier: Apache-2.0
// The numbers and layouts of WASI preview 1 that this runner uses, as its document has them
// (wasi_snapshot_preview1.witx).
#pragma once

#include <cstddef>
#include <cstdint>

namespace glovebox::wasm::wasi {

enum class Error : std::uint16_t {
  kSuccess = 0,
  kTooBig = 1,
  kAccess = 2,
  kAgain = 6,
  kBadDescriptor = 8,
  kBusy = 10,
  kExists = 20,
  kFault = 21,
  kFileTooBig = 22,
  kIllegalBytes = 25,
  kInterrupted = 27,
  kInvalid = 28,
  kIo = 29,
  kIsDirectory = 31,
  kLoop = 32,
  kTooManyOpen = 33,
  kTooManyLinks = 34,
  kNameTooLong = 37,
  kTooManyOpenAnywhere = 41,
  kNotFound = 44,
  kNoMemory = 48,
  kNoSpace = 51,
  kNoSuchCall = 52,
  kNotDirectory = 54,
  kNotEmpty = 55,
  kNotSocket = 57,
  kNotSupported = 58,
  kOverflow = 61,
  kPermission = 63,
  kBrokenPipe = 64,
  kReadOnly = 69,
  kNoSeek = 70,
  kBusyProgram = 74,
  kOtherDevice = 75,
};

enum class FileType : std::uint8_t {
  kUnknown = 0,
  kBlock = 1,
  kCharacter = 2,
  kDirectory = 3,
  kRegular = 4,
  kSocket = 6,
  kLink = 7,
};

inline constexpr std::uint32_t kFollowLink = 1;  // Of the last component of a path.

inline constexpr std::uint32_t kCreate = 1;
inline constexpr std::uint32_t kMustBeDirectory = 2;
inline constexpr std::uint32_t kExclusive = 4;
inline constexpr std::uint32_t kTruncate = 8;

inline constexpr std::uint32_t kAppend = 1;
inline constexpr std::uint32_t kDataSync = 2;
inline constexpr std::uint32_t kNonBlocking = 4;
inline constexpr std::uint32_t kReadSync = 8;
inline constexpr std::uint32_t kSync = 16;

inline constexpr std::uint64_t kMayRead = 1ULL << 1;
inline constexpr std::uint64_t kMaySeek = 1ULL << 2;
inline constexpr std::uint64_t kMayTell = 1ULL << 5;
inline constexpr std::uint64_t kMayWrite = 1ULL << 6;
inline constexpr std::uint64_t kEveryRight = (1ULL << 30) - 1;

inline constexpr std::uint32_t kSetAccessed = 1;
inline constexpr std::uint32_t kAccessedNow = 2;
inline constexpr std::uint32_t kSetModified = 4;
inline constexpr std::uint32_t kModifiedNow = 8;

inline constexpr std::uint32_t kRealtime = 0;
inline constexpr std::uint32_t kMonotonic = 1;
inline constexpr std::uint32_t kLastClock = 3;

inline constexpr std::uint8_t kClockEvent = 0;
inline constexpr std::uint8_t kReadEvent = 1;
inline constexpr std::uint8_t kWriteEvent = 2;
inline constexpr std::uint16_t kAbsolute = 1;
inline constexpr std::uint16_t kHangUp = 1;

inline constexpr std::size_t kFileStatSize = 64;
inline constexpr std::size_t kFdStatSize = 24;
inline constexpr std::size_t kPreopenedSize = 8;
inline constexpr std::size_t kEntrySize = 24;
inline constexpr std::size_t kSubscriptionSize = 48;
inline constexpr std::size_t kEventSize = 32;
inline constexpr std::size_t kPieceSize = 8;  // Of a scattered read or write.

}  // namespace glovebox::wasm::wasi
