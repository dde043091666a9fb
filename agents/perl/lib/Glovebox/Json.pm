# SPDX-License-Identifier: Apache-2.0
# JSON in both directions, in the part of Perl that perl-base has.
#
# JSON::PP is not in perl-base, and its decoder walks strings a character at a time, which is felt
# with code of a megabyte.
package Glovebox::Json;

use strict;
use warnings;

# Deeper nesting than any frame of the protocol has; more is an attack on the stack.
my $MAX_DEPTH = 64;

my %UNESCAPE = (
    '"' => '"', '\\' => '\\', '/' => '/', b => "\b", f => "\f", n => "\n", r => "\r", t => "\t",
);
my %ESCAPE = reverse %UNESCAPE;
delete $ESCAPE{'/'};

# Bytes of a JSON text to hashes, arrays and character strings. Dies where the text is not JSON.
# Literals become 1, 0 and undef.
sub decode {
    my ($text) = @_;
    my $value = _value(\$text, 0);
    $text =~ /\G[ \t\r\n]*\z/gc or die "invalid JSON: trailing characters after the value\n";
    return $value;
}

# Hashes, arrays and character strings to the bytes of a JSON text. A reference to a scalar stands
# for a literal: \5 or \'true'. Perl itself cannot tell a number from the string of its digits.
sub encode {
    my ($value) = @_;
    return 'null' if !defined $value;
    return _string($value) if !ref $value;
    return $$value if ref $value eq 'SCALAR';
    return '[' . join(',', map { encode($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(',', map { _string($_) . ':' . encode($value->{$_}) } sort keys %$value) . '}';
}

# Bytes that should be text, as characters: UTF-8 where it is that, Latin-1 otherwise.
sub text {
    my ($bytes) = @_;
    utf8::decode($bytes);
    return $bytes;
}

sub _string {
    my ($string) = @_;
    $string =~ s{([\x00-\x1f"\\])}{$ESCAPE{$1} ? "\\$ESCAPE{$1}" : sprintf '\\u%04x', ord $1}ge;
    # Perl's strings may hold surrogates and numbers beyond Unicode, which UTF-8 may not.
    $string =~ s/[^\x{0}-\x{d7ff}\x{e000}-\x{10ffff}]/\x{fffd}/g if utf8::is_utf8($string);
    utf8::encode($string);
    return qq("$string");
}

sub _value {
    my ($text, $depth) = @_;
    die "invalid JSON: nested too deeply\n" if $depth > $MAX_DEPTH;
    $$text =~ /\G[ \t\r\n]*/gc;
    return _parse_string($text) if $$text =~ /\G"/gc;
    return _parse_object($text, $depth) if $$text =~ /\G\{/gc;
    return _parse_array($text, $depth) if $$text =~ /\G\[/gc;
    return 0 + $1 if $$text =~ /\G(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)/gc;
    return 1 if $$text =~ /\Gtrue/gc;
    return 0 if $$text =~ /\Gfalse/gc;
    return undef if $$text =~ /\Gnull/gc;
    die "invalid JSON: expected a value\n";
}

sub _parse_object {
    my ($text, $depth) = @_;
    my %object;
    return \%object if $$text =~ /\G[ \t\r\n]*\}/gc;
    while (1) {
        $$text =~ /\G[ \t\r\n]*"/gc or die "invalid JSON: expected a name\n";
        my $name = _parse_string($text);
        $$text =~ /\G[ \t\r\n]*:/gc or die "invalid JSON: expected a colon\n";
        $object{$name} = _value($text, $depth + 1);
        next if $$text =~ /\G[ \t\r\n]*,/gc;
        return \%object if $$text =~ /\G[ \t\r\n]*\}/gc;
        die "invalid JSON: unterminated object\n";
    }
}

sub _parse_array {
    my ($text, $depth) = @_;
    my @array;
    return \@array if $$text =~ /\G[ \t\r\n]*\]/gc;
    while (1) {
        push @array, _value($text, $depth + 1);
        next if $$text =~ /\G[ \t\r\n]*,/gc;
        return \@array if $$text =~ /\G[ \t\r\n]*\]/gc;
        die "invalid JSON: unterminated array\n";
    }
}

sub _parse_string {
    my ($text) = @_;
    my $bytes = '';
    while (1) {
        $bytes .= $1 if $$text =~ /\G([^"\\]+)/gc;
        last if $$text =~ /\G"/gc;
        if ($$text =~ /\G\\(["\\\/bfnrt])/gc) {
            $bytes .= $UNESCAPE{$1};
        } elsif ($$text =~ /\G((?:\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}){1,1000})/gc) {
            # Many at once: some senders escape all that is not ASCII.
            my $characters = pack 'U*', map { hex } unpack '(x2a4)*', $1;
            utf8::encode($characters);
            $bytes .= $characters;
        } elsif ($$text =~ /\G\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/gc) {
            $bytes .= _utf8(0x10000 + ((hex($1) - 0xd800) << 10) + (hex($2) - 0xdc00));
        } elsif ($$text =~ /\G\\u[dD][89a-fA-F][0-9a-fA-F]{2}/gc) {
            $bytes .= _utf8(0xfffd);  # Half of a surrogate pair.
        } else {
            die "invalid JSON: unterminated string\n";
        }
    }
    utf8::decode($bytes);
    return $bytes;
}

sub _utf8 {
    my $character = chr $_[0];
    utf8::encode($character);
    return $character;
}

1;
