// SPDX-License-Identifier: Apache-2.0
#include "service/runs/live_session.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "context/agent_files.h"

namespace glovebox {
namespace {

// Those directories of Jupyter's search path that a sandbox shows.
constexpr std::array<std::string_view, 2> kKernelDirectories = {"/usr/local/share/jupyter/kernels",
                                                                "/usr/share/jupyter/kernels"};

// Values up to this size come with their results. No notebook would keep larger ones.
constexpr const char* kInlineBytes = "16777216";

bool is_kernel_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

bool is_installed(const std::string& kernel) {
  return std::ranges::any_of(kKernelDirectories, [&kernel](std::string_view directory) {
    const std::string file = std::string(directory) + "/" + kernel + "/kernel.json";
    return ::access(file.c_str(), R_OK) == 0;
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

// A kernel as if a language file described it. What kernels of all languages read in /etc is shown
// if it is there.
Result<Language> kernel_language(std::string_view name) {
  if (!is_kernel_name(name)) {
    return Error(ErrorCode::kInvalid, "invalid Jupyter kernel name '" + printable(name) + "'",
                 "for example: jupyter:python3");
  }
  if (!is_installed(std::string(name))) {
    const std::vector<std::string> known = installed_kernels();
    return Error(ErrorCode::kNotFound,
                 "Jupyter kernel '" + std::string(name) + "' is not installed",
                 known.empty() ? "install a kernel below /usr, for example with 'apt-get install "
                                 "python3-ipykernel'"
                               : "installed kernels: " + joined(known));
  }
  Language language;
  language.id = std::string(kJupyterPrefix) + std::string(name);
  language.title = "Jupyter kernel " + std::string(name);
  language.agent = {"{agents}/jupyter/glovebox-jupyter-agent", "--kernel", std::string(name)};
  language.env = {{"OPENBLAS_NUM_THREADS", "{cpus}"},
                  {"OMP_NUM_THREADS", "{cpus}"},
                  {"MPLCONFIGDIR", "/tmp/matplotlib"}};
  for (const char* const path :
       {"/etc/jupyter", "/etc/ipython", "/etc/python3", "/etc/python3.11", "/etc/python3.13",
        "/etc/matplotlibrc", "/etc/fonts", "/etc/R", "/etc/julia", "/etc/alternatives"}) {
    language.mounts.push_back({.source = path, .target = path, .optional = true});
  }
  return language;
}

// What a sandbox must show to keep the language alive: not its compilers, but the interpreter of
// its agent.
Readiness live_readiness(Language language) {
  if (!language.agent.front().starts_with("{agents}")) {
    language.needs.push_back(language.agent.front());
  }
  return readiness(language);
}

bool is_live_in(const Language& language, std::string_view tier) {
  const Language there = in_tier(language, tier);
  return there.tier == tier && !there.agent.empty();
}

Result<Language> find_language_of_tier(const Registry& registry,
                                       std::string_view name,
                                       std::string_view tier) {
  if (!name.starts_with(kJupyterPrefix)) {
    const Language language = GB_TRY(registry.find(name));
    if (is_live_in(language, tier)) {
      return in_tier(language, tier);
    }
  }
  std::vector<std::string> known;
  for (const Language& each : registry.all()) {
    if (is_live_in(each, tier)) {
      known.push_back(each.id);
    }
  }
  return Error(
      ErrorCode::kUnsupported,
      "the " + std::string(tier) + " tier has no live interpreter for '" + printable(name) + "'",
      "use one of: " + joined(known) + "; or the native tier");
}

Error explain_start(Error error, const Language& language) {
  if (error.code() != ErrorCode::kUnavailable || !error.hint().empty()) {
    return error;
  }
  const std::string package = language.agent_package.empty()
                                  ? std::string()
                                  : " and that " + language.agent_package + " is installed";
  return std::move(error).with_hint("check that 'glovebox run -l " + language.id + "' works" +
                                    package + "; if so, raise --memory or --pids");
}

}  // namespace

std::vector<std::string> installed_kernels() {
  std::vector<std::string> names;
  for (const std::string_view directory : kKernelDirectories) {
    DIR* const entries = ::opendir(std::string(directory).c_str());
    if (entries == nullptr) {
      continue;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
    while (const dirent* const entry = ::readdir(entries)) {
      if (is_kernel_name(entry->d_name) && is_installed(entry->d_name)) {
        names.emplace_back(entry->d_name);
      }
    }
    (void)::closedir(entries);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Result<Language> find_live_language(const Registry& registry,
                                    std::string_view name,
                                    const TierWish& tier) {
  if (first_choice_can(tier, &TierTraits::forks_own_interpreters)) {
    return find_language_of_tier(registry, name, GB_TRY(candidate_tiers(tier)).front()->name());
  }
  if (name.starts_with(kJupyterPrefix)) {
    return kernel_language(name.substr(kJupyterPrefix.size()));
  }
  Language language = GB_TRY(registry.find(name));
  if (language.agent.empty()) {
    return Error(ErrorCode::kUnsupported, language.title + " has no interactive interpreter",
                 "run whole programs with 'glovebox run -l " + language.id +
                     "', or use a Jupyter kernel: jupyter:NAME");
  }
  if (const Readiness ready = live_readiness(language); !ready.ready) {
    return Error(ErrorCode::kUnsupported,
                 language.title + " is not installed: " + ready.missing + " is missing",
                 ready.hint);
  }
  return language;
}

Result<ZygoteSpec> zygote_for(const Language& language, const TierWish& tier) {
  // It starts in the directory of the agents.
  return zygote_of_tier(tier, make_agent_command(language, ".", {}).argv);
}

Result<std::unique_ptr<LiveSession>> LiveSession::open(LiveSpec spec, int cancel_fd) {
  GB_TRY(validate(spec.limits));
  std::unique_ptr<LiveSession> session(new LiveSession(std::move(spec)));
  const PackageWish& wish = session->spec_.packages;
  session->installed_ = GB_TRY(install_packages_for(wish, {}, cancel_fd));
  session->offered_ = GB_TRY(offer_packages(wish.sources, wish.indexes));
  GB_TRY(session->open_sandbox());
  GB_TRY(session->start_context());
  return session;
}

Result<void> LiveSession::open_sandbox() {
  SandboxSpec spec{.limits = spec_.limits,
                   .env = spec_.env,
                   .mounts = spec_.language.mounts,
                   .live = true};
  spec.mounts.push_back(GB_TRY(agents_mount()));
  installed_.add_to(spec);
  offered_.add_to(spec);
  EdgeCredentials credentials;
  if (spec_.network) {
    credentials = GB_TRY(EdgeCredentials::make(spec_.network->credentials, spec_.secrets));
    Egress::prepare(spec, credentials);
  }
  egress_.reset();
  if (first_choice_can(spec_.tier, &TierTraits::forks_own_interpreters)) {
    zygote_ = GB_TRY(Zygote::start(GB_TRY(zygote_for(spec_.language, spec_.tier))));
    spec.within = &zygote_->realm();
  }
  auto sandbox = Sandbox::create(spec, spec_.tier);
  if (!sandbox) {
    // A caller of a session names nothing that a sandbox is made of.
    return sandbox.error().code() == ErrorCode::kNotFound
               ? Error(ErrorCode::kUnsupported, sandbox.error().message(), sandbox.error().hint())
               : std::move(sandbox).error();
  }
  sandbox_ = std::move(sandbox).value();
  if (spec_.network) {
    egress_ = GB_TRY(Egress::start(*sandbox_, *spec_.network, credentials, {}));
  }
  relay_ = GB_TRY(start_index_relay(*sandbox_, spec_.packages.indexes));
  if (!spec_.files.empty()) {
    GB_TRY(copy_in(*sandbox_, spec_.files));
  }
  return sandbox_->mark();
}

Result<void> LiveSession::start_context() {
  if (zygote_) {
    context_ = GB_TRY(Context::fork(
        *sandbox_, *zygote_, {.language = spec_.language.id, .agent = {}, .env = {}, .cwd = {}}));
    return {};
  }
  const std::string agents =
      sandbox_->features().own_root ? std::string(kAgentsTarget) : GB_TRY(agents_directory());
  Command command = make_agent_command(spec_.language, agents, spec_.limits);
  command.env.emplace_back("GLOVEBOX_INLINE", kInlineBytes);
  // What the caller set overrides the language's own.
  std::erase_if(command.env, [this](const auto& variable) {
    return std::ranges::any_of(spec_.env,
                               [&](const auto& own) { return own.first == variable.first; });
  });
  if (!sandbox_->features().own_root) {
    const Environment seen = offered_.outside(installed_.outside(spec_.env));
    command.env.insert(command.env.end(), seen.begin(), seen.end());
  }
  auto context = Context::start(*sandbox_, {.language = spec_.language.id,
                                            .agent = std::move(command.argv),
                                            .env = std::move(command.env),
                                            .cwd = {}});
  if (!context) {
    return explain_start(std::move(context).error(), spec_.language);
  }
  context_ = std::move(context).value();
  if (spec_.language.id.starts_with(kJupyterPrefix)) {
    // What a kernel says about itself while it starts is not output of the first cell.
    (void)context_->execute(
        {.code = "", .limits = spec_.limits, .silent = true, .store_history = false});
  }
  return {};
}

Result<Execution> LiveSession::execute(const ExecuteOptions& options) {
  if (!alive()) {
    return Error(ErrorCode::kConflict, "the interpreter has ended", "restart it");
  }
  return context_->execute(options);
}

Result<LiveSession::Restarted> LiveSession::restart() {
  context_.reset();
  const bool kept = sandbox_ && sandbox_->alive();
  if (!kept) {
    sandbox_.reset();
    zygote_.reset();
    GB_TRY(open_sandbox());
  }
  GB_TRY(start_context());
  return kept ? Restarted::kInterpreter : Restarted::kSandbox;
}

Result<void> LiveSession::end() {
  context_.reset();
  return sandbox_ ? sandbox_->end() : Result<void>();
}

}  // namespace glovebox
