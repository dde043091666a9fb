// SPDX-License-Identifier: Apache-2.0
// For tests: templates that are only remembered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/api/template_service.h"

namespace glovebox::rest {

// "default" is there, and "mine" can be removed.
class FakeTemplates final : public TemplateService {
 public:
  Recipe built;
  std::string imported;

  Result<TemplateBuilt> build(const Caller&, const Recipe& recipe, const BuildSink& sink) override {
    built = recipe;
    if (!sink({.kind = BuildEvent::Kind::kProgress, .step = 1, .steps = 2, .text = "begin"}) ||
        !sink({.kind = BuildEvent::Kind::kLog, .text = "said"})) {
      return Error(ErrorCode::kUnavailable, "canceled");
    }
    if (recipe.start == "fail") {
      return Error(ErrorCode::kInvalid, "it does not work", "so leave it");
    }
    return TemplateBuilt{.info = info(recipe.name), .cached = false};
  }
  Result<TemplateBuilt> import(const Caller&,
                               const std::string& name,
                               ImageFormat,
                               const FileClient::Source& source,
                               const BuildSink&) override {
    std::vector<char> buffer(4096);
    for (std::size_t got = 1; got > 0;) {
      got = GB_TRY(source(buffer));
      imported.append(buffer.data(), got);
    }
    return TemplateBuilt{.info = info(name), .cached = true};
  }
  // What "default" is: "an archive".
  Result<void> export_archive(const Caller&,
                              const std::string& name,
                              const ArchiveSink& sink) override {
    constexpr std::string_view kArchive = "an archive";
    if (name != "default") {
      return Error(ErrorCode::kNotFound, "no such template");
    }
    return sink.take({}) && sink.begin(kArchive.size()) && sink.take(kArchive)
               ? Result<void>()
               : Error(ErrorCode::kUnavailable, "canceled");
  }
  Result<TemplateInfo> find(const Caller&, std::string_view name) override {
    return name == "default" || name == "mine" ? Result<TemplateInfo>(info(std::string(name)))
                                               : Error(ErrorCode::kNotFound, "no such template");
  }
  Result<std::vector<TemplateInfo>> list(const Caller&) override {
    return std::vector{info("default")};
  }
  Result<TemplateInfo> tag(const Caller& caller,
                           std::string_view name,
                           const std::vector<std::string>&) override {
    return find(caller, name);
  }
  Result<void> remove(const Caller&, std::string_view name) override {
    return name == "mine" ? Result<void>() : Error(ErrorCode::kConflict, "it is ours");
  }
  Result<std::shared_ptr<const UniqueFd>> keep_files(const Caller&,
                                                     const FileClient::Source&) override {
    return std::make_shared<const UniqueFd>();
  }
  Result<void> keep_upload(const Caller&, const std::string&, const FileClient::Source&) override {
    return {};
  }
  Result<UniqueFd> open_upload(const Caller&, const std::string&) override { return UniqueFd(); }
  Result<void> keep_build(const Caller&, const BuildState&) override { return {}; }
  Result<BuildState> find_build(const Caller&, std::string_view) override {
    return Error(ErrorCode::kNotFound, "no such build");
  }

 private:
  static TemplateInfo info(const std::string& name) {
    TemplateInfo info;
    info.name = name;
    info.source = "recipe";
    return info;
  }
};

}  // namespace glovebox::rest
