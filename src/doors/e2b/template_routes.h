// SPDX-License-Identifier: Apache-2.0
// Templates and snapshots, as far as the service has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/e2b/routes.h"
#include "service/api/template_service.h"

namespace glovebox::e2b {

class TemplateRoutes {
 public:
  explicit TemplateRoutes(SandboxService& service) : service_(service) {}

  void add_to(Routes& routes);

 private:
  Result<void> make_snapshot(ControlCall& call);
  Result<void> list_snapshots(ControlCall& call);
  Result<void> list_templates(ControlCall& call);
  Result<void> find_alias(ControlCall& call);
  Result<void> assign_tags(ControlCall& call);
  Result<void> remove_tags(ControlCall& call);
  Result<void> list_tags(ControlCall& call);
  Result<void> remove_template(ControlCall& call);

  // All templates of this name, whatever their tag; kNotFound if there are none.
  Result<std::vector<TemplateInfo>> tagged(const Caller& caller, const std::string& name);

  SandboxService& service_;
};

// The name of our template that holds a snapshot: it tells which sandbox was the origin, and the
// name that the client gave.
struct SnapshotName {
  std::string sandbox;
  std::string name;
  bool named = false;

  [[nodiscard]] std::string text() const;
  static std::optional<SnapshotName> parse(std::string_view text);
};

// What a client means by the name of a template: one of them, or a snapshot's own name.
Result<std::string> resolve_template(SandboxService& service,
                                     const Caller& caller,
                                     std::string_view wanted);

}  // namespace glovebox::e2b
