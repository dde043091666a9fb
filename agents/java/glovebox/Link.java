// SPDX-License-Identifier: Apache-2.0
package glovebox;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The agent's end of descriptor 3. Frames are read on a thread of their own, because the agent must end with the
 * descriptor also while guest code runs that never comes back.
 *
 * <p>The JVM closes every descriptor above 2 in processes that it starts, so the socket is not passed on to them.
 */
final class Link {
  static final int EXECUTE = 1;
  static final int INPUT = 2;
  static final int COMPLETE = 3;
  static final int INSPECT = 4;
  static final int IS_COMPLETE = 5;
  static final int VARIABLES = 8;
  static final int END = 9;
  static final int READY = 64;
  static final int STARTED = 65;
  static final int STDOUT = 66;
  static final int STDERR = 67;
  static final int RESULT = 69;
  static final int ERROR = 70;
  static final int INPUT_REQUEST = 71;
  static final int DONE = 73;
  static final int REPLY = 74;
  static final int NOTE = 75;
  private static final int PART = 127;

  private static final int HEADER_SIZE = 9;
  private static final int FRAME_LIMIT = 1 << 20;
  private static final int MESSAGE_LIMIT = 64 << 20;

  record Message(int type, int channel, Map<String, Object> payload) {
    String text(String name) {
      return payload.get(name) instanceof String text ? text : "";
    }

    boolean flag(String name, boolean otherwise) {
      return payload.get(name) instanceof Boolean flag ? flag : otherwise;
    }
  }

  private final FileInputStream in;
  private final FileOutputStream out;
  private final LinkedBlockingQueue<Message> requests = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<Message> inputs = new LinkedBlockingQueue<>();
  private volatile int channel;

  /** Requires --add-opens java.base/java.io=ALL-UNNAMED: Java has no public way to an inherited socket. */
  Link(int number) throws ReflectiveOperationException {
    FileDescriptor descriptor = new FileDescriptor();
    Field field = FileDescriptor.class.getDeclaredField("fd");
    field.setAccessible(true);
    field.setInt(descriptor, number);
    in = new FileInputStream(descriptor);
    out = new FileOutputStream(descriptor);
  }

  void start() {
    Thread reader = new Thread(this::readForever, "glovebox-link");
    reader.setDaemon(true);
    reader.start();
  }

  Message next() throws InterruptedException {
    return requests.take();
  }

  /** Waits for the answer to an input request. */
  Message nextInput() throws InterruptedException {
    return inputs.take();
  }

  /** Drops answers that came too late, so that they can't answer a later question. */
  void forgetInputs() {
    inputs.clear();
  }

  void setChannel(int channel) {
    this.channel = channel;
  }

  void send(int type, Map<String, ?> payload) {
    send(type, Json.write(payload).getBytes(StandardCharsets.UTF_8), channel);
  }

  void reply(int toChannel, Map<String, ?> payload) {
    send(REPLY, Json.write(payload).getBytes(StandardCharsets.UTF_8), toChannel);
  }

  /** Sends output. */
  void sendBytes(int type, byte[] bytes, int offset, int size) {
    for (int end = offset + size; offset < end; offset += FRAME_LIMIT) {
      write(type, channel, bytes, offset, Math.min(FRAME_LIMIT, end - offset));
    }
  }

  private synchronized void send(int type, byte[] payload, int toChannel) {
    int offset = 0;
    while (payload.length - offset > FRAME_LIMIT) {
      write(PART, toChannel, payload, offset, FRAME_LIMIT);
      offset += FRAME_LIMIT;
    }
    write(type, toChannel, payload, offset, payload.length - offset);
  }

  private synchronized void write(int type, int toChannel, byte[] bytes, int offset, int size) {
    ByteBuffer frame = ByteBuffer.allocate(HEADER_SIZE + size).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(size).put((byte) type).putInt(toChannel).put(bytes, offset, size);
    try {
      out.write(frame.array());
    } catch (IOException gone) {
      Runtime.getRuntime().halt(0);
    }
  }

  private void readForever() {
    Map<Integer, ByteArrayOutputStream> parts = new HashMap<>();
    int held = 0;
    while (true) {
      ByteBuffer header = ByteBuffer.wrap(readExactly(HEADER_SIZE)).order(ByteOrder.LITTLE_ENDIAN);
      int size = header.getInt();
      int type = header.get() & 0xff;
      int from = header.getInt();
      if (size < 0 || size > FRAME_LIMIT || type == END) {
        Runtime.getRuntime().halt(type == END ? 0 : 1);
      }
      byte[] payload = readExactly(size);
      if (type == PART) {
        held += size;
        if (held > MESSAGE_LIMIT) {
          Runtime.getRuntime().halt(1);
        }
        parts.computeIfAbsent(from, key -> new ByteArrayOutputStream()).writeBytes(payload);
        continue;
      }
      ByteArrayOutputStream before = parts.remove(from);
      if (before != null) {
        held -= before.size();
        before.writeBytes(payload);
        payload = before.toByteArray();
      }
      String text = new String(payload, StandardCharsets.UTF_8);
      (type == INPUT ? inputs : requests).add(new Message(type, from, Json.parseObject(text)));
    }
  }

  private byte[] readExactly(int size) {
    try {
      // Not in.readNBytes: it asks for the position first, which a socket has not.
      byte[] bytes = new byte[size];
      new DataInputStream(in).readFully(bytes);
      return bytes;
    } catch (IOException gone) {
      // Handled as the end of the stream.
    }
    Runtime.getRuntime().halt(0);
    return new byte[0];
  }
}
