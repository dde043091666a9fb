// SPDX-License-Identifier: Apache-2.0
// What calls do, by the full names of the functions: start programs, run code, open files, connect.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "analyser/python.h"
#include "analyser/python_code.h"
#include "analyser/shell.h"
#include "base/text.h"

namespace glovebox::analyser {
namespace {

constexpr auto kShellCalls = std::to_array<std::string_view>(
    {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
     "commands.getoutput", "asyncio.create_subprocess_shell", "pty.spawn",
     "asyncio.subprocess.create_subprocess_shell", "popen2.popen2", "get_ipython().system",
     "get_ipython().getoutput", "IPython.get_ipython().system"});
constexpr auto kArgvCalls = std::to_array<std::string_view>({"subprocess.run",
                                                             "subprocess.call",
                                                             "subprocess.check_call",
                                                             "subprocess.Popen",
                                                             "subprocess.check_output",
                                                             "asyncio.create_subprocess_exec",
                                                             "os.execv",
                                                             "os.execve",
                                                             "os.execl",
                                                             "os.execle",
                                                             "os.execlp",
                                                             "os.execlpe",
                                                             "os.execvp",
                                                             "os.execvpe",
                                                             "os.spawnl",
                                                             "os.spawnle",
                                                             "os.spawnlp",
                                                             "os.spawnlpe",
                                                             "os.spawnv",
                                                             "os.spawnve",
                                                             "os.spawnvp",
                                                             "os.spawnvpe",
                                                             "os.posix_spawn",
                                                             "os.posix_spawnp",
                                                             "os.startfile"});
constexpr auto kCodeCalls = std::to_array<std::string_view>(
    {"eval", "exec", "compile", "code.interact", "code.InteractiveInterpreter().runsource",
     "code.InteractiveConsole().push", "timeit.timeit", "cProfile.run", "profile.run",
     "get_ipython().run_cell"});
constexpr auto kImportCalls = std::to_array<std::string_view>(
    {"__import__", "importlib.import_module", "importlib.__import__", "importlib.util.find_spec",
     "runpy.run_module", "pkgutil.resolve_name"});
constexpr auto kOpeners = std::to_array<std::string_view>(
    {"open", "io.open", "os.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "io.FileIO",
     "tarfile.open", "zipfile.ZipFile", "sqlite3.connect", "shelve.open"});
constexpr auto kWriters = std::to_array<std::string_view>(
    {"os.remove", "os.unlink", "os.rmdir", "os.removedirs", "os.mkdir", "os.makedirs",
     "os.truncate", "os.chmod", "os.chown", "shutil.rmtree", "os.mkfifo", "os.mknod"});
constexpr auto kPairWriters = std::to_array<std::string_view>(
    {"os.rename", "os.replace", "os.symlink", "os.link", "shutil.move"});
constexpr auto kReaders = std::to_array<std::string_view>(
    {"os.listdir", "os.scandir", "os.walk", "os.readlink", "os.stat", "glob.glob"});
constexpr auto kCopiers = std::to_array<std::string_view>(
    {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree"});
constexpr auto kConnectors = std::to_array<std::string_view>(
    {"socket.create_connection", "socket.socket().connect", "socket.socket().connect_ex",
     "socket.socket().sendto", "http.client.HTTPConnection", "http.client.HTTPSConnection",
     "ftplib.FTP", "smtplib.SMTP", "telnetlib.Telnet", "asyncio.open_connection",
     "paramiko.SSHClient().connect", "socket.gethostbyname", "socket.getaddrinfo"});
constexpr auto kPathWriters = std::to_array<std::string_view>(
    {"write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch", "rename"});
constexpr auto kPathReaders = std::to_array<std::string_view>({"read_text", "read_bytes"});
constexpr auto kTableWriters =
    std::to_array<std::string_view>({"to_csv", "to_parquet", "to_excel", "to_json", "savefig"});
constexpr auto kTableReaders =
    std::to_array<std::string_view>({"read_csv", "read_parquet", "read_excel", "read_json"});
constexpr std::string_view kUnknownWord = "$?";

template <typename Names>
bool among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_true(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
      return value.number != 0;
    case Value::Kind::kFloat:
      return value.real != 0;
    case Value::Kind::kText:
    case Value::Kind::kBytes:
      return !value.text.empty();
    case Value::Kind::kList:
      return !value.items.empty();
    default:
      return true;
  }
}

// Whether a name or a text in an expression contains `word`.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
bool mentions(const PythonNode* node, std::string_view word) {
  const auto has = [&](std::string_view text) { return text.find(word) != std::string_view::npos; };
  return node != nullptr && (has(node->name) || has(node->other) ||
                             (node->value != nullptr && has(node->value->text)) ||
                             std::ranges::any_of(node->parts, [&](const PythonNode* part) {
                               return mentions(part, word);
                             }));
}

}  // namespace

// The arguments of a call, by position and by name.
struct PythonVisitor::Call {
  explicit Call(const PythonNode& call)
      : node(call),
        arguments(call.parts.subspan(1, call.split - 1)),
        keywords(call.parts.subspan(call.split)) {}

  [[nodiscard]] const PythonNode* named(std::string_view name) const {
    const PythonNode* found = nullptr;
    for (const PythonNode* const keyword : keywords) {
      found = keyword->name == name ? keyword->parts[0] : found;
    }
    return found;
  }
  [[nodiscard]] const PythonNode* first_or(std::string_view name) const {
    return arguments.empty() ? named(name) : arguments[0];
  }
  // Whether "**" may add arguments that nobody knows.
  [[nodiscard]] bool is_open() const { return named("") != nullptr; }

  const PythonNode& node;
  std::span<PythonNode* const> arguments;
  std::span<PythonNode* const> keywords;
};

void PythonVisitor::called(std::string_view name, const PythonNode& node) {
  const Call call(node);
  const PythonNode* const first = call.arguments.empty() ? nullptr : call.arguments[0];
  if (among(kImportCalls, name)) {
    const auto texts = values_.texts(first);
    for (const std::string_view text : texts) {
      add(Kind::kModule, text, node);
    }
    if (texts.empty()) {
      pattern("dynamic-import", node);
    }
    add(Kind::kName, name, node);
  } else if (among(kCodeCalls, name)) {
    code(node, first);
  } else if (name == "getattr" && call.arguments.size() > 1) {
    looked_up(node);
  } else if (among(kShellCalls, name)) {
    shell_command(node, call.first_or("cmd"));
  } else if (among(kArgvCalls, name)) {
    argv_command(name, call);
  } else if (among(kOpeners, name) || name.starts_with("pathlib.Path().open")) {
    opened(call, call.first_or("file"));
  } else if (among(kWriters, name)) {
    file(first, true, node);
  } else if (among(kPairWriters, name) || among(kCopiers, name)) {
    for (std::size_t i = 0; i < call.arguments.size() && i < 2; ++i) {
      file(call.arguments[i], i == 1 || !among(kCopiers, name), node);
    }
  } else if (among(kReaders, name)) {
    file(first, false, node);
  } else if (among(kConnectors, name)) {
    connected(node, call.first_or("host"));
  }
  settings(name, call);
}

void PythonVisitor::settings(std::string_view name, const Call& call) {
  if (name.starts_with("requests.") || name.starts_with("httpx.")) {
    const auto verify = values_.constants(call.named("verify"));
    if (verify.size() == 1 && Constants::equal(*verify[0], {.kind = Value::Kind::kBool})) {
      pattern("no-certificate-check", call.node);
    }
  }
  if (name == "yaml.load") {
    const auto safe = [](const PythonNode* node) { return mentions(node, "Safe"); };
    const auto rest = call.arguments.subspan(std::min<std::size_t>(1, call.arguments.size()));
    if (std::ranges::none_of(rest, safe) && std::ranges::none_of(call.keywords, safe)) {
      pattern("unsafe-load", call.node);
    }
  }
  if ((name == "tarfile.open().extractall" || name == "tarfile.TarFile().extractall") &&
      call.named("filter") == nullptr) {
    pattern("unsafe-extract", call.node);
  }
}

// Code

void PythonVisitor::code(const PythonNode& node, const PythonNode* first) {
  bool known = false;
  for (const Value* const value : values_.constants(first)) {
    if (value->is_text() || value->is_bytes()) {
      known = true;
      analyse_python(to_utf8(value->text), lines_.inside(node.at), facts_);
    }
  }
  if (!known && !values_.has_name(first, "compile()")) {
    pattern("dynamic-code", node);
  }
}

void PythonVisitor::looked_up(const PythonNode& node) {
  const PythonNode* const owner = node.parts[1];
  const auto texts = values_.texts(node.parts[2]);
  if (texts.empty() && values_.is_named(owner)) {
    pattern("dynamic-attribute", node);
  }
  for (const std::string_view text : texts) {
    const bool hidden = text.starts_with("__") && (!text.ends_with("__") || leads_out(text));
    if (hidden || leads_out(text)) {
      add(Kind::kAttribute, text, node);
    }
  }
  report(node);
}

// Commands

void PythonVisitor::shell(std::string_view text, const PythonNode& node) {
  analyse_shell(text, lines_.inside(node.at), facts_);
}

// The text of an f-string or a sum, with $? where a part is unknown.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
std::string PythonVisitor::partial(const PythonNode* node) {
  if (node == nullptr) {
    return std::string(kUnknownWord);
  }
  const bool sum = node->kind == Ast::kBinOp && node->op == '+';
  if (node->kind == Ast::kJoined || sum) {
    std::string text;
    for (const PythonNode* const part : node->parts) {
      text += partial(part->kind == Ast::kFormatted ? part->parts[0] : part);
    }
    return text.size() > Constants::kMostText ? std::string(kUnknownWord) : text;
  }
  const Value* const value = values_.constant(node);
  const auto written = value != nullptr ? Constants::written(*value) : std::optional<std::string>();
  return written.value_or(std::string(kUnknownWord));
}

std::string PythonVisitor::word(const PythonNode* node) {
  const auto texts = values_.texts(node);
  return std::string(texts.empty() ? kUnknownWord : texts.front());
}

// The lists of words that an expression may be.
std::vector<std::vector<std::string>> PythonVisitor::word_lists(const PythonNode* node) {
  std::vector<std::vector<std::string>> lists;
  for (const Value* const value : values_.constants(node)) {
    if (value->is_list() && !value->items.empty() &&
        std::ranges::all_of(value->items, [](const Value* item) { return item->is_text(); })) {
      std::vector<std::string>& words = lists.emplace_back();
      for (const Value* const item : value->items) {
        words.emplace_back(item->text);
      }
    }
  }
  if (lists.empty() && node != nullptr && !node->parts.empty() &&
      (node->kind == Ast::kList || node->kind == Ast::kTuple)) {
    std::vector<std::string>& words = lists.emplace_back();
    for (const PythonNode* const item : node->parts) {
      words.push_back(word(item));
    }
  }
  return lists;
}

void PythonVisitor::shell_command(const PythonNode& node, const PythonNode* command_node) {
  command(node, values_.texts(command_node), word_lists(command_node), true, command_node);
}

void PythonVisitor::argv_command(std::string_view name, const Call& call) {
  auto arguments = call.arguments;
  if (name.starts_with("os.spawn") && arguments.size() > 1) {
    arguments = arguments.subspan(1);  // After the mode.
  }
  const PythonNode* const first = arguments.empty() ? call.named("args") : arguments[0];
  // What is not known may be true.
  const PythonNode* const shell_node = call.named("shell");
  const auto shells = values_.constants(shell_node);
  const bool said = std::ranges::any_of(shells, [](const Value* each) { return is_true(*each); });
  const bool shell = said || call.is_open() || (shell_node != nullptr && shells.empty());
  if (said) {
    pattern("shell", call.node);
  }
  std::vector<std::string_view> texts = values_.texts(first);
  std::vector<std::vector<std::string>> lists = word_lists(first);
  const bool asynchronous = name.starts_with("asyncio");
  const bool by_words = name.starts_with("os.exec") || name.starts_with("os.spawn") ||
                        name.starts_with("os.posix_spawn") || asynchronous;
  if (by_words && !texts.empty()) {
    const std::string_view stem = name.substr(0, name.find_last_not_of("ep") + 1);
    const bool in_list = name.starts_with("os.posix_spawn") ||
                         (arguments.size() > 1 && stem.ends_with('v') && !asynchronous);
    lists.clear();
    for (const std::string_view text : texts) {
      if (in_list) {
        const auto found = word_lists(arguments.size() > 1 ? arguments[1] : nullptr);
        for (std::vector<std::string> words : found) {
          words.front() = text;
          lists.push_back(std::move(words));
        }
        if (found.empty()) {
          lists.push_back({std::string(text)});
        }
        continue;
      }
      // The first of the words only tells the program its name.
      std::vector<std::string>& words = lists.emplace_back();
      words.emplace_back(text);
      for (std::size_t i = asynchronous ? 1 : 2; i < arguments.size(); ++i) {
        words.push_back(word(arguments[i]));
      }
    }
    texts.clear();
  }
  // For a command that is entirely unknown, it does not count that a shell may read it.
  const bool known = !texts.empty() || !lists.empty() || partial(first) != kUnknownWord;
  command(call.node, texts, lists, said || (shell && known), first);
  if (const PythonNode* const program = call.named("executable"); program != nullptr) {
    command(call.node, values_.texts(program), {}, false, program);
  }
}

void PythonVisitor::command(const PythonNode& node,
                            std::span<const std::string_view> texts,
                            const std::vector<std::vector<std::string>>& lists,
                            bool shell_reads,
                            const PythonNode* first) {
  for (const std::string_view text : texts) {
    if (shell_reads) {
      shell(text, node);
    } else {
      analyse_command({std::string(text)}, lines_.inside(node.at), facts_);
    }
  }
  for (const std::vector<std::string>& words : lists) {
    if (shell_reads) {
      shell(words.front(), node);
    } else {
      analyse_command(words, lines_.inside(node.at), facts_);
    }
  }
  if (texts.empty() && lists.empty()) {
    const std::string known = partial(first);
    if (shell_reads && !known.empty()) {
      shell(known, node);
    }
    pattern("dynamic-command", node);
  }
}

// Files and hosts

void PythonVisitor::file(const PythonNode* node, bool writes, const PythonNode& at) {
  for (const Value* const value : values_.constants(node)) {
    if (value->is_text() || value->is_bytes()) {
      add(writes ? Kind::kFileWrite : Kind::kFileRead, value->text, at);
    }
  }
}

void PythonVisitor::opened(const Call& call, const PythonNode* first) {
  const PythonNode* const mode = call.arguments.size() > 1 ? call.arguments[1] : call.named("mode");
  bool writes = mode == nullptr && call.is_open();
  if (mode != nullptr) {
    const auto texts = values_.texts(mode);
    writes = std::ranges::any_of(texts,
                                 [](std::string_view text) {
                                   return text.find_first_of("wax+") != std::string_view::npos;
                                 }) ||
             mentions(mode, "O_WRONLY") || mentions(mode, "O_RDWR") || mentions(mode, "O_CREAT") ||
             (texts.empty() && !mentions(mode, "O_RDONLY"));
  }
  file(first, writes, call.node);
}

void PythonVisitor::connected(const PythonNode& node, const PythonNode* first) {
  for (const Value* value : values_.constants(first)) {
    value = value->is_list() && !value->items.empty() ? value->items.front() : value;
    if (value->is_text()) {
      add(Kind::kHost, lower_case(value->text), node);
    }
  }
  if (first != nullptr && (first->kind == Ast::kTuple || first->kind == Ast::kList) &&
      !first->parts.empty()) {
    for (const std::string_view host : values_.texts(first->parts[0])) {
      add(Kind::kHost, lower_case(host), node);
    }
  }
}

// A method of an object whose class is unknown.
void PythonVisitor::method(const PythonNode& node) {
  const PythonNode& function = *node.parts[0];
  const PythonNode* const object = function.parts[0];
  if (among(kPathWriters, function.name) || among(kPathReaders, function.name)) {
    for (const std::string_view path : values_.texts(object)) {
      add(among(kPathReaders, function.name) ? Kind::kFileRead : Kind::kFileWrite, path, node);
    }
  }
  if (function.name == "format") {
    for (const std::string_view text : values_.texts(object)) {
      // "{0.__class__.__globals__}"
      for (std::size_t at = text.find("__"); at != std::string_view::npos;) {
        const std::size_t end = text.find("__", at + 2);
        if (end == std::string_view::npos) {
          break;
        }
        const std::string_view name = text.substr(at, end + 2 - at);
        const bool in_field = text.rfind('{', at) != std::string_view::npos &&
                              text.find('}', end) != std::string_view::npos;
        const bool word = name.size() > 4 && std::ranges::all_of(name, [](char c) {
                            return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                                   (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
                          });
        if (in_field && word) {
          add(Kind::kAttribute, name, node);
        }
        at = word ? text.find("__", end + 2) : text.find("__", at + 1);
      }
    }
  }
  if (node.split > 1 &&
      (among(kTableWriters, function.name) || among(kTableReaders, function.name))) {
    file(node.parts[1], among(kTableWriters, function.name), node);
  }
}

}  // namespace glovebox::analyser
