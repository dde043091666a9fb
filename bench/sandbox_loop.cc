// SPDX-License-Identifier: Apache-2.0
// Times the library without any program around it.
//
//   sandbox-loop --runs 300 --warmup 20      one sandbox after the other, each for one /bin/true
//   sandbox-loop --user root                 the same with a root that can be written, and with the
//                                            list of what has changed there
//   sandbox-loop --parallel 200              200 sandboxes alive at once; is every answer right?
//
// Prints one JSON object. Times are in microseconds.
#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/statistics.h"
#include "sandbox/sandbox.h"

namespace glovebox {
namespace {

using bench::Clock;
using bench::micros_between;
using bench::print_statistics;

struct Options {
  std::size_t runs = 300;
  std::size_t warmup = 20;
  std::size_t parallel = 0;
  bool root = false;
  TierWish tier;
};

// The steps in the order in which they first appeared, each with the sum of its times.
class StepTimes {
 public:
  void add(const std::vector<Timing>& timings) {
    for (const Timing& timing : timings) {
      const auto [entry, fresh] = sums_.try_emplace(timing.step, 0.0);
      entry->second += static_cast<double>(timing.took.count());
      if (fresh) {
        order_.push_back(timing.step);
      }
    }
  }

  void print_means(std::size_t runs) const {
    std::printf(R"(,"steps":{)");
    const char* separator = "";
    for (const std::string& step : order_) {
      std::printf(R"(%s"%s":%.1f)", separator, step.c_str(),
                  sums_.at(step) / static_cast<double>(runs));
      separator = ",";
    }
    std::printf("}");
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, double> sums_;
};

Result<void> one_after_the_other(const Options& options) {
  std::vector<double> create;
  std::vector<double> run;
  std::vector<double> end;
  std::vector<double> whole;
  StepTimes steps;
  std::string tier;
  for (std::size_t i = 0; i < options.warmup + options.runs; ++i) {
    const Clock::time_point begun = Clock::now();
    SandboxSpec spec;
    spec.as_root = options.root;
    const std::unique_ptr<Sandbox> sandbox = GB_TRY(Sandbox::create(spec, options.tier));
    const Clock::time_point created = Clock::now();
    if (options.root) {
      GB_TRY(sandbox->mark());
    }
    const RunOutcome outcome =
        GB_TRY(sandbox->run({.argv = {"/bin/true"}, .env = {}, .cwd = {}}, {}));
    if (options.root) {
      (void)GB_TRY(sandbox->changed_files());
    }
    const Clock::time_point ran = Clock::now();
    GB_TRY(sandbox->end());
    const Clock::time_point ended = Clock::now();
    if (outcome.status != Status::kOk) {
      return Error(ErrorCode::kInternal,
                   "/bin/true ended with " + std::string(to_string(outcome.status)));
    }
    if (i < options.warmup) {
      continue;
    }
    create.push_back(micros_between(begun, created));
    run.push_back(micros_between(created, ran));
    end.push_back(micros_between(ran, ended));
    whole.push_back(micros_between(begun, ended));
    steps.add(sandbox->timings());
    tier = sandbox->tier();
  }
  std::printf(R"({"tier":"%s","runs":%zu)", tier.c_str(), options.runs);
  print_statistics("whole", std::move(whole));
  print_statistics("create", std::move(create));
  print_statistics("run", std::move(run));
  print_statistics("end", std::move(end));
  steps.print_means(options.runs);
  std::printf("}\n");
  return {};
}

struct Answer {
  bool right = false;
  std::string problem;  // Empty unless the library failed, or the answer was wrong.
};

// One of many at once. Every thread passes both points whatever happens to it, so that no other
// waits for ever; between them all sandboxes that could be made are alive together.
Answer answer_one(std::size_t number,
                  const TierWish& tier,
                  std::barrier<>& all_created,
                  std::barrier<>& all_ran) {
  auto sandbox = Sandbox::create({}, tier);
  all_created.arrive_and_wait();
  if (!sandbox) {
    all_ran.arrive_and_drop();
    return {.right = false, .problem = sandbox.error().message()};
  }
  const std::string text = std::to_string(number);
  const auto outcome = (*sandbox)->run({.argv = {"/bin/echo", text}, .env = {}, .cwd = {}}, {});
  all_ran.arrive_and_wait();
  if (!outcome) {
    return {.right = false, .problem = outcome.error().message()};
  }
  if (auto ended = (*sandbox)->end(); !ended) {
    return {.right = false, .problem = ended.error().message()};
  }
  if (outcome->status != Status::kOk || outcome->out.bytes != text + "\n") {
    return {.right = false,
            .problem = "guest " + text + " ended with " + std::string(to_string(outcome->status)) +
                       " after " + std::to_string(outcome->out.total) + " bytes"};
  }
  return {.right = true, .problem = {}};
}

// False when an answer was lost or wrong.
bool many_at_once(const Options& options) {
  const auto count = static_cast<std::ptrdiff_t>(options.parallel);
  std::vector<Answer> answers(options.parallel);
  std::barrier<> all_created(count + 1);
  std::barrier<> all_ran(count + 1);
  const Clock::time_point begun = Clock::now();
  std::vector<std::jthread> threads;
  threads.reserve(options.parallel);
  for (std::size_t i = 0; i < options.parallel; ++i) {
    threads.emplace_back(
        [&, i] { answers[i] = answer_one(i, options.tier, all_created, all_ran); });
  }
  all_created.arrive_and_wait();
  const Clock::time_point created = Clock::now();
  all_ran.arrive_and_wait();
  const Clock::time_point ran = Clock::now();
  threads.clear();
  const Clock::time_point ended = Clock::now();
  const auto right = static_cast<std::size_t>(std::ranges::count_if(answers, &Answer::right));
  std::printf(R"({"parallel":%zu,"right":%zu,"wall":%.1f,"create":%.1f,"run":%.1f,"end":%.1f)"
              "}\n",
              options.parallel, right, micros_between(begun, ended), micros_between(begun, created),
              micros_between(created, ran), micros_between(ran, ended));
  const auto lost = std::ranges::find_if_not(answers, &Answer::right);
  if (lost != answers.end()) {
    std::fprintf(stderr, "sandbox-loop: lost: %s\n", lost->problem.c_str());
  }
  return right == options.parallel;
}

bool parse_count(std::string_view text, std::size_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(const std::vector<std::string_view>& words, Options& options) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) {
      return false;
    }
    const std::string_view name = words[i];
    const std::string_view value = words[i + 1];
    bool understood = false;
    if (name == "--runs") {
      understood = parse_count(value, options.runs) && options.runs > 0;
    } else if (name == "--warmup") {
      understood = parse_count(value, options.warmup);
    } else if (name == "--parallel") {
      understood = parse_count(value, options.parallel) && options.parallel > 0;
    } else if (name == "--user") {
      options.root = value == "root";
      understood = options.root;
    } else if (name == "--tier") {
      options.tier.exactly = value;
      understood = true;
    }
    if (!understood) {
      return false;
    }
  }
  return true;
}

int main_of(const std::vector<std::string_view>& words) {
  Options options;
  if (!parse(words, options)) {
    std::fprintf(stderr,
                 "usage: sandbox-loop [--runs N] [--warmup W] [--user root] [--parallel K] "
                 "[--tier NAME]\n");
    return 2;
  }
  if (options.parallel > 0) {
    return many_at_once(options) ? 0 : 1;
  }
  if (auto done = one_after_the_other(options); !done) {
    std::fprintf(stderr, "sandbox-loop: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace glovebox

int main(int argc, char** argv) {
  return glovebox::main_of(std::vector<std::string_view>(argv + 1, argv + argc));
}
