//! The octets that a client sends after the server has ended the session. They are cut into APDUs for the observer.

use z3950_asn1::codec;
use z3950_asn1::codec::frame::Scanner;

use crate::observer::Observer;

/// Octets received after the end of a session. The last octets are reported when the value is dropped, even if they are not an
/// APDU.
pub(crate) struct Trail<'a> {
    observer: &'a dyn Observer,
    session: u64,
    octets: Vec<u8>,
    /// Whether the octets are malformed, so that no further APDU can be found.
    is_over: bool,
}

/// The maximum length of an APDU in octets, and the maximum number of octets kept if they are not an APDU.
const MAX_APDU: usize = 64 << 10;

impl<'a> Trail<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, session: u64) -> Self {
        Self {
            observer,
            session,
            octets: Vec::new(),
            is_over: false,
        }
    }

    /// Adds received octets.
    pub(crate) fn push(&mut self, octets: &[u8]) {
        if self.is_over {
            return;
        }
        self.octets.extend_from_slice(octets);
        let mut rest = &*self.octets;
        loop {
            match Scanner::new(MAX_APDU).scan(rest) {
                Ok(None) => break,
                Ok(Some(length)) => {
                    let (apdu, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                    self.tell(apdu);
                    rest = after;
                }
                Err(_) => {
                    self.is_over = true;
                    break;
                }
            }
        }
        let taken = self.octets.len() - rest.len();
        self.octets.drain(..taken);
        self.octets.truncate(MAX_APDU);
    }

    fn tell(&self, octets: &[u8]) {
        let decoded = codec::decode(octets);
        self.observer
            .discarded(self.session, octets, decoded.as_ref());
    }
}

impl Drop for Trail<'_> {
    fn drop(&mut self) {
        if !self.octets.is_empty() {
            self.tell(&self.octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use z3950_asn1::apdu::Apdu;
    use z3950_asn1::error::DecodeError;

    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<(Vec<u8>, bool)>>);

    impl Observer for Recorder {
        fn discarded(&self, _: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
            let told = (octets.to_vec(), apdu.is_ok());
            self.0.lock().expect("no panic").push(told);
        }
    }

    #[test]
    fn octets_after_the_end_are_reported_as_apdus() {
        let close: &[u8] = b"\xbf\x30\x05\x9f\x81\x53\x01\x00";
        let odd: &[u8] = b"\xb6\x01x";
        let begun: &[u8] = b"\xb6\x82\xff\xfe";
        let whole = |octets: &[u8]| (octets.to_vec(), true);
        let broken = |octets: &[u8]| (octets.to_vec(), false);
        let all = [close, odd, close].concat();
        for (parts, expected) in [
            (vec![], vec![]),
            (vec![&*all], vec![whole(close), broken(odd), whole(close)]),
            (
                all.chunks(1).collect(),
                vec![whole(close), broken(odd), whole(close)],
            ),
            (
                vec![close, &close[..5]],
                vec![whole(close), broken(&close[..5])],
            ),
            (
                vec![close, b"GET ", close],
                vec![whole(close), broken(b"GET ")],
            ),
            // The header announces more octets than an APDU may have, so only the octets that came with it are reported.
            (vec![begun, close], vec![broken(begun)]),
        ] {
            let told = Recorder::default();
            let mut trail = Trail::new(&told, 1);
            parts.iter().for_each(|part| trail.push(part));
            drop(trail);
            assert_eq!(told.0.into_inner().expect("no panic"), expected);
        }
    }
}
