// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using Mono.CSharp;

namespace Glovebox {

/// <summary>What a failed execution says.</summary>
sealed class Failure : Exception {
  public readonly string Name;
  public readonly List<string> Lines;

  public Failure(string name, string value, List<string> lines) : base(value) {
    Name = name;
    Lines = lines;
  }
}

/// <summary>One Mono.CSharp evaluator, and the way from a cell to its result.</summary>
sealed class Evaluation {
  const int ElementsLimit = 1000, TextLimit = 1 << 20, DepthLimit = 8;
  const string Usings = "using System; using System.Collections.Generic; using System.IO; using System.Linq; "
      + "using System.Text; using System.Text.RegularExpressions; using System.Threading; "
      + "using System.Threading.Tasks;";

  readonly StringWriter diagnostics = new StringWriter();
  readonly Evaluator evaluator;
  readonly object stopping = new object();
  Thread guest;
  bool stopped;

  sealed class NoValue {}

  public Evaluation() {
    var settings = new CompilerSettings { WarningLevel = 0 };
    // A distribution packs these apart, and one that is missing would fail every cell.
    string folder = Path.GetDirectoryName(typeof(object).Assembly.Location);
    foreach (string name in new[] { "System.Core", "System.Numerics", "System.Xml", "System.Xml.Linq" })
      if (File.Exists(Path.Combine(folder, name + ".dll"))) settings.AssemblyReferences.Add(name);
    evaluator = new Evaluator(new CompilerContext(settings, new StreamReportPrinter(diagnostics)));
    Run(Usings);
    // Loads what the first cell needs, so that the wait comes before "ready".
    Run("1 + 1");
  }

  /// <summary>Runs a cell. Gives the text of the last expression's value or null; throws Failure.</summary>
  public string Run(string code) {
    var splitter = new Splitter(code);
    if (!splitter.Complete)
      throw new Failure("CompilationError", "unexpected end of code", new List<string> { "unexpected end of code" });
    lock (stopping) stopped = false;
    List<string> items = splitter.Items.SelectMany(TopLevelMethod.Rewrite).ToList();
    string result = null;
    for (int i = 0; i < items.Count; i++) {
      string item = items[i];
      bool isBlock = item.EndsWith("}") && !item.StartsWith("new ");
      bool isValue = i == items.Count - 1 && !item.EndsWith(";") && !isBlock;
      object value = RunItem(item.EndsWith(";") || isBlock ? item : item + ";");
      result = isValue && !(value is NoValue) ? Show(value) : null;
    }
    return result;
  }

  /// <summary>Ends the execution that runs, from another thread.</summary>
  public void Stop() {
    lock (stopping) {
      stopped = true;
      if (guest != null) guest.Abort();
    }
  }

  public string[] Complete(string before, out string prefix) {
    string[] endings = evaluator.GetCompletions(before, out prefix);
    return endings ?? new string[0];
  }

  /// <summary>Lines such as "int x = 5".</summary>
  public string[] Variables() => evaluator.GetVars()
      .Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries)
      .Where(line => !line.Contains(" <>") && !line.StartsWith("<"))  // The compiler's own.
      .ToArray();

  object RunItem(string item) {
    diagnostics.GetStringBuilder().Clear();
    CompiledMethod method;
    string rest;
    try {
      rest = evaluator.Compile(item, out method);
    } catch (Exception broken) when (!(broken is ThreadAbortException)) {
      throw new Failure("CompilationError", broken.Message, new List<string> { item, broken.Message });
    }
    string said = diagnostics.ToString();
    if (rest != null || said.Contains("error CS")) throw Uncompilable(item, said);
    if (said != "") Console.Error.Write(said);
    object value = new NoValue();
    if (method == null) return value;
    try {
      Invoke(method, ref value);
    } catch (ThreadAbortException) {
      Thread.ResetAbort();
      throw Interruption();
    } catch (Failure) {
      throw;
    } catch (Exception thrown) {
      throw new Failure(thrown.GetType().FullName, thrown.Message, Traceback(thrown));
    }
    return value;
  }

  static Failure Interruption() =>
      new Failure("Interrupted", "the execution was interrupted", new List<string>());

  void Invoke(CompiledMethod method, ref object value) {
    try {
      lock (stopping) {
        if (stopped) throw Interruption();
        guest = Thread.CurrentThread;
      }
      method(ref value);
    } finally {
      // Not aborted here, so that no abort can hit the agent's own code later.
      lock (stopping) guest = null;
    }
  }

  static Failure Uncompilable(string item, string said) {
    var lines = said.Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries).Take(40).ToList();
    string first = lines.FirstOrDefault(line => line.Contains("error CS")) ?? "the code is incomplete";
    int mark = first.IndexOf("error CS", StringComparison.Ordinal);
    if (lines.Count == 0) lines.Add(first + ": " + item);
    return new Failure("CompilationError", mark < 0 ? first : first.Substring(mark), lines);
  }

  static List<string> Traceback(Exception thrown) => thrown.ToString()
      .Split('\n')
      .Where(line => !line.Contains("at Glovebox.") && !line.Contains("at Mono.CSharp."))
      .Select(line => line.Replace("<InteractiveExpressionClass>", "cell").TrimEnd())
      .Take(60)
      .ToList();

  static string Show(object value) {
    var output = new StringBuilder();
    Show(output, value, 0);
    return output.Length > TextLimit ? output.ToString(0, TextLimit) + " ..." : output.ToString();
  }

  static void Show(StringBuilder output, object value, int depth) {
    if (output.Length > TextLimit) return;
    if (value == null) {
      output.Append("null");
    } else if (value is string text) {
      output.Append('"').Append(text.Replace("\\", "\\\\").Replace("\"", "\\\"").Replace("\n", "\\n")).Append('"');
    } else if (value is char c) {
      output.Append('\'').Append(c).Append('\'');
    } else if (value is bool flag) {
      output.Append(flag ? "true" : "false");
    } else if (value is DictionaryEntry entry) {
      ShowPair(output, entry.Key, entry.Value, depth);
    } else if (value is IDictionary map && depth < DepthLimit) {
      ShowAll(output, map, depth);
    } else if (value is IEnumerable list && depth < DepthLimit) {
      ShowAll(output, list, depth);
    } else {
      output.Append(value);
    }
  }

  static void ShowPair(StringBuilder output, object key, object value, int depth) {
    output.Append("{ ");
    Show(output, key, depth + 1);
    output.Append(", ");
    Show(output, value, depth + 1);
    output.Append(" }");
  }

  static void ShowAll(StringBuilder output, IEnumerable list, int depth) {
    output.Append('{');
    int count = 0;
    foreach (object each in list) {
      output.Append(count == 0 ? " " : ", ");
      if (count++ == ElementsLimit) {
        output.Append("...");
        break;
      }
      Show(output, each, depth + 1);
    }
    output.Append(count == 0 ? "}" : " }");
  }
}

}
