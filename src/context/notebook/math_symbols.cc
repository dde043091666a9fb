// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/math_symbols.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace glovebox::notebook {
namespace {

using enum MathSymbol::Kind;

// Sorted by name.
constexpr auto kSymbols = std::to_array<MathSymbol>({
    {" ", kSpace, "0.3em"},
    {"!", kSpace, "-0.17em"},
    {"#", kIdentifier, "#"},
    {"$", kIdentifier, "$"},
    {"%", kIdentifier, "%"},
    {"&", kIdentifier, "&"},
    {",", kSpace, "0.17em"},
    {":", kSpace, "0.22em"},
    {";", kSpace, "0.28em"},
    {">", kSpace, "0.22em"},
    {"Delta", kIdentifier, "Δ"},
    {"Gamma", kIdentifier, "Γ"},
    {"Im", kIdentifier, "ℑ"},
    {"Lambda", kIdentifier, "Λ"},
    {"Leftarrow", kOperator, "⇐"},
    {"Leftrightarrow", kOperator, "⇔"},
    {"Omega", kIdentifier, "Ω"},
    {"Phi", kIdentifier, "Φ"},
    {"Pi", kIdentifier, "Π"},
    {"Pr", kLimit, "Pr"},
    {"Psi", kIdentifier, "Ψ"},
    {"Re", kIdentifier, "ℜ"},
    {"Rightarrow", kOperator, "⇒"},
    {"Sigma", kIdentifier, "Σ"},
    {"Theta", kIdentifier, "Θ"},
    {"Upsilon", kIdentifier, "Υ"},
    {"Vert", kOperator, "‖"},
    {"Xi", kIdentifier, "Ξ"},
    {"_", kIdentifier, "_"},
    {"aleph", kIdentifier, "ℵ"},
    {"alpha", kIdentifier, "α"},
    {"angle", kIdentifier, "∠"},
    {"approx", kOperator, "≈"},
    {"approxeq", kOperator, "≊"},
    {"arccos", kFunction, "arccos"},
    {"arcsin", kFunction, "arcsin"},
    {"arctan", kFunction, "arctan"},
    {"arg", kFunction, "arg"},
    {"argmax", kLimit, "arg max"},
    {"argmin", kLimit, "arg min"},
    {"ast", kOperator, "∗"},
    {"asymp", kOperator, "≍"},
    {"backslash", kOperator, "\\"},
    {"because", kOperator, "∵"},
    {"beta", kIdentifier, "β"},
    {"bigcap", kLarge, "⋂"},
    {"bigcup", kLarge, "⋃"},
    {"bigoplus", kLarge, "⨁"},
    {"bigotimes", kLarge, "⨂"},
    {"bigvee", kLarge, "⋁"},
    {"bigwedge", kLarge, "⋀"},
    {"blacksquare", kOperator, "■"},
    {"bmod", kOperator, "mod"},
    {"bot", kIdentifier, "⊥"},
    {"bullet", kOperator, "∙"},
    {"cap", kOperator, "∩"},
    {"cdot", kOperator, "⋅"},
    {"cdots", kIdentifier, "⋯"},
    {"checkmark", kIdentifier, "✓"},
    {"chi", kIdentifier, "χ"},
    {"circ", kOperator, "∘"},
    {"colon", kOperator, ":"},
    {"coloneqq", kOperator, "≔"},
    {"complement", kIdentifier, "∁"},
    {"cong", kOperator, "≅"},
    {"coprod", kLarge, "∐"},
    {"cos", kFunction, "cos"},
    {"cosh", kFunction, "cosh"},
    {"cot", kFunction, "cot"},
    {"coth", kFunction, "coth"},
    {"csc", kFunction, "csc"},
    {"cup", kOperator, "∪"},
    {"dagger", kIdentifier, "†"},
    {"ddagger", kIdentifier, "‡"},
    {"ddots", kIdentifier, "⋱"},
    {"deg", kFunction, "deg"},
    {"degree", kIdentifier, "°"},
    {"delta", kIdentifier, "δ"},
    {"det", kLimit, "det"},
    {"dim", kFunction, "dim"},
    {"div", kOperator, "÷"},
    {"doteq", kOperator, "≐"},
    {"dots", kIdentifier, "…"},
    {"dotsb", kIdentifier, "⋯"},
    {"dotsc", kIdentifier, "…"},
    {"downarrow", kOperator, "↓"},
    {"ell", kIdentifier, "ℓ"},
    {"emptyset", kIdentifier, "∅"},
    {"enspace", kSpace, "0.5em"},
    {"epsilon", kIdentifier, "ϵ"},
    {"equiv", kOperator, "≡"},
    {"eta", kIdentifier, "η"},
    {"exists", kOperator, "∃"},
    {"exp", kFunction, "exp"},
    {"forall", kOperator, "∀"},
    {"gamma", kIdentifier, "γ"},
    {"gcd", kLimit, "gcd"},
    {"ge", kOperator, "≥"},
    {"geq", kOperator, "≥"},
    {"geqslant", kOperator, "⩾"},
    {"gets", kOperator, "←"},
    {"gg", kOperator, "≫"},
    {"hbar", kIdentifier, "ℏ"},
    {"hom", kFunction, "hom"},
    {"hookrightarrow", kOperator, "↪"},
    {"iff", kOperator, "⟺"},
    {"iiint", kIntegral, "∭"},
    {"iint", kIntegral, "∬"},
    {"imath", kIdentifier, "ı"},
    {"implies", kOperator, "⟹"},
    {"in", kOperator, "∈"},
    {"inf", kLimit, "inf"},
    {"infty", kIdentifier, "∞"},
    {"int", kIntegral, "∫"},
    {"iota", kIdentifier, "ι"},
    {"jmath", kIdentifier, "ȷ"},
    {"kappa", kIdentifier, "κ"},
    {"ker", kFunction, "ker"},
    {"lVert", kOperator, "‖"},
    {"lambda", kIdentifier, "λ"},
    {"land", kOperator, "∧"},
    {"langle", kOperator, "⟨"},
    {"lbrace", kOperator, "{"},
    {"lbrack", kOperator, "["},
    {"lceil", kOperator, "⌈"},
    {"ldots", kIdentifier, "…"},
    {"le", kOperator, "≤"},
    {"leftarrow", kOperator, "←"},
    {"leftrightarrow", kOperator, "↔"},
    {"leq", kOperator, "≤"},
    {"leqslant", kOperator, "⩽"},
    {"lfloor", kOperator, "⌊"},
    {"lg", kFunction, "lg"},
    {"lim", kLimit, "lim"},
    {"liminf", kLimit, "lim inf"},
    {"limsup", kLimit, "lim sup"},
    {"ll", kOperator, "≪"},
    {"ln", kFunction, "ln"},
    {"lnot", kOperator, "¬"},
    {"log", kFunction, "log"},
    {"longrightarrow", kOperator, "⟶"},
    {"lor", kOperator, "∨"},
    {"lvert", kOperator, "|"},
    {"mapsto", kOperator, "↦"},
    {"max", kLimit, "max"},
    {"mid", kOperator, "∣"},
    {"min", kLimit, "min"},
    {"models", kOperator, "⊨"},
    {"mp", kOperator, "∓"},
    {"mu", kIdentifier, "μ"},
    {"nabla", kIdentifier, "∇"},
    {"ne", kOperator, "≠"},
    {"nearrow", kOperator, "↗"},
    {"neg", kOperator, "¬"},
    {"neq", kOperator, "≠"},
    {"nexists", kOperator, "∄"},
    {"ni", kOperator, "∋"},
    {"notin", kOperator, "∉"},
    {"nu", kIdentifier, "ν"},
    {"odot", kOperator, "⊙"},
    {"oint", kIntegral, "∮"},
    {"omega", kIdentifier, "ω"},
    {"ominus", kOperator, "⊖"},
    {"oplus", kOperator, "⊕"},
    {"otimes", kOperator, "⊗"},
    {"parallel", kOperator, "∥"},
    {"partial", kIdentifier, "∂"},
    {"perp", kOperator, "⊥"},
    {"phi", kIdentifier, "ϕ"},
    {"pi", kIdentifier, "π"},
    {"pm", kOperator, "±"},
    {"prec", kOperator, "≺"},
    {"prime", kIdentifier, "′"},
    {"prod", kLarge, "∏"},
    {"propto", kOperator, "∝"},
    {"psi", kIdentifier, "ψ"},
    {"qquad", kSpace, "2em"},
    {"quad", kSpace, "1em"},
    {"rVert", kOperator, "‖"},
    {"rangle", kOperator, "⟩"},
    {"rbrace", kOperator, "}"},
    {"rbrack", kOperator, "]"},
    {"rceil", kOperator, "⌉"},
    {"rfloor", kOperator, "⌋"},
    {"rho", kIdentifier, "ρ"},
    {"rightarrow", kOperator, "→"},
    {"rightharpoonup", kOperator, "⇀"},
    {"rightleftharpoons", kOperator, "⇌"},
    {"rvert", kOperator, "|"},
    {"searrow", kOperator, "↘"},
    {"sec", kFunction, "sec"},
    {"setminus", kOperator, "∖"},
    {"sigma", kIdentifier, "σ"},
    {"sim", kOperator, "∼"},
    {"simeq", kOperator, "≃"},
    {"sin", kFunction, "sin"},
    {"sinh", kFunction, "sinh"},
    {"square", kIdentifier, "□"},
    {"star", kOperator, "⋆"},
    {"subset", kOperator, "⊂"},
    {"subseteq", kOperator, "⊆"},
    {"subsetneq", kOperator, "⊊"},
    {"succ", kOperator, "≻"},
    {"sum", kLarge, "∑"},
    {"sup", kLimit, "sup"},
    {"supset", kOperator, "⊃"},
    {"supseteq", kOperator, "⊇"},
    {"tan", kFunction, "tan"},
    {"tanh", kFunction, "tanh"},
    {"tau", kIdentifier, "τ"},
    {"therefore", kOperator, "∴"},
    {"theta", kIdentifier, "θ"},
    {"thinspace", kSpace, "0.17em"},
    {"times", kOperator, "×"},
    {"to", kOperator, "→"},
    {"top", kIdentifier, "⊤"},
    {"triangle", kIdentifier, "△"},
    {"triangleq", kOperator, "≜"},
    {"uparrow", kOperator, "↑"},
    {"upsilon", kIdentifier, "υ"},
    {"varepsilon", kIdentifier, "ε"},
    {"varnothing", kIdentifier, "∅"},
    {"varphi", kIdentifier, "φ"},
    {"varpi", kIdentifier, "ϖ"},
    {"varrho", kIdentifier, "ϱ"},
    {"varsigma", kIdentifier, "ς"},
    {"vartheta", kIdentifier, "ϑ"},
    {"vdash", kOperator, "⊢"},
    {"vdots", kIdentifier, "⋮"},
    {"vee", kOperator, "∨"},
    {"vert", kOperator, "|"},
    {"wedge", kOperator, "∧"},
    {"xi", kIdentifier, "ξ"},
    {"zeta", kIdentifier, "ζ"},
    {"{", kOperator, "{"},
    {"|", kOperator, "‖"},
    {"}", kOperator, "}"},

});
static_assert(std::ranges::is_sorted(kSymbols, {}, &MathSymbol::name));

constexpr auto kAccents = std::to_array<std::pair<std::string_view, MathAccent>>({
    {"hat", {"^"}},
    {"widehat", {"^"}},
    {"bar", {"¯"}},
    {"overline", {"‾"}},
    {"vec", {"→"}},
    {"overrightarrow", {"→"}},
    {"dot", {"˙"}},
    {"ddot", {"¨"}},
    {"tilde", {"~"}},
    {"widetilde", {"~"}},
    {"check", {"ˇ"}},
    {"breve", {"˘"}},
    {"acute", {"´"}},
    {"grave", {"`"}},
    {"overbrace", {"⏞"}},
    {"underline", {"_", true}},
    {"underbrace", {"⏟", true}},
});

constexpr auto kEnvironments = std::to_array<MathEnvironment>({
    {"matrix", "", "", ""},      {"smallmatrix", "", "", ""}, {"array", "", "", ""},
    {"pmatrix", "(", ")", ""},   {"bmatrix", "[", "]", ""},   {"Bmatrix", "{", "}", ""},
    {"vmatrix", "|", "|", ""},   {"Vmatrix", "‖", "‖", ""},   {"cases", "{", "", "ll"},
    {"aligned", "", "", "rl"},   {"align", "", "", "rl"},     {"split", "", "", "rl"},
    {"eqnarray", "", "", "rcl"}, {"gather", "", "", ""},      {"gathered", "", "", ""},
    {"multline", "", "", ""},    {"equation", "", "", ""},    {"displaymath", "", "", ""},
    {"math", "", "", ""},
});

// Letters that Unicode had before it got the alphabet, and left a gap for.
struct Exception {
  char letter;
  std::string_view text;
};
constexpr auto kDoubleStruck = std::to_array<Exception>(
    {{'C', "ℂ"}, {'H', "ℍ"}, {'N', "ℕ"}, {'P', "ℙ"}, {'Q', "ℚ"}, {'R', "ℝ"}, {'Z', "ℤ"}});
constexpr auto kScript = std::to_array<Exception>({{'B', "ℬ"},
                                                   {'E', "ℰ"},
                                                   {'F', "ℱ"},
                                                   {'H', "ℋ"},
                                                   {'I', "ℐ"},
                                                   {'L', "ℒ"},
                                                   {'M', "ℳ"},
                                                   {'R', "ℛ"},
                                                   {'e', "ℯ"},
                                                   {'g', "ℊ"},
                                                   {'o', "ℴ"}});
constexpr auto kFraktur =
    std::to_array<Exception>({{'C', "ℭ"}, {'H', "ℌ"}, {'I', "ℑ"}, {'R', "ℜ"}, {'Z', "ℨ"}});

std::string utf8_of(char32_t code) {
  std::string text;
  append_utf8(text, code);
  return text;
}

template <std::size_t kSize>
std::string letter_of(char c, unsigned int first, const std::array<Exception, kSize>& exceptions) {
  const auto* const found = std::ranges::find(exceptions, c, &Exception::letter);
  if (found != exceptions.end()) {
    return std::string(found->text);
  }
  // In each alphabet the small letters follow the capital ones.
  return utf8_of(first + static_cast<unsigned int>(c >= 'a' ? c - 'a' + 26 : c - 'A'));
}

}  // namespace

const MathSymbol* find_math_symbol(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kSymbols, name, {}, &MathSymbol::name);
  return found != kSymbols.end() && found->name == name ? found : nullptr;
}

const MathEnvironment* find_math_environment(std::string_view name) {
  if (name.ends_with('*')) {
    name.remove_suffix(1);
  }
  const auto* const found = std::ranges::find(kEnvironments, name, &MathEnvironment::name);
  return found == kEnvironments.end() ? nullptr : found;
}

MathAccent find_math_accent(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kAccents, [name](const auto& entry) { return entry.first == name; });
  return found == kAccents.end() ? MathAccent{} : found->second;
}

std::string math_letter(std::string_view alphabet, char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (alphabet == "mathbf" && c >= '0' && c <= '9') {
    return utf8_of(0x1D7CEU + static_cast<unsigned int>(c - '0'));
  }
  if (!is_letter) {
    return std::string(1, c);
  }
  if (alphabet == "mathbb") {
    return letter_of(c, 0x1D538, kDoubleStruck);
  }
  if (alphabet == "mathcal") {
    return letter_of(c, 0x1D49C, kScript);
  }
  if (alphabet == "mathfrak") {
    return letter_of(c, 0x1D504, kFraktur);
  }
  return letter_of(c, 0x1D400, std::array<Exception, 0>{});
}

}  // namespace glovebox::notebook
