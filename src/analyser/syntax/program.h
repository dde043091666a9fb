// SPDX-License-Identifier: Apache-2.0
// One program: what its expressions may stand for, and the facts that follow.
//
// Names are followed through imports, assignments and operations on constants wherever they stand,
// without regard to order; what only a running program knows is reported as a pattern.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyser/facts.h"
#include "analyser/lines.h"
#include "analyser/syntax/dialect.h"
#include "analyser/syntax/tree.h"

namespace glovebox::analyser::syntax {

// One of the things that an expression may stand for.
struct Value {
  enum class Kind : std::uint8_t {
    kName,    // A dotted name that begins at a module or a name of the language: "os.system".
    kText,    // A constant.
    kNumber,  // Likewise, with its digits in `text`.
    kTrue,
    kList,  // Of constants.
  };
  Kind kind = Kind::kName;
  std::string text{};
  std::vector<std::string> items{};
  double number = 0;

  static Value name_of(std::string text) { return {.kind = Kind::kName, .text = std::move(text)}; }
  static Value text_of(std::string text) { return {.kind = Kind::kText, .text = std::move(text)}; }
  static Value number_of(double number);
  [[nodiscard]] bool is_name() const { return kind == Kind::kName; }
  [[nodiscard]] bool is_text() const { return kind == Kind::kText; }
  [[nodiscard]] bool is_scalar() const { return is_text() || kind == Kind::kNumber; }
};
using Values = std::vector<Value>;

class Program {
 public:
  // What `source` refers to and `facts` outlive the program.
  Program(const Source& source, Facts& facts);
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void report();

 protected:
  // What a node is, by the dialect's forms; `form` is null for punctuation and the like.
  struct Role {
    const Form* form = nullptr;
    Node node{};
    Node one{};
    Node other{};
    Node list{};
    [[nodiscard]] bool is(Shape shape) const { return form != nullptr && form->shape == shape; }
  };
  [[nodiscard]] Role role_of(Node node) const;

  // What a language may know better. In the case of a call, `name` is that of what is called.
  // What to call a name that nothing in the program explains; nothing if it is not worth a name.
  [[nodiscard]] virtual std::optional<std::string> root(std::string_view name) const;
  [[nodiscard]] virtual std::string module_name(std::string_view text) const;
  [[nodiscard]] virtual std::string join(const std::string& name, const std::string& key) const;
  // What a call of this name returns; nothing: only the call itself is known.
  virtual std::optional<Values> returned(const std::string& name, const Role& call);
  // What a method of a constant returns.
  virtual std::optional<Value> method(const Value& value, const std::string& key, const Role& call);
  virtual void called(const std::string& /*name*/, const Role& /*call*/) {}
  virtual void used(const std::string& name, Node node);
  // The name that a member of this name means although nothing is known of its owner, if any.
  [[nodiscard]] virtual std::optional<std::string> member_of_unknown(const std::string&) const {
    return std::nullopt;
  }
  // A name gets a value; see bind().
  virtual void assign(Node target, Node value, Node type, bool grows);
  virtual void declare(Node name) { hide(path_of(name)); }
  // For a node of Shape::kOwn: learns its names before any name is followed; later tells its facts.
  virtual void learn(Node /*node*/) {}
  virtual void tell(Node /*node*/) {}
  virtual Values own_value(Node /*node*/) { return {}; }
  // A call of something that has no name.
  virtual void called_unknown(const Role& /*call*/) {}

  Values of(Node node);
  std::vector<std::string> names(Node node);
  std::vector<std::string> texts(Node node);
  // The constant that a node with texts and gaps is, whatever its form says.
  std::vector<std::string> text_of(Node node);
  // The items of a list of constants.
  std::vector<std::string> items_of(Node node);
  std::vector<std::string> callee_names(const Role& call);
  std::vector<std::string> keys(const Role& role);
  [[nodiscard]] static std::vector<Node> arguments(const Role& call);
  [[nodiscard]] static Node argument(const Role& call, int number);
  // Constants, one for each argument; nothing if one is unknown.
  std::optional<std::vector<Value>> constants(const Role& call);

  // A name as the language reads it, its parts joined by dots.
  [[nodiscard]] std::string path_of(Node node) const;

  void bind_value(std::string_view name, Node value, std::vector<std::string> keys = {});
  void bind_name(std::string_view name, std::string meaning);
  void bind_type(std::string_view name, Node type);
  void grow(std::string_view name, Node value);
  void hide(std::string_view name) { bound_.try_emplace(std::string(name)); }
  // Names in this module may also be used without the module's name from here on.
  void open_module(std::string name);
  void be_quiet(Node node) { quiet_.insert(node.id()); }
  void be_quiet_within(Node node);
  [[nodiscard]] std::vector<Node> values_bound_to(std::string_view name) const;

  void add(Kind kind, std::string_view name, Node node);
  void import_module(const std::string& name, Node node);
  // Analyses a text of this language that the program runs.
  void run_code(Node code, Node call);
  void run_shell(const std::vector<std::string>& scripts, Node node);
  void load(Node module, Node call);
  // A name that gets a value: a credential, if it is called one.
  void report_secret(Node name, Node value);
  // A loop that runs while `condition`, or forever.
  void loop(Node node, Node condition) { loops_.push_back({node, condition}); }
  void report_words(Node node);

  const Dialect& dialect_;

 private:
  static constexpr std::size_t kMostValues = 8;  // Of a name or an expression.
  static constexpr std::size_t kMostItems = 4'096;

  struct Meaning {
    Node value{};
    std::string name{};  // In place of a value.
    std::vector<std::string> keys{};
    bool is_type = false;  // `value` is the class of its values.
    bool grows = false;    // `value` is appended to the rest.
  };
  struct Loop {
    Node node;
    Node condition;
  };
  struct Imported {
    std::string name;
    Node node;
  };

  void collect();
  [[nodiscard]] Node unwrapped(Node node) const;
  void bind(const Role& role);
  Values evaluate(Node node);
  Values value_of_name(std::string_view name);
  Values value_of_meaning(const Meaning& meaning);
  Values value_of_grown(const std::vector<Meaning>& meanings);
  Values value_of_text(Node node);
  std::optional<std::string> part_of_text(Node part);
  Values value_of_concat(const std::vector<Node>& parts);
  Values value_of_binary(const Role& role);
  Values value_of_list(Node node);
  Values value_of_member(const Role& role);
  Values value_of_call(const Role& role);
  std::optional<Values> folded(const std::string& name, const Role& call);
  [[nodiscard]] std::string canonical(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> roots(std::string_view name) const;
  void report_role(const Role& role);
  void report_member(const Role& role);
  void report_call(const Role& role);
  void report_text(Node node);
  void report_loop(const Loop& loop);
  void report_rule(const Rule& rule, const Role& call);
  void report_script(const Rule& rule, const Role& call);
  void report_path(const Rule& rule, const Role& call);
  std::vector<std::string> words_behind(const Rule& rule, const Role& call, bool& alone);

  const Tree& tree_;
  const Lines& lines_;
  std::optional<Inside> inside_;
  Facts& facts_;
  std::vector<const Form*> forms_;  // By the grammar's symbols.
  std::vector<Node> in_order_;      // All nodes that have a form.
  std::vector<Imported> imported_;
  std::map<std::string, std::vector<Meaning>, std::less<>> bound_;
  std::vector<std::string> opened_;
  std::unordered_set<const void*> quiet_;
  std::unordered_set<std::string> busy_;
  std::unordered_map<const void*, Values> known_;
  std::vector<Loop> loops_;
  std::vector<std::uint32_t> leaving_;   // Where a loop may be left.
  std::vector<std::uint32_t> spawning_;  // Where a process begins.
  std::size_t cycles_ = 0;
  int nesting_ = 0;
  int budget_ = 400'000;
};

}  // namespace glovebox::analyser::syntax
