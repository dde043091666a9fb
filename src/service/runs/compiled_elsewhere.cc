// SPDX-License-Identifier: Apache-2.0
#include "service/runs/compiled_elsewhere.h"

#include <string>
#include <utility>
#include <vector>

#include "service/runs/one_run.h"

namespace glovebox {
namespace {

// The compilation of a program whose product is for another tier.
OneShot compilation_of(const OneShot& request) {
  OneShot compilation = request;
  compilation.language.tier.clear();
  compilation.tier = {.exactly = {}, .at_least = request.tier.at_least};
  compilation.deterministic = false;
  compilation.compile_only = true;
  compilation.checks = {};
  compilation.stdin_fd = -1;
  return compilation;
}

// The only file that a compilation has to give.
struct Product {
  std::string name;
  std::string bytes;
  OneShotResult compilation;  // If that has not ended with `ok`, there is no file.
};

Result<Product> make_product(const OneShot& compilation,
                             std::string name,
                             const OneShotObserver& observer) {
  OneRun run = GB_TRY(OneRun::begin(compilation, observer, GB_TRY(plan_run(compilation))));
  GB_TRY(run.put_in());
  (void)GB_TRY(run.compile());
  std::string bytes = GB_TRY(run.take_product(name));
  OneShotResult result = GB_TRY(std::move(run).end());
  return Product{.name = std::move(name),
                 .bytes = std::move(bytes),
                 .compilation = std::move(result)};
}

OneShot program_of(const OneShot& request, Product& product) {
  OneShot program = request;
  program.code = std::move(product.bytes);
  program.name.clear();
  program.language.naming = SourceNaming::kFixed;
  program.language.file_name = std::move(product.name);
  program.language.compile.clear();
  return program;
}

}  // namespace

Result<OneShotResult> run_compiled_elsewhere(const OneShot& request,
                                             const RunPlan& plan,
                                             const OneShotObserver& observer) {
  const OneShot compilation = compilation_of(request);
  if (request.compile_only) {
    return run_once(compilation, observer);
  }
  // What the language runs is what its compiler makes.
  const Command& run = plan.steps.run;
  Product product =
      GB_TRY(make_product(compilation, run.argv.front().substr(run.cwd.size() + 1), observer));
  Verdict& compiled = product.compilation.verdict;
  if (compiled.status != Status::kOk) {
    return std::move(product.compilation);
  }
  OneShotResult result = GB_TRY(run_once(program_of(request, product), observer));
  std::erase_if(compiled.timings, [](const Timing& each) { return each.step != "compile"; });
  result.verdict.timings.insert(result.verdict.timings.begin(), compiled.timings.begin(),
                                compiled.timings.end());
  result.verdict.notes.push_back("compiled in another sandbox, of the tier " + compiled.tier);
  return result;
}

}  // namespace glovebox
