//! The first line of a Gopher+ reply, which states success or error, and the length of the body. It is defined by the
//! Gopher+ protocol (Anklesaria et al., 1993), on which the Gopher URL draft §2.4 is based.

/// The header line: `+` or `-`, followed by a length and CR LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Whether the line begins with `-`, which means that the body is an error.
    pub(super) failed: bool,
    pub(super) length: Length,
    /// The length of the line in octets, including its line end.
    pub(super) size: usize,
}

/// How the end of the body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// The body ends after this many octets.
    Octets(usize),
    /// The body ends with a lone dot (`-1`).
    ToDot,
    /// The body ends when the connection is closed (`-2`).
    ToEnd,
}

/// The maximum number of octets in a header.
const MAX_HEADER: usize = 24;

impl Header {
    /// Parses the header of a reply. Returns `None` if the reply has no header, or only a part of one.
    pub(super) fn read(reply: &[u8]) -> Option<Self> {
        let head = reply.get(..MAX_HEADER).unwrap_or(reply);
        let end = head.iter().position(|&octet| octet == b'\n')?;
        let line = head.get(..end)?;
        let (&status, length) = line.strip_suffix(b"\r").unwrap_or(line).split_first()?;
        let length = match std::str::from_utf8(length).ok()? {
            "-1" => Length::ToDot,
            "-2" => Length::ToEnd,
            digits if digits.bytes().all(|octet| octet.is_ascii_digit()) => {
                Length::Octets(digits.parse().ok()?)
            }
            _ => return None,
        };
        b"+-".contains(&status).then_some(Self {
            failed: status == b'-',
            length,
            size: end + 1,
        })
    }

    /// Returns the part of the body that has been received so far.
    pub(super) fn body<'a>(&self, reply: &'a [u8]) -> &'a [u8] {
        reply.get(self.size..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_headers() {
        let check = |reply: &str, expected: Option<(bool, Length, &str)>| {
            let found = Header::read(reply.as_bytes());
            let found =
                found.map(|header| (header.failed, header.length, header.body(reply.as_bytes())));
            let expected = expected.map(|(failed, length, body)| (failed, length, body.as_bytes()));
            assert_eq!(found, expected, "{reply:?}");
        };
        check("+28\r\nab", Some((false, Length::Octets(28), "ab")));
        check("+-1\r\n", Some((false, Length::ToDot, "")));
        check("+-2\nx", Some((false, Length::ToEnd, "x")));
        check("--1\r\n1 me", Some((true, Length::ToDot, "1 me")));
        check(
            "-7\r\n1 me\r\n",
            Some((true, Length::Octets(7), "1 me\r\n")),
        );
        check("+0\r\n", Some((false, Length::Octets(0), "")));
        for other in [
            "",
            "+",
            "+28",
            "+28\r",
            "\n",
            "+\n",
            "+-3\r\n",
            "+ 5\r\n",
            "++5\r\n",
            "28\r\n",
            "+x\r\n",
            "+99999999999999999999\r\n",
            "+0000000000000000000000000000001\r\n",
        ] {
            check(other, None);
        }
    }
}
