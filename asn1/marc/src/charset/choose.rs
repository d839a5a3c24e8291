//! Chooses the character set of a record. A set named by the caller takes precedence over the octets of the record. The octets
//! take precedence over the set that the record declares (MARC 21 leader/09; UNIMARC 100 $a/26–29, in authorities 13–16), because
//! leaders are often wrong.

use std::fmt;

use super::Charset;
use crate::Field;
use crate::MarcRecord;

/// A character set, and the reason for choosing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The chosen character set.
    pub charset: Charset,
    /// The reason for this choice.
    pub reason: Reason,
}

/// The reason why a character set was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The caller named the character set.
    Named,
    /// Some octets are above 0x7F, and every field is valid UTF-8. Text in any other set is hardly ever valid UTF-8.
    ValidUtf8,
    /// MARC 21 leader position 9 declares the set: `a` for UTF-8, blank for MARC-8.
    Leader,
    /// Leader position 9 has this octet, which MARC 21 does not define; MARC-8 is assumed.
    UnknownLeader(u8),
    /// The UNIMARC record declares its sets by these four octets of 100 $a.
    Unimarc([u8; 4]),
    /// The UNIMARC record declares these unsupported sets, or leaves the four octets blank; ISO 5426 is assumed.
    UnknownUnimarc([u8; 4]),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets = |octets: &[u8; 4]| octets.escape_ascii().to_string();
        write!(f, "{}: ", self.charset)?;
        match &self.reason {
            Reason::Named => f.write_str("as requested"),
            Reason::ValidUtf8 => f.write_str("every field is valid UTF-8"),
            Reason::Leader => f.write_str("leader position 9"),
            Reason::UnknownLeader(octet) => {
                let octet = octet.escape_ascii();
                write!(f, "the default, because leader position 9 is \"{octet}\"")
            }
            Reason::Unimarc(octets) => write!(f, "UNIMARC 100 $a says \"{}\"", sets(octets)),
            Reason::UnknownUnimarc(octets) => {
                let sets = sets(octets);
                write!(f, "the default, because UNIMARC 100 $a says \"{sets}\"")
            }
        }
    }
}

/// Chooses the character set of a record; a set `named` by the caller takes precedence.
pub fn choose(record: &MarcRecord, named: Option<Charset>) -> Choice {
    let choice = |charset, reason| Choice { charset, reason };
    if let Some(charset) = named {
        return choice(charset, Reason::Named);
    }
    let mut foreign = record
        .fields
        .iter()
        .filter(|field| !field.body.is_ascii())
        .peekable();
    if foreign.peek().is_some() && foreign.all(|field| std::str::from_utf8(&field.body).is_ok()) {
        return choice(Charset::Utf8, Reason::ValidUtf8);
    }
    if let Some(UnimarcSets { sets, .. }) = unimarc_sets(record) {
        return match &sets {
            [b'5', b'0', ..] => choice(Charset::Utf8, Reason::Unimarc(sets)),
            // Octets above 0x7F are in the second declared set, or in the first if it is the only set declared.
            [_, _, b'0', b'3'] | [b'0', b'3', ..] => {
                choice(Charset::Iso5426, Reason::Unimarc(sets))
            }
            _ => choice(Charset::Iso5426, Reason::UnknownUnimarc(sets)),
        };
    }
    match record.leader.character_coding() {
        b'a' => choice(Charset::Utf8, Reason::Leader),
        b' ' => choice(Charset::Marc8, Reason::Leader),
        other => choice(Charset::Marc8, Reason::UnknownLeader(other)),
    }
}

/// The character sets that a UNIMARC record declares in 100 $a, which contains the general processing data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnimarcSets {
    /// The index of field 100 in the record.
    pub(crate) field: usize,
    /// The offset of the sets in the body of the field, and the number of octets from there to the end of 100 $a.
    /// `None` if 100 $a ends before the sets.
    pub(crate) place: Option<(usize, usize)>,
    /// The four octets that name the sets. Octets that 100 $a lacks are blanks.
    pub(crate) sets: [u8; 4],
}

/// Returns the sets declared in a UNIMARC record, or `None` for any other record. In UNIMARC, 100 $a begins with a date. The sets are in
/// its positions 26-29 or, in authority records (leader/06 x, y or z), in positions 13-16. Spaces at the end of 100 $a may be missing.
pub(crate) fn unimarc_sets(record: &MarcRecord) -> Option<UnimarcSets> {
    let mut fields = record.fields.iter().enumerate();
    let (index, field) = fields.find(|(_, field)| field.tag.0 == *b"100")?;
    let (start, data) = first_subfield_a(field)?;
    let date = data.get(..8)?;
    let in_date = |octet: &u8| octet.is_ascii_digit() || *octet == b' ';
    let is_authority = matches!(record.leader.octet(6), b'x' | b'y' | b'z');
    let (position, shortest) = if is_authority {
        (AUTHORITY_POSITION, AUTHORITY_POSITION + 2)
    } else {
        (BIBLIOGRAPHIC_POSITION, SHORTEST)
    };
    if !date.iter().all(in_date) || data.len() < shortest {
        return None;
    }
    // Each character set is named by two octets, so a single octet names none.
    let named = data.get(position..).filter(|rest| rest.len() >= 2);
    let mut sets = *b"    ";
    for (set, octet) in sets.iter_mut().zip(named.unwrap_or_default()) {
        *set = *octet;
    }
    Some(UnimarcSets {
        field: index,
        place: named.map(|rest| (start + position, rest.len())),
        sets,
    })
}

/// The minimum length in octets that 100 $a must have for a bibliographic record to be recognised as UNIMARC.
const SHORTEST: usize = 17;
const BIBLIOGRAPHIC_POSITION: usize = 26;
const AUTHORITY_POSITION: usize = 13;

/// Returns the data of the first `$a` of a field, and its offset in the field's body.
fn first_subfield_a(field: &Field) -> Option<(usize, &[u8])> {
    let start = field.body.windows(2).position(|pair| pair == b"\x1Fa")? + 2;
    let data = field.body.get(start..)?;
    let end = data
        .iter()
        .position(|octet| *octet == crate::SUBFIELD_DELIMITER);
    Some((start, data.get(..end.unwrap_or(data.len()))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leader;

    fn check(
        coding: u8,
        fields: &[(&[u8; 3], &[u8])],
        named: Option<Charset>,
        charset: Charset,
        reason: Reason,
    ) {
        check_kind(b'a', coding, fields, named, charset, reason);
    }

    fn check_kind(
        kind: u8,
        coding: u8,
        fields: &[(&[u8; 3], &[u8])],
        named: Option<Charset>,
        charset: Charset,
        reason: Reason,
    ) {
        let mut leader = Leader::default();
        leader.0[6] = kind;
        leader.0[9] = coding;
        let fields = fields
            .iter()
            .map(|(tag, data)| Field::data(*tag, "  ", [("a", *data)]))
            .collect();
        let choice = choose(&MarcRecord { leader, fields }, named);
        assert_eq!(choice, Choice { charset, reason }, "{choice}");
    }

    #[test]
    fn the_order_of_evidence() {
        let utf8 = "Grün".as_bytes();
        let marc8 = b"Gr\xE8un";
        check(
            b' ',
            &[(b"245", utf8)],
            None,
            Charset::Utf8,
            Reason::ValidUtf8,
        );
        check(
            b' ',
            &[(b"245", utf8), (b"500", marc8)],
            None,
            Charset::Marc8,
            Reason::Leader,
        );
        check(
            b' ',
            &[(b"245", utf8)],
            Some(Charset::Latin1),
            Charset::Latin1,
            Reason::Named,
        );
        check(
            b'a',
            &[(b"245", b"Green")],
            None,
            Charset::Utf8,
            Reason::Leader,
        );
        check(
            b'a',
            &[(b"245", marc8)],
            None,
            Charset::Utf8,
            Reason::Leader,
        );
        check(b' ', &[], None, Charset::Marc8, Reason::Leader);
        check(
            b'2',
            &[(b"245", marc8)],
            None,
            Charset::Marc8,
            Reason::UnknownLeader(b'2'),
        );
        check(
            b' ',
            &[(b"100", b"19th-century author")],
            None,
            Charset::Marc8,
            Reason::Leader,
        );
    }

    #[test]
    fn unimarc() {
        let check = |coding: &[u8; 4], charset, reason| {
            let processing = [b"19840619a1874    m  y0frey", &coding[..], b"    ba"].concat();
            check(b' ', &[(b"100", &processing)], None, charset, reason);
        };
        check(b"0103", Charset::Iso5426, Reason::Unimarc(*b"0103"));
        check(b"50  ", Charset::Utf8, Reason::Unimarc(*b"50  "));
        check(b"0102", Charset::Iso5426, Reason::UnknownUnimarc(*b"0102"));
        check(b"    ", Charset::Iso5426, Reason::UnknownUnimarc(*b"    "));
    }

    #[test]
    fn unimarc_authorities() {
        for (kind, processing, charset, sets) in [
            (b'x', "19990101afrey50      ba0", Charset::Utf8, b"50  "),
            (b'y', "19990101afrey0103    ba0", Charset::Iso5426, b"0103"),
            (b'z', "19990101afrey50", Charset::Utf8, b"50  "),
        ] {
            let fields = [(b"100", processing.as_bytes())];
            let reason = Reason::Unimarc(*sets);
            check_kind(kind, b' ', &fields, None, charset, reason);
        }
    }

    #[test]
    fn audit_r_y1_short_processing_data() {
        let whole = "19840619a18745010m  y0frey50";
        for length in 17..=28 {
            let processing = whole.get(..length).expect("ASCII");
            let (charset, reason) = if length == 28 {
                (Charset::Utf8, Reason::Unimarc(*b"50  "))
            } else {
                (Charset::Iso5426, Reason::UnknownUnimarc(*b"    "))
            };
            let fields = [(b"100", processing.as_bytes())];
            check(b' ', &fields, None, charset, reason);
        }
    }
}
