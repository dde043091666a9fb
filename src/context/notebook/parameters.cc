// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/parameters.h"

#include <algorithm>
#include <deque>

#include "base/json/json.h"
#include "base/shell_words.h"
#include "base/text.h"
#include "context/notebook/json_bounds.h"

namespace glovebox::notebook {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kInjected = "injected-parameters";
constexpr std::size_t kMaxParameterDepth = 50;
constexpr std::size_t kMaxParameterValues = 100'000;

// How one language writes values. Texts never contain anything but what the language's own string
// syntax yields: a value must not be able to become code.
class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;

  [[nodiscard]] virtual std::string assignment(const std::string& name, const Json& value) const {
    return name + " = " + this->value(value);
  }
  [[nodiscard]] std::string value(const Json& json) const {
    switch (json.type()) {
      case Json::value_t::boolean:
        return boolean(json.get<bool>());
      case Json::value_t::string:
        return text(json.get_ref<const std::string&>());
      case Json::value_t::number_integer:
      case Json::value_t::number_unsigned:
      case Json::value_t::number_float:
        return json.dump();
      case Json::value_t::array:
        return list(json);
      case Json::value_t::object:
        return object(json);
      default:
        return null();
    }
  }

 protected:
  [[nodiscard]] virtual std::string null() const = 0;
  [[nodiscard]] virtual std::string boolean(bool value) const { return value ? "true" : "false"; }
  // JSON's escapes are those of Python and JavaScript too, when everything beyond ASCII stays as it
  // is: surrogate pairs in escapes mean two characters to Python.
  [[nodiscard]] virtual std::string text(const std::string& value) const {
    return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  [[nodiscard]] virtual std::string list(const Json& json) const {
    return "[" + joined(json) + "]";
  }
  [[nodiscard]] virtual std::string object(const Json& json) const {
    return "{" + pairs(json, ": ") + "}";
  }

  [[nodiscard]] std::string joined(const Json& json) const {
    std::string text;
    for (const Json& entry : json) {
      text += (text.empty() ? "" : ", ") + value(entry);
    }
    return text;
  }
  [[nodiscard]] std::string pairs(const Json& json, const char* between) const {
    std::string all;
    for (const auto& [key, entry] : json.items()) {
      all += (all.empty() ? "" : ", ") + text(key) + between + value(entry);
    }
    return all;
  }
};

class PythonWriter final : public Writer {
  [[nodiscard]] std::string null() const override { return "None"; }
  [[nodiscard]] std::string boolean(bool value) const override { return value ? "True" : "False"; }
};

class JavaScriptWriter final : public Writer {
 public:
  // `var`, so that the cell can run again in a live context.
  [[nodiscard]] std::string assignment(const std::string& name, const Json& json) const override {
    return "var " + name + " = " + value(json) + ";";
  }

 private:
  [[nodiscard]] std::string null() const override { return "null"; }
};

class JuliaWriter final : public Writer {
  [[nodiscard]] std::string null() const override { return "nothing"; }
  // In Julia a dollar interpolates.
  [[nodiscard]] std::string text(const std::string& value) const override {
    std::string escaped;
    for (const char c : Writer::text(value)) {
      escaped += c == '$' ? "\\$" : std::string(1, c);
    }
    return escaped;
  }
  [[nodiscard]] std::string object(const Json& json) const override {
    return "Dict(" + pairs(json, " => ") + ")";
  }
};

class RWriter final : public Writer {
  [[nodiscard]] std::string null() const override { return "NULL"; }
  [[nodiscard]] std::string boolean(bool value) const override { return value ? "TRUE" : "FALSE"; }
  [[nodiscard]] std::string list(const Json& json) const override {
    const bool is_vector = !json.empty() && std::ranges::all_of(json, [&json](const Json& entry) {
      return (entry.is_number() && json.front().is_number()) ||
             (entry.is_string() && json.front().is_string()) ||
             (entry.is_boolean() && json.front().is_boolean());
    });
    return (is_vector ? "c(" : "list(") + joined(json) + ")";
  }
  [[nodiscard]] std::string object(const Json& json) const override {
    return "list(" + pairs(json, " = ") + ")";
  }
};

class BashWriter final : public Writer {
 public:
  [[nodiscard]] std::string assignment(const std::string& name, const Json& json) const override {
    return name + "=" + value(json);
  }

 private:
  [[nodiscard]] std::string null() const override { return "''"; }
  [[nodiscard]] std::string text(const std::string& value) const override {
    return shell_quoted(value);
  }
  [[nodiscard]] std::string list(const Json& json) const override {
    std::string words;
    for (const Json& entry : json) {
      words +=
          (words.empty() ? "" : " ") + (entry.is_structured() ? text(entry.dump()) : value(entry));
    }
    return "(" + words + ")";
  }
  [[nodiscard]] std::string object(const Json& json) const override { return text(json.dump()); }
};

const Writer* writer_for(std::string_view language) {
  static const PythonWriter kPython;
  static const RWriter kR;
  static const JuliaWriter kJulia;
  static const JavaScriptWriter kJavaScript;
  static const BashWriter kBash;
  if (language == "python" || language == "ipython") {
    return &kPython;
  }
  if (language == "r") {
    return &kR;
  }
  if (language == "julia") {
    return &kJulia;
  }
  if (language == "javascript" || language == "typescript") {
    return &kJavaScript;
  }
  return language == "bash" || language == "sh" ? &kBash : nullptr;
}

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Json parse_value(const std::string& text) {
  return check_json_bounds(text, kMaxParameterDepth, kMaxParameterValues)
             ? Json::parse(text, nullptr, false)
             : Json(Json::value_t::discarded);
}

}  // namespace

Result<Parameter> parse_parameter(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos || !is_name(argument.substr(0, equals))) {
    return Error(ErrorCode::kInvalid, "invalid parameter '" + printable(argument) + "'",
                 "use NAME=VALUE; a name consists of letters, digits and underscores");
  }
  const std::string value(argument.substr(equals + 1));
  if (!is_utf8(value)) {
    return Error(ErrorCode::kInvalid,
                 "the value of '" + printable(argument.substr(0, equals)) + "' is not valid UTF-8");
  }
  const Json json = parse_value(value);
  return Parameter(argument.substr(0, equals), (json.is_discarded() ? Json(value) : json).dump());
}

Result<std::string> render_parameters(std::string_view language,
                                      const std::vector<Parameter>& parameters) {
  const Writer* const writer = writer_for(language);
  if (writer == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 "parameters are not supported for '" + printable(language) + "'",
                 "use Python, R, Julia, JavaScript or Bash");
  }
  std::string code;
  for (const auto& [name, text] : parameters) {
    const Json value = parse_value(text);
    if (!is_name(name) || value.is_discarded()) {
      return Error(ErrorCode::kInvalid, "invalid parameter '" + printable(name) + "'",
                   "a name consists of letters, digits and underscores; a value is JSON");
    }
    code += writer->assignment(name, value) + "\n";
  }
  return code;
}

Result<void> inject_parameters(Notebook& notebook, const std::vector<Parameter>& parameters) {
  const std::string language = about(notebook).language;
  // Without any metadata Jupyter takes Python, too.
  std::string code = GB_TRY(render_parameters(language.empty() ? "python" : language, parameters));
  if (code.ends_with('\n')) {
    code.pop_back();
  }
  const char* const comment = language == "javascript" || language == "typescript" ? "//" : "#";
  Cell injected;
  injected.source = std::string(comment) + " Parameters\n" + code;
  injected.metadata = R"({"tags":["injected-parameters"]})";
  std::deque<Cell>& cells = notebook.cells;
  const auto old =
      std::ranges::find_if(cells, [](const Cell& cell) { return has_tag(cell, kInjected); });
  if (old != cells.end()) {
    *old = injected;
    return {};
  }
  const auto tagged =
      std::ranges::find_if(cells, [](const Cell& cell) { return has_tag(cell, "parameters"); });
  cells.insert(tagged == cells.end() ? cells.begin() : std::next(tagged), injected);
  return {};
}

}  // namespace glovebox::notebook
