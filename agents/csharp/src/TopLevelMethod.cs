// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

namespace Glovebox {

/// <summary>
/// Mono's evaluator knows no methods outside of classes. One in a cell becomes a delegate in a variable, which
/// sees the other variables and itself; one with parameters that a delegate of Func or Action can't have
/// becomes a static method of a class, whose members are then imported.
/// </summary>
static class TopLevelMethod {
  static readonly Regex Head = new Regex(
      @"^(?:(?:public|private|internal|static)\s+)*(?<async>async\s+)?(?<type>[\w.]+(?:<[^()=;{}]*>)?(?:\[\])*\??)\s+"
      + @"(?<name>\w+)\s*(?<generic><[\w\s,]+>)?\s*\((?<parameters>[^()]*)\)\s*(?<where>where[^{=]*)?"
      + @"(?<body>\{.*\}|=>.*;)\s*$", RegexOptions.Singleline | RegexOptions.CultureInvariant);
  static readonly Regex Plain = new Regex(@"^(?<type>[\w.]+(?:<.*>)?(?:\[\])*\??)\s+\w+$", RegexOptions.Singleline);
  static readonly HashSet<string> NoTypes = new HashSet<string> {
    "new", "return", "throw", "await", "else", "using", "lock", "case", "delegate", "class", "struct", "var",
  };

  static int count;

  public static IEnumerable<string> Rewrite(string item) {
    Match head = Head.Match(item);
    if (!head.Success || NoTypes.Contains(head.Groups["type"].Value)) return new[] { item };
    string parameters = head.Groups["parameters"].Value.Trim();
    List<Match> plain = Split(parameters).Select(each => Plain.Match(each)).ToList();
    bool fits = !head.Groups["generic"].Success && plain.Count <= 16 && plain.All(each => each.Success);
    return fits ? AsDelegate(head, parameters, plain.Select(each => each.Groups["type"].Value)) : AsMember(item);
  }

  static IEnumerable<string> AsDelegate(Match head, string parameters, IEnumerable<string> types) {
    string name = head.Groups["name"].Value, result = head.Groups["type"].Value, body = head.Groups["body"].Value;
    List<string> arguments = types.ToList();
    if (result != "void") arguments.Add(result);
    string kind = result == "void" ? "System.Action" : "System.Func";
    string type = arguments.Count == 0 ? kind : kind + "<" + string.Join(", ", arguments) + ">";
    string lambda = body.StartsWith("=>") ? body : "=> " + body + ";";
    // First the variable, so that the method can call itself.
    yield return type + " " + name + " = null;";
    yield return name + " = " + head.Groups["async"].Value + "(" + parameters + ") " + lambda;
  }

  static IEnumerable<string> AsMember(string item) {
    string name = "Methods" + ++count;
    string member = Regex.Replace(item, @"^((public|private|internal|static)\s+)+", "");
    yield return "public static class " + name + " { public static " + member + " }";
    yield return "using static " + name + ";";
  }

  /// <summary>Parts between commas that are in no angle or square bracket.</summary>
  static IEnumerable<string> Split(string parameters) {
    int depth = 0, start = 0;
    for (int i = 0; i < parameters.Length; i++) {
      char c = parameters[i];
      depth += c == '<' || c == '[' ? 1 : c == '>' || c == ']' ? -1 : 0;
      if (c != ',' || depth > 0) continue;
      yield return parameters.Substring(start, i - start).Trim();
      start = i + 1;
    }
    if (parameters != "") yield return parameters.Substring(start).Trim();
  }
}

}
