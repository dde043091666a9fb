# SPDX-License-Identifier: Apache-2.0
# $stdout, $stderr and $stdin of the guest, spoken as frames.
require 'stringio'
require_relative 'frames'

module Glovebox
  # A StringIO for what libraries ask of it; all that writes ends in `write`, which keeps nothing.
  class Output < StringIO
    def initialize(session, type)
      super(String.new)
      @session = session
      @type = type
    end

    def write(*values)
      bytes = values.map { |value| value.to_s.b }.join
      @session.output(@type, bytes) unless bytes.empty?
      bytes.bytesize
    end

    alias syswrite write

    def write_nonblock(bytes, **) = write(bytes)

    def <<(value)
      write(value)
      self
    end

    def print(*values)
      write(*(values.empty? ? [$_] : values), $\)
      nil
    end

    def printf(*values)
      write(format(*values)) unless values.empty?
      nil
    end

    def putc(value)
      write(value.is_a?(Integer) ? (value & 255).chr : value.to_s[0])
      value
    end

    def puts(*values)
      lines = values.empty? ? [''] : lines_of(values)
      write(lines.map { |line| line.end_with?("\n") ? line : "#{line}\n" }.join)
      nil
    end

    def flush = self
    def sync = true
    def sync=(value); end
    def fsync = 0
    def close = nil
    def closed? = false
    def tty? = false
    alias isatty tty?
    def fileno = @type == Frames::STDOUT ? 1 : 2
    def inspect = "#<IO:#{@type == Frames::STDOUT ? '<STDOUT>' : '<STDERR>'}>"
    def external_encoding = Encoding::UTF_8

    # For `spawn(…, out: $stdout)`.
    def to_io = @type == Frames::STDOUT ? STDOUT : STDERR

    private

    def lines_of(values, seen = [])
      values.flat_map do |value|
        if value.is_a?(Array)
          next ['[...]'] if seen.any? { |outer| outer.equal?(value) }
          next value.empty? ? [] : lines_of(value, seen + [value])
        end
        [value.to_s.b]
      end
    end
  end

  # Lines are asked of the caller.
  class Input
    include Enumerable

    def initialize(session)
      @session = session
    end

    def gets(_separator = $/, _limit = nil, chomp: false)
      line = @session.ask
      line = line.chomp if line && chomp
      $_ = line
    end

    def readline(*arguments, **options)
      gets(*arguments, **options) || raise(EOFError, 'end of file reached')
    end

    def each_line
      while (line = gets)
        yield line
      end
    end
    alias each each_line

    def readlines(**options) = to_a.map { |line| options[:chomp] ? line.chomp : line }
    def read(*) = to_a.join
    def eof? = false
    def tty? = false
    alias isatty tty?
    def fileno = 0
    def inspect = '#<IO:<STDIN>>'
    def to_io = STDIN
  end
end
