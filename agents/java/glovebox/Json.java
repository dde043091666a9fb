// SPDX-License-Identifier: Apache-2.0
package glovebox;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON to maps, lists, strings, numbers and back: the JDK has no reader of its own. */
final class Json {
  private static final int DEPTH_LIMIT = 100;

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** Parses an object; anything else, and malformed text, gives an empty map. */
  static Map<String, Object> parseObject(String text) {
    try {
      Object value = new Json(text).value(0);
      if (value instanceof Map<?, ?> map) {
        Map<String, Object> result = new LinkedHashMap<>();
        map.forEach((key, each) -> result.put((String) key, each));
        return result;
      }
    } catch (IllegalArgumentException | IndexOutOfBoundsException malformed) {
      return Map.of();
    }
    return Map.of();
  }

  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(out, value);
    return out.toString();
  }

  private Object value(int depth) {
    if (depth > DEPTH_LIMIT) {
      throw new IllegalArgumentException("too deep");
    }
    space();
    switch (text.charAt(at)) {
      case '{' -> {
        return object(depth);
      }
      case '[' -> {
        return array(depth);
      }
      case '"' -> {
        return string();
      }
      default -> {
        return word();
      }
    }
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> map = new LinkedHashMap<>();
    at++;
    space();
    if (take('}')) {
      return map;
    }
    do {
      space();
      String key = string();
      space();
      expect(':');
      map.put(key, value(depth + 1));
      space();
    } while (take(','));
    expect('}');
    return map;
  }

  private List<Object> array(int depth) {
    List<Object> list = new ArrayList<>();
    at++;
    space();
    if (take(']')) {
      return list;
    }
    do {
      list.add(value(depth + 1));
      space();
    } while (take(','));
    expect(']');
    return list;
  }

  private String string() {
    expect('"');
    StringBuilder out = new StringBuilder();
    while (true) {
      char c = text.charAt(at++);
      if (c == '"') {
        return out.toString();
      }
      if (c != '\\') {
        out.append(c);
        continue;
      }
      char escape = text.charAt(at++);
      switch (escape) {
        case 'n' -> out.append('\n');
        case 't' -> out.append('\t');
        case 'r' -> out.append('\r');
        case 'b' -> out.append('\b');
        case 'f' -> out.append('\f');
        case 'u' -> {
          out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
          at += 4;
        }
        default -> out.append(escape);
      }
    }
  }

  private Object word() {
    int start = at;
    while (at < text.length() && "{}[],:\" \t\r\n".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    String word = text.substring(start, at);
    return switch (word) {
      case "true" -> Boolean.TRUE;
      case "false" -> Boolean.FALSE;
      case "null" -> null;
      default -> Double.valueOf(word);
    };
  }

  private void space() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    boolean found = at < text.length() && text.charAt(at) == c;
    at += found ? 1 : 0;
    return found;
  }

  private void expect(char c) {
    if (!take(c)) {
      throw new IllegalArgumentException("malformed");
    }
  }

  private static void write(StringBuilder out, Object value) {
    if (value instanceof Map<?, ?> map) {
      char separator = '{';
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(separator);
        writeString(out, String.valueOf(entry.getKey()));
        out.append(':');
        write(out, entry.getValue());
        separator = ',';
      }
      out.append(map.isEmpty() ? "{}" : "}");
    } else if (value instanceof List<?> list) {
      char separator = '[';
      for (Object each : list) {
        out.append(separator);
        write(out, each);
        separator = ',';
      }
      out.append(list.isEmpty() ? "[]" : "]");
    } else if (value instanceof Integer || value instanceof Boolean || value == null) {
      out.append(value);
    } else {
      writeString(out, value.toString());
    }
  }

  private static void writeString(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c == '\n') {
        out.append("\\n");
      } else if (c < 0x20) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
