// SPDX-License-Identifier: Apache-2.0
// Templates: building, looking at them, removing them.
#include "base/text.h"
#include "doors/rest/archive_answer.h"
#include "doors/rest/event_stream.h"
#include "doors/rest/routes.h"
#include "doors/rest/template_json.h"
#include "service/api/template_service.h"
#include "spec/json/bounded_json.h"
#include "spec/json/error_json.h"
#include "spec/json/network_rules_json.h"
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

namespace {

// Of names and texts, in JSON.
Result<Environment> build_arguments(const std::string& text) {
  Environment args;
  if (text.empty()) {
    return args;
  }
  const auto object = parse_json(text, {.values = 1'000, .depth = 2});
  bool valid = object && object->is_object();
  const Json values = valid ? *object : Json::object();
  for (const auto& [name, value] : values.items()) {
    valid = valid && value.is_string();
    args.emplace_back(name, value.is_string() ? value.get<std::string>() : std::string());
  }
  return valid ? Result<Environment>(std::move(args))
               : Error(ErrorCode::kInvalid, "'build_args': expected a JSON object of strings",
                       R"(for example {"VERSION": "1"}, percent-encoded)");
}

Result<Recipe> recipe_of_dockerfile(const Call& call) {
  Recipe recipe;
  recipe.name = call.parameters[0];
  recipe.dockerfile.emplace();
  if (const std::string path = call.parameter("dockerfile"); !path.empty()) {
    recipe.dockerfile->path = path;
  }
  recipe.dockerfile->args = GB_TRY(build_arguments(call.parameter("build_args")));
  const std::string cache = call.parameter("cache");
  if (!cache.empty() && cache != "true" && cache != "false") {
    return Error(ErrorCode::kInvalid, "'cache' must be true or false");
  }
  recipe.dockerfile->use_cache = cache != "false";
  if (const std::string network = call.parameter("network"); !network.empty()) {
    recipe.network = GB_TRY(parse_network_rules(network));
  }
  GB_TRY(validate(recipe));
  return recipe;
}

Result<void> build_from_dockerfile(Call& call) {
  GB_TRY(call.only_parameters({"format", "dockerfile", "build_args", "cache", "network"}));
  Recipe recipe = GB_TRY(recipe_of_dockerfile(call));
  TemplateService& templates = call.service.template_service();
  const auto context = GB_TRY(templates.keep_files(
      call.caller, [&call](std::span<char> bytes) { return call.request.read(bytes); }));
  recipe.dockerfile->context = "/proc/self/fd/" + std::to_string(context->get());
  EventStream stream(call, lines_or_events(call));
  return finish(stream, templates.build(call.caller, recipe, into(stream)));
}

}  // namespace

Result<void> import_template(Call& call) {
  if (call.parameter("format") == "dockerfile") {
    return build_from_dockerfile(call);
  }
  GB_TRY(call.only_parameters({"format"}));
  const ImageFormat format = GB_TRY(parse_image_format(call.parameter("format")));
  EventStream stream(call, lines_or_events(call));
  return finish(stream, call.service.template_service().import(
                            call.caller, call.parameters[0], format,
                            [&call](std::span<char> bytes) { return call.request.read(bytes); },
                            into(stream)));
}

Result<void> export_template(Call& call) {
  GB_TRY(call.only_parameters({"format"}));
  if (call.parameter("format") != "oci") {
    return Error(ErrorCode::kInvalid, "'format' must be oci",
                 "add ?format=oci to the URL: templates are exported as OCI image layouts");
  }
  return send_archive(call, "application/x-tar", [&call](const ArchiveSink& sink) {
    return call.service.template_service().export_archive(call.caller, call.parameters[0], sink);
  });
}

}  // namespace glovebox::rest
