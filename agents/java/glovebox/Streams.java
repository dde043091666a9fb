// SPDX-License-Identifier: Apache-2.0
package glovebox;

import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** System.out, System.err and System.in of the guest, as frames. */
final class Streams {
  private final Link link;

  Streams(Link link) {
    this.link = link;
  }

  /** Takes the three streams anew for each execution: the guest may have replaced or closed them. */
  void install() {
    System.setOut(new PrintStream(new Output(Link.STDOUT), true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(new Output(Link.STDERR), true, StandardCharsets.UTF_8));
    System.setIn(new Input());
  }

  private final class Output extends OutputStream {
    private final int type;

    Output(int type) {
      this.type = type;
    }

    @Override
    public void write(int b) {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int size) {
      link.sendBytes(type, bytes, offset, size);
    }
  }

  private final class Input extends InputStream {
    private byte[] line = new byte[0];
    private int at;
    private boolean ended;

    @Override
    public int available() {
      return line.length - at;
    }

    @Override
    public int read() {
      return fill() ? line[at++] & 0xff : -1;
    }

    @Override
    public int read(byte[] bytes, int offset, int size) {
      if (size == 0) {
        return 0;
      }
      if (!fill()) {
        return -1;
      }
      int taken = Math.min(size, line.length - at);
      System.arraycopy(line, at, bytes, offset, taken);
      at += taken;
      return taken;
    }

    private boolean fill() {
      if (at < line.length) {
        return true;
      }
      if (ended) {
        return false;
      }
      link.send(Link.INPUT_REQUEST, Map.of("prompt", "", "password", false));
      try {
        Link.Message answer = link.nextInput();
        ended = answer.flag("eof", false);
        line = ended ? new byte[0] : (answer.text("text") + "\n").getBytes(StandardCharsets.UTF_8);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        line = new byte[0];
      }
      at = 0;
      return line.length > 0;
    }
  }
}
