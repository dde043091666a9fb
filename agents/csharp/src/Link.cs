// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using Mono.Unix.Native;

namespace Glovebox {

static class FrameType {
  public const int Execute = 1, Input = 2, Complete = 3, IsComplete = 5, Variables = 8, End = 9;
  public const int Ready = 64, Started = 65, Stdout = 66, Stderr = 67, Result = 69, Error = 70;
  public const int InputRequest = 71, Done = 73, Reply = 74, Note = 75, Part = 127;
}

sealed class Message {
  public int Type, Channel;
  public Dictionary<string, object> Payload;

  public string Text(string name) =>
      Payload.TryGetValue(name, out object value) && value is string text ? text : "";

  public bool Flag(string name, bool otherwise) =>
      Payload.TryGetValue(name, out object value) && value is bool flag ? flag : otherwise;
}

/// <summary>
/// The agent's end of descriptor 3. Frames are read on a thread of their own, because the agent must end with
/// the descriptor also while guest code runs that never comes back.
/// </summary>
sealed class Link {
  const int HeaderSize = 9, FrameLimit = 1 << 20, MessageLimit = 64 << 20;

  readonly int descriptor;
  readonly object writing = new object();
  readonly BlockingCollection<Message> requests = new BlockingCollection<Message>();
  readonly BlockingCollection<Message> inputs = new BlockingCollection<Message>();

  public volatile int Channel;

  public Link(int descriptor) {
    this.descriptor = descriptor;
    Syscall.fcntl(descriptor, FcntlCommand.F_SETFD, 1);
  }

  public void Start() {
    new Thread(ReadForever) { IsBackground = true, Name = "glovebox-link" }.Start();
  }

  public Message Next() => requests.Take();

  /// <summary>Waits for the answer to an input request.</summary>
  public Message NextInput() => inputs.Take();

  /// <summary>Drops answers that came too late, so that they can't answer a later question.</summary>
  public void ForgetInputs() {
    while (inputs.TryTake(out Message _)) {}
  }

  public void Send(int type, Dictionary<string, object> payload) => Send(type, payload, Channel);

  public void Send(int type, Dictionary<string, object> payload, int channel) {
    byte[] bytes = Encoding.UTF8.GetBytes(Json.Write(payload));
    lock (writing) {
      int offset = 0;
      for (; bytes.Length - offset > FrameLimit; offset += FrameLimit)
        Write(FrameType.Part, channel, bytes, offset, FrameLimit);
      Write(type, channel, bytes, offset, bytes.Length - offset);
    }
  }

  /// <summary>Sends output.</summary>
  public void SendBytes(int type, byte[] bytes) {
    lock (writing) {
      for (int offset = 0; offset < bytes.Length; offset += FrameLimit)
        Write(type, Channel, bytes, offset, Math.Min(FrameLimit, bytes.Length - offset));
    }
  }

  // An abort of the guest's thread must not leave half a frame, and a finally block is not aborted.
  unsafe void Write(int type, int channel, byte[] bytes, int offset, int size) {
    try {
    } finally {
      var frame = new byte[HeaderSize + size];
      PutNumber(frame, 0, size);
      frame[4] = (byte)type;
      PutNumber(frame, 5, channel);
      Buffer.BlockCopy(bytes, offset, frame, HeaderSize, size);
      fixed (byte* start = frame) {
        int at = 0;
        while (at < frame.Length) {
          long written = Syscall.write(descriptor, start + at, (ulong)(frame.Length - at));
          if (written > 0) at += (int)written;
          else if (Stdlib.GetLastError() != Errno.EINTR) Syscall._exit(0);
        }
      }
    }
  }

  unsafe byte[] ReadExactly(int size) {
    var bytes = new byte[size];
    fixed (byte* start = bytes) {
      int at = 0;
      while (at < size) {
        long got = Syscall.read(descriptor, start + at, (ulong)(size - at));
        if (got > 0) at += (int)got;
        else if (got == 0 || Stdlib.GetLastError() != Errno.EINTR) Syscall._exit(0);
      }
    }
    return bytes;
  }

  void ReadForever() {
    var parts = new Dictionary<int, MemoryStream>();
    int held = 0;
    while (true) {
      byte[] header = ReadExactly(HeaderSize);
      int size = BitConverter.ToInt32(header, 0), type = header[4], channel = BitConverter.ToInt32(header, 5);
      if (size < 0 || size > FrameLimit) Syscall._exit(1);
      if (type == FrameType.End) Syscall._exit(0);
      byte[] payload = ReadExactly(size);
      bool split = parts.TryGetValue(channel, out MemoryStream before);
      if (type == FrameType.Part) {
        held += size;
        if (held > MessageLimit) Syscall._exit(1);
        if (!split) parts[channel] = before = new MemoryStream();
        before.Write(payload, 0, size);
        continue;
      }
      if (split) {
        held -= (int)before.Length;
        before.Write(payload, 0, size);
        payload = before.ToArray();
        parts.Remove(channel);
      }
      var message = new Message {
        Type = type, Channel = channel, Payload = Json.ParseObject(Encoding.UTF8.GetString(payload)),
      };
      (type == FrameType.Input ? inputs : requests).Add(message);
    }
  }

  static void PutNumber(byte[] bytes, int at, int value) {
    for (int i = 0; i < 4; i++) bytes[at + i] = (byte)(value >> (8 * i));
  }
}

}
