// SPDX-License-Identifier: Apache-2.0
package glovebox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import sun.misc.Signal;

/** The agent for Java: frames on descriptor 3, JShell inside. */
public final class Agent {
  private static final List<String> FEATURES = List.of("complete", "inspect", "is_complete", "input", "variables");

  private final Link link;
  private final Streams streams;
  private final Evaluator evaluator;
  private final int inlineLimit;
  private volatile boolean running;
  private int count;

  private Agent() throws ReflectiveOperationException {
    link = new Link(3);
    streams = new Streams(link);
    evaluator = new Evaluator();
    inlineLimit = inlineLimit();
  }

  public static void main(String[] arguments) throws Exception {
    Agent agent = new Agent();
    if (arguments.length > 0 && arguments[0].equals("--train")) {
      // A run of which the class data archive is made: what it loads starts fast from then on.
      agent.evaluator.run("int a = 1; String f(int n) { return \"\" + n; } System.out.print(f(a)); a");
      agent.evaluator.run("throw new IllegalStateException(\"x\");");
      agent.evaluator.run("undefined");
      return;
    }
    agent.serve();
  }

  private void serve() throws InterruptedException {
    streams.install();
    Signal.handle(new Signal("INT"), signal -> {
      try {
        if (running) {
          evaluator.stop();
        }
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
      }
    });
    link.start();
    String version = System.getProperty("java.version");
    link.send(Link.READY, Map.of("language", "java", "version", version, "features", FEATURES));
    while (true) {
      Link.Message message = link.next();
      if (message.type() == Link.EXECUTE) {
        execute(message);
      } else {
        link.reply(message.channel(), replyTo(message));
      }
    }
  }

  private void execute(Link.Message message) {
    boolean silent = message.flag("silent", false);
    count += !silent && message.flag("store_history", true) ? 1 : 0;
    link.setChannel(message.channel());
    link.send(Link.STARTED, Map.of("execution_count", count));
    link.forgetInputs();
    streams.install();
    noteDirectory(message.text("cwd"));
    Properties before = (Properties) System.getProperties().clone();
    environmentOf(message).forEach(System::setProperty);
    running = true;
    Evaluator.Outcome outcome;
    try {
      outcome = evaluator.run(message.text("code"));
    } catch (Throwable broken) {
      outcome = new Evaluator.Outcome(null,
          new Evaluator.Failure(broken.getClass().getName(), String.valueOf(broken.getMessage()), List.of()));
    }
    running = false;
    restore(before, environmentOf(message));
    System.out.flush();
    System.err.flush();
    if (outcome.failure() != null) {
      Evaluator.Failure failure = outcome.failure();
      link.send(Link.ERROR,
          Map.of("name", failure.name(), "value", failure.value(), "traceback", failure.traceback()));
    } else if (outcome.result() != null && !silent) {
      sendResult(outcome.result());
    }
    String status = outcome.failure() == null ? "ok" : "error";
    link.send(Link.DONE, Map.of("status", status, "execution_count", count));
  }

  private void sendResult(String text) {
    // At most three bytes a char in UTF-8.
    if (text.length() > inlineLimit / 3) {
      link.send(Link.NOTE, Map.of("text", "the result of " + text.length() + " characters was truncated"));
      text = text.substring(0, inlineLimit / 3);
    }
    link.send(Link.RESULT,
        Map.of("data", Map.of("text/plain", text), "metadata", Map.of(), "execution_count", count));
  }

  private void noteDirectory(String wanted) {
    if (!wanted.isEmpty() && !wanted.equals(System.getProperty("user.dir"))) {
      link.send(Link.NOTE, Map.of("text", "a JVM can't change its working directory; it stays "
          + System.getProperty("user.dir")));
    }
  }

  /** A JVM can't change its environment either, so the variables become system properties, as in E2B. */
  private static Map<String, String> environmentOf(Link.Message message) {
    Map<String, String> result = new HashMap<>();
    if (message.payload().get("env") instanceof Map<?, ?> env) {
      env.forEach((name, value) -> {
        if (!String.valueOf(name).isEmpty()) {
          result.put(String.valueOf(name), String.valueOf(value));
        }
      });
    }
    return result;
  }

  private static void restore(Properties before, Map<String, String> environment) {
    for (String name : environment.keySet()) {
      if (before.getProperty(name) == null) {
        System.clearProperty(name);
      } else {
        System.setProperty(name, before.getProperty(name));
      }
    }
  }

  private Map<String, Object> replyTo(Link.Message message) {
    String code = message.text("code");
    int points = code.codePointCount(0, code.length());
    int cursor = message.payload().get("cursor") instanceof Double number ? number.intValue() : points;
    int at = code.offsetByCodePoints(0, Math.max(0, Math.min(points, cursor)));
    return switch (message.type()) {
      case Link.COMPLETE -> evaluator.complete(code, at);
      case Link.INSPECT -> evaluator.inspect(code, at);
      case Link.IS_COMPLETE -> evaluator.isComplete(code);
      case Link.VARIABLES -> Map.of("variables", evaluator.variables());
      default -> Map.of("error", "the Java agent does not support this request");
    };
  }

  private static int inlineLimit() {
    try {
      return Integer.parseInt(System.getenv().getOrDefault("GLOVEBOX_INLINE", "8388608"));
    } catch (NumberFormatException wrong) {
      return 8388608;
    }
  }
}
