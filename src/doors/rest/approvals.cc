// SPDX-License-Identifier: Apache-2.0
// What waits until a person agrees to it.
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "guard/policy/assessment_json.h"

namespace glovebox::rest {
namespace {

Result<ApprovalDesk*> desk_of(const Call& call) {
  if (call.approvals == nullptr) {
    return Error(ErrorCode::kUnsupported, "this server has no policies");
  }
  return call.approvals;
}

Json to_json(const Approval& approval) {
  Json assessment = Json::parse(policy::to_json(approval.assessment));
  return {{"id", approval.id},
          {"sandbox", approval.sandbox.empty() ? Json() : Json(approval.sandbox)},
          {"kind", approval.kind},
          {"language", approval.language},
          {"code", approval.code},
          {"risk", approval.assessment.risk},
          {"findings", std::move(assessment["findings"])},
          {"grants", approval.grants},
          {"dry_run",
           approval.dry_run.empty() ? Json() : Json::parse(approval.dry_run, nullptr, false)},
          {"no_dry_run", approval.no_dry_run.empty() ? Json() : Json(approval.no_dry_run)},
          {"hash", approval.hash},
          {"asked", to_text(approval.asked)},
          {"expires", to_text(approval.expires)}};
}

}  // namespace

Result<void> list_approvals(Call& call) {
  Json list = Json::array();
  for (const Approval& each : GB_TRY(GB_TRY(desk_of(call))->waiting(call.caller))) {
    list.push_back(to_json(each));
  }
  call.send_json(200, "approvals", {{"approvals", std::move(list)}});
  return {};
}

Result<void> decide_approval(Call& call) {
  Fields fields = GB_TRY(call.fields());
  ApprovalReply reply;
  const auto decision = fields.choice("decision", {"allow", "refuse"});
  if (!decision) {
    fields.refuse("decision", "must be 'allow' or 'refuse'");
  }
  reply.agree = decision == "allow";
  reply.hash = fields.required_text("hash", 64);
  reply.remember = fields.flag("remember").value_or(false);
  GB_TRY(fields.done());
  GB_TRY(GB_TRY(desk_of(call))->decide(call.caller, call.parameters[0], reply));
  call.send_nothing();
  return {};
}

Result<void> answer_review(Call& call) {
  Fields fields = GB_TRY(call.fields());
  ReviewReply reply;
  const auto ok = fields.flag("ok");
  if (!ok) {
    fields.refuse("ok", "must be true or false");
  }
  reply.ok = ok.value_or(false);
  reply.reason = fields.text("reason").value_or("");
  GB_TRY(fields.done());
  GB_TRY(GB_TRY(desk_of(call))->review(call.caller, call.parameters[0], reply));
  call.send_nothing();
  return {};
}

}  // namespace glovebox::rest
