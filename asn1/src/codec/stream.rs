//! A stream of APDUs, for the readers and writers of `tokio_util::codec`.

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use super::frame::{Scanner, StreamError};

/// Splits a stream of octets into APDUs and writes encoded APDUs, for `tokio_util::codec::Framed`.
///
/// Yields the octets of each APDU, which [`super::decode`] decodes. Memory is reserved only for octets that have
/// arrived.
#[derive(Debug, Clone)]
pub struct ApduCodec {
    scanner: Scanner,
}

impl ApduCodec {
    /// Creates a codec that refuses APDUs of more than `max_apdu_size` octets.
    pub fn new(max_apdu_size: usize) -> Self {
        Self {
            scanner: Scanner::new(max_apdu_size),
        }
    }

    /// Changes the size limit; the new limit also applies to an APDU that is partly read.
    pub fn set_max_apdu_size(&mut self, max_apdu_size: usize) {
        self.scanner.max_apdu_size = max_apdu_size;
    }
}

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
