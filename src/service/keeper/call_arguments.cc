// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/call_arguments.h"

#include <chrono>
#include <utility>

#include "base/json/json.h"
#include "service/keeper/codec.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long a question about code waits for its turn.
constexpr auto kQuestionTurn = 5s;

}  // namespace

std::string text_in(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_in(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

const json& object_in(const json& arguments, const char* name) {
  static const json kNone = json::object();
  const auto found = arguments.find(name);
  return found != arguments.end() ? *found : kNone;
}

Result<CreateOrder> order_in(const json& arguments, const CallContext& context) {
  return context.keeper.paths().resolve(to_create_order(object_in(arguments, "order")));
}

Result<std::shared_ptr<HeldSandbox>> sandbox_in(const json& arguments, const CallContext& context) {
  return context.keeper.find(text_in(arguments, "sandbox"));
}

Result<Inside<HeldContext>> context_in(const json& arguments, const CallContext& context) {
  auto held = GB_TRY(sandbox_in(arguments, context));
  auto inner = GB_TRY(held->context(context.keeper.registry(), text_in(arguments, "context")));
  return Inside<HeldContext>{std::move(held), std::move(inner)};
}

Result<Inside<HeldProcess>> process_in(const json& arguments, const CallContext& context) {
  auto held = GB_TRY(sandbox_in(arguments, context));
  auto inner = GB_TRY(held->process(static_cast<std::uint32_t>(number_in(arguments, "pid"))));
  return Inside<HeldProcess>{std::move(held), std::move(inner)};
}

Patience turn_patience(const CallContext& context) {
  Patience patience{.wanted = context.listens};
  if (context.terms.patience) {
    patience.deadline = Clock::now() + *context.terms.patience / 3;
  }
  return patience;
}

Patience question_patience(const CallContext& context) {
  return {.deadline = Clock::now() + kQuestionTurn, .wanted = context.listens};
}

}  // namespace glovebox::keeper
