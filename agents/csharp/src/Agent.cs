// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;
using Mono.Unix;
using Mono.Unix.Native;

namespace Glovebox {

/// <summary>The agent for C#: frames on descriptor 3, Mono's compiler inside.</summary>
sealed class Agent {
  readonly Link link = new Link(3);
  readonly Evaluation evaluation = new Evaluation();
  int count;

  static void Main() => new Agent().Serve();

  void Serve() {
    TakeStreams();
    new Thread(StopOnInterrupt) { IsBackground = true, Name = "glovebox-interrupt" }.Start();
    link.Start();
    link.Send(FrameType.Ready, new Dictionary<string, object> {
      { "language", "csharp" }, { "version", "mono " + RuntimeVersion() },
      { "features", new[] { "complete", "is_complete", "input", "variables" } },
    });
    while (true) {
      Message message = link.Next();
      if (message.Type == FrameType.Execute) Execute(message);
      else link.Send(FrameType.Reply, ReplyTo(message), message.Channel);
    }
  }

  void Execute(Message message) {
    bool silent = message.Flag("silent", false);
    if (!silent && message.Flag("store_history", true)) count++;
    link.Channel = message.Channel;
    link.Send(FrameType.Started, new Dictionary<string, object> { { "execution_count", count } });
    link.ForgetInputs();
    TakeStreams();
    var before = new Dictionary<string, string>();
    string status = "ok";
    try {
      Enter(message, before);
      string result = evaluation.Run(message.Text("code"));
      if (result != null && !silent) SendResult(result);
    } catch (Failure failure) {
      SendError(failure.Name, failure.Message, failure.Lines);
      status = "error";
    } catch (Exception broken) {
      SendError(broken.GetType().FullName, broken.Message, new List<string> { broken.Message });
      status = "error";
    }
    foreach (var entry in before) Environment.SetEnvironmentVariable(entry.Key, entry.Value);
    link.Send(FrameType.Done, new Dictionary<string, object> { { "status", status }, { "execution_count", count } });
  }

  void SendResult(string text) => link.Send(FrameType.Result, new Dictionary<string, object> {
    { "data", new Dictionary<string, object> { { "text/plain", text } } },
    { "metadata", new Dictionary<string, object>() }, { "execution_count", count },
  });

  void SendError(string name, string value, List<string> lines) =>
      link.Send(FrameType.Error, new Dictionary<string, object> {
        { "name", name }, { "value", value },
        { "traceback", lines.Count > 0 ? lines : new List<string> { name + ": " + value } },
      });

  static void Enter(Message message, Dictionary<string, string> before) {
    string directory = message.Text("cwd");
    if (directory != "") Directory.SetCurrentDirectory(directory);
    if (!message.Payload.TryGetValue("env", out object env)) return;
    foreach (var entry in env as Dictionary<string, object> ?? new Dictionary<string, object>()) {
      if (entry.Key == "" || entry.Key.IndexOfAny(new[] { '=', '\0' }) >= 0) continue;
      before[entry.Key] = Environment.GetEnvironmentVariable(entry.Key);
      Environment.SetEnvironmentVariable(entry.Key, Convert.ToString(entry.Value));
    }
  }

  // Again for each execution: the guest may have replaced the streams.
  void TakeStreams() {
    Console.SetOut(new OutputWriter(link, FrameType.Stdout));
    Console.SetError(new OutputWriter(link, FrameType.Stderr));
    Console.SetIn(new InputReader(link));
  }

  void StopOnInterrupt() {
    using (var signal = new UnixSignal(Signum.SIGINT)) {
      while (true) {
        signal.WaitOne(Timeout.Infinite);
        signal.Reset();
        evaluation.Stop();
      }
    }
  }

  Dictionary<string, object> ReplyTo(Message message) {
    string code = message.Text("code");
    switch (message.Type) {
      case FrameType.Complete: return Complete(code, Cursor(message, code));
      case FrameType.IsComplete: {
        bool complete = new Splitter(code).Complete;
        return new Dictionary<string, object> {
          { "status", complete ? "unknown" : "incomplete" }, { "indent", complete ? "" : "    " },
        };
      }
      case FrameType.Variables:
        return new Dictionary<string, object> { { "variables", evaluation.Variables().Take(1000).Select(Variable) } };
      default: return new Dictionary<string, object> { { "error", "the C# agent does not support this request" } };
    }
  }

  Dictionary<string, object> Complete(string code, int cursor) {
    string before = string.Concat(Runes(code).Take(cursor));
    string[] endings = evaluation.Complete(before, out string prefix);
    return new Dictionary<string, object> {
      { "matches", endings.Distinct().Take(500).Select(ending => prefix + ending) },
      { "start", cursor - Runes(prefix ?? "").Count() }, { "end", cursor },
    };
  }

  static int Cursor(Message message, string code) {
    int size = Runes(code).Count();
    bool given = message.Payload.TryGetValue("cursor", out object value) && value is double;
    return given ? (int)Math.Max(0, Math.Min(size, (double)value)) : size;
  }

  static IEnumerable<string> Runes(string text) {
    for (int i = 0; i < text.Length; i++) {
      bool pair = char.IsHighSurrogate(text[i]) && i + 1 < text.Length;
      yield return pair ? text.Substring(i++, 2) : text.Substring(i, 1);
    }
  }

  static Dictionary<string, object> Variable(string line) {
    string[] sides = line.Split(new[] { " = " }, 2, StringSplitOptions.None);
    int space = sides[0].LastIndexOf(' ');
    string value = sides.Length > 1 ? sides[1] : "";
    return new Dictionary<string, object> {
      { "name", sides[0].Substring(space + 1) }, { "type", space < 0 ? "" : sides[0].Substring(0, space) },
      { "value", value.Length > 200 ? value.Substring(0, 200) : value },
    };
  }

  static string RuntimeVersion() {
    MethodInfo name = Type.GetType("Mono.Runtime")
        ?.GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
    return name == null ? "unknown" : ((string)name.Invoke(null, null)).Split(' ')[0];
  }
}

}
