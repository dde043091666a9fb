# SPDX-License-Identifier: Apache-2.0
# Compiles one execution's Perl code so that its top-level `my` variables outlive it, and tells
# whether its last statement has a value worth showing.
#
# The code becomes the body of a subroutine. A BEGIN block behind it runs when all of the body but
# its end is compiled; the names that are in scope there are the top-level ones, and their
# containers become package variables of the same names after the run, also when it died halfway.
package Glovebox::Cell;

use strict;
use warnings;

our (%kept, $source);
my %pending;

# B is not in perl-base. Without it `my` variables last for one execution, and no values are shown.
my $has_b = eval { require B; 1 };

# The sequence number of a variable whose scope is still open (PERL_PADSEQ_INTRO).
my $OPEN_SCOPE = 0xffffffff;

# Names of an enclosing scope (PADNAMEf_OUTER), and those that `our` declared (PADNAMEf_OUR, and its
# older form).
my $NOT_MINE = 0x01 | 0x10 | 0x40000;

# Operators that end a statement without a value that anybody asked for.
my %SILENT = map { $_ => 1 } qw(
    null stub nextstate print say prtf sassign aassign padsv_store aelemfastlex_store leaveloop
    unstack enterloop leavetry leavetrycatch leave scope require undef chop schop chomp schomp
    push unshift open close binmode unlink mkdir rmdir chdir select sleep srand system const_decl
    preinc postinc predec postdec i_preinc i_postinc i_predec i_postdec delete subst trans
    introcv clonecv warn die seek truncate utime chmod chown rename symlink link kill syswrite
);

# Answers (code reference, whether its value is to be shown), or nothing with the reason in $@.
sub compile {
    my ($code, $name) = @_;
    %pending = ();
    my $declared = join ',', sort keys %kept;
    my $head = $declared eq '' ? '' : "our ($declared); ";
    $source = "no strict; no warnings; package main; $head sub {\n#line 1 \"$name\"\n$code\n"
        . ";BEGIN { Glovebox::Cell::keep(sub {}) } }";
    my $compiled = Glovebox::Sandbox::evaluate();
    if (!$compiled && $@ =~ /^Missing right curly/ && $code =~ /^__(?:END|DATA)__\n/m) {
        $code =~ s/^__(?:END|DATA)__\n.*//ms;
        return compile($code, $name);
    }
    $source = '';
    return if ref $compiled ne 'CODE';
    return ($compiled, $has_b && _has_value($compiled));
}

sub keep {
    my ($here) = @_;
    return if !$has_b;
    # From this closure to the BEGIN block to the body.
    my $body = B::svref_2object($here)->OUTSIDE->OUTSIDE;
    my @names = $body->PADLIST->ARRAYelt(0)->ARRAY;
    my @values = $body->PADLIST->ARRAYelt(1)->ARRAY;
    for my $index (1 .. $#names) {
        my $entry = $names[$index];
        next if !$entry->can('PV') || $entry->FLAGS & $NOT_MINE;
        next if ref $values[$index] eq 'B::SPECIAL';
        my $name = $entry->PV // next;
        next if $name !~ /\A[\$\@%][A-Za-z_]\w*\z/ || $entry->COP_SEQ_RANGE_HIGH != $OPEN_SCOPE;
        $pending{$name} = $values[$index]->object_2svref;
    }
    return;
}

# To be called after the run. Not earlier: the code may read the variable that it hides, as
# `my @lines = grep { length } @lines` does.
sub publish {
    for my $name (keys %pending) {
        my $plain = substr $name, 1;
        no strict 'refs';
        *{"main::$plain"} = $pending{$name};
        $kept{$name} = 1;
    }
    %pending = ();
    return;
}

# Looks at the last operator of the body.
sub _has_value {
    my ($compiled) = @_;
    my $root = B::svref_2object($compiled)->ROOT;
    return 0 if ref $root eq 'B::NULL' || !$root->can('first');
    my $body = $root->first;
    $body = $body->first while $body->name !~ /^(?:lineseq|leave)/ && $body->can('first');
    my $last;
    for (my $op = $body->first; ref $op ne 'B::NULL'; $op = $op->sibling) {
        $last = $op if $op->name !~ /^(?:nextstate|dbstate)$/ && !_is_empty($op);
    }
    return 0 if !$last;
    # `if` and `unless` are and, or and cond_expr, but so are && and ?:, told apart by a block.
    if ($last->name =~ /^(?:and|or|cond_expr)$/) {
        my $branch = $last->first->sibling;
        return 0 if ref $branch ne 'B::NULL' && $branch->name =~ /^(?:leave|scope|lineseq)$/;
        return 0 if ref $branch ne 'B::NULL' && $SILENT{ $branch->name };
    }
    if ($last->name eq 'null' && $last->can('first')) {
        my $first = $last->first;
        return 0 if ref $first eq 'B::NULL';
        return !$SILENT{ $first->name } && $first->name !~ /^(?:and|or)$/ || _is_expression($last);
    }
    return !$SILENT{ $last->name };
}

sub _is_empty {
    my ($op) = @_;
    return $op->name =~ /^(?:stub|null)$/ && !($op->flags & B::OPf_KIDS());
}

# A null operator is what an optimised one left behind.
sub _is_expression {
    my ($op) = @_;
    my $first = $op->first;
    return 0 if $first->name !~ /^(?:and|or)$/;
    my $branch = $first->first->sibling;
    return 0 if ref $branch eq 'B::NULL';
    return $branch->name !~ /^(?:leave|scope|lineseq|null)$/ && !$SILENT{ $branch->name };
}

# The evaluation must see no lexical variable of ours, or the body would be a closure over it.
package Glovebox::Sandbox;

sub evaluate { return eval $Glovebox::Cell::source }

1;
