//! Builds ILL-Requests for item orders, in version 1 of ISO 10161-1: requests for the loan of an item that a MARC
//! record describes (Z39.50-2003 Appendix EXT.4).

use std::time::SystemTime;

use bytes::Bytes;
use z3950_asn1::apdu::External;
use z3950_asn1::codec::encode_value;
use z3950_asn1::codec::frame::{CONSTRUCTED, Header, Length};
use z3950_asn1::error::EncodeError;
use z3950_asn1::oid::ILL;
use z3950_asn1::types::{Any, InternationalString};
use z3950_files::moment::Moment;
use z3950_marc::Iso2709Error;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Charset, Options, to_utf8};
use z3950_marc::crosswalk::dublin_core::elements;
use z3950_marc::iso2709;
use z3950_marc::standard_number::{Isbn, Issn};

/// The value of transaction-group-qualifier in all requests.
const GROUP: &str = "z3950";

/// Transaction-Type: simple. Default values such as this one are sent because YAZ requires them.
const SIMPLE: u8 = 1;
/// Place-On-Hold-Type: according to responder policy.
const RESPONDERS_POLICY: u8 = 3;
/// ILL-Service-Type: loan.
const LOAN: u8 = 1;
/// Requester-Optional-Messages-Type: neither required nor desired.
const NEITHER: u8 = 3;

/// Builds an ILL-Request for the item described by a record in UTF-8; see [`ill_request_for`].
///
/// # Errors
/// Fails only if BER cannot encode a value.
pub(crate) fn ill_request(
    record: &MarcRecord,
    now: SystemTime,
) -> Result<Option<External>, EncodeError> {
    let moment = Moment::from(now);
    let (date, time) = (moment.date_digits(), moment.time_digits());
    let transaction = [text(1, GROUP)?, text(2, &format!("{date}{time}"))?];
    let moment = put(
        0xa0,
        &[
            put(0x80, &[date.into_bytes()]),
            put(0x81, &[time.into_bytes()]),
        ],
    );
    let messages = [
        put(0x80, &[vec![0]]),
        put(0x81, &[vec![0]]),
        put(0x82, &[vec![NEITHER]]),
        put(0x83, &[vec![NEITHER]]),
    ];
    let contents = [
        put(0x80, &[vec![1]]),
        put(0xa1, &transaction),
        put(0xa2, &[moment]),
        put(0x85, &[vec![SIMPLE]]),
        put(0xa9, &[put(0x0a, &[vec![LOAN]])]),
        put(0xab, &messages),
        put(0x8e, &[vec![RESPONDERS_POLICY]]),
        put(0xb0, &item(record)?),
        put(0x95, &[vec![0]]),
        put(0x96, &[vec![0]]),
    ];
    // The ILL module uses explicit tags, so the application tag encloses the tag of the SEQUENCE.
    let request = put(0x61, &[put(0x30, &contents)]);
    Ok(Any::new(request).map(|request| External::single_asn1_type(ILL, request)))
}

/// Builds an ILL-Request for the item described by a record as received, in the given character set or in the one that
/// the record declares. Returns `None` if the record does not describe an item. The transaction identifier is derived
/// from `now`.
///
/// # Errors
/// See [`IllError`].
pub fn ill_request_for(
    record: &Bytes,
    charset: Option<Charset>,
    now: SystemTime,
) -> Result<Option<External>, IllError> {
    let parsed = iso2709::parse(record)?;
    let mut options = Options::default();
    options.charset = charset;
    let record = to_utf8(&parsed.record, &options).record;
    Ok(ill_request(&record, now)?)
}

/// The reason why no ILL-Request can be built for a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IllError {
    /// The record is malformed.
    #[error("the record cannot be read")]
    Record(#[from] Iso2709Error),
    /// A value cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Puts an encoded ILL-Request into an EXTERNAL. Returns `None` unless it is one constructed BER value, like every ISO
/// 10161 APDU.
pub fn ill_request_of(octets: Vec<u8>) -> Option<External> {
    let header = Header::read(&octets).ok()??;
    let is_whole = match header.length {
        Length::Definite(length) => header.octets.checked_add(length) == Some(octets.len()),
        Length::Indefinite => octets.ends_with(&[0, 0]),
    };
    let request = (is_whole && header.class & CONSTRUCTED != 0).then(|| Any::new(octets))??;
    Some(External::single_asn1_type(ILL, request))
}

/// Encodes the Item-Id, which contains author, title and other data from the record in the order of the BER tags.
fn item(record: &MarcRecord) -> Result<Vec<Vec<u8>>, EncodeError> {
    let elements = elements(record);
    let first = |element: &str| {
        let found = elements.iter().find(|(name, _)| *name == element);
        found.map(|(_, value)| value.as_str())
    };
    let mut parts = Vec::new();
    for (tag, element) in [(3, "creator"), (4, "title"), (8, "publisher"), (12, "date")] {
        // An ILL-String neither begins nor ends with a space.
        if let Some(value) = first(element)
            .map(str::trim)
            .filter(|value| !value.is_empty())
        {
            parts.push(text(tag, value)?);
        }
    }
    let mut numbers = elements
        .iter()
        .filter(|(name, _)| *name == "identifier")
        .filter_map(|(_, value)| value.rsplit(':').next());
    if let Some(isbn) = numbers
        .clone()
        .find_map(Isbn::parse)
        .and_then(|isbn| isbn.ten())
    {
        parts.push(text(18, &isbn)?);
    }
    if let Some(issn) = numbers.find_map(Issn::parse) {
        parts.push(text(19, &issn.without_hyphen())?);
    }
    Ok(parts)
}

/// Encodes an ILL-String with a context tag from 0 to 30.
fn text(tag: u8, text: &str) -> Result<Vec<u8>, EncodeError> {
    let string = encode_value(&InternationalString::from(text))?;
    Ok(put(0xa0 | tag, &[string.to_vec()]))
}

/// Encodes a BER value with a single identifier octet.
fn put(identifier: u8, contents: &[Vec<u8>]) -> Vec<u8> {
    let contents = contents.concat();
    let mut octets = vec![identifier];
    match u8::try_from(contents.len()) {
        Ok(short) if short < 0x80 => octets.push(short),
        _ => {
            let length: Vec<u8> = contents
                .len()
                .to_be_bytes()
                .iter()
                .skip_while(|octet| **octet == 0)
                .copied()
                .collect();
            octets.push(0x80 | u8::try_from(length.len()).unwrap_or(8));
            octets.extend(length);
        }
    }
    octets.extend(contents);
    octets
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use z3950_marc::Field;
    use z3950_marc::Leader;

    #[test]
    fn a_record_becomes_a_loan_request() {
        let record = MarcRecord {
            leader: Leader::default(),
            fields: vec![
                Field::data(b"020", "  ", [(b"a", "0-14-143951-3")]),
                Field::data(b"100", "1 ", [(b"a", "Austen, Jane")]),
                Field::data(b"245", "10", [(b"a", "Emma")]),
            ],
        };
        let request = ill_request(&record, UNIX_EPOCH)
            .expect("encodes")
            .expect("a value");
        assert_eq!(request.direct_reference, Some(ILL));
        let item = item(&record).expect("encodes").concat();
        let expected = [
            &b"\xa3\x0e\x1b\x0cAusten, Jane"[..],
            b"\xa4\x06\x1b\x04Emma",
            b"\xb2\x0c\x1b\x0a0141439513",
        ];
        assert_eq!(item, expected.concat());
    }

    #[test]
    fn long_values_have_long_lengths() {
        assert_eq!(put(4, &[vec![0; 127]]).get(..2), Some(&[4, 127][..]));
        assert_eq!(put(4, &[vec![0; 128]]).get(..3), Some(&[4, 0x81, 128][..]));
        assert_eq!(
            put(4, &[vec![0; 300]]).get(..4),
            Some(&[4, 0x82, 1, 44][..])
        );
    }
}
