# A server of Net::Z3950::SimpleServer for the tests: MARC records from a file, in the databases Default and books.
use strict;
use warnings;
use Net::Z3950::OID;
use Net::Z3950::SimpleServer;

my ($records, @options) = @ARGV;
open(my $file, '<:raw', $records) or die "$records: $!";
local $/ = "\x1d";
my @records = <$file>;
close($file);

sub text {
    my ($record) = @_;
    my $text = lc($record);
    $text =~ s/[\x1d-\x1f]/ /g;
    return $text;
}

# The positions of the records that a query finds; undef after a diagnostic.
sub evaluate {
    my ($args, $node) = @_;
    my $kind = ref($node);
    if ($kind =~ /::Term$/) {
        for my $attribute (@{$node->{attributes}}) {
            if ($attribute->{attributeType} == 1 && $attribute->{attributeValue} !~ /^(4|1003|1016)$/) {
                @{$args}{qw(ERR_CODE ERR_STR)} = (114, $attribute->{attributeValue});
                return undef;
            }
        }
        my $term = lc($node->{term});
        return { map { $_ => 1 } grep { text($records[$_]) =~ /\b\Q$term\E\b/ } 0 .. $#records };
    }
    if ($kind =~ /::RSID$/) {
        my $set = $args->{HANDLE}{$node->{id}};
        @{$args}{qw(ERR_CODE ERR_STR)} = (30, $node->{id}) unless $set;
        return $set ? { map { $_ => 1 } @$set } : undef;
    }
    my ($left, $right) = map { evaluate($args, $_) } @{$node}[0, 1];
    return undef unless $left && $right;
    return { map { $_ => 1 } grep { $right->{$_} } keys %$left } if $kind =~ /::And$/;
    return { %$left, %$right } if $kind =~ /::Or$/;
    return { map { $_ => 1 } grep { !$right->{$_} } keys %$left } if $kind =~ /::AndNot$/;
    @{$args}{qw(ERR_CODE ERR_STR)} = (110, $kind);
    return undef;
}

sub search {
    my ($args) = @_;
    for my $database (@{$args->{DATABASES}}) {
        if ($database !~ /^(Default|books)$/i) {
            @{$args}{qw(ERR_CODE ERR_STR)} = (109, $database);
            return;
        }
    }
    my $found = evaluate($args, $args->{RPN}{query}) or return;
    $args->{HANDLE}{$args->{SETNAME}} = [sort { $a <=> $b } keys %$found];
    $args->{HITS} = scalar keys %$found;
}

sub fetch {
    my ($args) = @_;
    my $set = $args->{HANDLE}{$args->{SETNAME}};
    if (!$set) {
        @{$args}{qw(ERR_CODE ERR_STR)} = (30, $args->{SETNAME});
        return;
    }
    if ($args->{OFFSET} < 1 || $args->{OFFSET} > @$set) {
        @{$args}{qw(ERR_CODE ERR_STR)} = (13, $args->{OFFSET});
        return;
    }
    my $record = $records[$set->[$args->{OFFSET} - 1]];
    if ($args->{REQ_FORM} eq Net::Z3950::OID::sutrs) {
        $args->{REP_FORM} = Net::Z3950::OID::sutrs;
        $args->{RECORD} = text($record);
    } elsif ($args->{REQ_FORM} eq Net::Z3950::OID::usmarc || $args->{REQ_FORM} eq '') {
        $args->{REP_FORM} = Net::Z3950::OID::usmarc;
        $args->{RECORD} = $record;
    } else {
        @{$args}{qw(ERR_CODE ERR_STR)} = (239, $args->{REQ_FORM});
        return;
    }
    $args->{BASENAME} = 'Default';
    $args->{LAST} = $args->{OFFSET} == @$set ? 1 : 0;
}

sub scan {
    my ($args) = @_;
    my %count;
    for my $record (@records) {
        my %seen = map { $_ => 1 } text($record) =~ /\b([a-z]{3,})\b/g;
        $count{$_}++ for keys %seen;
    }
    my @terms = sort keys %count;
    my $start = 0;
    $start++ while $start < @terms && $terms[$start] lt lc($args->{TERM});
    my $first = $start - ($args->{RPOS} - 1);
    my @entries = grep { $_ >= 0 && $_ < @terms } $first .. $first + $args->{NUMBER} - 1;
    $args->{STATUS} = @entries == $args->{NUMBER}
        ? Net::Z3950::SimpleServer::ScanSuccess : Net::Z3950::SimpleServer::ScanPartial;
    $args->{ENTRIES} = [map { { TERM => $terms[$_], OCCURRENCE => $count{$terms[$_]} } } @entries];
    $args->{NUMBER} = @entries;
}

Net::Z3950::SimpleServer->new(
    INIT => sub { $_[0]{HANDLE} = {}; $_[0]{IMP_NAME} = 'SimpleServer' },
    SEARCH => 'main::search',
    FETCH => 'main::fetch',
    SCAN => 'main::scan',
)->launch_server('simple-server.pl', @options);
