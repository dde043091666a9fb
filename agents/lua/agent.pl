#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Serves one long-living Lua on descriptor 3. Plain Lua has neither sockets nor signals, so this
# front has them and driver.lua runs the code.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/../perl/lib';
use Glovebox::Front;

package Glovebox::Lua;

use constant ORDERS => 60;

# The lua program re-arms its answer to SIGINT for each script or statement on its command line,
# and only there: a second SIGINT in the same one kills it. So the driver is called once more
# after each interrupt, as many times as there are statements.
use constant INTERRUPTS => 4000;

my ($program) = grep { system("command -v $_ >/dev/null 2>&1") == 0 } qw(lua5.4 lua5.3 lua);

sub new { return bless { rearm => 0 }, $_[0] }

sub language { return 'lua' }
sub features { return qw(complete is_complete input) }
sub orders { return ORDERS }
sub awaits_start { return 1 }

sub version {
    my $said = defined $program ? `$program -v 2>&1` : '';
    return $said =~ /([0-9]+\.[0-9.]*[0-9])/ ? $1 : '';
}

sub command {
    delete @ENV{grep { /^LUA_INIT/ } keys %ENV};
    my $driver = Cwd::abs_path(File::Basename::dirname(__FILE__)) . '/driver.lua';
    $driver =~ s/(["\\])/\\$1/g;
    return ($program // 'lua', '-e', "glovebox_serve = dofile(\"$driver\")",
            ('-e', 'glovebox_serve()') x INTERRUPTS);
}

sub boot { $_[0]{rearm} = 0; return }

sub execute {
    my ($self, $front, $request) = @_;
    return 'Lua cannot change its working directory' if defined $request->{cwd};
    my $why = $front->store($request->{code});
    return "cannot run the code: $why" if defined $why;
    # Ends the statement that a SIGINT may have used up.
    $front->order("rearm\n") if $self->{rearm};
    $self->{rearm} = 0;
    my $env = ref $request->{env} eq 'HASH' ? $request->{env} : {};
    for my $name (keys %$env) {
        my $value = $env->{$name} // '';
        utf8::encode($_) for $name, $value;
        $front->order('env ' . unpack('H*', $name) . ' ' . unpack('H*', $value) . "\n");
    }
    $front->order('execute ' . $front->token . " $front->{count}\n");
    return;
}

sub record {
    my ($self, $front, $kind, $text) = @_;
    if ($kind eq 'result') {
        $front->result($text);
    } elsif ($kind eq 'display') {
        my ($type, $data) = split / /, $text, 2;
        $front->emit(Glovebox::Frames::DISPLAY,
                     { data => { $type => $data // '' }, metadata => {} });
    } elsif ($kind eq 'input') {
        $front->ask($text);
    } elsif ($kind eq 'ok') {
        $self->{rearm} = $front->interrupted;
        $front->finish;
    } elsif ($kind eq 'error') {
        $self->{rearm} = $front->interrupted;
        my ($name, $value) = split / /, $text, 2;
        my ($first) = split /\n/, $value // '';
        $front->finish($name, $first // '', split /\n/, $value // '');
    }
    return;
}

sub input {
    my ($self, $front, $input) = @_;
    my $text = $input->{eof} ? undef : $input->{text};
    utf8::encode($text) if defined $text;
    $front->store($text // '');
    $front->order(defined $text ? "text\n" : "eof\n");
    return;
}

sub request {
    my ($self, $front, $type, $request) = @_;
    my $code = $request->{code};
    return if !defined $code || ref $code || !$front->{pid};
    my $complete = $type == Glovebox::Frames::COMPLETE;
    return if !$complete && $type != Glovebox::Frames::IS_COMPLETE;
    my ($cursor, $start) = ($request->{cursor}, 0);
    if ($complete) {
        $cursor = length $code
            if !defined $cursor || $cursor !~ /\A[0-9]+\z/ || $cursor > length $code;
        $code = substr $code, 0, $cursor;
        ($code) = $code =~ /([A-Za-z_][A-Za-z0-9_.:]*)?\z/;
        $code //= '';
        $start = $cursor - length($code =~ /([^.:]*)\z/ ? $1 : $code);
    }
    utf8::encode($code);
    my $why = $front->store($code);
    return { error => $why } if defined $why;
    $front->order("rearm\n") if $self->{rearm};
    $self->{rearm} = 0;
    $front->order(($complete ? 'complete ' : 'is_complete ') . $front->new_token . "\n");
    my ($kind, $text) = $front->await(5);
    return { status => $text || 'unknown', indent => '' } if !$complete;
    my @matches = split /\n/, Glovebox::Json::text($text // '');
    return { matches => \@matches, start => \$start, end => \$cursor };
}

package main;

require Cwd;
Glovebox::Front->new(Glovebox::Lua->new)->serve;
