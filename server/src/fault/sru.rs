//! Applies faults to SRU answers: peculiarities of real servers, and damage (SRU 1.1, 1.2 and 2.0).

use z3950_asn1::sru::{Response, SruDiagnostic, SruRecord};

use super::Fault;
pub(crate) use super::octets::garbage;

/// Applies a fault to an SRU answer before it is encoded.
pub(crate) fn answer(fault: &Fault, answer: &mut Response) {
    match (fault, answer) {
        (Fault::NextRecord(position), Response::SearchRetrieve(found)) => {
            found.next_record_position = *position;
        }
        (Fault::NoPositions, Response::SearchRetrieve(found)) => {
            for record in &mut found.records {
                record.position = None;
            }
        }
        (Fault::FewerRecords(count), Response::SearchRetrieve(found)) => {
            found.records.truncate(*count);
        }
        (Fault::ExtraRecords(more), Response::SearchRetrieve(found)) => {
            if let Some(first) = found.records.first().cloned() {
                found.records.extend(std::iter::repeat_n(first, *more));
            }
        }
        (Fault::Surrogate(diagnostic), Response::SearchRetrieve(found)) => {
            for record in &mut found.records {
                let position = record.position;
                *record = SruRecord::surrogate(SruDiagnostic::from_bib1(diagnostic));
                record.position = position;
            }
        }
        (Fault::Beside(diagnostic), answer) => {
            diagnostics(answer).push(SruDiagnostic::from_bib1(diagnostic));
        }
        (Fault::Fails(diagnostic), answer) => {
            fail(answer, vec![SruDiagnostic::from_bib1(diagnostic)]);
        }
        (Fault::FailsWithSeveral(several), answer) => {
            fail(
                answer,
                several.iter().map(SruDiagnostic::from_bib1).collect(),
            );
        }
        (Fault::FailsAsSuccess(diagnostic), answer) => {
            fail(answer, vec![SruDiagnostic::from_bib1(diagnostic)]);
            if let Response::SearchRetrieve(found) = answer {
                found.number_of_records = Some(0);
            }
        }
        (Fault::FailsSilently, answer) => fail(answer, Vec::new()),
        _ => {}
    }
}

/// Replaces the contents of an answer with diagnostics.
fn fail(answer: &mut Response, why: Vec<SruDiagnostic>) {
    match answer {
        Response::SearchRetrieve(found) => {
            found.number_of_records = None;
            found.records.clear();
            found.next_record_position = None;
            found.facets.clear();
        }
        Response::Scan(scanned) => scanned.terms.clear(),
        Response::Explain(explained) => explained.record = None,
        Response::Update(updated) => {
            updated.success = false;
            updated.record = None;
        }
    }
    *diagnostics(answer) = why;
}

fn diagnostics(answer: &mut Response) -> &mut Vec<SruDiagnostic> {
    match answer {
        Response::SearchRetrieve(found) => &mut found.diagnostics,
        Response::Scan(scanned) => &mut scanned.diagnostics,
        Response::Explain(explained) => &mut explained.diagnostics,
        Response::Update(updated) => &mut updated.diagnostics,
    }
}

/// The namespaces of SRU answers, which faults can replace.
const NAMESPACES: [&str; 3] = [
    "http://www.loc.gov/zing/srw/",
    "http://docs.oasis-open.org/ns/search-ws/sruResponse",
    "http://docs.oasis-open.org/ns/search-ws/scan",
];

/// An HTML page like those that proxies send.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><p>Try again later.<br></body></html>\n";

/// Applies a fault to the encoded body of an answer; faults that do not concern the body have no effect.
pub(crate) fn body(fault: &Fault, body: Vec<u8>) -> Vec<u8> {
    match fault {
        Fault::Html => PAGE.into(),
        Fault::ByteOrderMark => [&b"\xef\xbb\xbf"[..], &body].concat(),
        fault => match String::from_utf8(body) {
            Ok(text) => text_of(fault, text),
            // A body that is not UTF-8 has already been changed by another fault, so it is left unchanged.
            Err(octets) => octets.into_bytes(),
        },
    }
}

fn text_of(fault: &Fault, text: String) -> Vec<u8> {
    let text = match fault {
        Fault::Namespace(other) => {
            let mut text = text;
            for namespace in NAMESPACES {
                text = text.replace(&format!("\"{namespace}\""), &format!("\"{other}\""));
            }
            text
        }
        Fault::NoPrefixes => ["zs", "diag", "fr"].iter().fold(text, |text, prefix| {
            text.replace(&format!("<{prefix}:"), "<")
                .replace(&format!("</{prefix}:"), "</")
                .replace(&format!("xmlns:{prefix}="), "xmlns=")
        }),
        Fault::SruVersion(version) => {
            let version = version
                .as_deref()
                .map(|version| format!("<zs:version>{version}</zs:version>"));
            within(
                text,
                "<zs:version>",
                "</zs:version>",
                &version.unwrap_or_default(),
            )
        }
        Fault::ResultCount(count) => {
            let [begin, end] = ["<zs:numberOfRecords>", "</zs:numberOfRecords>"];
            within(text, begin, end, &format!("{begin}{count}{end}"))
        }
        Fault::EmptyRecords => within(text, "<zs:records>", "</zs:records>", "<zs:records/>"),
        Fault::Packing(packing) => {
            let other = format!("<zs:recordPacking>{packing}</zs:recordPacking>");
            let packings = ["xml", "string"];
            packings.iter().fold(text, |text, packing| {
                text.replace(
                    &format!("<zs:recordPacking>{packing}</zs:recordPacking>"),
                    &other,
                )
            })
        }
        Fault::Latin1 => {
            let octets = text
                .chars()
                .map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?'));
            return octets.collect();
        }
        _ => text,
    };
    text.into_bytes()
}

/// Replaces the first element that begins with `begin` and ends with `end`.
fn within(text: String, begin: &str, end: &str, other: &str) -> String {
    let split = text.split_once(begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some([before, other, after].concat())
    });
    split.unwrap_or(text)
}

#[cfg(test)]
mod tests;
