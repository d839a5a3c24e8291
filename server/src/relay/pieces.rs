//! Splits the octets from one side into APDUs. Octets that are not APDUs are passed on in the pieces in which they arrive.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use z3950_asn1::codec::frame::Scanner;

use crate::budget::Charge;

/// A piece of the data sent by one side.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The octets of one BER value with the tag of an APDU. It may still turn out not to be a valid APDU.
    Apdu(Bytes),
    /// Other octets.
    Raw(Bytes),
}

/// A reader that splits the octets from one side into pieces. After the first octets that are not an APDU, or an APDU that is
/// too long, all further octets are raw.
pub(super) struct Pieces {
    buffer: BytesMut,
    scanner: Scanner,
    /// Whether all further octets are raw.
    is_raw: bool,
    /// The charge for the buffer; zero while the buffer is at most [`SMALL`] octets long.
    charge: Charge,
}

/// The size of a buffer, in octets, up to which it is not charged.
const SMALL: usize = 8192;

impl Pieces {
    /// Creates a reader whose stream is preceded by the octets in `buffer`, with APDUs of at most `max_apdu_size` octets.
    pub(super) fn new(buffer: BytesMut, max_apdu_size: usize, charge: Charge) -> Self {
        Self {
            buffer,
            scanner: Scanner::new(max_apdu_size),
            is_raw: false,
            charge,
        }
    }

    /// Returns the next piece; `None` at the end of the stream.
    ///
    /// # Errors
    /// Errors from the stream.
    pub(super) async fn next(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.take() {
                return Ok(Some(piece));
            }
            if from.read_buf(&mut self.buffer).await? == 0 {
                // If the last APDU is cut off, the octets that have arrived are passed on.
                self.is_raw = true;
                return Ok(self.take());
            }
            let size = self.buffer.capacity();
            if size > SMALL && self.charge.cover(size).is_err() {
                self.is_raw = true;
            }
        }
    }

    fn take(&mut self) -> Option<Piece> {
        if !self.is_raw {
            match self.scanner.scan(&self.buffer) {
                Ok(Some(length)) => {
                    self.scanner.reset();
                    let apdu = self.buffer.split_to(length);
                    if self.buffer.is_empty() {
                        self.buffer = BytesMut::new();
                        // Reducing a charge is never refused, so there is no error.
                        let _ = self.charge.set(0);
                    }
                    return Some(Piece::Apdu(apdu.freeze()));
                }
                Ok(None) => return None,
                Err(_) => self.is_raw = true,
            }
        }
        let octets = std::mem::take(&mut self.buffer).freeze();
        let _ = self.charge.set(0);
        (!octets.is_empty()).then_some(Piece::Raw(octets))
    }
}
