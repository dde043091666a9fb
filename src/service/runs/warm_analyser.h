// SPDX-License-Identifier: Apache-2.0
// Confined processes of the program glovebox-analyser, of which one waits for its text.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/confined/program.h"
#include "base/result.h"

namespace glovebox {

// Each process is for one job, so that no text has an effect on what is found in another. Starting
// one takes longer than the analysis of a short text, so the next one is started after each job, by
// a thread that begins with the first job, and that also waits for the end of used processes.
// Thread-safe.
class WarmAnalyser {
 public:
  WarmAnalyser() = default;
  WarmAnalyser(const WarmAnalyser&) = delete;
  WarmAnalyser& operator=(const WarmAnalyser&) = delete;
  ~WarmAnalyser();

  // As confined::run_confined(), with the program that waits, or one that is started now. The
  // program and its arguments are the analyser's, whatever the job says.
  Result<void> run(confined::Job job);

 private:
  std::optional<confined::WaitingProgram> take();
  void want_another(std::optional<confined::WaitingProgram> used);
  void keep_one();

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  std::optional<confined::WaitingProgram> waiting_{};
  std::vector<confined::WaitingProgram> used_{};
  bool wanted_ = false;
  bool ending_ = false;
  std::thread starter_;
};

}  // namespace glovebox
