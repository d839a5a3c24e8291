# Reads a file of MARCMaker text with MARC::File::MARCMaker, and prints each record as a line of JSON, as foreign.py lists them.
# Exit status 3: the module is missing.
use strict;
use warnings;
use Encode;
use JSON::PP;

eval { require MARC::File::MARCMaker; 1 } or exit 3;
my $json = JSON::PP->new->utf8;
my $file = MARC::File::MARCMaker->in($ARGV[0]) or die "$ARGV[0] cannot be read";
while (my $record = $file->next()) {
    # The fill character of UNIMARC, which foreign.py allows for.
    my $warnings = join("; ", $record->warnings());
    $warnings =~ s/Invalid indicator "\|" forced to blank//g;
    die $warnings if $warnings =~ /\w/;
    my @fields;
    for my $field ($record->fields()) {
        # A text, also if it has been compared as a number.
        my $tag = "" . $field->tag();
        if ($field->is_control_field()) {
            push @fields, [$tag, decode_utf8($field->data())];
        } else {
            my @subfields = map { [$_->[0], decode_utf8($_->[1])] } $field->subfields();
            push @fields, [$tag, [$field->indicator(1), $field->indicator(2)], \@subfields];
        }
    }
    print $json->encode([substr($record->leader(), 5, 4), \@fields]), "\n";
}
