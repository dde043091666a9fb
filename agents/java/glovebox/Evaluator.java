// SPDX-License-Identifier: Apache-2.0
package glovebox;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.ExpressionSnippet;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.VarSnippet;

/** One JShell whose snippets run in this JVM, and the answers of its source code analysis. */
final class Evaluator {
  /** What a failed execution says. */
  record Failure(String name, String value, List<String> traceback) {}

  /** What an execution gave; both may be null. */
  record Outcome(String result, Failure failure) {}

  private static final String[] IMPORTS = {
    "java.io.*", "java.math.*", "java.net.*", "java.nio.file.*", "java.time.*", "java.util.*",
    "java.util.concurrent.*", "java.util.function.*", "java.util.regex.*", "java.util.stream.*",
  };

  private final JShell shell;
  private final SourceCodeAnalysis analysis;
  private volatile boolean stopping;

  Evaluator() {
    shell = JShell.builder().executionEngine("local").build();
    analysis = shell.sourceCodeAnalysis();
    for (String each : IMPORTS) {
      shell.eval("import " + each + ";");
    }
    // Loads what the first cell needs, so that the wait comes before "ready".
    Snippet warm = shell.eval("1 + 1").get(0).snippet();
    shell.drop(warm);
  }

  /** Ends the execution that runs, from a thread of its own. */
  void stop() throws InterruptedException {
    stopping = true;
    // JShell ignores a stop that comes between two snippets, so it is told until the execution has ended.
    while (stopOnce()) {
      Thread.sleep(20);
    }
  }

  Outcome run(String code) {
    stopping = false;
    try {
      return runAll(code);
    } finally {
      forgetStop();
    }
  }

  private synchronized boolean stopOnce() {
    if (stopping) {
      shell.stop();
    }
    return stopping;
  }

  private synchronized void forgetStop() {
    stopping = false;
  }

  private Outcome runAll(String code) {
    String rest = code;
    String result = null;
    while (!rest.isBlank()) {
      CompletionInfo info = analysis.analyzeCompletion(rest);
      if (info.completeness() == Completeness.EMPTY) {
        break;
      }
      if (info.completeness() == Completeness.DEFINITELY_INCOMPLETE) {
        return failed("CompilationError", "the code ends in the middle of a statement", List.of(rest.strip()));
      }
      String source = info.source() == null || info.source().isEmpty() ? rest : info.source();
      result = null;
      for (SnippetEvent event : shell.eval(source)) {
        if (event.causeSnippet() != null) {
          continue;
        }
        if (stopping) {
          return failed("Interrupted", "the execution was interrupted", List.of());
        }
        Failure failure = failureOf(event, source);
        if (failure != null) {
          return new Outcome(null, failure);
        }
        result = resultOf(event);
      }
      rest = info.remaining() == null || source.equals(rest) ? "" : info.remaining();
    }
    return new Outcome(result, null);
  }

  Map<String, Object> complete(String code, int cursor) {
    int[] anchor = {cursor};
    List<String> matches = new ArrayList<>();
    for (var suggestion : analysis.completionSuggestions(code, cursor, anchor)) {
      if (matches.size() < 500 && !matches.contains(suggestion.continuation())) {
        matches.add(suggestion.continuation());
      }
    }
    int start = code.codePointCount(0, anchor[0]);
    return Map.of("matches", matches, "start", start, "end", code.codePointCount(0, cursor));
  }

  Map<String, Object> inspect(String code, int cursor) {
    StringBuilder text = new StringBuilder();
    for (var documentation : analysis.documentation(code, cursor, false)) {
      text.append(documentation.signature()).append('\n');
    }
    boolean found = text.length() > 0;
    return Map.of("found", found, "data", found ? Map.of("text/plain", text.toString()) : Map.of());
  }

  Map<String, Object> isComplete(String code) {
    String rest = code;
    while (!rest.isBlank()) {
      CompletionInfo info = analysis.analyzeCompletion(rest);
      switch (info.completeness()) {
        case DEFINITELY_INCOMPLETE -> {
          return Map.of("status", "incomplete", "indent", "    ");
        }
        case UNKNOWN -> {
          return Map.of("status", "invalid", "indent", "");
        }
        default -> rest = info.remaining() == null ? "" : info.remaining();
      }
    }
    return Map.of("status", "complete", "indent", "");
  }

  List<Map<String, Object>> variables() {
    List<Map<String, Object>> list = new ArrayList<>();
    shell.variables().filter(each -> !each.name().startsWith("$")).limit(1000).forEach(each -> list.add(row(each)));
    return list;
  }

  private Map<String, Object> row(VarSnippet variable) {
    String value;
    try {
      value = shell.varValue(variable);
    } catch (IllegalArgumentException undefined) {
      value = "";
    }
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("name", variable.name());
    row.put("type", variable.typeName());
    row.put("value", value.substring(0, Math.min(200, value.length())));
    return row;
  }

  private static Outcome failed(String name, String value, List<String> details) {
    List<String> traceback = new ArrayList<>(List.of(name + ": " + value));
    traceback.addAll(details);
    return new Outcome(null, new Failure(name, value, traceback));
  }

  private static String resultOf(SnippetEvent event) {
    Snippet snippet = event.snippet();
    boolean shown = switch (snippet.subKind()) {
      case TEMP_VAR_EXPRESSION_SUBKIND, VAR_VALUE_SUBKIND, OTHER_EXPRESSION_SUBKIND -> true;
      default -> false;
    };
    boolean isVoid = snippet instanceof ExpressionSnippet expression && "void".equals(expression.typeName());
    return shown && !isVoid ? event.value() : null;
  }

  private Failure failureOf(SnippetEvent event, String source) {
    if (event.status() == Snippet.Status.REJECTED) {
      return compilation(event.snippet(), source);
    }
    JShellException exception = event.exception();
    if (exception instanceof EvalException thrown) {
      List<String> traceback = new ArrayList<>();
      describe(thrown, "", traceback);
      String message = thrown.getMessage() == null ? "" : thrown.getMessage();
      return new Failure(thrown.getExceptionClassName(), message, traceback);
    }
    if (exception instanceof UnresolvedReferenceException unresolved) {
      List<String> missing = shell.unresolvedDependencies(unresolved.getSnippet()).toList();
      String value = "undeclared names: " + String.join(", ", missing);
      return failed("UnresolvedReference", value, List.of()).failure();
    }
    return null;
  }

  private Failure compilation(Snippet snippet, String source) {
    List<String> lines = new ArrayList<>();
    String first = "the code does not compile";
    for (Diag diag : shell.diagnostics(snippet).filter(Diag::isError).limit(20).toList()) {
      // JShell's own wrapper class has no name, so the place that the compiler gives is empty.
      String message = diag.getMessage(Locale.ENGLISH).replaceAll("\\n *location: class *$", "");
      if (lines.isEmpty()) {
        first = message;
      }
      int start = (int) Math.max(0, Math.min(diag.getPosition(), source.length()));
      int from = source.lastIndexOf('\n', Math.max(0, start - 1)) + 1;
      int to = source.indexOf('\n', start);
      lines.add("error: " + message);
      lines.add(source.substring(Math.min(from, start), to < 0 ? source.length() : to));
      lines.add(" ".repeat(Math.max(0, start - from)) + "^");
    }
    return new Failure("CompilationError", first, lines.isEmpty() ? List.of(first) : lines);
  }

  private static void describe(EvalException thrown, String prefix, List<String> lines) {
    String message = thrown.getMessage();
    lines.add(prefix + thrown.getExceptionClassName() + (message == null ? "" : ": " + message));
    int shown = 0;
    for (StackTraceElement element : thrown.getStackTrace()) {
      if (shown++ == 30) {
        lines.add("\t...");
        break;
      }
      lines.add("\tat " + place(element));
    }
    if (thrown.getCause() instanceof EvalException cause && lines.size() < 200) {
      describe(cause, "Caused by: ", lines);
    }
  }

  private static String place(StackTraceElement element) {
    String type = element.getClassName();
    String method = element.getMethodName();
    String name = type.isEmpty() ? method : method.isEmpty() ? type : type + "." + method;
    String file = element.getFileName() == null ? "unknown" : element.getFileName();
    String line = element.getLineNumber() >= 0 ? ":" + element.getLineNumber() : "";
    return name + "(" + file + line + ")";
  }
}
