//! Speaks Z39.50 over a socket without the overhead of a client, for a fair comparison with direct requests to the
//! engine.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::codec::Decoder;
use z3950_asn1::apdu::{Apdu, Query, RpnQuery, SearchRequest};
use z3950_asn1::codec::frame::ApduCodec;
use z3950_asn1::codec::{decode, encode};
use z3950_asn1::oid::USMARC;
use z3950_tests::hex;

/// The maximum number of octets of a response.
const MOST_OCTETS: usize = 16 << 20;

/// A Z39.50 session on a socket.
pub(crate) struct Wire {
    stream: TcpStream,
    codec: ApduCodec,
    received: BytesMut,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let mut wire = Self {
            stream,
            codec: ApduCodec::new(MOST_OCTETS),
            received: BytesMut::new(),
        };
        let init = hex::octets(include_str!("../../fixtures/wire/init-request.hex"));
        let answer = wire.ask(&init).await;
        let Ok(Apdu::InitializeResponse(answer)) = decode(&answer) else {
            panic!("no InitializeResponse");
        };
        assert!(answer.result, "{answer:?}");
        wire
    }

    /// Sends the octets of a request; returns the octets of the response.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Bytes {
        self.stream.write_all(request).await.expect("sent");
        loop {
            if let Some(apdu) = self.codec.decode(&mut self.received).expect("an APDU") {
                return apdu;
            }
            let read = self.stream.read_buf(&mut self.received).await;
            assert_ne!(read.expect("octets"), 0, "the session has ended");
        }
    }
}

/// Returns the octets of a search in the database `books` whose response has this number of records.
pub(crate) fn search(query: RpnQuery, records: i64) -> Vec<u8> {
    let request = SearchRequest {
        reference_id: None,
        small_set_upper_bound: 1,
        large_set_lower_bound: i64::from(i32::MAX),
        medium_set_present_number: records,
        replace_indicator: true,
        result_set_name: "1".into(),
        database_names: vec!["books".into()],
        small_set_element_set_names: None,
        medium_set_element_set_names: None,
        preferred_record_syntax: Some(USMARC),
        query: Query::Type1(query),
        additional_search_info: None,
        other_info: None,
    };
    encode(&Apdu::SearchRequest(Box::new(request)))
        .expect("octets")
        .to_vec()
}

/// Returns the number of hits in a response.
pub(crate) fn hits(response: &[u8]) -> u64 {
    let Ok(Apdu::SearchResponse(response)) = decode(response) else {
        panic!("no SearchResponse");
    };
    assert!(
        response.search_status && response.number_of_records_returned > 0,
        "{response:?}"
    );
    u64::try_from(response.result_count).expect("a number")
}
