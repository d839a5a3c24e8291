//! The servers that a request has passed through, which make it possible to detect a loop. They are sent at the end of
//! implementationVersion in Init (Z39.50-2003 §3.2.1.1.6), and in the HTTP header Via (RFC 9110 §7.6.3).

use std::fmt;

use crate::types::InternationalString;

/// The identifiers of at most [`Via::MAX`] servers, in the order in which the request passed through them.
///
/// ```
/// use z3950_asn1::via::Via;
///
/// let via = Via::default().then(0x5f3c_1b2a_90d4_e711);
/// let version = via.after(Some("1.0".into()));
/// assert_eq!(version, Some("1.0 (via 5f3c1b2a90d4e711)".into()));
/// assert_eq!(Via::of_version(version.as_ref()), via);
/// assert_eq!(via.to_header(), "1.1 z3950d-5f3c1b2a90d4e711");
/// assert_eq!(Via::of_header(["1.1 cache", "1.1 z3950d-5f3c1b2a90d4e711"]), via);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Via {
    hops: [u64; Via::MAX],
    /// The number of servers. The value `MAX + 1` means any larger number.
    number: usize,
}

/// The number of hexadecimal digits in an identifier.
const DIGITS: usize = 16;
/// The text before each identifier in the header Via.
const PSEUDONYM: &str = "z3950d-";
/// The maximum number of octets of text that are searched for identifiers.
const MAX_OCTETS: usize = 4096;

impl Via {
    /// The maximum number of servers in a chain.
    pub const MAX: usize = 8;

    /// Returns these servers followed by `server`.
    #[must_use]
    pub fn then(mut self, server: u64) -> Self {
        if let Some(hop) = self.hops.get_mut(self.number) {
            *hop = server;
        }
        self.number = (self.number + 1).min(Self::MAX + 1);
        self
    }

    /// Returns the identifiers of the first [`MAX`](Self::MAX) servers.
    pub fn servers(&self) -> &[u64] {
        self.hops.get(..self.number).unwrap_or(&self.hops)
    }

    /// Returns whether there are no servers.
    pub fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// Returns whether there are more than [`MAX`](Self::MAX) servers.
    pub fn is_too_long(&self) -> bool {
        self.number > Self::MAX
    }

    /// Returns the servers named in an implementationVersion. There may be none.
    pub fn of_version(version: Option<&InternationalString>) -> Self {
        let version = version.map(InternationalString::to_string_lossy);
        let version = version.as_deref().unwrap_or_default();
        let inner = version
            .strip_suffix(')')
            .filter(|_| version.len() <= MAX_OCTETS);
        let named = inner.and_then(|inner| match inner.rsplit_once(" (via ") {
            Some((_, named)) => Some(named),
            None => inner.strip_prefix("(via "),
        });
        let ids = named.unwrap_or_default().split(' ').map(identifier);
        let ids: Option<Vec<u64>> = ids.collect();
        ids.unwrap_or_default().into_iter().collect()
    }

    /// Returns an implementationVersion with the servers added at its end.
    pub fn after(&self, version: Option<InternationalString>) -> Option<InternationalString> {
        if self.is_empty() {
            return version;
        }
        let own = version.as_ref().map(InternationalString::to_string_lossy);
        let own = own.as_deref().unwrap_or_default();
        let text = format!("{own} (via {self})");
        Some(text.trim_start().into())
    }

    /// Returns the servers named in the values of the header Via. Servers whose names have a different form are left
    /// out.
    pub fn of_header<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut octets: usize = 0;
        let values = values.into_iter().take_while(|value| {
            octets = octets.saturating_add(value.len());
            octets <= MAX_OCTETS
        });
        let hops = values.flat_map(|value| value.split(','));
        hops.filter_map(|hop| {
            let mut words = hop.split_ascii_whitespace();
            identifier(words.nth(1)?.strip_prefix(PSEUDONYM)?)
        })
        .collect()
    }

    /// Returns the servers as a value of the header Via.
    pub fn to_header(&self) -> String {
        let hops = self.servers().iter();
        let hops: Vec<String> = hops
            .map(|hop| format!("1.1 {PSEUDONYM}{hop:0DIGITS$x}"))
            .collect();
        hops.join(", ")
    }
}

/// Writes the identifiers, with spaces between them.
impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, hop) in self.servers().iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            write!(f, "{space}{hop:0DIGITS$x}")?;
        }
        Ok(())
    }
}

impl FromIterator<u64> for Via {
    fn from_iter<T: IntoIterator<Item = u64>>(servers: T) -> Self {
        servers.into_iter().fold(Self::default(), Self::then)
    }
}

fn identifier(text: &str) -> Option<u64> {
    let is_hex = text.bytes().all(|octet| octet.is_ascii_hexdigit());
    if text.len() != DIGITS || !is_hex {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lists_of_identifiers_are_read() {
        let id = "00000000000000ff";
        for (version, expected) in [
            ("", &[][..]),
            ("1.0", &[]),
            ("(via 00000000000000ff)", &[255]),
            ("1.0 (via 00000000000000ff 0000000000000001)", &[255, 1]),
            ("1.0 (via x) (via 00000000000000FF)", &[255]),
            ("1.0 (via 00000000000000ff) ", &[]),
            ("1.0 (via ff)", &[]),
            ("1.0 (via +0000000000000ff)", &[]),
            ("1.0 (via 00000000000000ff  0000000000000001)", &[]),
            ("1.0(via 00000000000000ff)", &[]),
        ] {
            let via = Via::of_version(Some(&version.into()));
            assert_eq!(via.servers(), expected, "{version}");
        }
        let text = |prefix: usize| format!("{} (via {id})", "x".repeat(prefix));
        let most = MAX_OCTETS - " (via 00000000000000ff)".len();
        let number = |prefix| Via::of_version(Some(&text(prefix).as_str().into())).number;
        assert_eq!((number(most), number(most + 1)), (1, 0));
        let values = [
            "1.0 a, 1.1 z3950d-00000000000000ff (z3950d),",
            "2 z3950d-1, z3950d-",
            id,
        ];
        assert_eq!(Via::of_header(values).servers(), [255]);
        let hop = "1.1 z3950d-00000000000000ff".to_owned();
        let padded = |octets: usize| format!("{hop}{}", " ".repeat(octets - hop.len()));
        let number = |octets| Via::of_header([&*padded(octets)]).number;
        assert_eq!((number(MAX_OCTETS), number(MAX_OCTETS + 1)), (1, 0));
    }

    #[test]
    fn eight_servers_in_a_row_are_known() {
        let eight: Via = (1..=8).collect();
        assert!(!eight.is_too_long());
        assert_eq!(eight.servers(), [1, 2, 3, 4, 5, 6, 7, 8]);
        let nine = eight.then(9);
        assert!(nine.is_too_long());
        assert_eq!(nine.servers(), eight.servers());
        assert_eq!(nine.then(10), nine);
        for via in [Via::default(), eight] {
            assert_eq!(Via::of_version(via.after(None).as_ref()), via);
            assert_eq!(Via::of_header([&*via.to_header()]), via);
        }
    }
}
