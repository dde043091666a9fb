// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Glovebox {

/// <summary>JSON to dictionaries, lists, strings, numbers and back, without a library to depend on.</summary>
sealed class Json {
  const int DepthLimit = 100;

  readonly string text;
  int at;

  Json(string text) { this.text = text; }

  /// <summary>Parses an object; anything else, and malformed text, gives an empty one.</summary>
  public static Dictionary<string, object> ParseObject(string text) {
    try {
      return new Json(text).Value(0) as Dictionary<string, object> ?? new Dictionary<string, object>();
    } catch (FormatException) {
      return new Dictionary<string, object>();
    } catch (SystemException) {  // The text ends too early, or a number is none.
      return new Dictionary<string, object>();
    }
  }

  public static string Write(object value) {
    var output = new StringBuilder();
    Write(output, value);
    return output.ToString();
  }

  object Value(int depth) {
    if (depth > DepthLimit) throw new FormatException("too deep");
    Space();
    switch (text[at]) {
      case '{': return Object(depth);
      case '[': return Array(depth);
      case '"': return String();
      default: return Word();
    }
  }

  Dictionary<string, object> Object(int depth) {
    var map = new Dictionary<string, object>();
    at++;
    Space();
    if (Take('}')) return map;
    do {
      Space();
      string key = String();
      Space();
      Expect(':');
      map[key] = Value(depth + 1);
      Space();
    } while (Take(','));
    Expect('}');
    return map;
  }

  List<object> Array(int depth) {
    var list = new List<object>();
    at++;
    Space();
    if (Take(']')) return list;
    do {
      list.Add(Value(depth + 1));
      Space();
    } while (Take(','));
    Expect(']');
    return list;
  }

  string String() {
    Expect('"');
    var output = new StringBuilder();
    while (true) {
      char c = text[at++];
      if (c == '"') return output.ToString();
      if (c != '\\') {
        output.Append(c);
        continue;
      }
      char escape = text[at++];
      switch (escape) {
        case 'n': output.Append('\n'); break;
        case 't': output.Append('\t'); break;
        case 'r': output.Append('\r'); break;
        case 'b': output.Append('\b'); break;
        case 'f': output.Append('\f'); break;
        case 'u':
          output.Append((char)int.Parse(text.Substring(at, 4), NumberStyles.HexNumber));
          at += 4;
          break;
        default: output.Append(escape); break;
      }
    }
  }

  object Word() {
    int start = at;
    while (at < text.Length && "{}[],:\" \t\r\n".IndexOf(text[at]) < 0) at++;
    string word = text.Substring(start, at - start);
    if (word == "true" || word == "false") return word == "true";
    if (word == "null") return null;
    return double.Parse(word, CultureInfo.InvariantCulture);
  }

  void Space() {
    while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
  }

  bool Take(char c) {
    bool found = at < text.Length && text[at] == c;
    if (found) at++;
    return found;
  }

  void Expect(char c) {
    if (!Take(c)) throw new FormatException("malformed");
  }

  static void Write(StringBuilder output, object value) {
    if (value is IDictionary<string, object> map) {
      char separator = '{';
      foreach (var entry in map) {
        output.Append(separator);
        WriteString(output, entry.Key);
        output.Append(':');
        Write(output, entry.Value);
        separator = ',';
      }
      output.Append(map.Count == 0 ? "{}" : "}");
    } else if (value is string text) {
      WriteString(output, text);
    } else if (value is bool flag) {
      output.Append(flag ? "true" : "false");
    } else if (value == null) {
      output.Append("null");
    } else if (value is IEnumerable list) {
      output.Append('[');
      bool first = true;
      foreach (object each in list) {
        if (!first) output.Append(',');
        Write(output, each);
        first = false;
      }
      output.Append(']');
    } else {
      output.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
    }
  }

  static void WriteString(StringBuilder output, string text) {
    output.Append('"');
    foreach (char c in text) {
      if (c == '"' || c == '\\') output.Append('\\').Append(c);
      else if (c == '\n') output.Append("\\n");
      else if (c < 0x20) output.Append("\\u").Append(((int)c).ToString("x4"));
      else output.Append(c);
    }
    output.Append('"');
  }
}

}
