<?php
// SPDX-License-Identifier: Apache-2.0
// Frames over one stream socket: nine bytes of header (size u32, type u8, channel u32,
// little-endian) and a payload.

namespace Glovebox;

final class Frames
{
    public const EXECUTE = 1, INPUT = 2, COMPLETE = 3, IS_COMPLETE = 5, VARIABLES = 8, FINISH = 9;
    public const READY = 64, STARTED = 65, STDOUT = 66, STDERR = 67, DISPLAY = 68, RESULT = 69;
    public const ERROR = 70, INPUT_REQUEST = 71, DONE = 73, REPLY = 74, NOTE = 75, PART = 127;

    private const MAX_PAYLOAD = 1 << 20;
    private const MAX_MESSAGE = 64 << 20;

    /** @var resource */
    private $socket;
    private string $buffer = '';
    private bool $sending = false;
    private bool $interruptible = false;

    public function __construct(int $descriptor)
    {
        $this->socket = fopen("php://fd/$descriptor", 'r+b');
        stream_set_read_buffer($this->socket, 0);
        stream_set_write_buffer($this->socket, 0);
        self::closeOnExec();
    }

    /** True while a frame is half sent: an exception from a signal handler would cut it in two. */
    public function sending(): bool
    {
        return $this->sending;
    }

    public function send(int $type, int $channel, array|string $message): void
    {
        $payload = is_array($message) ? json_encode(
            $message,
            JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE,
        ) : $message;
        $this->sending = true;
        $offset = 0;
        while (strlen($payload) - $offset > self::MAX_PAYLOAD) {
            $this->write(self::PART, $channel, substr($payload, $offset, self::MAX_PAYLOAD));
            $offset += self::MAX_PAYLOAD;
        }
        $this->write($type, $channel, $offset === 0 ? $payload : substr($payload, $offset));
        $this->sending = false;
    }

    /**
     * The next message as [type, channel, payload]; null when the stream has ended. With
     * $interruptible a signal is answered within a fifth of a second: PHP goes on with a read that
     * a signal ended, and a signal just before select does not end that.
     */
    public function receive(bool $interruptible = false): ?array
    {
        $this->interruptible = $interruptible;
        $parts = '';
        while (true) {
            if (!$this->fill(9)) {
                return null;
            }
            ['size' => $size, 'type' => $type, 'channel' => $channel] =
                unpack('Vsize/Ctype/Vchannel', $this->buffer);
            if ($size > self::MAX_PAYLOAD || strlen($parts) + $size > self::MAX_MESSAGE) {
                return null;
            }
            if (!$this->fill(9 + $size)) {
                return null;
            }
            $parts .= substr($this->buffer, 9, $size);
            $this->buffer = substr($this->buffer, 9 + $size);
            if ($type !== self::PART) {
                return [$type, $channel, $parts];
            }
        }
    }

    private function fill(int $size): bool
    {
        while (strlen($this->buffer) < $size) {
            if ($this->interruptible) {
                $read = [$this->socket];
                $none = null;
                if (!@stream_select($read, $none, $none, 0, 200_000)) {
                    continue;
                }
            }
            $chunk = @fread($this->socket, 1 << 16);
            if ($chunk === false || $chunk === '') {
                // A signal can end a read as well, but only the stream's end makes feof true.
                if (feof($this->socket)) {
                    return false;
                }
                continue;
            }
            $this->buffer .= $chunk;
        }
        return true;
    }

    private function write(int $type, int $channel, string $payload): void
    {
        $frame = pack('VCV', strlen($payload), $type, $channel) . $payload;
        $failures = 0;
        while ($frame !== '') {
            $written = @fwrite($this->socket, $frame);
            if ($written === false || $written === 0) {
                if (++$failures > 100) {
                    exit(1); // Nobody is left to speak to.
                }
                continue;
            }
            $failures = 0;
            $frame = $written === strlen($frame) ? '' : substr($frame, $written);
        }
    }

    // PHP has no fcntl. Where FFI is missing too, programs that the guest starts inherit the
    // socket, which gives them no more than the guest itself has.
    private static function closeOnExec(): void
    {
        try {
            $libc = \FFI::cdef('int fcntl(int, int, ...); int close(int);');
            $setFlags = 2;
            $closeOnExec = 1;
            for ($descriptor = 3; $descriptor < 16; $descriptor++) {
                $libc->fcntl($descriptor, $setFlags, $closeOnExec);
            }
        } catch (\Throwable) {
        }
    }
}
