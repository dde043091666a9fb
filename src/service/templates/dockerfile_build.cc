// SPDX-License-Identifier: Apache-2.0
#include "service/templates/dockerfile_build.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/digest/digest.h"
#include "base/random.h"
#include "base/text.h"
#include "service/dockerfile/parse.h"
#include "service/templates/build_sandbox.h"
#include "service/templates/dockerfile_copy.h"
#include "service/templates/dockerfile_image.h"
#include "service/templates/dockerfile_stage.h"
#include "service/templates/image_workspace.h"
#include "service/templates/registry_image.h"
#include "service/templates/workspace_step.h"
#include "spec/json/network_rules_json.h"

namespace glovebox {
namespace {

using dockerfile::at_line;
using dockerfile::Instruction;

// Changes whenever the same steps would come out differently.
constexpr std::uint64_t kDockerfileFormat = 1;
constexpr std::size_t kMaxDockerfile = 1UL << 20;

Error canceled() { return {ErrorCode::kUnavailable, "canceled"}; }

Error in_line(std::size_t line, Error error) {
  return error.code() == ErrorCode::kUnavailable
             ? std::move(error)
             : std::move(error).within("line " + std::to_string(line));
}

// The command that a step runs, with the variables of its stage.
Command command_of(const StageStep& step, bool as_root) {
  Command command{.argv = step.argv, .env = {}, .cwd = step.directory};
  if (as_root) {
    command.env = {{"HOME", "/root"}, {"USER", "root"}, {"LOGNAME", "root"}};
  }
  command.env.insert(command.env.end(), step.env.begin(), step.env.end());
  return command;
}

struct BuiltStage {
  std::string name;
  TemplateParts parts;
  std::string key;  // Of everything that led to it.
};

class Builder {
 public:
  Builder(const Recipe& recipe,
          const BuildNetwork& network,
          const ContentStore& store,
          BuildMonitor& monitor,
          const FindBase& find_base,
          ContentDraft scratch)
      : recipe_(recipe),
        network_(network),
        store_(store),
        monitor_(monitor),
        find_base_(find_base),
        scratch_(std::move(scratch)) {}

  Result<BuiltParts> run() {
    const dockerfile::Dockerfile file = GB_TRY(dockerfile::parse(GB_TRY(open_context())));
    std::size_t steps = file.stages.size();
    for (const dockerfile::Stage& stage : file.stages) {
      steps += stage.steps.size();
    }
    monitor_.expect(steps);
    if (!recipe_.dockerfile->use_cache) {
      nonce_ = random_bytes(16);
    }
    for (const dockerfile::Stage& stage : file.stages) {
      GB_TRY(build(file, stage));
    }
    built_.parts = std::move(stages_.back().parts);
    for (const auto& [own, wanted] : {std::pair(&built_.parts.start, &recipe_.start),
                                      std::pair(&built_.parts.ready, &recipe_.ready)}) {
      *own = wanted->empty() ? *own : *wanted;
    }
    built_.parts.limits = recipe_.limits.over(built_.parts.limits);
    const std::vector<std::string> kept = built_.parts.keys();
    std::erase_if(states_, [&kept](const std::string& key) {
      return std::ranges::find(kept, key) != kept.end();
    });
    built_.parts.cache = std::move(states_);
    return std::move(built_);
  }

 private:
  // Unpacks it in a sandbox of its own, where it is only files, and reads the Dockerfile.
  Result<std::string> open_context() {
    const auto& files = *recipe_.dockerfile;
    if (files.context.empty()) {
      return open_files();
    }
    const UniqueFd archive(::open(files.context.c_str(), O_RDONLY | O_CLOEXEC));
    if (!archive) {
      return Error::from_errno("open the build context");
    }
    context_ =
        GB_TRY(BuildSandbox::open({}, BuildGuest::kUser, {}, store_, scratch_.path(), monitor_));
    GB_TRY(context_->unpack(TemplateParts().home, archive.get()));
    // An archive says nothing reliable of its directories' times, which must not count.
    const RunOutcome outcome = GB_TRY(
        context_->run({.argv = {"find", ".", "-type", "d", "-exec", "touch", "-d", "@0", "{}", "+"},
                       .env = {},
                       .cwd = {}}));
    if (outcome.status != Status::kOk) {
      return Error(ErrorCode::kInternal, "cannot prepare the build context");
    }
    FileClient client = GB_TRY(context_->files());
    auto opened = client.open(files.path);
    if (!opened) {
      return Error(ErrorCode::kInvalid,
                   "cannot read '" + printable(files.path) +
                       "' in the build context: " + opened.error().message(),
                   "name the Dockerfile with -f, or 'dockerfile' over HTTP");
    }
    if (opened->entry.size > kMaxDockerfile) {
      return Error(ErrorCode::kInvalid, "the Dockerfile is larger than 1 MiB");
    }
    std::string text;
    (void)GB_TRY(client.read(*opened, 0, kMaxDockerfile + 1, [&text](std::string_view bytes) {
      text += bytes;
      return Result<void>();
    }));
    if (files.path == kSentAside) {
      GB_TRY(client.remove(files.path));
    }
    return text;
  }

  // Likewise for files that came one by one.
  Result<std::string> open_files() {
    context_ =
        GB_TRY(BuildSandbox::open({}, BuildGuest::kUser, {}, store_, scratch_.path(), monitor_));
    for (const DockerfileBuild::File& file : recipe_.dockerfile->files) {
      const UniqueFd content(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!content) {
        return Error::from_errno("open a file of the build");
      }
      GB_TRY(context_->write(TemplateParts().home + "/" + file.name, 0644, content.get()));
    }
    return recipe_.dockerfile->text;
  }

  Result<void> hold(const TemplateParts& parts) {
    for (const std::string& key : parts.keys()) {
      auto held = store_.find(key);
      if (!held) {
        return Error(ErrorCode::kNotFound, "the base's files were removed in the meantime");
      }
      built_.held.push_back(*std::move(held));
    }
    return {};
  }

  // An image in the context; an earlier stage, by its name or number; a template; otherwise an
  // image of a registry.
  Result<BuiltStage> find_source(const std::string& name) {
    if (const auto known = images_.find(name); known != images_.end()) {
      return known->second;
    }
    if (const auto image = image_in_context(name)) {
      return take_image(name, GB_TRY(root_from_context(*context_, *image, store_, monitor_)));
    }
    std::string stage = name;
    std::ranges::transform(stage, stage.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].name == stage || std::to_string(i) == name) {
        return stages_[i];
      }
    }
    if (name == "scratch") {
      return Error(ErrorCode::kUnsupported, "'scratch' has no files, and a template needs a root",
                   "begin with a template, for example: FROM default");
    }
    // No template has such a name.
    const bool of_registry = name.find_first_of("/:") != std::string::npos;
    auto parts = of_registry ? Error(ErrorCode::kNotFound, {}) : find_base_(name);
    if (parts || parts.error().code() != ErrorCode::kNotFound) {
      return begin_with(GB_TRY(std::move(parts)));
    }
    auto image = parse_registry_image(name);
    if (!of_registry && (!image || !lets_out(network_.rules))) {
      return Error(ErrorCode::kNotFound,
                   "no template is called '" + printable(name.substr(0, 200)) + "'",
                   "an image of a registry is pulled if its host is allowed with --allow-net; "
                   "of one that is a file: FROM docker-archive:image.tar");
    }
    if (image) {
      image->login = recipe_.login;
    }
    return take_image(name, GB_TRY(root_from_registry(GB_TRY(std::move(image)), network_, store_,
                                                      scratch_.path(), monitor_)));
  }

  Result<BuiltStage> begin_with(TemplateParts parts) {
    GB_TRY(hold(parts));
    ContentHash hash;
    hash.add("template").add(parts.home).add(parts.user);
    for (const std::string& key : parts.keys()) {
      hash.add(key);
    }
    for (const auto& [variable, value] : parts.env) {
      hash.add(variable).add(value);
    }
    parts.cache.clear();
    return BuiltStage{.name = {}, .parts = std::move(parts), .key = hash.hex()};
  }

  // Its root is kept for later builds, like the state after a step.
  Result<BuiltStage> take_image(const std::string& name, RootContent root) {
    TemplateParts parts;
    parts.home = recipe_.home.empty() ? parts.home : recipe_.home;
    parts.user = recipe_.user.empty() ? parts.user : recipe_.user;
    parts.root = root.content.key();
    parts.env = std::move(root.env);
    if (recipe_.home.empty()) {
      parts.home = home_of(root.config).value_or(parts.home);
    }
    parts.image = with_usable_directory(std::move(root.config), root.content, parts.home, monitor_);
    built_.cached = built_.cached && root.cached;
    states_.push_back(parts.root);
    if (const auto files = GB_TRY(workspace_of_root(root.content, parts.home, store_, monitor_))) {
      parts.files = files->content.key();
      states_.push_back(parts.files);
    }
    return images_.emplace(name, GB_TRY(begin_with(std::move(parts)))).first->second;
  }

  Result<void> build(const dockerfile::Dockerfile& file, const dockerfile::Stage& stage) {
    const std::string image = GB_TRY(image_of(file, stage, recipe_.dockerfile->args));
    auto base = find_source(image);
    if (!base) {
      return in_line(stage.from.line, std::move(base).error());
    }
    StagePlan plan = GB_TRY(plan_stage(file, stage, base->parts, recipe_.dockerfile->args));
    monitor_.progress(stage.from.title);
    // The states after each step.
    std::vector<std::string> keys;
    std::string key =
        ContentHash().add("dockerfile").add(kDockerfileFormat).add(nonce_).add(base->key).hex();
    for (StageStep& step : plan.steps) {
      auto next = key_after(key, step);
      if (!next) {
        return in_line(step.line, std::move(next).error());
      }
      keys.push_back(key = *std::move(next));
    }
    BuiltStage made{.name = stage.name, .parts = base->parts, .key = key};
    const std::size_t first = resume(plan, keys, made.parts);
    GB_TRY(execute(plan, keys, first, made.parts));
    made.parts.env = std::move(plan.env);
    made.parts.start = std::move(plan.start);
    made.parts.user = std::move(plan.user);
    made.parts.image = std::move(plan.image);
    stages_.push_back(std::move(made));
    return {};
  }

  Result<std::string> key_after(const std::string& before, StageStep& step) {
    ContentHash hash;
    hash.add(before).add(static_cast<std::uint64_t>(step.kind)).add(step.directory);
    for (const auto* const words : {&step.argv, &step.sources}) {
      hash.add(words->size());
      for (const std::string& word : *words) {
        hash.add(word);
      }
    }
    hash.add(step.target).add(step.env.size());
    for (const auto& [name, value] : step.env) {
      hash.add(name).add(value);
    }
    hash.add(step.content ? 1U : 0U)
        .add(step.content.value_or(""))
        .add(step.content_name)
        .add(step.unpacks ? 1U : 0U);
    if (step.kind == StageStep::Kind::kRun && lets_out(network_.rules)) {
      hash.add("network").add(to_json(network_.rules));
    }
    if (step.kind == StageStep::Kind::kCopy && !step.from.empty()) {
      hash.add(GB_TRY(find_source(step.from)).key);
    } else if (step.kind == StageStep::Kind::kCopy && !step.sources.empty()) {
      const auto items = GB_TRY(collect(*context_, request_of(step)));
      hash.add(GB_TRY(hash_of(items)));
    }
    return hash.hex();
  }

  static CopyRequest request_of(const StageStep& step) {
    return {.sources = step.sources,
            .top = step.from.empty() ? TemplateParts().home : "/",
            .unpacks = step.unpacks};
  }

  static std::string root_key(const std::string& state) {
    return ContentHash().add(state).add("root").hex();
  }
  static std::string files_key(const std::string& state) {
    return ContentHash().add(state).add("files").hex();
  }

  // How many steps need not be executed. Fills in what they have made, and also keeps the states
  // before that.
  std::size_t resume(const StagePlan& plan,
                     const std::vector<std::string>& keys,
                     TemplateParts& parts) {
    std::size_t done = 0;
    for (std::size_t count = 1; count <= keys.size(); ++count) {
      auto files = store_.find(files_key(keys[count - 1]));
      auto root = plan.own_root ? store_.find(root_key(keys[count - 1])) : std::nullopt;
      if (files && (root || !plan.own_root)) {
        use(parts, root, *std::move(files));
        done = count;
      }
    }
    return done;
  }

  void use(TemplateParts& parts, std::optional<Content>& root, Content files) {
    if (root) {
      parts.root = root->key();
      states_.push_back(root->key());
      built_.held.push_back(*std::move(root));
    }
    parts.files = files.key();
    states_.push_back(files.key());
    built_.held.push_back(std::move(files));
  }

  Result<void> execute(const StagePlan& plan,
                       const std::vector<std::string>& keys,
                       std::size_t first,
                       TemplateParts& parts) {
    std::optional<BuildSandbox> sandbox;
    bool changed = false;  // Since the last state that was saved.
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const StageStep& step = plan.steps[i];
      if (!monitor_.wanted()) {
        return canceled();
      }
      const bool works = step.kind != StageStep::Kind::kSetting;
      monitor_.progress(step.title + (works && i < first ? " (cached)" : ""));
      if (!step.note.empty()) {
        monitor_.log("line " + std::to_string(step.line) + ": " + step.note + "\n");
      }
      if (!works || i < first) {
        continue;
      }
      if (!sandbox) {
        sandbox =
            GB_TRY(BuildSandbox::open(parts, plan.own_root ? BuildGuest::kRoot : BuildGuest::kUser,
                                      network_, store_, scratch_.path(), monitor_));
      }
      built_.cached = false;
      changed = true;
      if (auto done = carry_out(step, plan, *sandbox); !done) {
        return in_line(step.line, std::move(done).error());
      }
      if (step.kind == StageStep::Kind::kRun) {
        GB_TRY(save(plan, keys[i], *sandbox, parts));
        changed = false;
      }
    }
    return changed ? save(plan, keys.back(), *sandbox, parts) : Result<void>();
  }

  Result<void> carry_out(const StageStep& step, const StagePlan& plan, BuildSandbox& sandbox) {
    switch (step.kind) {
      case StageStep::Kind::kSetting:
        return {};
      case StageStep::Kind::kRun:
        return run_command(step, plan, sandbox);
      case StageStep::Kind::kDirectory: {
        FileClient client = GB_TRY(sandbox.files());
        const auto made = client.make_directory(step.target);
        return made || made.error().code() == ErrorCode::kConflict ? Result<void>()
                                                                   : Result<void>(made.error());
      }
      case StageStep::Kind::kCopy:
        return copy(step, sandbox);
    }
    return {};
  }

  static Result<void> run_command(const StageStep& step,
                                  const StagePlan& plan,
                                  BuildSandbox& sandbox) {
    const RunOutcome outcome = GB_TRY(sandbox.run(command_of(step, plan.own_root)));
    if (outcome.status == Status::kOk) {
      return {};
    }
    std::string hint = sandbox.end_network();
    if (!plan.own_root) {
      hint += std::string(hint.empty() ? "" : "; ") +
              "on this base only the workspace and /tmp are writable";
    }
    return command_failed(step.argv.back(), outcome, std::move(hint));
  }

  Result<void> copy(const StageStep& step, BuildSandbox& sandbox) {
    std::vector<CopiedItem> items;
    if (!step.from.empty()) {
      const BuiltStage source = GB_TRY(find_source(step.from));
      BuildSandbox opened = GB_TRY(BuildSandbox::open(source.parts, BuildGuest::kUser, {}, store_,
                                                      scratch_.path(), monitor_));
      items = GB_TRY(collect(opened, request_of(step)));
    } else if (!step.sources.empty()) {
      items = GB_TRY(collect(*context_, request_of(step)));
    }
    if (step.content) {
      FileClient client = GB_TRY(sandbox.files());
      std::string_view rest = *step.content;
      const std::string path =
          step.target.ends_with('/') ? step.target + step.content_name : step.target;
      (void)GB_TRY(client.write(path, {}, [&rest](std::span<char> into) -> Result<std::size_t> {
        const std::size_t size = std::min(into.size(), rest.size());
        std::copy_n(rest.begin(), size, into.begin());
        rest.remove_prefix(size);
        return size;
      }));
    }
    return place(sandbox, items, step.target);
  }

  Result<void> save(const StagePlan& plan,
                    const std::string& state,
                    BuildSandbox& sandbox,
                    TemplateParts& parts) {
    std::optional<Content> root;
    if (plan.own_root) {
      ContentDraft draft = GB_TRY(store_.begin());
      GB_TRY(sandbox.save_root(store_.path_of(parts.root) + "/root", draft.path() + "/root"));
      root = GB_TRY(store_.commit(std::move(draft), root_key(state)));
    }
    ContentDraft draft = GB_TRY(store_.begin());
    GB_TRY(sandbox.save_workspace(draft.path() + "/home.tar"));
    use(parts, root, GB_TRY(store_.commit(std::move(draft), files_key(state))));
    return {};
  }

  const Recipe& recipe_;
  const BuildNetwork& network_;
  const ContentStore& store_;
  BuildMonitor& monitor_;
  const FindBase& find_base_;
  const ContentDraft scratch_;
  std::string nonce_;
  std::optional<BuildSandbox> context_;
  std::vector<BuiltStage> stages_;
  std::map<std::string, BuiltStage> images_;  // By what the Dockerfile calls them.
  std::vector<std::string> states_;
  BuiltParts built_;
};

}  // namespace

Result<BuiltParts> build_dockerfile(const Recipe& recipe,
                                    const BuildNetwork& network,
                                    const ContentStore& store,
                                    BuildMonitor& monitor,
                                    const FindBase& find_base) {
  return Builder(recipe, network, store, monitor, find_base, GB_TRY(store.begin())).run();
}

}  // namespace glovebox
