// SPDX-License-Identifier: Apache-2.0
// A tool of the build: turns language files into the table of language/builtin.h.
//
//   gb_embed_languages OUTPUT.cc FILE.toml...
//
// It reads them with the parser of the program itself, so a bad file, or one that claims what
// another file has, fails the build and not a user's run.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "language/language.h"
#include "language/suggest.h"

namespace {

using glovebox::Language;

struct Source {
  std::string file;
  std::string text;
  Language language;
};

// A C++ literal, one line of it for each line of the text.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n\"\n    \"";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < ' ' || byte >= 0x7f) {
      // Always three octal digits, so that a digit after them stays a digit.
      out += '\\';
      out += static_cast<char>('0' + (byte >> 6));
      out += static_cast<char>('0' + ((byte >> 3) & 7));
      out += static_cast<char>('0' + (byte & 7));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list(const std::vector<std::string>& values, const std::string& name) {
  if (values.empty()) {
    return {};
  }
  std::string out = "constexpr std::string_view " + name + "[] = {";
  for (const std::string& value : values) {
    out += literal(value) + ", ";
  }
  return out + "};\n";
}

std::string reference(const std::vector<std::string>& values, const std::string& name) {
  return values.empty() ? "{}" : name;
}

// Two languages must not claim the same name; what they share would go to the one that happens to
// come first.
bool claims_are_unique(const std::vector<Source>& sources) {
  std::map<std::string, std::string> owners;
  bool unique = true;
  const auto claim = [&](const std::string& what, const Source& source) {
    const auto [owner, is_new] = owners.emplace(what, source.file);
    if (!is_new) {
      std::cerr << source.file << ":1:1: " << what << " belongs to " << owner->second << '\n';
      unique = false;
    }
  };
  for (const Source& source : sources) {
    claim("name " + source.language.id, source);
    for (const std::string& name : source.language.names) {
      claim("name " + glovebox::lower_case(name), source);
    }
    for (const std::string& extension : source.language.extensions) {
      claim("extension " + extension, source);
    }
    for (const std::string& interpreter : source.language.interpreters) {
      claim("interpreter " + interpreter, source);
    }
  }
  return unique;
}

std::string table(const std::vector<Source>& sources) {
  std::ostringstream out;
  out << "// Made by gb_embed_languages from languages/*.toml.\n"
         "#include \"language/builtin.h\"\n\nnamespace glovebox {\nnamespace {\n\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Language& language = sources[i].language;
    const std::string number = std::to_string(i);
    out << list(language.names, "kNames" + number)
        << list(language.extensions, "kExtensions" + number)
        << list(language.interpreters, "kInterpreters" + number);
  }
  out << "\nconstexpr BuiltinLanguage kLanguages[] = {\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Language& language = sources[i].language;
    const std::string number = std::to_string(i);
    out << "{" << literal(language.id) << ", " << literal(sources[i].file) << ", "
        << reference(language.names, "kNames" + number) << ", "
        << reference(language.extensions, "kExtensions" + number) << ", "
        << reference(language.interpreters, "kInterpreters" + number) << ",\n    "
        << literal(sources[i].text) << "},\n";
  }
  out << "};\n\n}  // namespace\n\n"
         "std::span<const BuiltinLanguage> builtin_languages() { return kLanguages; }\n\n"
         "}  // namespace glovebox\n";
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    std::cerr << "usage: gb_embed_languages OUTPUT.cc FILE.toml...\n";
    return 2;
  }
  std::vector<Source> sources;
  bool good = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& path = arguments[i];
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) {
      std::cerr << path << ":1:1: cannot be read\n";
      return 1;
    }
    auto language = glovebox::parse_language(text, path);
    if (!language) {
      std::cerr << language.error().message() << "; " << language.error().hint() << '\n';
      good = false;
      continue;
    }
    const std::string base = path.substr(path.rfind('/') + 1);
    sources.push_back({"languages/" + base, text, *std::move(language)});
    if (base != sources.back().language.id + ".toml") {
      std::cerr << path << ":1:1: the file must be named after its id\n";
      good = false;
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.language.id < b.language.id; });
  if (!claims_are_unique(sources) || !good) {
    return 1;
  }
  std::ofstream out(arguments[0], std::ios::binary);
  out << table(sources);
  out.close();
  if (!out) {
    std::cerr << arguments[0] << ": cannot be written\n";
    return 1;
  }
  return 0;
}
