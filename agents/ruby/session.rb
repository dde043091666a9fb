# SPDX-License-Identifier: Apache-2.0
# Serves Ruby over frames: one binding lives between executions.
require_relative 'frames'
require_relative 'streams'

module Glovebox
  class Session
    RICH = { to_html: 'text/html', to_svg: 'image/svg+xml', to_markdown: 'text/markdown' }.freeze
    # What ends a piece of code too early, in the parser's words.
    UNFINISHED = Regexp.union('unexpected end-of-input', 'unexpected end of input', 'unterminated',
                              "can't find string", 'embedded document meets end of file')

    # Lines of a backtrace that are not the guest's.
    OWN = /\A(?:\s*from )?(?:#{Regexp.escape(__dir__)}\/|#{Regexp.escape($PROGRAM_NAME)}:)/

    def initialize(socket)
      @frames = Frames.new(socket)
      @inline = Integer(ENV['GLOVEBOX_INLINE'] || '', exception: false) || (8 << 20)
      @channel = @count = 0
      @silent = false
      @waiting = []
      @pid = Process.pid
      @main = Thread.current
      @binding = TOPLEVEL_BINDING.dup
      @hidden = @binding.local_variables
      @out = Output.new(self, Frames::STDOUT)
      @err = Output.new(self, Frames::STDERR)
      @in = Input.new(self)
    end

    def serve
      @frames.send(Frames::READY, 0, { language: 'ruby', version: RUBY_VERSION,
                                       features: %w[complete is_complete input variables] })
      while (message = @waiting.shift || @frames.receive)
        type, channel, payload = message
        break if type == Frames::FINISH
        request = parse(payload)
        if type == Frames::EXECUTE
          @channel = channel
          execute(request)
        elsif type != Frames::INPUT
          @frames.send(Frames::REPLY, channel, answer(type, request))
        end
      end
    end

    # Bytes of the guest's output; called from any of its threads.
    def output(type, bytes)
      if Process.pid == @pid
        @frames.send(type, @channel, bytes)
      else
        # A copy made by fork speaks through the descriptors, or its frames would mix with ours.
        (type == Frames::STDOUT ? STDOUT : STDERR).syswrite(bytes)
      end
    end

    def ask(prompt = '', password: false)
      @frames.send(Frames::INPUT_REQUEST, @channel, { prompt: prompt, password: password })
      while (message = @frames.receive)
        type, _, payload = message
        exit!(0) if type == Frames::FINISH
        if type != Frames::INPUT
          @waiting << message
          next
        end
        text = parse(payload)['text']
        return nil unless text.is_a?(String)
        return text.end_with?("\n") ? text : "#{text}\n"
      end
      exit!(0)
    end

    def display(value, **data)
      data = data.transform_keys(&:to_s)
      data = bundle(value) if data.empty?
      @frames.send(Frames::DISPLAY, @channel, { data: fit(data), metadata: {} })
      nil
    end

    # An interrupt counts from the started frame on, but only guest code may be cut short by it.
    def interrupt
      if @interruptible
        @main.raise(Interrupt, 'interrupted')
      elsif @running
        @interrupt_pending = true
      end
    end

    private

    def parse(payload)
      value = JSON.parse(payload.force_encoding('UTF-8'), max_nesting: 64)
      value.is_a?(Hash) ? value : {}
    rescue JSON::ParserError
      {}
    end

    def execute(request)
      @silent = request['silent'] ? true : false
      @count += 1 unless @silent
      @running = true
      @interrupt_pending = false
      @frames.send(Frames::STARTED, @channel, { execution_count: @count })
      code = request['code']
      return fail_with('Refused', 'the frame has no code') unless code.is_a?(String)
      $stdout, $stderr, $stdin = @out, @err, @in
      problem = surrounded(request) { run(code) }
      # A copy of this process that guest code made by fork must not serve the frames.
      exit!(0) if Process.pid != @pid
      @running = false
      settle(problem)
    end

    def surrounded(request)
      directory = Dir.pwd if request['cwd']
      Dir.chdir(request['cwd']) if directory
      given = request['env'].is_a?(Hash) ? request['env'] : {}
      before = given.to_h { |name, _| [name, ENV[name]] }
      given.each { |name, value| ENV[name] = value.to_s }
      yield
    rescue SystemCallError, ArgumentError => e
      e
    ensure
      before&.each { |name, value| ENV[name] = value }
      Dir.chdir(directory) if directory && Dir.exist?(directory)
    end

    # Answers what the guest raised, or nil.
    def run(code)
      # An interrupt is let in only where a rescue stands around it.
      Thread.handle_interrupt(Interrupt => :never) do
        @interruptible = true
        Thread.handle_interrupt(Interrupt => :immediate) do
          raise Interrupt if @interrupt_pending
          show(@binding.eval(code, "cell #{@count}", 1))
        end
        nil
      rescue Exception => e # rubocop:disable Lint/RescueException
        e
      ensure
        @interruptible = false
        drop_late_interrupt
      end
    end

    def drop_late_interrupt
      Thread.handle_interrupt(Interrupt => :immediate) { Thread.pass } if Thread.pending_interrupt?
    rescue Interrupt
      nil
    end

    def show(value)
      return if value.nil? || @silent || Process.pid != @pid
      @frames.send(Frames::RESULT, @channel,
                   { data: fit(bundle(value)), metadata: {}, execution_count: @count })
    end

    def bundle(value)
      data = { 'text/plain' => value.inspect.to_s }
      RICH.each do |method, type|
        next unless value.respond_to?(method)
        rich = value.public_send(method)
        data[type] = rich if rich.is_a?(String)
      rescue StandardError => e
        @frames.send(Frames::NOTE, @channel, { text: "#{method} failed: #{e.message}" })
      end
      data
    end

    def fit(data)
      data.to_h do |type, value|
        next [type, value] if !value.is_a?(String) || value.bytesize <= @inline
        [type, type == 'text/plain' ? "#{value.byteslice(0, @inline)}\n... (cut)" : nil]
      end.compact
    end

    def settle(problem)
      case problem
      when nil
        @frames.send(Frames::DONE, @channel, { status: 'ok', execution_count: @count })
      when SystemExit
        return settle(nil) if problem.success?
        fail_with('ExitStatus', "exit status #{problem.status}")
      when Interrupt
        fail_with('Interrupt', 'interrupted')
      else
        fail_with(problem.class.name || 'anonymous exception', *describe(problem))
      end
    end

    # The exception is the guest's: its methods may raise or answer anything.
    def describe(problem)
      message = problem.message.to_s
      return [message, message.lines(chomp: true).first(200)] if problem.is_a?(SyntaxError)
      lines = problem.full_message(highlight: false, order: :top).to_s.lines(chomp: true)
      lines = lines.grep_v(OWN)
      [message[0, 1 << 20], lines.first(200)]
    rescue Exception # rubocop:disable Lint/RescueException
      ['(an exception that cannot be shown)', []]
    end

    def fail_with(name, value, traceback = [])
      @frames.send(Frames::ERROR, @channel, { name: name, value: value, traceback: traceback })
      @frames.send(Frames::DONE, @channel, { status: 'error', execution_count: @count })
    end

    def answer(type, request)
      code = request['code'].is_a?(String) ? request['code'] : ''
      case type
      when Frames::COMPLETE then complete(code, request['cursor'])
      when Frames::IS_COMPLETE then { status: check(code), indent: '' }
      when Frames::VARIABLES then { variables: variables }
      else { error: 'this agent does not support this request' }
      end
    rescue Exception => e # rubocop:disable Lint/RescueException
      { error: e.class.name.to_s }
    end

    def complete(code, cursor)
      cursor = code.length unless cursor.is_a?(Integer) && cursor.between?(0, code.length)
      path = /(?:([A-Za-z_]\w*(?:::\w+)*)\.)?([$@]*\w*[?!]?)\z/
      receiver, word = code[0, cursor].match(path).captures
      names = receiver ? methods_of(receiver) : names_in_scope(word)
      matches = names.map(&:to_s).select { |name| name.start_with?(word) }.uniq.sort.first(1000)
      { matches: matches, start: cursor - word.length, end: cursor }
    end

    # Only names are looked up: to call a method for a completion could do anything.
    def methods_of(receiver)
      value = if receiver.match?(/\A[a-z_]/)
                return [] unless @binding.local_variable_defined?(receiver)
                @binding.local_variable_get(receiver)
              else
                Object.const_get(receiver)
              end
      value.public_methods
    rescue NameError
      []
    end

    def names_in_scope(word)
      return global_variables if word.start_with?('$')
      return TOPLEVEL_BINDING.receiver.instance_variables if word.start_with?('@')
      @binding.local_variables - @hidden + Object.constants +
        TOPLEVEL_BINDING.receiver.methods + Kernel.private_instance_methods
    end

    def check(code)
      RubyVM::InstructionSequence.compile(code)
      'complete'
    rescue SyntaxError => e
      e.message.match?(UNFINISHED) ? 'incomplete' : 'invalid'
    end

    def variables
      (@binding.local_variables - @hidden).first(1000).map do |name|
        value = @binding.local_variable_get(name)
        text = value.inspect rescue '(cannot be shown)'
        { name: name.to_s, type: value.class.to_s, value: text.to_s[0, 200] }
      end
    end
  end
end

module Kernel
  # Kernel's own would read the files that are named on the command line.
  def gets(...) = $stdin.gets(...)
  def readline(...) = $stdin.readline(...)
  def readlines(...) = $stdin.readlines(...)
end

# In a method, because local variables here would be the guest's. A block is run before the first
# message is waited for.
def Glovebox.start(socket)
  session = Glovebox::Session.new(socket)
  # Shows a value richly; or, with names, data by MIME type: display("text/html": "<b>x</b>").
  # Ruby's own Object#display, a print without a newline, stays for calls with a receiver.
  TOPLEVEL_BINDING.receiver.define_singleton_method(:display) do |value = nil, **data|
    session.display(value, **data)
  end
  $PROGRAM_NAME = 'ruby'
  ARGV.clear
  Encoding.default_external = Encoding::UTF_8
  yield session if block_given?
  session.serve
end
