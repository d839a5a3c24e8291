//! Tests of segmentation: complete records and fragments of records in several APDUs (Z39.50-2003 §3.3).

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::oid::USMARC;

use crate::limits::Limits;
use crate::requests::{Sizes, init_of, now, only, present_request, search};
use crate::session::Session;
use crate::target::Target;

/// Returns the answer to a Present: each APDU in brackets, with its count and the sizes of its records. Fragments are written
/// `a(`, `)b(` and `)c`; a diagnostic is written as the number of its condition.
fn sent(sizes: &[usize], level: Options, change: &dyn Fn(&mut PresentRequest)) -> String {
    let limits = Limits {
        preferred_message_size: 100,
        exceptional_record_size: 450,
        segments: 4,
        ..Limits::default()
    };
    let target = Target::new(Arc::new(Sizes(sizes.to_vec())), limits);
    let mut session = Session::new(Arc::new(target));
    let mut init = init_of(ProtocolVersion::UP_TO_3);
    init.options = init.options | level;
    only(now(session.answer(&init.into())));
    only(now(session.answer(&search("x"))));
    let mut request = present_request(1, sizes.len() as i64);
    request.reference_id = Some(ReferenceId("ref".into()));
    change(&mut request);
    let reply = now(session.answer(&request.into()));
    let apdus = reply.apdus.iter().map(|apdu| {
        assert_eq!(apdu.reference_id(), Some(&ReferenceId("ref".into())));
        match apdu {
            Apdu::Segment(segment) => {
                let records = shown(&segment.segment_records);
                format!("[{}: {records}]", segment.number_of_records_returned)
            }
            Apdu::PresentResponse(response) => {
                let records = match &*response.records {
                    Some(Records::ResponseRecords(records)) => shown(records),
                    Some(Records::NonSurrogateDiagnostic(one)) => {
                        format!("{} {}", one.condition, one.addinfo.to_string_lossy())
                    }
                    other => panic!("{other:?}"),
                };
                let status = response.present_status.0;
                let (number, next) = (
                    response.number_of_records_returned,
                    response.next_result_set_position,
                );
                format!("[{number}: {records}] status {status}, next {next}")
            }
            other => panic!("{other:?}"),
        }
    });
    apdus.collect()
}

fn shown(records: &[NamePlusRecord]) -> String {
    let shown: Vec<String> = records.iter().map(|entry| one(&entry.record)).collect();
    shown.join(" ")
}

fn one(record: &Record) -> String {
    let size = |fragment: &FragmentSyntax| match fragment {
        FragmentSyntax::ExternallyTagged(external) => {
            assert_eq!(external.direct_reference, Some(USMARC));
            aligned(external)
        }
        FragmentSyntax::NotExternallyTagged(octets) => octets.len(),
    };
    match record {
        Record::RetrievalRecord(external) => aligned(external).to_string(),
        Record::SurrogateDiagnostic(DiagRec::DefaultFormat(one)) => format!("<{}>", one.condition),
        Record::StartingFragment(fragment) => format!("{}(", size(fragment)),
        Record::IntermediateFragment(fragment) => format!("){}(", size(fragment)),
        Record::FinalFragment(fragment) => format!("){}", size(fragment)),
        other => panic!("{other:?}"),
    }
}

fn aligned(external: &External) -> usize {
    match &external.encoding {
        ExternalEncoding::OctetAligned(octets) => octets.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_segments_there_is_one_response() {
    let none = Options::default();
    assert_eq!(sent(&[60, 60], none, &|_| {}), "[1: 60] status 2, next 2");
}

#[test]
fn whole_records_go_into_segments() {
    for (sizes, expected) in [
        (&[60, 40][..], "[2: 60 40] status 0, next 3"),
        (&[60, 60], "[1: 60][2: 60] status 0, next 3"),
        (
            &[60, 40, 1, 99, 2],
            "[2: 60 40][2: 1 99][5: 2] status 0, next 6",
        ),
        (
            &[60, 60, 60, 60, 60],
            "[1: 60][1: 60][1: 60][4: 60] status 2, next 5",
        ),
        (&[60, 101, 60], "[2: 60 <16>][3: 60] status 0, next 4"),
        (&[101], "[1: 101] status 0, next 2"),
        (&[451], "[1: <17>] status 0, next 2"),
    ] {
        assert_eq!(
            sent(sizes, Options::SEGMENTATION_1, &|_| {}),
            expected,
            "{sizes:?}"
        );
    }
    let at_most_two = |request: &mut PresentRequest| request.max_segment_count = Some(2);
    assert_eq!(
        sent(&[60, 60, 60], Options::SEGMENTATION_1, &at_most_two),
        "[1: 60][2: 60] status 2, next 3"
    );
    // The level 2 parameters have no effect at level 1.
    let small = |request: &mut PresentRequest| {
        request.max_segment_size = Some(1);
        request.max_record_size = Some(1);
    };
    assert_eq!(
        sent(&[60], Options::SEGMENTATION_1, &small),
        "[1: 60] status 0, next 2"
    );
}

#[test]
fn fragments_go_into_segments() {
    let both = Options::SEGMENTATION_1 | Options::SEGMENTATION_2;
    for (sizes, expected) in [
        (&[60, 40][..], "[2: 60 40] status 0, next 3"),
        (&[60, 60], "[2: 60 40(][2: )20] status 0, next 3"),
        (
            &[250, 30],
            "[1: 100(][1: )100(][2: )50 30] status 0, next 3",
        ),
        (
            &[400],
            "[1: 100(][1: )100(][1: )100(][1: )100] status 0, next 2",
        ),
        (&[401], "[1: <17>] status 0, next 2"),
        (&[451], "[1: <17>] status 0, next 2"),
        (&[60, 400], "[1: 60] status 2, next 2"),
    ] {
        assert_eq!(sent(sizes, both, &|_| {}), expected, "{sizes:?}");
    }
    for (segment, count, record, expected) in [
        (
            Some(64),
            None,
            None,
            "[1: 64(][1: )64(][1: )22] status 0, next 2",
        ),
        (Some(63), None, None, "[0: 242 64] status 5, next 0"),
        (Some(100), Some(1), None, "[1: 150] status 0, next 2"),
        (
            Some(1_000),
            Some(2),
            None,
            "[1: 100(][1: )50] status 0, next 2",
        ),
        (None, None, Some(149), "[1: <17>] status 0, next 2"),
        (
            None,
            Some(-1),
            Some(150),
            "[1: 100(][1: )50] status 0, next 2",
        ),
    ] {
        let change = |request: &mut PresentRequest| {
            request.max_segment_size = segment;
            request.max_segment_count = count;
            request.max_record_size = record;
        };
        assert_eq!(
            sent(&[150], both, &change),
            expected,
            "{segment:?} {count:?} {record:?}"
        );
    }
}
