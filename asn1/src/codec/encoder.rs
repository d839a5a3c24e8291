//! Encodes values in BER (X.690 §8.1) in one pass: octets are not moved after they are written, and octets borrowed
//! from the caller are copied only once.
//!
//! rasn's encoder reserves one octet for a length and moves the contents if the long form is needed, so each octet of a
//! record is moved once per level of nesting. This encoder stores a mark for a long length, and inserts the length when
//! the result is copied out. The octets are the same as those of rasn: definite lengths in their shortest form.

use rasn::error::{EncodeError, EncodeErrorKind};
use rasn::types::{
    Any, BitStr, BmpString, Choice, Constraints, Constructed, Date, Enumerated, GeneralString,
    GeneralizedTime, GraphicString, Ia5String, Identifier, IntegerType, NumericString,
    PrintableString, RealType, SetOf, Tag, TeletexString, UtcTime, VisibleString,
};
use rasn::{Codec, Encode};

/// An encoder of one value.
pub(super) struct Encoder<'a> {
    /// All octets of the value, except those that the marks insert.
    octets: Vec<u8>,
    /// The marks, in ascending order of their positions in `octets`.
    marks: Vec<Mark<'a>>,
    /// The number of octets that all marks insert.
    inserted: usize,
    /// The octet strings that are borrowed from the caller and have not been encoded yet.
    borrowed: std::iter::Peekable<std::vec::IntoIter<&'a [u8]>>,
}

/// The octets to insert before the octet at index `at`.
struct Mark<'a> {
    at: usize,
    insertion: Insertion<'a>,
}

enum Insertion<'a> {
    /// A length whose first octet is already written; the mark inserts the other octets. A length below 128 has no
    /// other octets.
    Length(usize),
    Borrowed(&'a [u8]),
}

/// A constructed value whose contents are being written.
struct OpenValue {
    /// The index of the mark for the length of the value.
    mark: usize,
    contents: usize,
    inserted: usize,
}

/// The size in octets that most APDUs do not exceed, excluding their records.
const USUAL_SIZE: usize = 256;
/// The number of constructed values that most APDUs do not exceed, excluding their records.
const USUAL_MARKS: usize = 8;
/// The largest length or tag number that fits into one octet.
const SHORT: usize = 127;

impl<'a> Encoder<'a> {
    /// Creates an encoder for a value that contains the octet strings `borrowed`, in this order. An octet string
    /// that is encoded out of this order is copied like any other octets.
    pub(super) fn new(borrowed: Vec<&'a [u8]>) -> Self {
        Self {
            octets: Vec::with_capacity(USUAL_SIZE),
            marks: Vec::with_capacity(USUAL_MARKS),
            inserted: 0,
            borrowed: borrowed.into_iter().peekable(),
        }
    }

    /// Appends the encoded octets to `output`.
    pub(super) fn write_to(self, output: &mut Vec<u8>) {
        if self.inserted == 0 && output.is_empty() {
            *output = self.octets;
            return;
        }
        output.reserve(self.octets.len() + self.inserted);
        let mut written = 0;
        for mark in &self.marks {
            output.extend_from_slice(self.octets.get(written..mark.at).unwrap_or_default());
            written = mark.at;
            match mark.insertion {
                Insertion::Length(SHORT_FORM) => {}
                Insertion::Length(length) => {
                    output.extend_from_slice(significant(&length.to_be_bytes()));
                }
                Insertion::Borrowed(octets) => output.extend_from_slice(octets),
            }
        }
        output.extend_from_slice(self.octets.get(written..).unwrap_or_default());
    }

    fn identifier(&mut self, tag: Tag, form: u8) {
        let leading = (tag.class as u8) << 6 | form;
        match u8::try_from(tag.value) {
            Ok(number @ 0..=30) => self.octets.push(leading | number),
            Ok(number @ 31..=127) => self.octets.extend([leading | LONG_TAG, number]),
            _ => {
                self.octets.push(leading | LONG_TAG);
                let groups = (u32::BITS - tag.value.leading_zeros()).div_ceil(7);
                for group in (0..groups).rev() {
                    let more = if group > 0 { 0x80 } else { 0 };
                    self.octets
                        .push(more | (tag.value >> (7 * group) & 0x7f) as u8);
                }
            }
        }
    }

    /// Writes the length of a value whose contents follow immediately.
    fn length(&mut self, length: usize) {
        match length {
            0..=SHORT => self.octets.push(length as u8),
            _ => {
                let octets = length.to_be_bytes();
                let octets = significant(&octets);
                self.octets.push(0x80 | octets.len() as u8);
                self.octets.extend_from_slice(octets);
            }
        }
    }

    fn primitive(&mut self, tag: Tag, contents: &[u8]) {
        self.identifier(tag, PRIMITIVE);
        self.length(contents.len());
        self.octets.extend_from_slice(contents);
    }

    fn constructed(
        &mut self,
        tag: Tag,
        contents: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let open = self.begin(tag);
        contents(self)?;
        self.end(open);
        Ok(())
    }

    fn begin(&mut self, tag: Tag) -> OpenValue {
        self.identifier(tag, CONSTRUCTED);
        self.octets.push(0);
        let contents = self.octets.len();
        let mark = self.marks.len();
        self.marks.push(Mark {
            at: contents,
            insertion: Insertion::Length(SHORT_FORM),
        });
        OpenValue {
            mark,
            contents,
            inserted: self.inserted,
        }
    }

    fn end(&mut self, open: OpenValue) {
        let length = self.octets.len() - open.contents + self.inserted - open.inserted;
        let Some(first) = self.octets.get_mut(open.contents - 1) else {
            return;
        };
        if length <= SHORT {
            *first = length as u8;
            return;
        }
        let octets = significant(&length.to_be_bytes()).len();
        *first = 0x80 | octets as u8;
        self.inserted += octets;
        if let Some(mark) = self.marks.get_mut(open.mark) {
            mark.insertion = Insertion::Length(length);
        }
    }
}

/// A placeholder for a length that fits into its first octet, so that nothing is inserted.
const SHORT_FORM: usize = 0;
const LONG_TAG: u8 = 0x1f;
const PRIMITIVE: u8 = 0;
const CONSTRUCTED: u8 = 0x20;

/// Returns a number greater than 0 without its leading zero octets.
fn significant(octets: &[u8]) -> &[u8] {
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    octets.get(zeros..).unwrap_or_default()
}

/// Implements the methods for types that Z39.50 does not use, or that this crate encodes as OCTET STRINGs. The methods
/// always fail.
macro_rules! unused {
    ($($name:ident $([$($parameters:tt)*])? ($($argument:ty),*);)*) => {$(
        fn $name $(<$($parameters)*>)? (&mut self, tag: Tag, $(_: $argument,)* _: Identifier) -> Result<(), EncodeError> {
            Err(unused(tag))
        }
    )*};
}

fn unused(tag: Tag) -> EncodeError {
    let message = format!("a type that Z39.50 does not use, tagged {tag}");
    EncodeError::from_kind(EncodeErrorKind::Custom { msg: message }, Codec::Ber)
}

impl<'a> rasn::Encoder<'_> for Encoder<'a> {
    type Ok = ();
    type Error = EncodeError;
    type AnyEncoder<'b, const R: usize, const E: usize> = Encoder<'a>;

    fn codec(&self) -> Codec {
        Codec::Ber
    }

    fn encode_any(&mut self, tag: Tag, value: &Any, _: Identifier) -> Result<(), EncodeError> {
        if tag == Tag::EOC {
            self.octets.extend_from_slice(value.as_bytes());
            return Ok(());
        }
        self.constructed(tag, |encoder| {
            encoder.octets.extend_from_slice(value.as_bytes());
            Ok(())
        })
    }

    fn encode_bool(&mut self, tag: Tag, value: bool, _: Identifier) -> Result<(), EncodeError> {
        self.primitive(tag, &[if value { 0xff } else { 0 }]);
        Ok(())
    }

    fn encode_bit_string(
        &mut self,
        tag: Tag,
        _: &Constraints,
        value: &BitStr,
        _: Identifier,
    ) -> Result<(), EncodeError> {
        let octets = value.chunks(8).map(|bits| {
            let bits = bits.iter().by_vals().enumerate();
            bits.fold(0_u8, |octet, (place, bit)| {
                octet | u8::from(bit) << (7 - place)
            })
        });
        let unused = (8 - value.len() % 8) % 8;
        let contents: Vec<u8> = std::iter::once(unused as u8).chain(octets).collect();
        self.primitive(tag, &contents);
        Ok(())
    }

    fn encode_integer<I: IntegerType>(
        &mut self,
        tag: Tag,
        _: &Constraints,
        value: &I,
        _: Identifier,
    ) -> Result<(), EncodeError> {
        let (octets, count) = value.to_signed_bytes_be();
        self.primitive(tag, octets.as_ref().get(..count).unwrap_or_default());
        Ok(())
    }

    fn encode_null(&mut self, tag: Tag, _: Identifier) -> Result<(), EncodeError> {
        self.primitive(tag, &[]);
        Ok(())
    }

    fn encode_octet_string(
        &mut self,
        tag: Tag,
        _: &Constraints,
        value: &[u8],
        _: Identifier,
    ) -> Result<(), EncodeError> {
        match self
            .borrowed
            .next_if(|borrowed| std::ptr::eq(*borrowed, value))
        {
            None => self.primitive(tag, value),
            Some(borrowed) => {
                self.identifier(tag, PRIMITIVE);
                self.length(borrowed.len());
                self.inserted += borrowed.len();
                self.marks.push(Mark {
                    at: self.octets.len(),
                    insertion: Insertion::Borrowed(borrowed),
                });
            }
        }
        Ok(())
    }

    fn encode_explicit_prefix<V: Encode>(
        &mut self,
        tag: Tag,
        value: &V,
        _: Identifier,
    ) -> Result<(), EncodeError> {
        if !value.is_present() {
            return Ok(());
        }
        self.constructed(tag, |encoder| value.encode(encoder))
    }

    fn encode_sequence<'b, const R: usize, const E: usize, C, F>(
        &'b mut self,
        tag: Tag,
        fields: F,
        _: Identifier,
    ) -> Result<(), EncodeError>
    where
        C: Constructed<R, E>,
        F: FnOnce(&mut Self::AnyEncoder<'b, R, E>) -> Result<(), EncodeError>,
    {
        self.constructed(tag, fields)
    }

    fn encode_sequence_of<E: Encode>(
        &mut self,
        tag: Tag,
        values: &[E],
        _: &Constraints,
        _: Identifier,
    ) -> Result<(), EncodeError> {
        self.constructed(tag, |encoder| {
            values.iter().try_for_each(|value| value.encode(encoder))
        })
    }

    fn encode_some<E: Encode>(&mut self, value: &E, _: Identifier) -> Result<(), EncodeError> {
        value.encode(self)
    }

    fn encode_some_with_tag_and_constraints<E: Encode>(
        &mut self,
        tag: Tag,
        constraints: &Constraints,
        value: &E,
        identifier: Identifier,
    ) -> Result<(), EncodeError> {
        value.encode_with_tag_and_constraints(self, tag, constraints, identifier)
    }

    fn encode_none<E: Encode>(&mut self, _: Identifier) -> Result<(), EncodeError> {
        Ok(())
    }

    fn encode_none_with_tag(&mut self, _: Tag, _: Identifier) -> Result<(), EncodeError> {
        Ok(())
    }

    fn encode_choice<E: Encode + Choice>(
        &mut self,
        _: &Constraints,
        _: Tag,
        alternative: impl FnOnce(&mut Self) -> Result<Tag, EncodeError>,
        _: Identifier,
    ) -> Result<(), EncodeError> {
        alternative(self).map(drop)
    }

    fn encode_extension_addition_group<const R: usize, const E: usize, G>(
        &mut self,
        value: Option<&G>,
        _: Identifier,
    ) -> Result<(), EncodeError>
    where
        G: Encode + Constructed<R, E>,
    {
        value.map_or(Ok(()), |group| group.encode(self))
    }

    fn encode_set<'b, const R: usize, const E: usize, C, F>(
        &'b mut self,
        tag: Tag,
        _: F,
        _: Identifier,
    ) -> Result<(), EncodeError>
    where
        C: Constructed<R, E>,
        F: FnOnce(&mut Self::AnyEncoder<'b, R, E>) -> Result<(), EncodeError>,
    {
        Err(unused(tag))
    }

    unused! {
        encode_extension_addition[E: Encode](&Constraints, E);
        encode_set_of[E: Encode + Eq + std::hash::Hash](&SetOf<E>, &Constraints);
        encode_enumerated[E: Enumerated](&E);
        encode_real[T: RealType](&Constraints, &T);
        encode_object_identifier(&[u32]);
        encode_general_string(&Constraints, &GeneralString);
        encode_graphic_string(&Constraints, &GraphicString);
        encode_utf8_string(&Constraints, &str);
        encode_visible_string(&Constraints, &VisibleString);
        encode_ia5_string(&Constraints, &Ia5String);
        encode_printable_string(&Constraints, &PrintableString);
        encode_numeric_string(&Constraints, &NumericString);
        encode_teletex_string(&Constraints, &TeletexString);
        encode_bmp_string(&Constraints, &BmpString);
        encode_generalized_time(&GeneralizedTime);
        encode_utc_time(&UtcTime);
        encode_date(&Date);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{
        Apdu, DatabaseName, External, NamePlusRecord, PresentResponse, PresentStatus, Record,
        Records, Segment,
    };
    use crate::codec;
    use crate::oid::{SUTRS, USMARC};
    use crate::types::{Any, Bits};

    /// Checks that the encoder writes the same octets as rasn, and keeps the previous contents of the buffer.
    fn check(apdu: &Apdu) {
        let mut octets = vec![7];
        codec::encode_into(apdu, &mut octets).expect("encodes");
        let expected = rasn::ber::encode(apdu).expect("encodes");
        assert_eq!(octets.split_first(), Some((&7, &*expected)), "{apdu:?}");
    }

    fn record(size: usize) -> NamePlusRecord {
        let octets = vec![b'a'; size];
        NamePlusRecord {
            name: size.is_multiple_of(2).then(|| DatabaseName::from("books")),
            record: Record::RetrievalRecord(External::octet_aligned(USMARC, octets)),
        }
    }

    #[test]
    fn octets_are_those_of_rasn() {
        let text = Any::new(&[0x1b, 1, b'x'][..]).expect("a value");
        let sutrs = NamePlusRecord {
            name: None,
            record: Record::RetrievalRecord(External::single_asn1_type(SUTRS, text)),
        };
        // These lengths are just below and above each step in the number of length octets, alone and nested.
        for size in [
            0, 1, 100, 115, 127, 128, 250, 255, 256, 65_535, 65_536, 70_000,
        ] {
            for records in [
                vec![record(size)],
                vec![
                    record(3),
                    sutrs.clone(),
                    record(size),
                    record(size + 1),
                    sutrs.clone(),
                ],
            ] {
                check(&Apdu::from(PresentResponse {
                    number_of_records_returned: 3,
                    next_result_set_position: -129,
                    present_status: PresentStatus::SUCCESS,
                    records: Records::ResponseRecords(records.clone()).into(),
                    reference_id: None,
                    other_info: None,
                }));
                check(&Apdu::from(Segment {
                    reference_id: None,
                    number_of_records_returned: 1 << 40,
                    segment_records: records,
                    other_info: None,
                }));
            }
        }
    }

    #[test]
    fn bit_strings_and_integers_are_those_of_rasn() {
        for bits in [&[][..], &[0], &[7], &[8], &[0, 2, 17]] {
            let bits = Bits::of(bits);
            let expected = rasn::ber::encode(&bits).expect("encodes");
            assert_eq!(codec::encode_value(&bits).expect("encodes"), expected);
        }
        for number in [
            0_i64,
            1,
            -1,
            127,
            128,
            -128,
            -129,
            1 << 31,
            i64::MIN,
            i64::MAX,
        ] {
            let expected = rasn::ber::encode(&number).expect("encodes");
            assert_eq!(codec::encode_value(&number).expect("encodes"), expected);
        }
    }

    #[test]
    fn borrowed_octets_found_elsewhere_are_copied() {
        let here = b"here".to_vec();
        let mut encoder = Encoder::new(vec![b"elsewhere"]);
        let value = crate::types::OctetString::from(here);
        value.encode(&mut encoder).expect("encodes");
        let mut octets = Vec::new();
        encoder.write_to(&mut octets);
        assert_eq!(octets, b"\x04\x04here");
    }
}
