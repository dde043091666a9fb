# SPDX-License-Identifier: Apache-2.0
# The agent of Ruby (agents/ruby) in CRuby for WASI: in a fork, on descriptor 0, and without signals.
# Its first read of that is where the zygote (zygote.cc) makes forks.
require_relative '../ruby/session'

module Glovebox
  def self.read_exactly(size)
    bytes = String.new
    bytes << $stdin.sysread(size - bytes.bytesize) while bytes.bytesize < size
    bytes
  rescue EOFError
    exit!(0)
  end

  # Goes to the directory and the environment that the fork is to have.
  def self.begin
    size = read_exactly(4).unpack1('V')
    _, directory, *variables = read_exactly(size).force_encoding('UTF-8').split("\0")
    ENV.replace(variables.filter_map { |variable| variable.split('=', 2) if variable.include?('=') }.to_h)
    Dir.chdir(directory)
    srand # Forks would all draw the same numbers.
  end
end

# What each fork would otherwise be the first to do.
JSON.generate(JSON.parse('{"warm":[1,"x"]}'))
TOPLEVEL_BINDING.dup.eval('1 + 1', 'warm', 1).inspect
GC.start
Glovebox.begin
Glovebox.start(IO.for_fd(0, 'r+b'))
exit!(0)
