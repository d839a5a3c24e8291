# A server of SRU made of SRU::Request and SRU::Response: its records are all that any query finds, except for `none`.
# perl sru-server.pl PORT FILE, whose records end with NUL.
use strict;
use warnings;
use HTTP::Daemon;
use HTTP::Response;
use SRU::Request;
use SRU::Response;
use SRU::Response::Record;
use SRU::Response::Diagnostic;
use SRU::Response::Term;

my ( $port, $file ) = @ARGV;
open my $in, '<:raw', $file or die;
my @records = do { local $/ = "\0"; map { s/\0\z//r } <$in> };
my $daemon = HTTP::Daemon->new( LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1 ) or die;
while ( my $client = $daemon->accept ) {
    while ( my $asked = $client->get_request ) {
        my $request = SRU::Request->newFromURI( 'http://127.0.0.1' . $asked->uri );
        my $response = SRU::Response->newFromRequest($request);
        answer( $request, $response );
        my $reply = HTTP::Response->new( 200, 'OK', [ 'Content-Type' => 'text/xml' ] );
        $reply->content( $response->asXML() );
        $client->send_response($reply);
    }
    $client->close;
}

sub answer {
    my ( $request, $response ) = @_;
    my $kind = ref $response;
    if ( $kind eq 'SRU::Response::SearchRetrieve' ) {
        my $schema = $request->recordSchema // 'marcxml';
        if ( $schema ne 'marcxml' ) {
            $response->addDiagnostic( SRU::Response::Diagnostic->newFromCode( 66, $schema ) );
            return;
        }
        return if $request->query =~ /none/;
        my $start = $request->startRecord // 1;
        my $count = $request->maximumRecords // 10;
        # It never sends more than seven.
        $count = 7 if $count > 7;
        for my $position ( $start .. $start + $count - 1 ) {
            last if $position > @records;
            $response->addRecord(
                SRU::Response::Record->new(
                    recordSchema   => 'marcxml',
                    recordData     => $records[ $position - 1 ],
                    recordPosition => $position,
                )
            );
        }
        $response->numberOfRecords( scalar @records );
    }
    elsif ( $kind eq 'SRU::Response::Scan' ) {
        $response->addTerm( SRU::Response::Term->new( value => $_, numberOfRecords => length ) ) for qw(war water);
    }
}
