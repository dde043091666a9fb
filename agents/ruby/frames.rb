# SPDX-License-Identifier: Apache-2.0
# Frames over one stream socket: nine bytes of header (size u32, type u8, channel u32,
# little-endian) and a payload.
require 'json'
require 'fcntl'

module Glovebox
  class Frames
    EXECUTE, INPUT, COMPLETE, IS_COMPLETE, VARIABLES, FINISH = 1, 2, 3, 5, 8, 9
    READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR = 64, 65, 66, 67, 68, 69, 70
    INPUT_REQUEST, DONE, REPLY, NOTE, PART = 71, 73, 74, 75, 127

    MAX_PAYLOAD = 1 << 20
    MAX_MESSAGE = 64 << 20
    F_DUPFD_CLOEXEC = 1030

    # Takes over a descriptor, and moves it out of the low numbers, where guests close and reuse
    # descriptors, and out of the reach of the programs that they start.
    def self.take_over(descriptor)
      low = IO.for_fd(descriptor, 'r+b')
      socket = IO.for_fd(low.fcntl(F_DUPFD_CLOEXEC, 100), 'r+b')
      socket.close_on_exec = true
      low.close
      socket
    end

    def initialize(socket)
      @socket = socket
      @socket.sync = true
      @buffer = String.new(encoding: Encoding::BINARY)
      @lock = Thread::Mutex.new
    end

    # Threads of the guest write as well, and an interrupt must not cut a frame in two.
    def send(type, channel, message)
      payload = message.is_a?(Hash) ? JSON.generate(Frames.clean(message)) : message
      payload = payload.b
      Thread.handle_interrupt(Exception => :never) do
        @lock.synchronize do
          offset = 0
          while payload.bytesize - offset > MAX_PAYLOAD
            write(PART, channel, payload.byteslice(offset, MAX_PAYLOAD))
            offset += MAX_PAYLOAD
          end
          write(type, channel, offset.zero? ? payload : payload.byteslice(offset..))
        end
      end
    end

    # The next message as [type, channel, payload]; nil when the stream has ended.
    def receive
      parts = String.new(encoding: Encoding::BINARY)
      loop do
        size, type, channel = header = take(9)&.unpack('VCV')
        return nil if header.nil?
        raise IOError, "a frame of #{size} bytes" if size > MAX_PAYLOAD
        payload = take(size)
        return nil if payload.nil?
        raise IOError, 'a message over the size limit' if parts.bytesize + size > MAX_MESSAGE
        parts << payload
        return [type, channel, parts] if type != PART
      end
    end

    # JSON knows text only: what is not UTF-8 gets replacement characters.
    def self.clean(value)
      case value
      when String
        text = value.encoding == Encoding::BINARY ? value.dup.force_encoding('UTF-8') : value
        text.encode('UTF-8', invalid: :replace, undef: :replace).scrub
      when Hash then value.to_h { |key, item| [clean(key), clean(item)] }
      when Array then value.map { |item| clean(item) }
      else value
      end
    end

    private

    def write(type, channel, payload)
      frame = [payload.bytesize, type, channel].pack('VCV') << payload
      until frame.empty?
        written = @socket.syswrite(frame)
        frame = written == frame.bytesize ? '' : frame.byteslice(written..)
      end
    rescue Errno::EPIPE, Errno::ECONNRESET
      exit!(1) # Nobody is left to speak to.
    end

    # An interrupt between two reads keeps what has come in @buffer.
    def take(size)
      @buffer << @socket.readpartial(1 << 17) while @buffer.bytesize < size
      @buffer.slice!(0, size)
    rescue EOFError, Errno::ECONNRESET
      nil
    end
  end
end
