// SPDX-License-Identifier: Apache-2.0
// A disk that forgets, for tests: SQLite's files as a power failure could leave them.
//
// It stands between SQLite and its own file layer (https://sqlite.org/vfs.html) and keeps a log of
// every write and flush. From that it tells, for any moment of the past, what could be on a disk
// whose power failed then: all that was flushed, and of the rest any part, torn between sectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

namespace glovebox::testing {

class PowerLossDisk {
 public:
  // From now on all databases that this process opens are on it. One at a time.
  PowerLossDisk();
  ~PowerLossDisk();
  PowerLossDisk(const PowerLossDisk&) = delete;
  PowerLossDisk& operator=(const PowerLossDisk&) = delete;

  // Takes the files as they are for flushed, and logs what happens to them.
  void start(const std::string& database);
  void stop();

  // How much has happened so far: a moment.
  [[nodiscard]] std::size_t now() const;

  // Writes into `directory` what could be on the disk after a failure at `moment`.
  void restore(std::size_t moment, std::mt19937& random, const std::string& directory) const;
};

}  // namespace glovebox::testing
