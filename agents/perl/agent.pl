#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Serves Perl on descriptor 3: package main lives between executions, and so do top-level `my`
# variables (lib/Glovebox/Cell.pm says how).
#
# Standard output and error are the real descriptors, unbuffered, so that fork, exec, system and
# duplicated handles do what they do in any Perl program.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/lib';
use Cwd ();
use Glovebox::Cell;
use Glovebox::Frames;
use Glovebox::Json;

package Glovebox::Exit;
package Glovebox::Interrupt;

# Lines read from STDIN are asked of the caller.
package Glovebox::Stdin;

sub TIEHANDLE { return bless {}, $_[0] }
sub EOF { return 0 }
sub CLOSE { return 1 }
sub FILENO { return 0 }

sub READLINE {
    return Glovebox::Perl::ask() if !wantarray;
    my @lines;
    while (defined(my $line = Glovebox::Perl::ask())) { push @lines, $line }
    return @lines;
}

package Glovebox::Perl;

my ($frames, $channel, $count, $silent) = (undef, 0, 0, 0);
# An execution is running from its started frame on, and interruptible while guest code runs.
my ($running, $interruptible, $interrupt_pending) = (0, 0, 0);
my @waiting;

# What perl says of code that it could not compile.
my $NOT_COMPILED = qr/^(?:syntax\ error|BEGIN\ failed|Global\ symbol|Missing\ right
                         |Can't\ find\ string\ terminator)/mx;
my $UNFINISHED = qr/Missing right|find string terminator|at EOF|not terminated/;
my $pid = $$;
my $inline = ($ENV{GLOVEBOX_INLINE} // '') =~ /\A([0-9]{1,10})\z/ ? $1 : 8388608;

BEGIN {
    # The guest's exit would end the interpreter and all that it holds.
    *CORE::GLOBAL::exit = sub (;$) {
        my $status = @_ ? $_[0] : 0;
        CORE::exit($status) if $$ != $pid;
        die bless { status => $status }, 'Glovebox::Exit';
    };
}

sub interrupt {
    return if !$running;
    if (!$interruptible || $frames->sending) { $interrupt_pending = 1; return }
    die bless {}, 'Glovebox::Interrupt';
}

sub emit {
    my ($type, $message) = @_;
    $frames->emit($type, $channel, $message);
    catch_up();
    return;
}

# Answers an interrupt that came when it could not be answered.
sub catch_up {
    return if !$interrupt_pending;
    $interrupt_pending = 0;
    interrupt();
    return;
}

sub ask {
    emit(Glovebox::Frames::INPUT_REQUEST, { prompt => '', password => \'false' });
    while (my @message = $frames->receive) {
        if ($message[0] == Glovebox::Frames::INPUT) {
            my $input = eval { Glovebox::Json::decode($message[2]) };
            return if ref $input ne 'HASH' || $input->{eof} || !defined $input->{text};
            my $text = $input->{text};
            utf8::encode($text);
            return $text =~ /\n\z/ ? $text : "$text\n";
        }
        POSIX::_exit(0) if $message[0] == Glovebox::Frames::FINISH;
        push @waiting, [@message];
    }
    POSIX::_exit(0);
}

# For guests: Glovebox::display('text/html' => '<b>…</b>', …).
sub Glovebox::display {
    my %data = @_;
    emit(Glovebox::Frames::DISPLAY, { data => bundle(%data), metadata => {} });
    return;
}

sub bundle {
    my %data = @_;
    for my $type (keys %data) {
        my $size = length($data{$type} //= '');
        if ($size <= $inline) {
            $data{$type} = Glovebox::Json::text("$data{$type}");
        } elsif ($type eq 'text/plain') {
            $data{$type} = Glovebox::Json::text(substr $data{$type}, 0, $inline)
                . "\n... (truncated: $size bytes)";
        } else {
            delete $data{$type};
            emit(Glovebox::Frames::NOTE, { text => "omitted a $type of $size bytes" });
        }
    }
    return \%data;
}

sub show {
    my @values = @_;
    return if $silent || !@values || @values == 1 && !defined $values[0];
    my %data;
    if (@values == 1 && Scalar::Util::blessed($values[0])) {
        for my $rich (['to_html', 'text/html'], ['to_svg', 'image/svg+xml']) {
            my $method = $values[0]->can($rich->[0]) or next;
            $data{ $rich->[1] } = $values[0]->$method;
        }
    }
    if (grep { ref } @values) {
        require Data::Dumper;
        no warnings 'once';
        local ($Data::Dumper::Terse, $Data::Dumper::Indent, $Data::Dumper::Sortkeys) = (1, 1, 1);
        local $Data::Dumper::Maxdepth = 20;
        my @texts = map { Data::Dumper::Dumper($_) } @values;
        chomp @texts;
        $data{'text/plain'} = join "\n", @texts;
    } else {
        $data{'text/plain'} = join ' ', map { $_ // 'undef' } @values;
    }
    utf8::encode($_) for grep { defined && utf8::is_utf8($_) } values %data;
    emit(Glovebox::Frames::RESULT,
         { data => bundle(%data), metadata => {}, execution_count => \$count });
    return;
}

sub execute {
    my ($request) = @_;
    $silent = $request->{silent};
    $count++ if !$silent;
    $SIG{INT} = \&interrupt;  # The guest may have set its own.
    ($running, $interrupt_pending) = (1, 0);
    $frames->emit(Glovebox::Frames::STARTED, $channel, { execution_count => \$count });
    my $code = $request->{code};
    return $frames->fail($channel, $count, 'Refused', 'the frame has no code')
        if !defined $code || ref $code;
    utf8::encode($code);
    my $env = ref $request->{env} eq 'HASH' ? $request->{env} : {};
    my %before = map { $_ => $ENV{$_} } keys %$env;
    my $directory;
    if (defined $request->{cwd}) {
        $directory = Cwd::getcwd();
        chdir $request->{cwd} or return $frames->fail(
            $channel, $count, 'Refused', "the working directory $request->{cwd}: $!");
    }
    for my $name (keys %$env) {
        my $value = $env->{$name} // '';
        utf8::encode($value);
        $ENV{$name} = $value;
    }
    my $status;
    # The inner eval catches what the guest throws, the outer one an interrupt just behind it.
    eval {
        $interruptible = 1;
        eval { catch_up(); run($code); 1 } or $status = $@ // 'unknown';
        $interruptible = 0;
        1;
    } or $status = $@;
    # One that came while perl was compiling is but a text in perl's own message.
    $status = bless {}, 'Glovebox::Interrupt'
        if defined $status && !ref $status && $status =~ /\bGlovebox::Interrupt=HASH\(/;
    $running = $interruptible = $interrupt_pending = 0;
    leave_copy() if $$ != $pid;
    Glovebox::Cell::publish();
    chdir $directory if defined $directory;
    for my $name (keys %before) {
        if (defined $before{$name}) { $ENV{$name} = $before{$name} } else { delete $ENV{$name} }
    }
    { local $@; eval { STDOUT->flush; STDERR->flush } }
    report($status);
    return;
}

sub run {
    my ($compiled, $shown) = Glovebox::Cell::compile($_[0], "cell $count");
    die $@ if !$compiled;
    $@ = '';
    my @values = $compiled->();
    return if $$ != $pid;
    show(@values) if $shown;
    return;
}

# A copy of this process that guest code made by fork must not serve the frames a second time.
sub leave_copy {
    eval { STDOUT->flush; STDERR->flush };
    POSIX::_exit(0);
}

sub report {
    my ($status) = @_;
    if (!defined $status) {
        $frames->emit(Glovebox::Frames::DONE, $channel,
                      { status => 'ok', execution_count => \$count });
        return;
    }
    my $class = ref $status;
    return $frames->fail($channel, $count, 'Interrupt', 'interrupted')
        if $class eq 'Glovebox::Interrupt';
    if ($class eq 'Glovebox::Exit') {
        my $number = $status->{status} =~ /\A(-?[0-9]{1,9})\z/ ? $1 & 255 : 0;
        return report(undef) if !$number;
        return $frames->fail($channel, $count, 'ExitStatus', "exit status $number");
    }
    # An object of the guest may do anything when it is made a string, also die.
    my $text = eval { Glovebox::Json::text(substr "$status", 0, 1 << 20) } // "a $class";
    chomp $text;
    my $name = $class && Scalar::Util::blessed($status) ? $class
        : $text =~ $NOT_COMPILED ? 'SyntaxError' : 'Error';
    return $frames->fail($channel, $count, $name, $text, split /\n/, $text);
}

# The code is compiled in a copy of the process, because BEGIN blocks and `use` run by that.
sub is_complete {
    my ($code) = @_;
    utf8::encode($code);
    my $child = open my $said, '-|';
    return 'unknown' if !defined $child;
    if (!$child) {
        alarm 5;
        my ($compiled) = Glovebox::Cell::compile($code, 'cell');
        syswrite STDOUT, $compiled ? 'complete'
            : $@ =~ $UNFINISHED ? 'incomplete' : 'invalid';
        POSIX::_exit(0);
    }
    my $answer = <$said> // '';
    close $said;
    return $answer =~ /(incomplete|complete|invalid)\z/ ? $1 : 'unknown';
}

sub complete {
    my ($code, $cursor) = @_;
    $cursor = length $code if !defined $cursor || $cursor !~ /\A[0-9]+\z/ || $cursor > length $code;
    my ($sigil, $word) = substr($code, 0, $cursor) =~ /([\$\@%&]?)([A-Za-z_]\w*)?\z/;
    $word //= '';
    my @names = $sigil ? map { substr $_, 1 } keys %Glovebox::Cell::kept : ();
    no strict 'refs';
    push @names, grep { $sigil ? defined ${"main::$_"} : defined &{"main::$_"} }
        grep { /\A[A-Za-z]\w*\z/ } keys %main::;
    my %matches = map { $_ => 1 } grep { index($_, $word) == 0 } @names;
    my @matches = sort keys %matches;
    splice @matches, 1000 if @matches > 1000;
    my $start = $cursor - length $word;
    return { matches => \@matches, start => \$start, end => \$cursor };
}

sub variables {
    my @names = sort keys %Glovebox::Cell::kept;
    splice @names, 1000 if @names > 1000;
    no strict 'refs';
    my %kind = ('$' => 'scalar', '@' => 'array', '%' => 'hash');
    return { variables => [map {
        my ($sigil, $plain) = /\A(.)(.*)\z/;
        my $value = $sigil eq '$' ? ${"main::$plain"} // 'undef'
            : $sigil eq '@' ? '(' . @{"main::$plain"} . ' elements)'
            : '(' . keys(%{"main::$plain"}) . ' keys)';
        my $text = Glovebox::Json::text(substr "$value", 0, 200);
        { name => $_, type => $kind{$sigil}, value => $text };
    } @names] };
}

sub answer {
    my ($type, $request) = @_;
    return variables() if $type == Glovebox::Frames::VARIABLES;
    my $code = $request->{code};
    if (defined $code && !ref $code) {
        return complete($code, $request->{cursor}) if $type == Glovebox::Frames::COMPLETE;
        return { status => is_complete($code), indent => '' }
            if $type == Glovebox::Frames::IS_COMPLETE;
    }
    return { error => 'this agent does not support this request' };
}

sub serve {
    $frames = Glovebox::Frames->adopt(3);
    $SIG{INT} = \&interrupt;
    $SIG{PIPE} = 'IGNORE';
    STDOUT->autoflush(1);
    STDERR->autoflush(1);
    tie *main::STDIN, 'Glovebox::Stdin';
    $0 = 'perl';
    $frames->emit(Glovebox::Frames::READY, 0, {
        language => 'perl', version => sprintf('%vd', $^V),
        features => [qw(complete is_complete input variables)],
    });
    while (1) {
        my @message = @waiting ? @{ shift @waiting } : $frames->receive;
        return if !@message || $message[0] == Glovebox::Frames::FINISH;
        my $request = eval { Glovebox::Json::decode($message[2]) };
        $request = {} if ref $request ne 'HASH';
        if ($message[0] == Glovebox::Frames::EXECUTE) {
            $channel = $message[1];
            execute($request);
        } elsif ($message[0] != Glovebox::Frames::INPUT) {
            my $reply = eval { answer($message[0], $request) } // { error => 'failed' };
            $frames->emit(Glovebox::Frames::REPLY, $message[1], $reply);
        }
    }
}

require IO::Handle;
require POSIX;
require Scalar::Util;
serve();
POSIX::_exit(0);
