// SPDX-License-Identifier: Apache-2.0
// Templates: building, looking at them, removing them.
#include "base/text.h"
#include "doors/rest/event_stream.h"
#include "doors/rest/routes.h"
#include "doors/rest/template_json.h"
#include "service/template_service.h"
#include "spec/json/error_json.h"
#include "spec/json/schema.h"

namespace glovebox::rest {
namespace {

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

EventFormat lines_or_events(const Call& call) {
  const EventFormat format = wanted_format(call);
  return format == EventFormat::kVerdict ? EventFormat::kLines : format;
}

BuildSink into(EventStream& stream) {
  return [&stream](const BuildEvent& event) {
    switch (event.kind) {
      case BuildEvent::Kind::kProgress:
        return stream.pass(to_line({{"type", "progress"},
                                    {"step", event.step},
                                    {"steps", event.steps},
                                    {"message", to_utf8(event.text)}}));
      case BuildEvent::Kind::kLog:
        return stream.pass(to_line({{"type", "log"}, {"text", to_utf8(event.text)}}));
      case BuildEvent::Kind::kIdle:
        break;
    }
    return stream.pass("");
  };
}

// What was wrong before anything began is a plain error; later it is the last event.
Result<void> finish(EventStream& stream, Result<TemplateBuilt> built) {
  if (built) {
    (void)stream.pass(to_line({{"schema", schema_of("template_build")},
                               {"template", to_json(built->info)},
                               {"cached", built->cached},
                               {"type", "built"}}));
    return stream.end({});
  }
  if (!stream.started()) {
    return stream.end(std::move(built).error());
  }
  (void)stream.pass(failed_event(built.error()));
  return stream.end({});
}

}  // namespace

Result<void> list_templates(Call& call) {
  Json templates = Json::array();
  for (const TemplateInfo& info : GB_TRY(call.service.template_service().list(call.caller))) {
    templates.push_back(to_json(info));
  }
  call.send_json(200, "templates", {{"templates", std::move(templates)}});
  return {};
}

Result<void> show_template(Call& call) {
  call.send_json(
      200, "template",
      to_json(GB_TRY(call.service.template_service().find(call.caller, call.parameters[0]))));
  return {};
}

Result<void> remove_template(Call& call) {
  GB_TRY(call.service.template_service().remove(call.caller, call.parameters[0]));
  call.send_nothing();
  return {};
}

Result<void> build_template(Call& call) {
  GB_TRY(call.only_parameters({}));
  Fields fields = GB_TRY(call.fields());
  const Recipe recipe = GB_TRY(read_recipe(fields));
  EventStream stream(call, lines_or_events(call));
  return finish(stream, call.service.template_service().build(call.caller, recipe, into(stream)));
}

Result<void> import_template(Call& call) {
  GB_TRY(call.only_parameters({"format"}));
  const ImageFormat format = GB_TRY(parse_image_format(call.parameter("format")));
  EventStream stream(call, lines_or_events(call));
  return finish(stream, call.service.template_service().import(
                            call.caller, call.parameters[0], format,
                            [&call](std::span<char> bytes) { return call.request.read(bytes); },
                            into(stream)));
}

}  // namespace glovebox::rest
