<?php
// SPDX-License-Identifier: Apache-2.0
// Serves PHP on descriptor 3: the variables of one scope live between executions.
//
// A fatal error of PHP ends this process. What can be said of it is said by the shutdown function;
// then the outside sees that the agent has ended.

namespace Glovebox;

require __DIR__ . '/frames.php';

final class Interrupted extends \Exception
{
}

final class Session
{
    private const RICH = [
        'to_html' => 'text/html', 'toHtml' => 'text/html', 'to_svg' => 'image/svg+xml',
    ];
    private const SILENT_START = '/\A\s*(?:print|echo)\b/i';

    private static self $only;
    private Frames $frames;
    private int $channel = 0;
    private int $count = 0;
    private int $inline;
    private bool $silent = false;
    private bool $interruptible = false;
    private bool $interruptPending = false;
    private bool $running = false;
    private int $pid;
    private array $waiting = [];
    private array $environment = [];
    private ?string $directory = null;
    private bool $shown = false;
    private int $bufferLevel = 0;
    private string $code = '';

    public function __construct()
    {
        self::$only = $this;
        $this->pid = getmypid();
        $this->frames = new Frames(3);
        $this->inline = (int) (getenv('GLOVEBOX_INLINE') ?: 8388608);
        // Output goes out as it comes: a chunk of one byte flushes after each print.
        ob_start(fn (string $bytes): string => $this->output($bytes), 1);
        ini_set('display_errors', '0');
        ini_set('log_errors', '0');
        ini_set('html_errors', '0');
        error_reporting(E_ALL);
        set_error_handler($this->warn(...));
        register_shutdown_function($this->shutdown(...));
        if (function_exists('pcntl_signal')) {
            pcntl_async_signals(true);
            pcntl_signal(SIGINT, $this->interrupt(...), false);
            pcntl_signal(SIGPIPE, SIG_IGN);
        }
    }

    public function ready(): void
    {
        $this->frames->send(Frames::READY, 0, [
            'language' => 'php', 'version' => PHP_VERSION,
            'features' => ['is_complete', 'complete', 'input', 'variables'],
        ]);
    }

    /** Answers frames until there is code to run; false when there will be none. */
    public static function next(): bool
    {
        return self::$only->wait();
    }

    /** The code that next() found. From here on an interrupt is an exception. */
    public static function code(): string
    {
        $self = self::$only;
        $self->interruptible = true;
        $self->catchUp();
        return $self->code;
    }

    /** To be called with the code's value, or with what it threw. */
    public static function settle(mixed $value, ?\Throwable $problem): void
    {
        self::$only->interruptible = false;
        self::$only->end($value, $problem);
    }

    private function wait(): bool
    {
        while ($message = array_shift($this->waiting) ?? $this->frames->receive()) {
            [$type, $channel, $payload] = $message;
            if ($type === Frames::FINISH) {
                return false;
            }
            $request = $this->parse($payload);
            if ($type === Frames::EXECUTE) {
                $this->channel = $channel;
                if ($this->prepare($request)) {
                    return true;
                }
            } elseif ($type !== Frames::INPUT) {
                $this->frames->send(Frames::REPLY, $channel, $this->answer($type, $request));
            }
        }
        return false;
    }

    /** Shows data by MIME type: Glovebox\display(['text/html' => '<b>x</b>']). */
    public static function display(array $data): void
    {
        self::$only->emit(Frames::DISPLAY, [
            'data' => (object) self::$only->fit($data), 'metadata' => new \stdClass(),
        ]);
    }

    /** A line from the caller, as readline() gives it; false at the end. */
    public static function ask(string $prompt): string|false
    {
        $self = self::$only;
        $self->emit(Frames::INPUT_REQUEST, ['prompt' => $prompt, 'password' => false]);
        while ($message = $self->frames->receive(true)) {
            if ($message[0] === Frames::FINISH) {
                exit(0);
            }
            if ($message[0] === Frames::INPUT) {
                $text = $self->parse($message[2])['text'] ?? null;
                return is_string($text) ? $text : false;
            }
            $self->waiting[] = $message;
        }
        exit(0);
    }

    private function parse(string $payload): array
    {
        $value = json_decode($payload, true, 64);
        return is_array($value) ? $value : [];
    }

    private function emit(int $type, array|string $message): void
    {
        $this->frames->send($type, $this->channel, $message);
        $this->catchUp();
    }

    /** Answers an interrupt that came when it could not be answered. */
    private function catchUp(): void
    {
        if ($this->interruptPending && $this->interruptible) {
            $this->interruptPending = false;
            $this->interrupt();
        }
    }

    private function output(string $bytes): string
    {
        // A copy made by fork speaks through the descriptor, or its frames would mix with ours.
        if (getmypid() !== $this->pid) {
            return $bytes;
        }
        if ($bytes !== '') {
            $this->frames->send(Frames::STDOUT, $this->channel, $bytes);
        }
        return '';
    }

    private function interrupt(): void
    {
        if (!$this->running) {
            return;
        }
        // Outside of the guest's code, or in half a frame, an exception would do harm.
        if (!$this->interruptible || $this->frames->sending()) {
            $this->interruptPending = true;
            return;
        }
        throw new Interrupted('interrupted');
    }

    private function warn(int $level, string $text, string $file, int $line): bool
    {
        if (error_reporting() & $level) {
            $kind = match ($level) {
                E_NOTICE, E_USER_NOTICE => 'Notice',
                E_DEPRECATED, E_USER_DEPRECATED => 'Deprecated',
                default => 'Warning',
            };
            $this->frames->send(Frames::STDERR, $this->channel, "$kind: $text on line $line\n");
        }
        return true;
    }

    private function shutdown(): void
    {
        $last = error_get_last();
        if (!$this->running || getmypid() !== $this->pid) {
            return;
        }
        while (ob_get_level() > 0 && @ob_end_flush()) {
        }
        $fatal = $last !== null
            && $last['type'] & (E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR);
        $this->frames->send(Frames::NOTE, $this->channel, [
            'text' => 'PHP has ended: its state is lost',
        ]);
        if ($fatal) {
            $text = self::nameCell($last['message']);
            $this->fail('FatalError', $text, explode("\n", $text));
        } else {
            $this->finish();
        }
    }

    private function prepare(array $request): bool
    {
        $this->silent = (bool) ($request['silent'] ?? false);
        $this->count += $this->silent ? 0 : 1;
        $this->running = true;
        $this->interruptPending = false;
        $this->frames->send(Frames::STARTED, $this->channel, ['execution_count' => $this->count]);
        $code = $request['code'] ?? null;
        if (!is_string($code)) {
            $this->fail('Refused', 'the frame has no code', []);
            return false;
        }
        $this->directory = isset($request['cwd']) ? getcwd() : null;
        if ($this->directory !== null && !@chdir((string) $request['cwd'])) {
            $this->fail('Refused', "the working directory {$request['cwd']} does not exist", []);
            return false;
        }
        $this->environment = [];
        foreach ((array) ($request['env'] ?? []) as $name => $value) {
            $this->environment[$name] = [getenv($name), $_ENV[$name] ?? null];
            putenv("$name=$value");
            $_ENV[$name] = $value;
        }
        $this->bufferLevel = ob_get_level();
        try {
            [$this->code, $this->shown] = $this->compile($code);
        } catch (\Throwable $problem) {
            $this->end(null, $problem);
            return false;
        }
        return true;
    }

    private function end(mixed $value, ?\Throwable $problem): void
    {
        // A copy of this process that guest code made by fork must not serve the frames.
        if (getmypid() !== $this->pid) {
            ob_end_flush();
            exit(0);
        }
        $this->restoreOutput($this->bufferLevel);
        if ($problem === null && $this->shown && $value !== null && !$this->silent) {
            try {
                $this->show($value);
            } catch (\Throwable $problem) {
            }
        }
        $this->running = $this->interruptPending = false;
        foreach ($this->environment as $name => [$old, $global]) {
            putenv($old === false ? "$name" : "$name=$old");
            $_ENV[$name] = $global;
            if ($global === null) {
                unset($_ENV[$name]);
            }
        }
        if ($this->directory !== null) {
            @chdir($this->directory);
        }
        match (true) {
            $problem === null => $this->finish(),
            $problem instanceof Interrupted => $this->fail('Interrupt', 'interrupted', []),
            default => $this->describe($problem),
        };
    }

    // The guest may have opened output buffers that it did not end, or ended ours.
    private function restoreOutput(int $level): void
    {
        while (ob_get_level() > $level) {
            ob_end_flush();
        }
        if (ob_get_level() < $level) {
            ob_start(fn (string $bytes): string => $this->output($bytes), 1);
        }
    }

    /** Code to evaluate, and whether its value is to be shown. */
    private function compile(string $code): array
    {
        $code = preg_replace('/\A\s*<\?php\b/', '', $code);
        if (trim($code) === '') {
            return ['', false];
        }
        $statements = statements($code);
        $again = redeclared($statements);
        if ($again !== null) {
            throw new \Error("$again is already declared, and PHP cannot redeclare it");
        }
        $last = array_pop($statements);
        if ($last !== null && !preg_match(self::SILENT_START, $last)) {
            // The newlines before the last statement stay, for the line numbers.
            $value = implode('', $statements) . str_repeat("\n", leading_newlines($last))
                . 'return ' . ltrim(rtrim($last, "; \t\r\n")) . "\n;";
            if (parses($value)) {
                return [$value, !assigns($last)];
            }
        }
        return [$code . "\n;", false];
    }

    private function show(mixed $value): void
    {
        $data = ['text/plain' => is_string($value) ? $value : rtrim(print_value($value))];
        if (is_object($value)) {
            foreach (self::RICH as $method => $type) {
                if (method_exists($value, $method)) {
                    $data[$type] = (string) $value->$method();
                }
            }
        }
        $this->emit(Frames::RESULT, [
            'data' => (object) $this->fit($data), 'metadata' => new \stdClass(),
            'execution_count' => $this->count,
        ]);
    }

    private function fit(array $data): array
    {
        foreach ($data as $type => $value) {
            if (is_string($value) && strlen($value) > $this->inline) {
                if ($type === 'text/plain') {
                    $data[$type] = substr($value, 0, $this->inline) . "\n... (cut)";
                } else {
                    unset($data[$type]);
                }
            }
        }
        return $data;
    }

    private function finish(): void
    {
        $this->frames->send(Frames::DONE, $this->channel, [
            'status' => 'ok', 'execution_count' => $this->count,
        ]);
    }

    private function describe(\Throwable $problem): void
    {
        $text = $problem->getMessage();
        $file = $problem->getFile();
        $own = str_starts_with($file, __DIR__) && !str_contains($file, 'eval()');
        $where = $own ? $text : $text . ' on line ' . $problem->getLine();
        $ours = '/(?:scope|agent)\.php\(\d+\): |\{main\}$/';
        $lines = array_filter(
            explode("\n", $problem->getTraceAsString()),
            fn (string $line): bool => !preg_match($ours, $line),
        );
        $lines = array_map(self::nameCell(...), array_values($lines));
        $this->fail($problem::class, self::nameCell($text), [self::nameCell($where), ...$lines]);
    }

    private static function nameCell(string $text): string
    {
        $evaluated = "/\\S*scope\\.php\\(\\d+\\) ?: eval\\(\\)'d code/";
        return preg_replace($evaluated, 'cell', $text) ?? $text;
    }

    private function fail(string $name, string $value, array $traceback): void
    {
        $this->running = false;
        $this->frames->send(Frames::ERROR, $this->channel, [
            'name' => $name, 'value' => $value, 'traceback' => $traceback,
        ]);
        $this->frames->send(Frames::DONE, $this->channel, [
            'status' => 'error', 'execution_count' => $this->count,
        ]);
    }

    private function answer(int $type, array $request): array
    {
        $code = is_string($request['code'] ?? null) ? $request['code'] : '';
        return match ($type) {
            Frames::IS_COMPLETE => ['status' => completeness($code), 'indent' => ''],
            Frames::COMPLETE => complete($code, $request['cursor'] ?? null, variables()),
            Frames::VARIABLES => ['variables' => listed(variables())],
            default => ['error' => 'this agent does not support this request'],
        };
    }
}

function display(array $data): void
{
    Session::display($data);
}

function readline(string $prompt = ''): string|false
{
    return Session::ask($prompt);
}

require __DIR__ . '/source.php';
(new Session())->ready();
require __DIR__ . '/scope.php';
exit(0);
