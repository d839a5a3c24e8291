//! Converts UTF-8, ISO 8859-1 and the sets in the WHATWG Encoding Standard, and reports each problem with its offset.
//! Decoded text is in NFC, because these sets have precomposed letters.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};

use super::Unencodable;
use super::combine::composed;
use super::problem::{Problem, ProblemKind};

/// Decodes UTF-8; each maximal invalid sequence becomes one U+FFFD.
pub(super) fn decode_utf8<'a>(octets: &'a [u8], problems: &mut Vec<Problem>) -> Cow<'a, str> {
    if let Ok(text) = std::str::from_utf8(octets) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(octets.len());
    let mut offset = 0;
    for chunk in octets.utf8_chunks() {
        text.push_str(chunk.valid());
        offset += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            problems.push(malformed(chunk.invalid(), "UTF-8").at(offset));
            offset += chunk.invalid().len();
        }
    }
    Cow::Owned(text)
}

/// Decodes a set other than UTF-8 and ISO 8859-1. A byte order mark has no special meaning.
pub(super) fn decode<'a>(
    encoding: &'static Encoding,
    octets: &'a [u8],
    problems: &mut Vec<Problem>,
) -> Cow<'a, str> {
    if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(octets) {
        return text;
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let mut offset = 0;
    loop {
        let rest = octets.get(offset..).unwrap_or_default();
        // Reserve space for all remaining octets, so that the decoder never stops for lack of space.
        let most = decoder.max_utf8_buffer_length_without_replacement(rest.len());
        text.reserve(most.unwrap_or(rest.len()));
        let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        offset += read;
        match result {
            DecoderResult::InputEmpty => break,
            DecoderResult::OutputFull if read == 0 => break,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                let end = offset.saturating_sub(usize::from(after));
                let start = end.saturating_sub(usize::from(length));
                let fault = octets.get(start..end).unwrap_or_default();
                problems.push(malformed(fault, encoding.name()).at(start));
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
    Cow::Owned(text)
}

fn malformed(octets: &[u8], set: &'static str) -> ProblemKind {
    let octets = octets.to_vec();
    ProblemKind::Malformed { octets, set }
}

/// Encodes text in a set other than UTF-8 and ISO 8859-1.
pub(super) fn encode(
    encoding: &'static Encoding,
    text: &str,
    unencodable: Unencodable,
) -> (Vec<u8>, Vec<Problem>) {
    let text = composed(text);
    let mut encoder = encoding.new_encoder();
    let (mut octets, mut problems) = (Vec::new(), Vec::new());
    let mut offset = 0;
    while let Some(rest) = text.get(offset..) {
        let most = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        octets.reserve(most.unwrap_or(rest.len()));
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut octets, true);
        offset += read;
        match result {
            EncoderResult::InputEmpty => break,
            EncoderResult::OutputFull if read == 0 => break,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(character) => {
                let (at, set) = (offset.saturating_sub(character.len_utf8()), encoding.name());
                problems.push(ProblemKind::Unencodable { character, set }.at(at));
                octets.extend_from_slice(unencodable.replacement(character).as_bytes());
            }
        }
    }
    (octets, problems)
}

/// Writes text in strict ISO 8859-1.
pub(super) fn encode_latin1(text: &str, unencodable: Unencodable) -> (Vec<u8>, Vec<Problem>) {
    let text = composed(text);
    let (mut octets, mut problems) = (Vec::with_capacity(text.len()), Vec::new());
    for (offset, character) in text.char_indices() {
        match u8::try_from(character) {
            Ok(octet) => octets.push(octet),
            Err(_) => {
                let set = super::Charset::Latin1.name();
                problems.push(ProblemKind::Unencodable { character, set }.at(offset));
                octets.extend_from_slice(unencodable.replacement(character).as_bytes());
            }
        }
    }
    (octets, problems)
}
