// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Glovebox {

/// <summary>Console.Out or Console.Error of the guest, as frames.</summary>
sealed class OutputWriter : TextWriter {
  readonly Link link;
  readonly int type;

  public OutputWriter(Link link, int type) {
    this.link = link;
    this.type = type;
    CoreNewLine = new[] { '\n' };
  }

  public override Encoding Encoding => Encoding.UTF8;

  public override void Write(char value) => Write(value.ToString());

  public override void Write(char[] buffer, int index, int count) => Write(new string(buffer, index, count));

  public override void Write(string value) {
    if (!string.IsNullOrEmpty(value)) link.SendBytes(type, Encoding.UTF8.GetBytes(value));
  }

  // One frame a line, not one for its text and one for its end.
  public override void WriteLine(string value) => Write(value + "\n");
}

/// <summary>Console.In of the guest: each line that it lacks is asked for.</summary>
sealed class InputReader : TextReader {
  readonly Link link;
  string line = "";
  int at;
  bool ended;

  public InputReader(Link link) { this.link = link; }

  public override int Peek() => Fill() ? line[at] : -1;

  public override int Read() => Fill() ? line[at++] : -1;

  bool Fill() {
    if (at < line.Length) return true;
    if (ended) return false;
    link.Send(FrameType.InputRequest, new Dictionary<string, object> { { "prompt", "" }, { "password", false } });
    Message answer = link.NextInput();
    ended = answer.Flag("eof", false);
    line = ended ? "" : answer.Text("text") + "\n";
    at = 0;
    return !ended;
  }
}

}
