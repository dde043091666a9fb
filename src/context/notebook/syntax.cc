// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/syntax.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace glovebox::notebook {
namespace {

using std::to_array;
using Word = std::string_view;

constexpr auto kPythonKeywords = to_array<Word>(
    {"and",  "as",     "assert", "async", "await",  "break",   "case",     "class", "continue",
     "def",  "del",    "elif",   "else",  "except", "finally", "for",      "from",  "global",
     "if",   "import", "in",     "is",    "lambda", "match",   "nonlocal", "not",   "or",
     "pass", "raise",  "return", "try",   "while",  "with",    "yield"});
constexpr auto kPythonConstants = to_array<Word>(
    {"False", "None",       "True",   "abs",     "all",      "any",       "bool",    "bytes",
     "dict",  "enumerate",  "filter", "float",   "format",   "frozenset", "getattr", "hasattr",
     "int",   "isinstance", "iter",   "len",     "list",     "map",       "max",     "min",
     "next",  "object",     "open",   "print",   "property", "range",     "repr",    "reversed",
     "round", "self",       "set",    "setattr", "sorted",   "str",       "sum",     "super",
     "tuple", "type",       "zip"});
constexpr auto kScriptKeywords = to_array<Word>(
    {"abstract",   "as",        "async",    "await",     "break",      "case",    "catch",
     "class",      "const",     "continue", "debugger",  "declare",    "default", "delete",
     "do",         "else",      "enum",     "export",    "extends",    "finally", "for",
     "from",       "function",  "get",      "if",        "implements", "import",  "in",
     "instanceof", "interface", "let",      "namespace", "new",        "of",      "private",
     "protected",  "public",    "readonly", "return",    "set",        "static",  "super",
     "switch",     "throw",     "try",      "type",      "typeof",     "var",     "void",
     "while",      "with",      "yield"});
constexpr auto kScriptConstants =
    to_array<Word>({"Array",  "Boolean", "Date",   "Error",   "Infinity", "JSON",      "Map",
                    "Math",   "NaN",     "Number", "Object",  "Promise",  "RegExp",    "Set",
                    "String", "Symbol",  "any",    "boolean", "console",  "false",     "never",
                    "null",   "number",  "string", "this",    "true",     "undefined", "unknown"});
constexpr auto kRKeywords =
    to_array<Word>({"break", "else", "for", "function", "if", "in", "library", "next", "repeat",
                    "require", "return", "while"});
constexpr auto kRConstants = to_array<Word>({"FALSE", "Inf", "NA", "NA_character_", "NA_integer_",
                                             "NA_real_", "NULL", "NaN", "TRUE", "c", "list"});
constexpr auto kShellKeywords =
    to_array<Word>({"case", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function",
                    "if", "in", "local", "readonly", "return", "select", "then", "until", "while"});
constexpr auto kShellConstants = to_array<Word>(
    {"alias", "cat",  "cd",    "cp",    "declare", "echo",   "eval", "exec", "exit",
     "false", "grep", "ls",    "mkdir", "mv",      "printf", "pwd",  "read", "rm",
     "sed",   "set",  "shift", "sort",  "source",  "test",   "trap", "true", "unset"});
constexpr auto kSqlKeywords = to_array<Word>(
    {"all",    "alter",     "and",         "as",         "asc",    "begin",    "between", "by",
     "case",   "check",     "commit",      "constraint", "create", "cross",    "default", "delete",
     "desc",   "distinct",  "drop",        "else",       "end",    "except",   "exists",  "foreign",
     "from",   "full",      "group",       "having",     "if",     "in",       "index",   "inner",
     "insert", "intersect", "into",        "is",         "join",   "key",      "left",    "like",
     "limit",  "natural",   "not",         "offset",     "on",     "or",       "order",   "outer",
     "over",   "partition", "primary",     "references", "right",  "rollback", "select",  "set",
     "table",  "then",      "transaction", "union",      "unique", "update",   "using",   "values",
     "view",   "when",      "where",       "with"});
constexpr auto kSqlConstants = to_array<Word>(
    {"avg",    "bigint", "blob",  "boolean", "char",      "coalesce", "count",  "date", "decimal",
     "double", "false",  "float", "int",     "integer",   "max",      "min",    "null", "numeric",
     "real",   "sum",    "text",  "time",    "timestamp", "true",     "varchar"});
constexpr auto kJuliaKeywords = to_array<Word>(
    {"abstract", "baremodule", "begin",  "break",  "catch",   "const", "continue", "do",
     "else",     "elseif",     "end",    "export", "finally", "for",   "function", "global",
     "if",       "import",     "in",     "let",    "local",   "macro", "module",   "mutable",
     "quote",    "return",     "struct", "try",    "type",    "using", "where",    "while"});
constexpr auto kJuliaConstants =
    to_array<Word>({"Any", "Bool", "Dict", "Float64", "Inf", "Int", "Int64", "NaN", "String",
                    "Vector", "false", "missing", "nothing", "println", "true"});
// C, C++, C#, Java, Go, Rust, PHP and their like together: a word too many marked does no harm.
constexpr auto kCKeywords = to_array<Word>(
    {"abstract", "as",      "async",     "auto",     "await",     "break",      "case",
     "catch",    "chan",    "class",     "const",    "constexpr", "continue",   "default",
     "defer",    "delete",  "do",        "else",     "enum",      "explicit",   "extends",
     "extern",   "final",   "finally",   "fn",       "for",       "foreach",    "friend",
     "func",     "go",      "goto",      "if",       "impl",      "implements", "import",
     "in",       "inline",  "interface", "internal", "let",       "loop",       "match",
     "mod",      "mut",     "namespace", "new",      "noexcept",  "operator",   "override",
     "package",  "private", "protected", "pub",      "public",    "range",      "readonly",
     "record",   "ref",     "register",  "return",   "sealed",    "select",     "sizeof",
     "static",   "struct",  "switch",    "template", "throw",     "throws",     "trait",
     "try",      "type",    "typedef",   "typename", "union",     "unsafe",     "use",
     "using",    "var",     "virtual",   "void",     "volatile",  "where",      "while",
     "yield"});
constexpr auto kCConstants =
    to_array<Word>({"NULL",    "Self",   "String", "bool",  "boolean",  "byte",   "char", "double",
                    "error",   "f32",    "f64",    "false", "float",    "i32",    "i64",  "int",
                    "int64_t", "long",   "nil",    "null",  "nullptr",  "object", "self", "short",
                    "signed",  "size_t", "std",    "str",   "string",   "super",  "this", "true",
                    "u32",     "u64",    "u8",     "uint",  "unsigned", "usize",  "vec"});

static_assert(std::ranges::is_sorted(kPythonKeywords));
static_assert(std::ranges::is_sorted(kPythonConstants));
static_assert(std::ranges::is_sorted(kScriptKeywords));
static_assert(std::ranges::is_sorted(kScriptConstants));
static_assert(std::ranges::is_sorted(kRKeywords));
static_assert(std::ranges::is_sorted(kRConstants));
static_assert(std::ranges::is_sorted(kShellKeywords));
static_assert(std::ranges::is_sorted(kShellConstants));
static_assert(std::ranges::is_sorted(kSqlKeywords));
static_assert(std::ranges::is_sorted(kSqlConstants));
static_assert(std::ranges::is_sorted(kJuliaKeywords));
static_assert(std::ranges::is_sorted(kJuliaConstants));
static_assert(std::ranges::is_sorted(kCKeywords));
static_assert(std::ranges::is_sorted(kCConstants));

constexpr Syntax make_python() {
  Syntax s;
  s.keywords = kPythonKeywords;
  s.constants = kPythonConstants;
  s.line_comment = "#";
  s.quotes = "'\"";
  s.triple_quotes = true;
  s.decorators = true;
  s.magics = true;
  return s;
}

constexpr Syntax make_script() {
  Syntax s;
  s.keywords = kScriptKeywords;
  s.constants = kScriptConstants;
  s.line_comment = "//";
  s.block_comment = "/* */";
  s.quotes = "'\"`";
  s.long_quotes = "`";
  s.decorators = true;
  return s;
}

constexpr Syntax make_r() {
  Syntax s;
  s.keywords = kRKeywords;
  s.constants = kRConstants;
  s.line_comment = "#";
  s.quotes = "'\"`";
  s.long_quotes = "'\"";
  s.dots_in_names = true;
  return s;
}

constexpr Syntax make_shell() {
  Syntax s;
  s.keywords = kShellKeywords;
  s.constants = kShellConstants;
  s.line_comment = "#";
  s.quotes = "'\"";
  s.long_quotes = "'\"";
  s.variables = true;
  return s;
}

constexpr Syntax make_sql() {
  Syntax s;
  s.keywords = kSqlKeywords;
  s.constants = kSqlConstants;
  s.line_comment = "--";
  s.block_comment = "/* */";
  s.quotes = "'\"";
  s.long_quotes = "'";
  s.escapes = false;
  s.ignores_case = true;
  return s;
}

constexpr Syntax make_julia() {
  Syntax s;
  s.keywords = kJuliaKeywords;
  s.constants = kJuliaConstants;
  s.line_comment = "#";
  s.block_comment = "#= =#";
  s.quotes = "\"";
  s.triple_quotes = true;
  s.decorators = true;
  return s;
}

constexpr Syntax make_c() {
  Syntax s;
  s.keywords = kCKeywords;
  s.constants = kCConstants;
  s.line_comment = "//";
  s.block_comment = "/* */";
  s.quotes = "'\"";
  s.preprocessor = true;
  return s;
}

constexpr Syntax kPython = make_python();
constexpr Syntax kScript = make_script();
constexpr Syntax kR = make_r();
constexpr Syntax kShell = make_shell();
constexpr Syntax kSql = make_sql();
constexpr Syntax kJulia = make_julia();
constexpr Syntax kC = make_c();

constexpr auto kNames = to_array<std::pair<Word, const Syntax*>>({{"python", &kPython},
                                                                  {"python3", &kPython},
                                                                  {"ipython", &kPython},
                                                                  {"py", &kPython},
                                                                  {"javascript", &kScript},
                                                                  {"js", &kScript},
                                                                  {"typescript", &kScript},
                                                                  {"ts", &kScript},
                                                                  {"jsx", &kScript},
                                                                  {"tsx", &kScript},
                                                                  {"json", &kScript},
                                                                  {"r", &kR},
                                                                  {"bash", &kShell},
                                                                  {"sh", &kShell},
                                                                  {"shell", &kShell},
                                                                  {"zsh", &kShell},
                                                                  {"sql", &kSql},
                                                                  {"sqlite", &kSql},
                                                                  {"julia", &kJulia},
                                                                  {"c", &kC},
                                                                  {"c++", &kC},
                                                                  {"cpp", &kC},
                                                                  {"c#", &kC},
                                                                  {"csharp", &kC},
                                                                  {"java", &kC},
                                                                  {"go", &kC},
                                                                  {"rust", &kC},
                                                                  {"php", &kC},
                                                                  {"kotlin", &kC},
                                                                  {"scala", &kC},
                                                                  {"swift", &kC}});

}  // namespace

const Syntax* find_syntax(std::string_view language) {
  std::string name(language.substr(0, 32));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto* const found =
      std::ranges::find_if(kNames, [&name](const auto& entry) { return entry.first == name; });
  return found == kNames.end() ? nullptr : found->second;
}

}  // namespace glovebox::notebook
