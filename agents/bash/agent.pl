#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Serves one long-living bash on descriptor 3.
#
# The bash is an interactive one, because only that goes on after SIGINT with all of its state; it
# has no terminal, no prompt, no line editor and no job control. Each execution is a `source` of
# the code, which makes bash quiet about jobs and exits for that time, as in a script.
use strict;
use warnings;
use File::Basename ();
use lib File::Basename::dirname(__FILE__) . '/../perl/lib';
use Glovebox::Front;

package Glovebox::Bash;

use constant CODE => '/proc/self/fd/' . Glovebox::Front::CODE_DESCRIPTOR;
use constant RECORDS => Glovebox::Front::RECORD_DESCRIPTOR;
use constant ERRORS => Glovebox::Front::ERROR_DESCRIPTOR;

# Ends an execution: options of the guest such as errexit and xtrace are told and turned off,
# because they would hit the agent's own orders; then the environment is put back. Called twice,
# since an interrupt makes bash drop the rest of the line that it works on; the second call finds
# the token gone.
use constant END_FUNCTION => '__glovebox_end() { local flags=$-; builtin set +euxv; '
    . '[[ $1 == "$__glovebox_token" ]] || return 0; '
    . 'local after=$__glovebox_after; __glovebox_after=; builtin eval "$after"; '
    . 'builtin printf "%s end %s %s\0" "$1" "$2" "$flags" >&' . RECORDS . '; '
    . '__glovebox_token=; };';

sub new { return bless { options => '' }, $_[0] }

sub language { return 'bash' }
sub features { return qw(complete is_complete) }
sub orders { return 0 }
sub awaits_start { return 1 }

sub version {
    my $version = `bash --norc --noprofile -c 'printf %s "\$BASH_VERSION"' 2>/dev/null`;
    return $version =~ /^([0-9.]+)/ ? $1 : '';
}

# An interactive bash without a terminal complains about that once, at its start: it starts with
# descriptor 2 closed away, and gets it back by its first order.
sub command {
    POSIX::dup2(2, ERRORS);
    open my $null, '>', '/dev/null' or die "/dev/null: $!\n";
    POSIX::dup2(fileno $null, 2);
    delete @ENV{qw(BASH_ENV ENV PROMPT_COMMAND HISTFILE)};
    @ENV{qw(PS1 PS2)} = ('', '');
    return qw(bash --norc --noprofile --noediting +m -i);
}

sub boot {
    my ($self, $front) = @_;
    $self->{options} = '';
    $front->order(END_FUNCTION . "exec 2>&@{[ERRORS]} @{[ERRORS]}>&-; set +o history +H; "
        . "unset HISTFILE MAILCHECK PS1 PS2; PS4='+ '; export -n PS4\n");
    return;
}

sub execute {
    my ($self, $front, $request) = @_;
    return 'the code contains a NUL byte' if index($request->{code}, "\0") >= 0;
    my ($before, $after) = ('', '');
    my $cwd = $request->{cwd};
    if (defined $cwd) {
        utf8::encode($cwd);
        return "the working directory $cwd does not exist" if !-d $cwd || $cwd =~ /\0/;
        $before .= '__glovebox_cwd=$PWD; builtin cd -- ' . _quote($cwd) . "\n";
        $after .= 'builtin cd -- "$__glovebox_cwd"; unset __glovebox_cwd;';
    }
    my $env = ref $request->{env} eq 'HASH' ? $request->{env} : {};
    for my $name (sort keys %$env) {
        my $value = $env->{$name} // '';
        return "invalid variable name $name" if $name !~ /\A[A-Za-z_][A-Za-z0-9_]*\z/;
        return "the variable $name contains a NUL byte" if ref $value || index($value, "\0") >= 0;
        utf8::encode($value);
        # A line each: setting a read-only variable makes bash drop the rest of the line.
        $before .= "__glovebox_env_$name=\${$name\@A}; export $name=" . _quote($value) . "\n";
        $after .= "unset $name; eval \"\$__glovebox_env_$name\"; unset __glovebox_env_$name;";
    }
    # The guest's options, which END_FUNCTION turned off, are turned on again by the code itself.
    my $options = $self->{options} eq '' ? '' : "set -$self->{options}\n";
    my $why = $front->store($options . $request->{code});
    return "cannot run the code: $why" if defined $why;
    my $token = $front->token;
    my $end = $self->{end} = "{ __glovebox_end $token \$?; } 2>/dev/null\n";
    $front->order($before . '__glovebox_after=' . _quote($after) . "; __glovebox_token=$token; "
        . "builtin printf '%s started \\0' $token >&@{[RECORDS]}; "
        . "builtin . @{[CODE]} </dev/null @{[RECORDS]}>&-; " . $end . $end);
    return;
}

# Two interrupts, or one at a bad moment, may make bash drop both orders to end.
sub interrupt_again {
    my ($self, $front) = @_;
    $front->order($self->{end});
    return;
}

sub record {
    my ($self, $front, $kind, $text) = @_;
    return if $kind ne 'end';
    my ($status, $flags) = $text =~ /\A([0-9]+) ([A-Za-z]*)\z/ or return;
    $self->{options} = join '', $flags =~ /[euxv]/g;
    return $front->finish if $status == 0;
    return $front->finish('Interrupt', 'exit status 130') if $front->interrupted && $status == 130;
    return $front->finish('ExitStatus', "exit status $status");
}

sub input { return }  # Standard input is /dev/null: nothing is ever asked.

sub request {
    my ($self, $front, $type, $request) = @_;
    my $code = $request->{code};
    return if !defined $code || ref $code;
    return $self->_complete($front, $code, $request->{cursor})
        if $type == Glovebox::Frames::COMPLETE;
    return { status => _is_complete($code), indent => '' }
        if $type == Glovebox::Frames::IS_COMPLETE;
    return;
}

# Asks the live bash, which knows its functions, variables and files.
sub _complete {
    my ($self, $front, $code, $cursor) = @_;
    $cursor = length $code if !defined $cursor || $cursor !~ /\A[0-9]+\z/ || $cursor > length $code;
    my $before = substr $code, 0, $cursor;
    my ($word) = $before =~ /([^\s;|&()<>"'`=]*)\z/;
    my $first = substr($before, 0, length($before) - length $word) =~ /(?:\A|[;|&(`\n])\s*\z/;
    my @matches;
    if ($word !~ /\0/ && $front->{pid}) {
        my ($dollar, $stem) = $word =~ /\A(\$\{?)?(.*)\z/s;
        my $action = defined $dollar ? '-v' : $first && $stem !~ m{/} ? '-c' : '-f';
        utf8::encode($stem);
        my $token = $front->new_token;
        $front->order("{ builtin printf '%s list %s\\0' $token \"\$(builtin compgen $action -- "
            . _quote($stem) . '; :)" >&' . RECORDS . "; } 2>/dev/null\n");
        my ($kind, $text) = $front->await(5);
        my %seen;
        @matches = map { ($dollar // '') . $_ } grep { length && !$seen{$_}++ }
            split /\n/, Glovebox::Json::text($text // '');
        @matches = (sort @matches)[0 .. ($#matches < 999 ? $#matches : 999)];
    }
    my ($start, $end) = ($cursor - length $word, $cursor);
    return { matches => \@matches, start => \$start, end => \$end };
}

# A bash of its own reads the code without running it.
sub _is_complete {
    my ($code) = @_;
    utf8::encode($code);
    return 'invalid' if index($code, "\0") >= 0;
    return 'incomplete' if $code =~ /(?<!\\)(?:\\\\)*\\\n?\z/;
    open my $file, '+>', undef or return 'unknown';
    syswrite $file, $code;
    sysseek $file, 0, 0;
    my $pid = open my $errors, '-|';
    return 'unknown' if !defined $pid;
    if (!$pid) {
        POSIX::dup2(fileno $file, 0);
        POSIX::dup2(1, 2);
        $ENV{LC_ALL} = 'C';
        exec qw(bash --norc --noprofile -n -O extglob) or POSIX::_exit(127);
    }
    local $/;
    my $said = <$errors> // '';
    close $errors;
    return 'incomplete' if $said =~ /unexpected (?:end of file|EOF)|delimited by end-of-file/;
    return $? ? 'invalid' : 'complete';
}

sub _quote {
    my ($text) = @_;
    $text =~ s/'/'\\''/g;
    return "'$text'";
}

package main;

Glovebox::Front->new(Glovebox::Bash->new)->serve;
