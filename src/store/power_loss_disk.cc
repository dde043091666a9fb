// SPDX-License-Identifier: Apache-2.0
#include "store/power_loss_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/check.h"

namespace glovebox::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSector = 512;

struct Operation {
  enum class Kind { kWrite, kTruncate, kFlush };
  Kind kind;
  std::string file;
  std::size_t offset = 0;  // kTruncate: the size.
  std::string bytes;
};

// SQLite calls functions without a context: there is one disk in a process.
struct Log {
  std::mutex mutex;
  bool logging = false;
  std::map<std::string, std::string> files;  // At the start, by path.
  std::vector<Operation> operations;
} the_log;

sqlite3_vfs* below = nullptr;
sqlite3_vfs disk{};
sqlite3_io_methods methods{};

// SQLite allocates szOsFile bytes: for this, and for the lower layer's file right behind it.
struct File {
  sqlite3_file base;
  std::string* path;
};
constexpr std::size_t kFileSize = (sizeof(File) + 15) / 16 * 16;

sqlite3_file* under(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kFileSize);
}

void note(sqlite3_file* file, Operation::Kind kind, std::size_t offset, std::string bytes) {
  const std::string* path = reinterpret_cast<File*>(file)->path;
  const std::scoped_lock lock(the_log.mutex);
  if (the_log.logging && path != nullptr && the_log.files.contains(*path)) {
    the_log.operations.push_back({kind, *path, offset, std::move(bytes)});
  }
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  note(file, Operation::Kind::kWrite, static_cast<std::size_t>(offset),
       std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)));
  return under(file)->pMethods->xWrite(under(file), bytes, size, offset);
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
  note(file, Operation::Kind::kTruncate, static_cast<std::size_t>(size), {});
  return under(file)->pMethods->xTruncate(under(file), size);
}
int flush(sqlite3_file* file, int flags) {
  const int code = under(file)->pMethods->xSync(under(file), flags);
  note(file, Operation::Kind::kFlush, 0, {});
  return code;
}
int close(sqlite3_file* file) {
  delete reinterpret_cast<File*>(file)->path;
  return under(file)->pMethods->xClose(under(file));
}

// All other calls go to the layer below unchanged.
template <auto Member, typename... Arguments>
int pass(sqlite3_file* file, Arguments... arguments) {
  return (under(file)->pMethods->*Member)(under(file), arguments...);
}

int open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  file->pMethods = nullptr;
  const int code = below->xOpen(below, path, under(file), flags, flags_out);
  if (code == SQLITE_OK) {
    reinterpret_cast<File*>(file)->path = path == nullptr ? nullptr : new std::string(path);
    file->pMethods = &methods;
  }
  return code;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

PowerLossDisk::PowerLossDisk() {
  below = ::sqlite3_vfs_find("unix");
  GB_CHECK(below != nullptr);
  disk = *below;
  disk.zName = "power-loss";
  disk.szOsFile = static_cast<int>(kFileSize) + below->szOsFile;
  disk.xOpen = open;
  methods.iVersion = 2;  // With shared memory, without mapped files: every write is seen.
  methods.xClose = close;
  methods.xRead = pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>;
  methods.xWrite = write;
  methods.xTruncate = truncate;
  methods.xSync = flush;
  methods.xFileSize = pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>;
  methods.xLock = pass<&sqlite3_io_methods::xLock, int>;
  methods.xUnlock = pass<&sqlite3_io_methods::xUnlock, int>;
  methods.xCheckReservedLock = pass<&sqlite3_io_methods::xCheckReservedLock, int*>;
  methods.xFileControl = pass<&sqlite3_io_methods::xFileControl, int, void*>;
  methods.xSectorSize = pass<&sqlite3_io_methods::xSectorSize>;
  // Promises nothing about what a failure leaves behind.
  methods.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
  methods.xShmMap = pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>;
  methods.xShmLock = pass<&sqlite3_io_methods::xShmLock, int, int, int>;
  methods.xShmBarrier = [](sqlite3_file* file) { under(file)->pMethods->xShmBarrier(under(file)); };
  methods.xShmUnmap = pass<&sqlite3_io_methods::xShmUnmap, int>;
  GB_CHECK(::sqlite3_vfs_register(&disk, 1) == SQLITE_OK);
}

PowerLossDisk::~PowerLossDisk() {
  (void)::sqlite3_vfs_unregister(&disk);
  (void)::sqlite3_vfs_register(below, 1);
}

void PowerLossDisk::start(const std::string& database) {
  const std::scoped_lock lock(the_log.mutex);
  the_log.operations.clear();
  the_log.files = {{database, content_of(database)},
                   {database + "-wal", content_of(database + "-wal")}};
  the_log.logging = true;
}

void PowerLossDisk::stop() {
  const std::scoped_lock lock(the_log.mutex);
  the_log.logging = false;
}

std::size_t PowerLossDisk::now() const {
  const std::scoped_lock lock(the_log.mutex);
  return the_log.operations.size();
}

void PowerLossDisk::restore(std::size_t moment,
                            std::mt19937& random,
                            const std::string& directory) const {
  const std::scoped_lock lock(the_log.mutex);
  std::map<std::string, std::string> files = the_log.files;
  std::map<std::string, std::size_t> flushed;  // Up to which operation.
  for (std::size_t i = 0; i < moment; ++i) {
    if (the_log.operations[i].kind == Operation::Kind::kFlush) {
      flushed[the_log.operations[i].file] = i;
    }
  }
  // Each failure leaves a different part of what was not flushed: none, most, or half of it.
  std::bernoulli_distribution there(std::uniform_real_distribution(0.0, 1.0)(random));
  for (std::size_t i = 0; i < moment; ++i) {
    const Operation& operation = the_log.operations[i];
    const bool safe = i < flushed[operation.file];
    if (operation.kind == Operation::Kind::kFlush || (!safe && !there(random))) {
      continue;
    }
    std::string& content = files[operation.file];
    if (operation.kind == Operation::Kind::kTruncate) {
      content.resize(operation.offset);
      continue;
    }
    std::size_t size = operation.bytes.size();
    if (!safe && size > kSector) {
      size = std::uniform_int_distribution<std::size_t>(1, size / kSector)(random) * kSector;
    }
    content.resize(std::max(content.size(), operation.offset + size));
    content.replace(operation.offset, size, operation.bytes, 0, size);
  }
  for (const auto& [path, content] : files) {
    std::ofstream(fs::path(directory) / fs::path(path).filename(), std::ios::binary) << content;
  }
}

}  // namespace glovebox::testing
