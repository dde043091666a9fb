// SPDX-License-Identifier: Apache-2.0
// A language as tables: what the nodes of its grammar are to the analysis, and what its functions
// do. The rest of the analysis need not know any grammar.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyser/inside.h"

extern "C" {
// The parsers that tools/fetch_grammars fetched.
const TSLanguage* tree_sitter_c();
const TSLanguage* tree_sitter_c_sharp();
const TSLanguage* tree_sitter_cpp();
const TSLanguage* tree_sitter_go();
const TSLanguage* tree_sitter_java();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_php();
const TSLanguage* tree_sitter_r();
const TSLanguage* tree_sitter_ruby();
const TSLanguage* tree_sitter_tsx();
const TSLanguage* tree_sitter_typescript();
}

namespace glovebox::analyser {
class Facts;
class Lines;
}  // namespace glovebox::analyser

namespace glovebox::analyser::syntax {

class Program;
class Tree;

enum class Shape : std::uint8_t {
  kId,         // A variable, a function or a class, by its name.
  kMember,     // The member of `one` that is named `other`.
  kSubscript,  // The item of `one` at what `other` evaluates to.
  kCall,       // Calls with `list`: `one`, or its method `other`, or the function `other`.
  kText,
  kNumber,
  kTrue,
  kSame,    // May be `one` or `other`; without these, any of its children.
  kBinary,  // `one` and `other`, with the field "operator" between them.
  kConcat,  // Its children, one after the other.
  kList,
  kBind,     // `one` gets the value `other`; `list` is its type, if there is one.
  kChange,   // The variable `one` gets an unknown value.
  kDeclare,  // `one` is a name for something else from here on.
  kQuiet,    // `one` only names what is declared.
  kPair,     // `one` is a name in a table, and `other` its value.
  kLoop,     // Runs while `one` holds; without such a child: forever.
  kLeave,    // Leaves a loop.
  kOwn,      // The language's own class handles it.
};

// The parts are names of fields, or "0" and so on for the named children by their order.
struct Form {
  std::string_view type;
  Shape shape;
  std::string_view one{};
  std::string_view other{};
  std::string_view list{};
};

// What a function does with one of its arguments. They count from 1, and the last one is -1.
enum class Does : std::uint8_t {
  kShell,       // Runs it as a script.
  kArgv,        // Runs it as a program, with the arguments after it.
  kExec,        // Likewise, but the first of those arguments is only the program's argv[0].
  kRun,         // Runs it as a script if it is alone, else as a program.
  kCode,        // Runs it as code of this language.
  kLoad,        // Imports the module of that name.
  kNamed,       // Reaches what has that name.
  kMaybeNamed,  // Likewise, if the argument is a text at all.
  kRead,
  kWrite,
  kOpen,  // One of these, depending on the argument after it.
  kHost,
  kSpawn,  // Creates a process.
  kLeave,  // Ends the function or the program.
};
struct Rule {
  std::string_view names;  // May contain "*".
  Does does;
  int argument = 1;
};

// What a function makes of constants.
enum class Fold : std::uint8_t {
  kConcat,   // Its arguments, one after the other.
  kList,     // A list of them.
  kJoin,     // The list in its second argument, with its first between them.
  kSame,     // Its first argument.
  kReverse,  // The rest likewise.
  kBase64,
  kHex,
  kPercents,
  kRot13,
  kLower,
  kUpper,
  kCharacters,  // Those whose codes are its arguments.
};
struct FoldRule {
  std::string_view name;
  Fold fold;
};

// What a Program looks at. All of it outlives the program.
struct Dialect;
struct Source {
  const Dialect& dialect;
  const Tree& tree;
  const Lines& lines;
  std::optional<Inside> inside;
};

struct Dialect {
  std::string_view language;
  std::string_view title;  // For messages: "JavaScript".
  const TSLanguage* (*grammar)();
  std::span<const Form> forms;
  std::span<const Rule> rules;
  std::span<const FoldRule> folds{};
  // Attributes that lead out of an object, and are facts whatever it is; may contain "*".
  std::span<const std::string_view> attributes{};
  // Names that no declaration hides; may contain "*".
  std::span<const std::string_view> kept{};
  // Operators that join texts, and operators that may yield either side, each between spaces.
  std::string_view joining = " + ";
  std::string_view choosing{};
  // A prefix that does not change what a name means: "java.lang.".
  std::string_view implied{};
  // A text can be called as the function of that name.
  bool texts_are_functions = false;
  bool ignores_case = false;  // Of names.
  // `object[name]` is a member of the object.
  bool subscripts_are_members = false;
  // What to put before code that the program runs from a text.
  std::string_view code_begins{};
  // What the language's compiler turns the text into before it parses it; null: no change.
  std::string (*prepared)(std::string_view code) = nullptr;
  std::unique_ptr<Program> (*make)(const Source& source, Facts& facts);
};

// By Dialect::language; null if there is none.
const Dialect* find_dialect(std::string_view language);

// Adds the facts about `code`.
void analyse(const Dialect& dialect,
             std::string_view code,
             std::optional<Inside> inside,
             Facts& facts);

extern const Dialect kC;
extern const Dialect kCpp;
extern const Dialect kCSharp;
extern const Dialect kGo;
extern const Dialect kJava;
extern const Dialect kJavaScript;
extern const Dialect kPhp;
extern const Dialect kR;
extern const Dialect kRuby;
extern const Dialect kTypeScript;
extern const Dialect kTsx;

}  // namespace glovebox::analyser::syntax
