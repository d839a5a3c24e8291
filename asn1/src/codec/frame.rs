//! Finds the end of an APDU in a stream of octets by the tags and lengths of its values (X.690 §8.1), without decoding
//! it.

#[cfg(feature = "codec")]
use bytes::{Bytes, BytesMut};
#[cfg(feature = "codec")]
use tokio_util::codec::{Decoder, Encoder};

use crate::error::{FrameError, FrameErrorKind};

/// The header of a BER value: its tag and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The class and form bits of the first octet (`& 0xe0`).
    pub class: u8,
    /// The tag number.
    pub tag: u32,
    /// The length of the contents, definite or indefinite.
    pub length: Length,
    /// The number of octets in the header.
    pub octets: usize,
}

/// The length of a BER value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The contents have this many octets.
    Definite(usize),
    /// The contents extend to the end-of-contents octets.
    Indefinite,
}

/// The bit that marks a value as constructed.
pub const CONSTRUCTED: u8 = 0x20;
/// The class and form bits of a constructed value with a context tag. Every APDU begins with them.
pub const CONTEXT_CONSTRUCTED: u8 = 0xa0;
/// The maximum number of octets in a tag number after the first octet.
const MAX_TAG_OCTETS: usize = 4;

impl Header {
    /// Reads a header; returns `Ok(None)` if more octets are needed.
    ///
    /// # Errors
    /// Fails for a tag number of more than 28 bits, a length of more than 4 octets, or a primitive value of indefinite
    /// length.
    pub fn read(input: &[u8]) -> Result<Option<Self>, FrameErrorKind> {
        let Some((&first, mut rest)) = input.split_first() else {
            return Ok(None);
        };
        let mut tag = u32::from(first & 0x1f);
        if tag == 0x1f {
            tag = 0;
            let mut taken = 0;
            loop {
                let Some((&octet, next)) = rest.split_first() else {
                    return Ok(None);
                };
                taken += 1;
                if taken > MAX_TAG_OCTETS {
                    return Err(FrameErrorKind::Malformed);
                }
                rest = next;
                tag = tag << 7 | u32::from(octet & 0x7f);
                if octet & 0x80 == 0 {
                    break;
                }
            }
        }
        let Some((&first_length, rest)) = rest.split_first() else {
            return Ok(None);
        };
        let (length, rest) = match first_length {
            0..=0x7f => (Length::Definite(usize::from(first_length)), rest),
            0x80 if first & CONSTRUCTED != 0 => (Length::Indefinite, rest),
            0x81..=0x84 => {
                let Some((octets, rest)) = rest.split_at_checked(usize::from(first_length & 0x7f))
                else {
                    return Ok(None);
                };
                let length = octets
                    .iter()
                    .fold(0, |length: u64, &octet| length << 8 | u64::from(octet));
                let length = usize::try_from(length).map_err(|_| FrameErrorKind::Malformed)?;
                (Length::Definite(length), rest)
            }
            _ => return Err(FrameErrorKind::Malformed),
        };
        Ok(Some(Self {
            class: first & 0xe0,
            tag,
            length,
            octets: input.len() - rest.len(),
        }))
    }

    /// Returns whether this is the header of end-of-contents octets.
    pub fn is_end_of_contents(&self) -> bool {
        self.class == 0 && self.tag == 0 && self.length == Length::Definite(0)
    }
}

/// A scanner that finds the end of an APDU in a growing buffer. It reads each header only once.
///
/// A value of definite length is skipped without looking at its contents, so only open values of indefinite length have
/// to be counted.
#[derive(Debug, Clone)]
pub struct Scanner {
    /// The maximum length of an APDU in octets.
    pub max_apdu_size: usize,
    at: usize,
    open: usize,
}

impl Scanner {
    /// Creates a scanner at the start of an APDU of at most `max_apdu_size` octets.
    pub fn new(max_apdu_size: usize) -> Self {
        Self {
            max_apdu_size,
            at: 0,
            open: 0,
        }
    }

    /// Returns the length in octets of the APDU at the start of `input`; `Ok(None)` if it is incomplete.
    ///
    /// After an incomplete APDU, call this method again with the same octets followed by more octets. Call
    /// [`Scanner::reset`] before another APDU.
    ///
    /// # Errors
    /// A [`FrameError`], as soon as the header at fault has arrived.
    pub fn scan(&mut self, input: &[u8]) -> Result<Option<usize>, FrameError> {
        if let Some(&first) = input.first()
            && first & 0xe0 != CONTEXT_CONSTRUCTED
        {
            return self.refuse(FrameErrorKind::NotAnApdu(first));
        }
        self.end(input)
    }

    /// Returns the end of the value at the start of `input`, which may have any tag.
    pub(super) fn end(&mut self, input: &[u8]) -> Result<Option<usize>, FrameError> {
        while self.at == 0 || self.open > 0 {
            let Some(rest) = input.get(self.at..) else {
                return Ok(None);
            };
            let header = match Header::read(rest) {
                Ok(Some(header)) => header,
                Ok(None) => return Ok(None),
                Err(kind) => return self.refuse(kind),
            };
            let step = match header.length {
                _ if header.class == 0 && header.tag == 0 => {
                    if self.open == 0 || !header.is_end_of_contents() {
                        return self.refuse(FrameErrorKind::Malformed);
                    }
                    self.open -= 1;
                    header.octets
                }
                Length::Indefinite => {
                    self.open += 1;
                    header.octets
                }
                Length::Definite(length) => header.octets.saturating_add(length),
            };
            match self.at.checked_add(step) {
                Some(at) if at <= self.max_apdu_size => self.at = at,
                _ => return self.refuse(FrameErrorKind::TooLarge(self.max_apdu_size)),
            }
        }
        Ok((input.len() >= self.at).then_some(self.at))
    }

    /// Prepares the scanner for the next APDU.
    pub fn reset(&mut self) {
        self.at = 0;
        self.open = 0;
    }

    fn refuse<T>(&self, kind: FrameErrorKind) -> Result<T, FrameError> {
        Err(FrameError {
            kind,
            offset: self.at,
        })
    }
}

/// The reason why a stream of APDUs cannot be read or written further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The transport failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The peer sent something that is not an APDU.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The peer ended the stream within an APDU, after this many of its octets.
    #[error("the connection ended {0} octets into an APDU")]
    CutOff(usize),
}

/// Splits a stream of octets into APDUs and writes encoded APDUs, for `tokio_util::codec::Framed`.
///
/// Yields the octets of each APDU, which [`decode`](super::decode) decodes. Memory is reserved only for octets that have
/// arrived.
#[cfg(feature = "codec")]
#[derive(Debug, Clone)]
pub struct ApduCodec {
    scanner: Scanner,
}

#[cfg(feature = "codec")]
impl ApduCodec {
    /// Creates a codec that refuses APDUs of more than `max_apdu_size` octets.
    pub fn new(max_apdu_size: usize) -> Self {
        Self {
            scanner: Scanner::new(max_apdu_size),
        }
    }

    /// Changes the size limit. The new limit also applies to an APDU of which a part has already been read.
    pub fn set_max_apdu_size(&mut self, max_apdu_size: usize) {
        self.scanner.max_apdu_size = max_apdu_size;
    }
}

#[cfg(feature = "codec")]
impl Decoder for ApduCodec {
    type Item = Bytes;
    type Error = StreamError;

    fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Bytes>, StreamError> {
        let Some(length) = self.scanner.scan(input)? else {
            return Ok(None);
        };
        self.scanner.reset();
        Ok(Some(input.split_to(length).freeze()))
    }

    fn decode_eof(&mut self, input: &mut BytesMut) -> Result<Option<Bytes>, StreamError> {
        match self.decode(input)? {
            None if !input.is_empty() => Err(StreamError::CutOff(input.len())),
            frame => Ok(frame),
        }
    }
}

#[cfg(feature = "codec")]
impl Encoder<Bytes> for ApduCodec {
    type Error = StreamError;

    fn encode(&mut self, apdu: Bytes, output: &mut BytesMut) -> Result<(), StreamError> {
        output.extend_from_slice(&apdu);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes the octets to a scanner one by one. Before the last octet, the scanner must ask for more.
    fn check(octets: &[u8], max: usize, expected: Result<usize, (FrameErrorKind, usize)>) {
        let mut scanner = Scanner::new(max);
        let mut outcome = None;
        for end in 0..=octets.len() {
            match scanner.scan(&octets[..end]) {
                Ok(None) => {}
                Ok(Some(length)) => outcome = Some(Ok(length)),
                Err(error) => outcome = Some(Err((error.kind, error.offset))),
            }
            if outcome.is_some() {
                break;
            }
        }
        assert_eq!(outcome, Some(expected), "{octets:x?}");
        let whole = Scanner::new(max).scan(octets);
        assert_eq!(
            whole.map_err(|error| (error.kind, error.offset)),
            expected.map(Some),
            "{octets:x?}"
        );
    }

    #[test]
    fn the_end_of_an_apdu_is_found() {
        check(&[0xb4, 0], 100, Ok(2));
        check(&[0xbf, 0x30, 3, 1, 2, 3], 100, Ok(6));
        check(&[0xb6, 0x80, 0x81, 0, 0, 0], 100, Ok(6));
        check(
            &[0xb6, 0x80, 0xa1, 0x80, 0xa1, 1, 0, 0, 0, 0, 0],
            100,
            Ok(11),
        );
        check(&[0xb6, 0x82, 0, 1, 9], 100, Ok(5));
    }

    #[test]
    fn limits_hold_before_the_octets_come() {
        use FrameErrorKind::{Malformed, NotAnApdu, TooLarge};
        for (octets, kind, offset) in [
            (&[0xb6, 0x84, 0xff, 0xff, 0xff, 0xff][..], TooLarge(100), 0),
            (&[0xb6, 99], TooLarge(100), 0),
            (&[0xb6, 0x80, 0x81, 97], TooLarge(100), 2),
            (&[0xb6, 0x85, 0, 0, 0, 0, 1], Malformed, 0),
            (&[0xb6, 0xff], Malformed, 0),
            (&[0xb6, 0x80, 0x81, 0x80], Malformed, 2),
            (&[0xb6, 0x80, 0, 1], Malformed, 2),
            (&[0xbf, 0xff, 0xff, 0xff, 0xff, 0x7f], Malformed, 0),
            (b"GET / HTTP/1.1", NotAnApdu(b'G'), 0),
            (&[0x16, 3, 1], NotAnApdu(0x16), 0),
        ] {
            check(octets, 100, Err((kind, offset)));
        }
        assert_eq!(
            Scanner::new(100).scan(&[0xb6, 98]),
            Ok(None),
            "at the limit"
        );
        // Nesting has no limit of its own: nested values are only counted, and the limit on octets limits their number.
        let nest = [0xa1, 0x80].repeat(5000);
        check(&nest[..202], 200, Err((TooLarge(200), 200)));
        let whole = [&*nest, &[0; 10_000]].concat();
        check(&whole, 20_000, Ok(20_000));
    }

    #[test]
    fn a_tag_has_at_most_four_octets_after_the_first() {
        let longest = Header::read(&[0xbf, 0xff, 0xff, 0xff, 0x7f, 0]);
        let header = longest.expect("at the limit").expect("a complete header");
        assert_eq!((header.tag, header.octets), ((1 << 28) - 1, 6));
        let leading_zeros = Header::read(&[0xbf, 0x80, 0x80, 0x80, 0x01, 0]);
        let header = leading_zeros
            .expect("at the limit")
            .expect("a complete header");
        assert_eq!((header.tag, header.octets), (1, 6));
        assert_eq!(
            Header::read(&[0xbf, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]),
            Err(FrameErrorKind::Malformed),
            "one octet past it"
        );
        // One tag octet too many is refused as soon as it arrives, whatever its value.
        assert_eq!(
            Header::read(&[0xbf, 0x80, 0x80, 0x80, 0x80, 0x80]),
            Err(FrameErrorKind::Malformed)
        );
        assert_eq!(Header::read(&[0xbf, 0xff, 0xff, 0xff, 0xff]), Ok(None));
    }

    #[cfg(feature = "codec")]
    #[test]
    fn the_codec_yields_each_apdu_and_reports_a_cut() {
        let mut codec = ApduCodec::new(100);
        let mut input = BytesMut::from(&[0xb4, 1, 7, 0xb5, 0, 0xb6, 5][..]);
        assert_eq!(
            codec.decode(&mut input).expect("an APDU").as_deref(),
            Some(&[0xb4, 1, 7][..])
        );
        assert_eq!(
            codec.decode(&mut input).expect("an APDU").as_deref(),
            Some(&[0xb5, 0][..])
        );
        assert_eq!(codec.decode(&mut input).expect("no error"), None);
        assert!(matches!(
            codec.decode_eof(&mut input),
            Err(StreamError::CutOff(2))
        ));
    }
}
