// SPDX-License-Identifier: Apache-2.0
// Times live Python contexts by the library alone.
//
//   context-loop pool --runs 300       claim of a clean context from the pool, to its first result
//   context-loop fork --runs 100       the same without a pool: sandbox, fork, first result
//   context-loop wasm --runs 300       as pool, of the tier wasm, where there is no pandas: `1 + 1`
//   context-loop wasm-javascript       the same in another language; also wasm-sql and wasm-ruby
//   context-loop gvisor --runs 20      as pool, in that tier, where contexts are started: beside a
//   context-loop microvm --runs 5      claim also one from the tier's template, and a fork
//   context-loop cell --runs 2000      `x+1` in a living context
//   context-loop sustained --runs 800  new, one cell, gone; as many as go, by two threads
//   context-loop burst --runs 100      that many claims at once
//   context-loop living --runs 1000    that many alive together: their private memory
//   context-loop checkpoint --runs 20  with 200 MB in memory and 100 MB of files
//
// Prints one JSON object. Times are in microseconds, memory in bytes.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "bench/statistics.h"
#include "context/agent_files.h"
#include "context/context.h"
#include "context/pool.h"
#include "context/zygote.h"
#include "sandbox/slot.h"
#include "sandbox/slot_tree.h"
#include "service/runs/live_session.h"

namespace glovebox {
namespace {

using bench::Clock;
using bench::micros_between;
using bench::print_statistics;
using namespace std::chrono_literals;

constexpr std::string_view kFirstCell = "pd.DataFrame({'a':[1,2,3]}).a.sum()";
constexpr std::string_view kImports =
    "import pandas as pd, numpy as np, matplotlib.pyplot as plt\n";

// What the languages' files give Python, as far as it matters here.
std::vector<Mount> python_mounts() {
  std::vector<Mount> mounts;
  for (const char* const path : {"/etc/matplotlibrc", "/etc/python3.11", "/etc/fonts"}) {
    mounts.push_back({.source = path, .target = path, .optional = true});
  }
  return mounts;
}

PoolSpec pool_spec(std::size_t ready) {
  PoolSpec spec;
  spec.zygote.modules = {"numpy", "pandas", "matplotlib.pyplot"};
  spec.zygote.mounts = python_mounts();
  spec.sandbox.mounts = python_mounts();
  spec.warm_up = std::string(kImports) +
                 "del pd, np, plt\n__import__('pandas').DataFrame({'a':[1,2,3]}).a.sum()";
  spec.least = ready;
  spec.most = std::max<std::size_t>(ready, 64);
  return spec;
}

Result<void> run_first_cell(Context& context) {
  const std::string code = std::string(kImports) + std::string(kFirstCell);
  ExecuteOptions options{.code = code};
  options.limits.wall = 5min;  // Where processors are emulated.
  const Execution execution = GB_TRY(context.execute(options));
  for (const Event& result : execution.results) {
    const auto text = result.data.find("text/plain");
    if (text != result.data.end() && text->second == "\"6\"") {
      return {};
    }
  }
  return Error(ErrorCode::kInternal, "the first cell's answer was not 6");
}

Result<void> from_pool(std::size_t runs) {
  constexpr std::size_t kWaiting = 16;
  auto pool = GB_TRY(ContextPool::start(pool_spec(kWaiting)));
  std::vector<double> whole;
  std::vector<double> claim;
  for (std::size_t i = 0; i < runs; ++i) {
    // Demand that the pool can follow: what is measured is a claim, not the refill beside it.
    (void)pool->await_ready(kWaiting, Clock::now() + 60s);
    const auto begun = Clock::now();
    LiveContext live = GB_TRY(pool->claim());
    const auto claimed = Clock::now();
    GB_TRY(run_first_cell(*live.context));
    whole.push_back(micros_between(begun, Clock::now()));
    claim.push_back(micros_between(begun, claimed));
    pool->discard(std::move(live));
  }
  print_statistics("first_result", std::move(whole));
  print_statistics("claim", std::move(claim));
  return {};
}

Result<void> from_wasm_pool(std::size_t runs, const std::string& language) {
  constexpr std::size_t kWaiting = 16;
  PoolSpec spec;
  spec.tier = {.exactly = "wasm"};
  const Registry registry = Registry::load({});
  const bool is_sql = language == "sql";
  const std::string sum = is_sql ? "select 1 + 1" : "1 + 1";
  const std::string answer = is_sql ? "\"1 + 1\\n-----\\n    2\"" : "\"2\"";
  spec.zygote =
      GB_TRY(zygote_for(GB_TRY(find_live_language(registry, language, spec.tier)), spec.tier));
  spec.context.language = language;
  spec.warm_up = sum;
  spec.least = kWaiting;
  auto pool = GB_TRY(ContextPool::start(spec));
  std::vector<double> first;
  std::vector<double> cell;
  std::vector<double> memory;
  for (std::size_t i = 0; i < runs; ++i) {
    (void)pool->await_ready(kWaiting, Clock::now() + 60s);
    const auto begun = Clock::now();
    LiveContext live = GB_TRY(pool->claim());
    const Execution execution = GB_TRY(live.context->execute({.code = sum}));
    const auto answered = Clock::now();
    if (execution.results.empty() || execution.results.front().data.at("text/plain") != answer) {
      return Error(ErrorCode::kInternal,
                   "the answer was " + (execution.results.empty()
                                            ? "none"
                                            : execution.results.front().data.at("text/plain")));
    }
    first.push_back(micros_between(begun, answered));
    (void)GB_TRY(
        live.context->execute({.code = is_sql ? "create table t as select 1 as x" : "x = 1"}));
    const auto again = Clock::now();
    (void)GB_TRY(live.context->execute({.code = is_sql ? "select x + 1 from t" : "x + 1"}));
    cell.push_back(micros_between(again, Clock::now()));
    if (const auto used = live.sandbox->meter().memory_now()) {
      memory.push_back(static_cast<double>(used->count));
    }
    pool->discard(std::move(live));
  }
  print_statistics("first_result", std::move(first));
  print_statistics("cell", std::move(cell));
  print_statistics("charged_memory", std::move(memory));
  return {};
}

StarterSpec starter_spec(const std::string& tier) {
  const PoolSpec pool = pool_spec(0);
  StarterSpec spec{.sandbox = pool.sandbox, .tier = {.exactly = tier}, .context = {}};
  spec.sandbox.live = true;
  spec.context.agent = {"python3", "-B", "-s", std::string(kAgentsTarget) + "/python/agent.py"};
  spec.context.env = {{"MPLBACKEND", "module://matplotlib_inline.backend_inline"},
                      {"OPENBLAS_NUM_THREADS", "1"}};
  spec.modules = pool.zygote.modules;
  spec.warm_up = pool.warm_up;
  return spec;
}

// A copy of a living context with its memory, in a sandbox of its own, to its first result; the
// context goes on.
Result<double> fork_of(const SandboxSpec& spec, LiveContext& live) {
  (void)GB_TRY(live.context->execute({.code = "x = 41"}));
  Slot slot = GB_TRY(Slot::take());
  const SlotTree tree = GB_TRY(SlotTree::make(slot));
  const auto begun = Clock::now();
  const RestingContext resting = GB_TRY(live.context->rest());
  GB_TRY(live.sandbox->copy(tree.path()));
  LiveContext copy;
  copy.sandbox =
      GB_TRY(Sandbox::load(spec, live.sandbox->tier(), tree.path(), Sandbox::Seal::kNone));
  copy.context = GB_TRY(Context::wake(*copy.sandbox, resting));
  const Execution execution = GB_TRY(copy.context->execute({.code = "x = x + 1; x"}));
  const double took = micros_between(begun, Clock::now());
  const Execution original = GB_TRY(live.context->execute({.code = "x"}));
  const auto value = [](const Execution& of) {
    return of.results.empty() ? std::string() : of.results.front().data.at("text/plain");
  };
  if (value(execution) != "\"42\"" || value(original) != "\"41\"") {
    return Error(ErrorCode::kInternal, "the fork or its original have other variables");
  }
  copy.context.reset();
  (void)copy.sandbox->end();
  return took;
}

// Every fifth run also from nothing, where that takes no minutes.
Result<void> started(const std::string& tier, std::size_t runs, bool from_nothing) {
  StarterSpec spec = starter_spec(tier);
  PoolSpec waiting;
  waiting.sandbox = spec.sandbox;
  waiting.tier = spec.tier;
  waiting.context = spec.context;
  waiting.zygote.modules = spec.modules;
  waiting.warm_up = spec.warm_up;
  waiting.least = 1;
  spec.sandbox.mounts.push_back(GB_TRY(agents_mount()));
  std::map<std::string, std::vector<double>> samples;
  const auto end = [](LiveContext live) {
    live.context.reset();
    (void)live.sandbox->end();
  };
  ContextStarter starter(spec);
  // The first one makes the template where the tier can have one.
  for (std::size_t i = 0; i <= runs; ++i) {
    const auto begun = Clock::now();
    LiveContext live = GB_TRY(starter.make_ahead());
    GB_TRY(run_first_cell(*live.context));
    samples[i == 0 ? "make_template" : "ahead"].push_back(micros_between(begun, Clock::now()));
    if (live.sandbox->features().snapshots_memory) {
      samples["fork"].push_back(GB_TRY(fork_of(spec.sandbox, live)));
    }
    end(std::move(live));
    if (from_nothing && i % 5 == 0) {
      const auto cold = Clock::now();
      LiveContext fresh;
      fresh.sandbox = GB_TRY(Sandbox::create(spec.sandbox, spec.tier));
      fresh.context = GB_TRY(Context::start(*fresh.sandbox, spec.context));
      GB_TRY(run_first_cell(*fresh.context));
      samples["cold"].push_back(micros_between(cold, Clock::now()));
      end(std::move(fresh));
    }
  }
  for (const auto& [name, values] : samples) {
    print_statistics(name.c_str(), values);
  }
  (void)std::fflush(stdout);
  auto pool = GB_TRY(ContextPool::start(std::move(waiting)));
  std::vector<double> claim;
  std::vector<double> first_byte;
  for (std::size_t i = 0; i < runs; ++i) {
    if (pool->await_ready(1, Clock::now() + 600s) == 0) {
      return Error(ErrorCode::kUnavailable, "no sandbox waits");
    }
    const auto begun = Clock::now();
    LiveContext live = GB_TRY(pool->claim());
    claim.push_back(micros_between(begun, Clock::now()));
    std::optional<Clock::time_point> first;
    const ExecuteOptions options{.code = "1 + 1", .observer = [&first](const Event&) {
                                   first = first.value_or(Clock::now());
                                 }};
    (void)GB_TRY(live.context->execute(options));
    first_byte.push_back(micros_between(begun, first.value_or(Clock::now())));
    pool->discard(std::move(live));
  }
  print_statistics("claim", std::move(claim));
  print_statistics("claim_to_first_byte", std::move(first_byte));
  return {};
}

Result<void> by_fork(std::size_t runs) {
  const PoolSpec spec = pool_spec(0);
  auto zygote = GB_TRY(Zygote::start(spec.zygote));
  SandboxSpec sandbox_spec = spec.sandbox;
  sandbox_spec.within = &zygote->realm();
  sandbox_spec.live = true;
  sandbox_spec.mounts.push_back(GB_TRY(agents_mount()));
  std::map<std::string, std::vector<double>> samples;
  for (std::size_t i = 0; i < runs; ++i) {
    const auto begun = Clock::now();
    auto sandbox = GB_TRY(Sandbox::create(sandbox_spec, {.exactly = "native"}));
    const auto made = Clock::now();
    auto context = GB_TRY(Context::fork(*sandbox, *zygote, spec.context));
    const auto forked = Clock::now();
    GB_TRY(run_first_cell(*context));
    const auto answered = Clock::now();
    context.reset();
    GB_TRY(sandbox->end());
    samples["sandbox"].push_back(micros_between(begun, made));
    samples["fork"].push_back(micros_between(made, forked));
    samples["cell"].push_back(micros_between(forked, answered));
    samples["first_result"].push_back(micros_between(begun, answered));
    samples["end"].push_back(micros_between(answered, Clock::now()));
  }
  for (const auto& [name, values] : samples) {
    print_statistics(name.c_str(), values);
  }
  return {};
}

Result<void> cells(std::size_t runs) {
  auto pool = GB_TRY(ContextPool::start(pool_spec(1)));
  LiveContext live = GB_TRY(pool->claim());
  (void)GB_TRY(live.context->execute({.code = "x = 1"}));
  std::vector<double> cell;
  for (std::size_t i = 0; i < runs; ++i) {
    const auto begun = Clock::now();
    const Execution execution = GB_TRY(live.context->execute({.code = "x+1"}));
    cell.push_back(micros_between(begun, Clock::now()));
    if (execution.results.size() != 1) {
      return Error(ErrorCode::kInternal, "x+1 had no result");
    }
  }
  print_statistics("cell", std::move(cell));
  return {};
}

Result<void> sustained(std::size_t runs) {
  auto pool = GB_TRY(ContextPool::start(pool_spec(8)));
  (void)pool->await_ready(8, Clock::now() + 60s);
  std::atomic<std::size_t> failures = 0;
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < runs; ++i) {
    auto live = pool->claim();
    if (!live || !run_first_cell(*live->context)) {
      ++failures;
    }
    if (live) {
      pool->discard(std::move(live).value());
    }
  }
  const double took = micros_between(begun, Clock::now());
  std::printf(R"(,"per_second":%.1f,"failures":%zu)", static_cast<double>(runs) * 1e6 / took,
              failures.load());
  return {};
}

Result<void> burst(std::size_t runs) {
  auto pool = GB_TRY(ContextPool::start(pool_spec(runs)));
  const std::size_t ready = pool->await_ready(runs, Clock::now() + 120s);
  std::vector<LiveContext> live(runs);
  std::atomic<std::size_t> failures = 0;
  const auto begun = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < runs; i += 4) {
          auto claimed = pool->claim();
          if (!claimed || !run_first_cell(*claimed->context)) {
            ++failures;
          }
          if (claimed) {
            live[i] = std::move(claimed).value();
          }
        }
      });
    }
  }
  std::printf(R"(,"ready":%zu,"all_answered_us":%.0f,"failures":%zu)", ready,
              micros_between(begun, Clock::now()), failures.load());
  for (LiveContext& each : live) {
    pool->discard(std::move(each));
  }
  return {};
}

// What the machine has left; nothing where it does not say.
std::optional<Bytes> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes && std::getline(file, unit);) {
    if (name == "MemAvailable:") {
      return Bytes{kibibytes * 1024};
    }
  }
  return std::nullopt;
}

Result<void> living(std::size_t runs) {
  // Others live on this machine, too.
  constexpr Bytes kLeftToOthers = 4_GiB;
  const PoolSpec spec = pool_spec(0);
  auto zygote = GB_TRY(Zygote::start(spec.zygote));
  SandboxSpec sandbox_spec = spec.sandbox;
  sandbox_spec.within = &zygote->realm();
  sandbox_spec.live = true;
  sandbox_spec.mounts.push_back(GB_TRY(agents_mount()));
  std::vector<std::unique_ptr<Sandbox>> sandboxes;
  std::vector<std::unique_ptr<Context>> contexts;
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < runs; ++i) {
    if (const auto left = available_memory(); left && left->count < kLeftToOthers.count) {
      return Error(ErrorCode::kExhausted,
                   "less than 4 GiB of memory are left after " + std::to_string(i) + " contexts");
    }
    sandboxes.push_back(GB_TRY(Sandbox::create(sandbox_spec, {.exactly = "native"})));
    contexts.push_back(GB_TRY(Context::fork(*sandboxes.back(), *zygote, spec.context)));
    GB_TRY(run_first_cell(*contexts.back()));
  }
  const double made = micros_between(begun, Clock::now());
  // Of the interpreter, by its own page tables; and all that the kernel charges the sandbox, with
  // the warden, page tables and the file system.
  constexpr std::string_view kPrivate =
      "print(sum(int(line.split()[1]) * 1024 for line in open('/proc/self/smaps_rollup') "
      "if line.startswith('Private_')))";
  std::vector<double> memory;
  std::vector<double> charged;
  std::size_t answering = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    answering += run_first_cell(*contexts[i]) ? 1 : 0;
    if (const auto used = sandboxes[i]->cgroup().memory_now(); used) {
      charged.push_back(static_cast<double>(used->count));
    }
    const Execution said = GB_TRY(contexts[i]->execute({.code = kPrivate}));
    memory.push_back(std::strtod(said.out.bytes.c_str(), nullptr));
  }
  std::printf(R"(,"answering":%zu,"all_made_us":%.0f)", answering, made);
  print_statistics("private_memory", std::move(memory));
  print_statistics("charged_memory", std::move(charged));
  contexts.clear();
  sandboxes.clear();
  return {};
}

Result<void> checkpoints(std::size_t runs) {
  PoolSpec spec = pool_spec(1);
  spec.sandbox.limits.memory = 2_GiB;
  spec.sandbox.limits.disk = 512_MiB;
  auto pool = GB_TRY(ContextPool::start(spec));
  LiveContext live = GB_TRY(pool->claim());
  Context& context = *live.context;
  (void)GB_TRY(context.execute({.code = R"(
import os
kept = bytearray(os.urandom(200_000_000))
for i in range(10):
    with open(f'part{i}', 'wb') as file:
        file.write(os.urandom(10_000_000))
)"}));
  std::map<std::string, std::vector<double>> samples;
  const auto first = Clock::now();
  const std::uint32_t base = GB_TRY(context.checkpoint());
  samples["first_checkpoint"].push_back(micros_between(first, Clock::now()));
  for (std::size_t i = 0; i < runs; ++i) {
    (void)GB_TRY(context.execute({.code = "kept[0] = 2\nopen('note', 'w').write('x' * 100_000)"}));
    const auto begun = Clock::now();
    const std::uint32_t id = GB_TRY(context.checkpoint());
    samples["checkpoint"].push_back(micros_between(begun, Clock::now()));
    (void)GB_TRY(context.execute(
        {.code = "kept[0] = 1\nx = 'changed'\nopen('note', 'a').write('changed')"}));
    const auto back = Clock::now();
    GB_TRY(context.rollback(id));
    samples["rollback"].push_back(micros_between(back, Clock::now()));
    const Execution check = GB_TRY(context.execute(
        {.code = "assert 'x' not in globals() and os.path.getsize('note') == 100_000"}));
    if (check.status != Status::kOk) {
      return Error(ErrorCode::kInternal, "after a rollback the past was not there");
    }
    GB_TRY(context.drop(id));
  }
  GB_TRY(context.drop(base));
  for (const auto& [name, values] : samples) {
    print_statistics(name.c_str(), values);
  }
  return {};
}

}  // namespace
}  // namespace glovebox

int main(int argc, char** argv) {
  using namespace glovebox;  // NOLINT(google-build-using-namespace): one function.
  const std::map<std::string_view, std::function<Result<void>(std::size_t)>> modes = {
      {"pool", from_pool},
      {"fork", by_fork},
      {"cell", cells},
      {"sustained", sustained},
      {"burst", burst},
      {"living", living},
      {"checkpoint", checkpoints},
      {"wasm", [](std::size_t runs) { return from_wasm_pool(runs, "python"); }},
      {"wasm-javascript", [](std::size_t runs) { return from_wasm_pool(runs, "javascript"); }},
      {"wasm-sql", [](std::size_t runs) { return from_wasm_pool(runs, "sql"); }},
      {"wasm-ruby", [](std::size_t runs) { return from_wasm_pool(runs, "ruby"); }},
      {"gvisor", [](std::size_t runs) { return started("gvisor", runs, true); }},
      {"microvm", [](std::size_t runs) { return started("microvm", runs, false); }}};
  const auto mode = argc > 1 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end() || (argc != 2 && argc != 4)) {
    std::fprintf(stderr,
                 "usage: context-loop pool|fork|cell|sustained|burst|living|checkpoint|"
                 "wasm[-javascript|-sql|-ruby]|gvisor|microvm [--runs N]\n");
    return 2;
  }
  const std::size_t runs = argc == 4 ? std::strtoul(argv[3], nullptr, 10) : 100;
  std::printf(R"({"mode":"%s","runs":%zu)", argv[1], runs);
  const auto done = mode->second(runs);
  if (!done) {
    std::printf("}\n");
    std::fprintf(stderr, "context-loop: %s\n", done.error().message().c_str());
    return 1;
  }
  std::printf("}\n");
  return 0;
}
