// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;

namespace Glovebox {

/// <summary>
/// Cuts a cell into statements and declarations, which Mono's evaluator takes one at a time. It knows strings,
/// comments and brackets, and what may follow a closing brace; the rest is the compiler's matter.
/// </summary>
sealed class Splitter {
  readonly string code;
  int at;
  int depth;

  /// <summary>False when a string, a comment or a bracket is still open at the end.</summary>
  public bool Complete { get; private set; } = true;

  public List<string> Items { get; } = new List<string>();

  public Splitter(string code) {
    this.code = code;
    int start = 0;
    while (at < code.Length) {
      char c = code[at];
      if (SkipToken()) continue;
      at++;
      if (c == '(' || c == '[' || c == '{') depth++;
      if (c == ')' || c == ']' || c == '}') depth--;
      bool ends = c == ';' || c == '}' && !ContinuesAfterBrace(start) || c == '\n' && IsDirective(start);
      if (depth <= 0 && ends) {
        Add(start, at);
        start = at;
        depth = 0;
      }
    }
    Add(start, code.Length);
    Complete &= depth <= 0;
  }

  void Add(int from, int to) {
    string item = code.Substring(from, to - from).Trim();
    if (item != "" && item != ";") Items.Add(item);
  }

  bool IsDirective(int start) => code.Substring(start, at - start).TrimStart().StartsWith("#");

  bool ContinuesAfterBrace(int start) {
    int next = at;
    while (next < code.Length && char.IsWhiteSpace(code[next])) next++;
    if (next == code.Length) return false;
    if (";.,)]?=+-*/<>&|:[".IndexOf(code[next]) >= 0)
      return string.CompareOrdinal(code, next, "//", 0, 2) != 0 && string.CompareOrdinal(code, next, "/*", 0, 2) != 0;
    int end = next;
    while (end < code.Length && char.IsLetter(code[end])) end++;
    string word = code.Substring(next, end - next);
    if (word == "while") return code.Substring(start).TrimStart().StartsWith("do");
    return word == "else" || word == "catch" || word == "finally";
  }

  /// <summary>Passes a comment, string or character; false when there is none here.</summary>
  bool SkipToken() {
    if (At("//")) return SkipTo("\n", 2, false);
    if (At("/*")) return SkipTo("*/", 2, true);
    if (At("$@\"") || At("@$\"")) return SkipVerbatim(3);
    if (At("@\"")) return SkipVerbatim(2);
    if (At("$\"")) return SkipQuoted('"', 2);
    if (At("\"") || At("'")) return SkipQuoted(code[at], 1);
    return false;
  }

  bool At(string text) => string.CompareOrdinal(code, at, text, 0, text.Length) == 0;

  bool SkipTo(string end, int begin, bool mustEnd) {
    int found = code.IndexOf(end, at + begin, System.StringComparison.Ordinal);
    if (found < 0 && mustEnd) Complete = false;
    // The end of a line stays: it may end a directive.
    at = found < 0 ? code.Length : mustEnd ? found + end.Length : found;
    return true;
  }

  bool SkipQuoted(char quote, int begin) {
    for (at += begin; at < code.Length && code[at] != quote && code[at] != '\n'; at++)
      if (code[at] == '\\') at++;
    at = System.Math.Min(at + 1, code.Length);
    return true;
  }

  bool SkipVerbatim(int begin) {
    at += begin;
    while (at < code.Length) {
      if (At("\"\"")) at += 2;
      else if (code[at++] == '"') return true;
    }
    Complete = false;
    return true;
  }
}

}
