# SPDX-License-Identifier: Apache-2.0
# The front of an interpreter that cannot speak frames itself (Bash, Lua): it answers descriptor 3
# and drives one long-living child.
#
# The child gets its orders as lines, and code in a file, because an interpreter reads lines from a
# pipe byte by byte. It answers in records that end with NUL: "token kind text". The token is new
# for each execution, so that what an earlier one left running cannot end a later one.
package Glovebox::Front;

use strict;
use warnings;
use POSIX ();
use Glovebox::Frames;
use Glovebox::Json;

# In the child. High, because scripts use the low ones.
use constant { CODE_DESCRIPTOR => 62, RECORD_DESCRIPTOR => 63, ERROR_DESCRIPTOR => 61 };

my $MAX_RECORD = 64 << 20;
my $MAX_QUEUE = 64 << 20;
my %MEMFD_CREATE = (x86_64 => 319, aarch64 => 279, riscv64 => 279, s390x => 350, ppc64le => 360);

# `language` is an object with these methods:
#   language, features  what the ready frame says
#   version             the interpreter's version, asked of the program
#   command             program and arguments of the child
#   orders              descriptor of the child that orders are written to; 0 is allowed
#   boot($front)        first orders to a new child
#   execute($front, $request)  orders for one execution; an answer is a reason to refuse it
#   record($front, $kind, $text)  what the child said about the running execution
#   request($front, $type, $request)  the reply to another frame, while nothing runs
#   interrupt_again($front)  optional: another SIGINT has gone to the running execution
#   awaits_start        true when SIGINT may reach the child only after its record "started"
sub new {
    my ($class, $language) = @_;
    my $self = bless {
        frames => Glovebox::Frames->adopt(3), language => $language, queue => [], queued => 0,
        count => 0, channel => 0, came => {},
    }, $class;
    pipe my $signal_reader, my $signal_writer or die "pipe: $!\n";
    $_->blocking(0) for $signal_reader, $signal_writer;
    $self->{signals} = $signal_reader;
    # A handler only notes the signal, because it may run within any of the methods below. The pipe
    # ends a select; the note tells a signal that came before a frame from one that came after it.
    $SIG{INT} = sub { $self->{came}{int} = 1; syswrite $signal_writer, 'x' };
    $SIG{CHLD} = sub { $self->{came}{chld} = 1; syswrite $signal_writer, 'x' };
    $SIG{PIPE} = 'IGNORE';
    return $self;
}

sub serve {
    my ($self) = @_;
    $self->_start;
    $self->{frames}->emit(Glovebox::Frames::READY, 0, {
        language => $self->{language}->language, version => $self->{language}->version,
        features => [$self->{language}->features],
    });
    while (1) {
        $self->_handle(@{ $self->_dequeue }) while !$self->{running} && @{ $self->{queue} };
        $self->_wait;
    }
}

# Makes `code` what the child finds at CODE_DESCRIPTOR.
sub store {
    my ($self, $code) = @_;
    sysseek $self->{code}, 0, 0;
    truncate $self->{code}, 0;
    my $offset = 0;
    while ($offset < length $code) {
        my $now = syswrite $self->{code}, $code, length($code) - $offset, $offset;
        return "$!" if !defined $now;
        $offset += $now;
    }
    return;
}

sub order {
    my ($self, $line) = @_;
    my $offset = 0;
    while ($offset < length $line) {
        my $now = syswrite $self->{orders}, $line, length($line) - $offset, $offset;
        next if !defined $now && $!{EINTR};
        return if !defined $now;  # The child has ended, which SIGCHLD tells.
        $offset += $now;
    }
    return;
}

sub token { return $_[0]{token} }
sub interrupted { return $_[0]{interrupted} }

sub emit {
    my ($self, $type, $payload) = @_;
    $self->{frames}->emit($type, $self->{channel}, $payload);
    return;
}

sub result {
    my ($self, $text) = @_;
    return if $self->{silent};
    $self->emit(Glovebox::Frames::RESULT, {
        data => { 'text/plain' => $text }, metadata => {}, execution_count => \$self->{count},
    });
    return;
}

# Ends the running execution; with a name, by an error.
sub finish {
    my ($self, $name, $value, @traceback) = @_;
    $self->{running} = 0;
    $self->{asked} = 0;
    if (defined $name) {
        $self->{frames}->fail($self->{channel}, $self->{count}, $name, $value, @traceback);
    } else {
        $self->emit(Glovebox::Frames::DONE,
                    { status => 'ok', execution_count => \$self->{count} });
    }
    return;
}

sub ask {
    my ($self, $prompt) = @_;
    $self->{asked} = 1;
    $self->emit(Glovebox::Frames::INPUT_REQUEST, { prompt => $prompt, password => \'false' });
    return;
}

# Waits for a record of the running token: for requests that an idle child answers at once.
sub await {
    my ($self, $seconds) = @_;
    my $end = time + $seconds;
    while (time <= $end && $self->{pid}) {
        my ($token, $kind, $text) = $self->_record;
        return ($kind, $text) if defined $token && $token eq $self->{token};
        next if defined $token;
        my $ready = '';
        vec($ready, fileno $self->{records}, 1) = 1;
        next if select($ready, undef, undef, 1) <= 0;
        last if !$self->_read_records;
    }
    return;
}

sub new_token {
    my ($self) = @_;
    open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    sysread $random, my $bytes, 16;
    return $self->{token} = unpack 'H*', $bytes;
}

sub _wait {
    my ($self) = @_;
    my $ready = '';
    vec($ready, $self->{frames}->descriptor, 1) = 1 if $self->{queued} < $MAX_QUEUE;
    vec($ready, fileno $self->{records}, 1) = 1 if $self->{records};
    vec($ready, fileno $self->{signals}, 1) = 1;
    # A signal that came just before the select does not end it: Perl runs handlers between
    # operations only. While something runs, look again soon.
    my $timeout = $self->{running} ? 0.2 : undef;
    return if select($ready, undef, undef, $timeout) < 0;
    $self->_answer_signals;
    $self->_read_frames if vec $ready, $self->{frames}->descriptor, 1;
    if ($self->{records} && vec $ready, fileno $self->{records}, 1) {
        $self->_read_records or do { close $self->{records}; $self->{records} = undef };
        $self->_handle_records;
    }
    return;
}

# SIGINT is for the execution that has sent its "started" frame; without one it is void.
sub _answer_signals {
    my ($self) = @_;
    sysread $self->{signals}, my $dropped, 4096;
    my %came = %{ $self->{came} };
    $self->{came} = {};
    if ($came{int} && $self->{running}) {
        $self->{wanted} = 1;
        $self->_interrupt;
    }
    $self->_reap if $came{chld};
    return;
}

sub _interrupt {
    my ($self) = @_;
    return if !$self->{wanted} || !$self->{started} || !$self->{pid};
    my $language = $self->{language};
    my $again = $self->{interrupted} && $language->can('interrupt_again');
    $self->{wanted} = 0;
    $self->{interrupted} = 1;
    $self->{asked} = 0;
    kill 'INT', -$self->{pid};
    $language->interrupt_again($self) if $again;
    return;
}

sub _read_frames {
    my ($self) = @_;
    $self->_end if !$self->{frames}->fill;
    while (my @message = $self->{frames}->take) {
        my ($type, $channel, $payload) = @message;
        $self->_end if $type == Glovebox::Frames::FINISH;
        if ($type == Glovebox::Frames::INPUT) {
            next if !$self->{asked};
            $self->{asked} = 0;
            my $input = eval { Glovebox::Json::decode($payload) };
            $self->{language}->input($self, ref $input eq 'HASH' ? $input : { eof => 1 });
            next;
        }
        push @{ $self->{queue} }, [@message];
        $self->{queued} += length $payload;
    }
    return;
}

sub _dequeue {
    my ($self) = @_;
    my $message = shift @{ $self->{queue} };
    $self->{queued} -= length $message->[2];
    return $message;
}

sub _handle {
    my ($self, $type, $channel, $payload) = @_;
    my $request = eval { Glovebox::Json::decode($payload) };
    $request = {} if ref $request ne 'HASH';
    if ($type != Glovebox::Frames::EXECUTE) {
        my $reply = $self->{language}->request($self, $type, $request)
            // { error => 'this agent does not answer this frame' };
        $self->{frames}->emit(Glovebox::Frames::REPLY, $channel, $reply);
        return;
    }
    $self->{channel} = $channel;
    $self->{silent} = $request->{silent};
    $self->{count}++ if !$request->{silent};
    my $why = ref $request->{code} || !defined $request->{code} ? 'the frame has no code' : undef;
    $self->emit(Glovebox::Frames::STARTED, { execution_count => \$self->{count} });
    $self->_start if !$self->{pid};
    $self->new_token;
    $self->{running} = 1;
    $self->{wanted} = $self->{interrupted} = 0;
    $self->{started} = !$self->{language}->awaits_start;
    if (!defined $why) {
        utf8::encode($request->{code});
        $why = $self->{language}->execute($self, $request);
    }
    $self->finish('Refused', $why) if defined $why;
    return;
}

# Takes the oldest whole record out of the buffer, as (token, kind, text).
sub _record {
    my ($self) = @_;
    my $end = index $self->{record_buffer}, "\0";
    if ($end < 0) {
        kill 'KILL', $self->{pid} if length $self->{record_buffer} > $MAX_RECORD && $self->{pid};
        return;
    }
    my $record = substr $self->{record_buffer}, 0, $end;
    substr $self->{record_buffer}, 0, $end + 1, '';
    my ($token, $kind, $text) = split / /, $record, 3;
    return ($token // '', $kind // '', $text // '');
}

sub _read_records {
    my ($self) = @_;
    return sysread $self->{records}, $self->{record_buffer}, 1 << 16,
                   length $self->{record_buffer};
}

sub _handle_records {
    my ($self) = @_;
    while (my ($token, $kind, $text) = $self->_record) {
        next if !$self->{running} || $token ne $self->{token};
        if ($kind eq 'started') {
            $self->{started} = 1;
            $self->_interrupt;
        } else {
            $self->{language}->record($self, $kind, Glovebox::Json::text($text));
        }
    }
    return;
}

sub _reap {
    my ($self) = @_;
    return if !$self->{pid} || waitpid($self->{pid}, POSIX::WNOHANG()) != $self->{pid};
    my $status = $?;
    $self->{pid} = 0;
    # The last records may still be on their way, and a job of the child may hold the pipe open.
    if ($self->{records}) {
        $self->{records}->blocking(0);
        1 while $self->_read_records;
        $self->_handle_records;
    }
    my $name = $self->{language}->language;
    my $how = $status & 127 ? 'was killed by signal ' . ($status & 127)
                            : 'ended with status ' . ($status >> 8);
    $self->emit(Glovebox::Frames::NOTE,
                { text => "$name $how: its state is lost, and the next execution starts a new one" });
    return if !$self->{running};
    if ($status & 127) {
        $self->finish('Signalled', "$name $how");
    } elsif ($status) {
        $self->finish('ExitStatus', 'exit status ' . ($status >> 8));
    } else {
        $self->finish;
    }
    return;
}

sub _end {
    my ($self) = @_;
    kill 'KILL', -$self->{pid} if $self->{pid};
    POSIX::_exit(0);
}

sub _start {
    my ($self) = @_;
    $self->{code} = _memory_file();
    pipe my $order_reader, my $order_writer or die "pipe: $!\n";
    pipe my $record_reader, my $record_writer or die "pipe: $!\n";
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(INT CHLD PIPE);
        POSIX::setpgid(0, 0);
        # dup2 leaves a descriptor that programs inherit; all others are close-on-exec.
        POSIX::dup2(fileno $order_reader, $self->{language}->orders);
        POSIX::dup2(fileno $self->{code}, CODE_DESCRIPTOR);
        POSIX::dup2(fileno $record_writer, RECORD_DESCRIPTOR);
        my @command = $self->{language}->command;
        exec { $command[0] } @command or do {
            print STDERR "agent: $command[0]: $!\n";
            POSIX::_exit(127);
        };
    }
    POSIX::setpgid($pid, $pid);
    $self->{pid} = $pid;
    $self->{orders} = $order_writer;
    $self->{records} = $record_reader;
    $self->{record_buffer} = '';
    $self->{language}->boot($self);
    return;
}

# A file without a place, so that a full disk does not keep a guest from running what frees it.
sub _memory_file {
    my $number = $MEMFD_CREATE{ (POSIX::uname())[4] };
    my $descriptor = defined $number ? syscall($number, my $name = 'code', 1) : -1;
    if ($descriptor >= 0) {
        open my $file, '+<&=', $descriptor or die "memory file: $!\n";
        return $file;
    }
    open my $file, '+>', undef or die "temporary file: $!\n";
    return $file;
}

1;
