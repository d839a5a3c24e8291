//! Rules about the values of Present (Z39.50-2003 §3.2.3.1).

use z3950_asn1::apdu::{Options, PresentRequest, RecordComposition, Schema};

use super::Judged;
use crate::client::rules::RuleId;

impl Judged<'_> {
    pub(super) fn present(&mut self, present: &PresentRequest) {
        let set = present.result_set_id.0.as_bytes();
        let exists = self.known.may_have(set);
        self.mark(RuleId::PresentSet, exists, || {
            let name = String::from_utf8_lossy(set);
            format!("the result set {name}, which was not made")
        });
        let first = (
            present.result_set_start_point,
            present.number_of_records_requested,
        );
        let further = present.additional_ranges.iter().flatten();
        let further = further.map(|range| (range.starting_position, range.number_of_records));
        let ranges: Vec<(i64, i64)> = std::iter::once(first).chain(further).collect();
        let hits = self.known.hits(set);
        for (start, number) in &ranges {
            let came = || format!("{number} records from {start}");
            self.mark(RuleId::PresentStart, *start >= 1, came);
            self.mark(RuleId::PresentNumber, *number >= 1, came);
            if let Some(hits) = hits {
                let last = start.saturating_add(*number).saturating_sub(1);
                self.mark(RuleId::PresentWithin, last <= hits, || {
                    format!("{number} records from {start} of {hits}")
                });
            }
        }
        if present.additional_ranges.is_some() {
            let pairs = ranges.iter().zip(ranges.iter().skip(1));
            let mut overlaps =
                pairs.filter(|((start, number), next)| next.0 < start.saturating_add(*number));
            let found = overlaps.next();
            self.mark(RuleId::PresentRanges, found.is_none(), || {
                format!("the ranges {ranges:?}")
            });
        }
        self.segments(present);
        let composition = present.record_composition.as_ref();
        let complex = match composition {
            Some(RecordComposition::Complex(complex)) => Some(complex),
            _ => None,
        };
        let listed = complex.and_then(|complex| complex.record_syntax.as_ref());
        let has_syntax = present.preferred_record_syntax.is_some() || listed.is_some();
        self.mark(RuleId::RecordsSyntax, has_syntax, || {
            "a Present without preferredRecordSyntax".to_owned()
        });
        self.of_class(5, "preferredRecordSyntax", &present.preferred_record_syntax);
        self.of_class(5, "recordSyntax", listed.into_iter().flatten());
        let generic = complex.and_then(|complex| complex.generic.as_ref());
        if let Some(Schema::Oid(schema)) = generic.and_then(|one| one.schema.as_ref()) {
            self.of_class(13, "schema", [schema]);
        }
        let is_again = self.known.asks_again(self.request, Some(set));
        self.mark(RuleId::PresentAgain, !is_again, || {
            "a Present that was sent before".to_owned()
        });
    }

    /// Checks that maxSegmentCount is used only with level 1 of segmentation, and that the segment and record sizes are used only
    /// with level 2 (Z39.50-2003 §3.2.3.1.4, §3.3).
    fn segments(&mut self, present: &PresentRequest) {
        let level_2 = self.known.granted.contains(Options::SEGMENTATION_2);
        let level_1 = level_2 || self.known.granted.contains(Options::SEGMENTATION_1);
        for (name, number, is_granted) in [
            ("maxSegmentCount", present.max_segment_count, level_1),
            ("maxSegmentSize", present.max_segment_size, level_2),
            ("maxRecordSize", present.max_record_size, level_2),
        ] {
            if let Some(number) = number {
                self.mark(RuleId::PresentSegments, is_granted, || {
                    format!("{name} {number} without the option for it")
                });
            }
        }
    }
}
