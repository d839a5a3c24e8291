//! Tests of segmentation: records and fragments of records in Segments (Z39.50-2003 §3.3.2, §3.3.3).

use z3950_asn1::apdu::*;
use z3950_asn1::oid;
use z3950_asn1::record::RetrievedRecord;

use super::*;
use crate::protocol::service::ResultRecord;
use crate::testing::*;

/// Returns the result of a Present that is answered by `segments` and a last response: each record as text, or the
/// error.
async fn segmented(
    granted: Options,
    segments: Vec<Vec<Record>>,
    last: Vec<Record>,
    announced: Option<i64>,
) -> Result<Vec<String>, Error> {
    let named = |records: Vec<Record>| -> Vec<NamePlusRecord> {
        let named = |record| NamePlusRecord { name: None, record };
        records.into_iter().map(named).collect()
    };
    let (session, mut peer) = Peer::granting(SessionOptions::default(), granted).await;
    tokio::spawn(async move {
        peer.request().await;
        for records in segments {
            let segment = Segment {
                reference_id: None,
                number_of_records_returned: i64::try_from(records.len()).expect("few"),
                segment_records: named(records),
                other_info: None,
            };
            peer.send(segment).await;
        }
        let mut response = presented(
            PresentStatus::SUCCESS,
            Some(Records::ResponseRecords(named(last))),
        );
        if let Some(announced) = announced {
            response.number_of_records_returned = announced;
        }
        peer.send(response).await;
        peer.hears_nothing().await;
    });
    let options = PresentOptions {
        record_syntax: Some(oid::XML),
        ..PresentOptions::default()
    };
    let presented = session.present(1, 4, &options).await?;
    let text = |record: &ResultRecord| match record {
        ResultRecord::Record { external, .. } => {
            let octets = RetrievedRecord::octets_of(external);
            let syntax = external.direct_reference.and_then(|oid| oid.name());
            format!("{} {}", syntax.unwrap_or("?"), octets.escape_ascii())
        }
        ResultRecord::Diagnostic { diagnostic, .. } => diagnostic.to_string(),
    };
    Ok(presented.records.iter().map(text).collect())
}

#[tokio::test(start_paused = true)]
async fn segments_and_fragments_are_joined() {
    use Record::{FinalFragment, IntermediateFragment, StartingFragment};
    let whole = |text: &'static str| {
        Record::RetrievalRecord(External::octet_aligned(oid::USMARC, text.as_bytes()))
    };
    let tagged = |text: &'static str| {
        FragmentSyntax::ExternallyTagged(External::octet_aligned(oid::USMARC, text.as_bytes()))
    };
    let bare = |text: &'static str| FragmentSyntax::NotExternallyTagged(text.into());
    let (one, two) = (Options::SEGMENTATION_1, Options::SEGMENTATION_2);
    let none = Options::default();
    for (granted, segments, last, announced, expected) in [
        (
            one,
            vec![vec![whole("a"), whole("b")], vec![whole("c")]],
            vec![whole("d")],
            None,
            Ok("usmarc a, usmarc b, usmarc c, usmarc d"),
        ),
        // The count in the response may also include the records of the earlier segments.
        (
            one,
            vec![vec![whole("a")]],
            vec![whole("b")],
            Some(2),
            Ok("usmarc a, usmarc b"),
        ),
        (one, vec![vec![whole("a")]], vec![], None, Ok("usmarc a")),
        (
            two,
            vec![
                vec![whole("a"), StartingFragment(tagged("b1"))],
                vec![IntermediateFragment(tagged("b2"))],
            ],
            vec![FinalFragment(bare("b3")), whole("c")],
            Some(3),
            Ok("usmarc a, usmarc b1b2b3, usmarc c"),
        ),
        (
            two,
            vec![vec![StartingFragment(bare("<x>"))]],
            vec![FinalFragment(bare("</x>"))],
            Some(1),
            Ok("xml <x></x>"),
        ),
        (
            one,
            vec![vec![whole("a")]],
            vec![whole("b")],
            Some(3),
            Err("numberOfRecordsReturned is 3, but 2 records came"),
        ),
        (
            one,
            vec![vec![StartingFragment(bare("a"))]],
            vec![FinalFragment(bare("b"))],
            None,
            Err("a fragment of a record, although segmentation was not negotiated"),
        ),
        (
            none,
            vec![vec![whole("a")]],
            vec![],
            None,
            Err("unexpected segmentRequest"),
        ),
        (
            two,
            vec![vec![StartingFragment(bare("a"))]],
            vec![whole("b")],
            None,
            Err("fragments that do not form a record"),
        ),
        (
            two,
            vec![vec![IntermediateFragment(bare("a"))]],
            vec![],
            None,
            Err("fragments that do not form a record"),
        ),
        (
            two,
            vec![vec![StartingFragment(bare("a"))]],
            vec![],
            None,
            Err("fragments that do not form a record"),
        ),
    ] {
        let records = segmented(granted, segments, last, announced).await;
        let records = records.map(|records| records.join(", "));
        let records = records.map_err(|error| match error {
            Error::ProtocolError { fault, .. } => fault.to_string(),
            other => panic!("{other:?}"),
        });
        assert_eq!(records, expected.map(str::to_owned).map_err(str::to_owned));
    }
}
