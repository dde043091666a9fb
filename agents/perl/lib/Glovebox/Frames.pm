# SPDX-License-Identifier: Apache-2.0
# Frames over one stream socket: nine bytes of header (size u32, type u8, channel u32,
# little-endian) and a payload.
package Glovebox::Frames;

use strict;
use warnings;
use POSIX ();
use Glovebox::Json;

use constant {
    EXECUTE => 1, INPUT => 2, COMPLETE => 3, INSPECT => 4, IS_COMPLETE => 5,
    CHECKPOINT => 6, FETCH => 7, VARIABLES => 8, FINISH => 9,
    READY => 64, STARTED => 65, STDOUT_BYTES => 66, STDERR_BYTES => 67, DISPLAY => 68,
    RESULT => 69, ERROR => 70, INPUT_REQUEST => 71, DONE => 73, REPLY => 74, NOTE => 75,
    PART => 127,
};

my $MAX_PAYLOAD = 1 << 20;
my $MAX_MESSAGE = 64 << 20;
my $F_DUPFD_CLOEXEC = 1030;

# Takes over a descriptor. It is moved out of the low numbers, where guests close and reuse
# descriptors, and out of the reach of the programs that they start.
sub adopt {
    my ($class, $descriptor) = @_;
    open my $low, '+<&=', $descriptor or die "descriptor $descriptor: $!\n";
    my $moved = fcntl($low, $F_DUPFD_CLOEXEC, 100) or die "cannot move descriptor $descriptor: $!\n";
    open my $socket, '+<&=', $moved or die "descriptor $moved: $!\n";
    binmode $socket;
    close $low;
    return bless { socket => $socket, buffer => '', parts => '', sending => 0 }, $class;
}

sub descriptor { return fileno $_[0]{socket} }

# True while a frame is half sent. A signal handler must not die then, or the stream would lose
# its meaning.
sub sending { return $_[0]{sending} }

sub emit {
    my ($self, $type, $channel, $payload) = @_;
    $payload = Glovebox::Json::encode($payload) if ref $payload;
    my $offset = 0;
    $self->{sending} = 1;
    while (length($payload) - $offset > $MAX_PAYLOAD) {
        $self->_write(pack('VCV', $MAX_PAYLOAD, PART, $channel), \$payload, $offset, $MAX_PAYLOAD);
        $offset += $MAX_PAYLOAD;
    }
    my $rest = length($payload) - $offset;
    $self->_write(pack('VCV', $rest, $type, $channel), \$payload, $offset, $rest);
    $self->{sending} = 0;
    return;
}

# Reads what has come; false when the stream has ended.
sub fill {
    my ($self) = @_;
    my $got;
    do {
        $got = sysread $self->{socket}, $self->{buffer}, 1 << 17, length $self->{buffer};
    } while !defined $got && $!{EINTR};
    return $got;
}

# The next whole message as (type, channel, payload), or nothing when more bytes are needed.
sub take {
    my ($self) = @_;
    while (length $self->{buffer} >= 9) {
        my ($size, $type, $channel) = unpack 'VCV', $self->{buffer};
        $self->_leave("a frame of $size bytes") if $size > $MAX_PAYLOAD;
        return if length($self->{buffer}) < 9 + $size;
        my $payload = substr $self->{buffer}, 9, $size;
        substr $self->{buffer}, 0, 9 + $size, '';
        $self->_leave('a message over the size limit')
            if length($self->{parts}) + $size > $MAX_MESSAGE;
        if ($type == PART) {
            $self->{parts} .= $payload;
            next;
        }
        if (length $self->{parts}) {
            $payload = $self->{parts} . $payload;
            $self->{parts} = '';
        }
        return ($type, $channel, $payload);
    }
    return;
}

# Waits for the next message; nothing when the stream has ended.
sub receive {
    my ($self) = @_;
    while (1) {
        my @message = $self->take;
        return @message if @message;
        return if !$self->fill;
    }
}

# Sends an error frame and the frame that ends an execution.
sub fail {
    my ($self, $channel, $count, $name, $value, @traceback) = @_;
    $self->emit(ERROR, $channel, { name => $name, value => $value, traceback => \@traceback });
    $self->emit(DONE, $channel, { status => 'error', execution_count => \$count });
    return;
}

sub _write {
    my ($self, $header, $payload, $offset, $size) = @_;
    my $frame = $header . substr $$payload, $offset, $size;
    my $sent = 0;
    while ($sent < length $frame) {
        my $now = syswrite $self->{socket}, $frame, length($frame) - $sent, $sent;
        if (defined $now) {
            $sent += $now;
        } elsif (!$!{EINTR}) {
            POSIX::_exit(1);  # Nobody is left to speak to.
        }
    }
    return;
}

sub _leave {
    my ($self, $why) = @_;
    print STDERR "agent: malformed stream: $why\n";
    POSIX::_exit(1);
}


1;
