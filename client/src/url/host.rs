//! Host and port: `hostport = host [ ":" port ]` of RFC 1738 §5, and the IP literals of RFC 3986 §3.2.2. A dotted quad
//! can be written in only one way, because short and octal forms are ambiguous and not allowed by RFC 1738 §3.1.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::str::FromStr;

use super::common::{self, Mode};
use super::error::{UrlError, UrlErrorKind};
use super::span::Span;

/// The maximum length of a host name without a trailing dot, in octets (RFC 1034 §3.1).
pub(crate) const MAX_HOST_LENGTH: usize = 253;
/// The maximum length of a label, in octets (RFC 1034 §3.1).
pub(crate) const MAX_LABEL_LENGTH: usize = 63;

/// The host of a URL. `Display` writes its canonical form: names in lower case, IPv6 addresses in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name that a resolver looks up.
    Name(HostName),
    /// An IPv4 address, written as a dotted quad.
    Ipv4(Ipv4Addr),
    /// An IPv6 address, written as a bracketed IP literal. Only [`Mode::Lenient`] accepts it.
    Ipv6(Ipv6Addr),
}

impl Host {
    /// Parses a host as written in a URL, with IPv6 addresses in brackets.
    ///
    /// Labels consist of letters, digits and inner hyphens, and the last label starts with a letter. A dotted quad has
    /// four numbers of 0–255 without leading zeros. [`Mode::Lenient`] also accepts `_`, one trailing dot (which is
    /// dropped) and IPv6 literals. Zones and `IPvFuture` are refused in both modes, because a client cannot connect to
    /// them.
    ///
    /// Source: RFC 1738 §5, RFC 1034 §3.1.
    ///
    /// # Errors
    /// `InvalidCharacter`, `MissingHost`, `InvalidHost`.
    pub fn parse(text: impl AsRef<[u8]>, mode: Mode) -> Result<Self, UrlError> {
        let text = Span::new(text.as_ref());
        common::graphic(text)?;
        host(text, mode)
    }

    /// Returns the host in the form for a resolver or a socket, in which an IPv6 address has no brackets.
    pub(crate) fn for_connecting(&self) -> String {
        match self {
            Host::Name(name) => name.as_str().to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        }
    }

    /// Returns whether this is the local machine or a host in a private network: `localhost` and names under
    /// `.localhost`, `.local` (RFC 6762), `.internal` and `.home.arpa`, and loopback, unspecified, private (RFC 1918,
    /// RFC 4193) and link-local addresses.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Host::Name(name) => {
                let domain = |domain: &str| {
                    let above = name.as_str().strip_suffix(domain);
                    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
                };
                ["localhost", "local", "internal", "home.arpa"]
                    .into_iter()
                    .any(domain)
            }
            Host::Ipv4(address) => is_local_v4(*address),
            Host::Ipv6(address) => match address.to_ipv4_mapped() {
                Some(address) => is_local_v4(address),
                None => {
                    address.is_loopback()
                        || address.is_unspecified()
                        || address.is_unique_local()
                        || address.is_unicast_link_local()
                }
            },
        }
    }

    /// Returns whether this is `localhost` or a loopback address (`127.0.0.0/8` or `::1`).
    pub fn is_loopback(&self) -> bool {
        match self {
            Host::Name(name) => name.as_str() == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// Returns whether [`Mode::Strict`] accepts this host: it is not an IP literal and has no underscore.
    pub fn is_strict(&self) -> bool {
        match self {
            Host::Name(name) => !name.as_str().contains('_'),
            Host::Ipv4(_) => true,
            Host::Ipv6(_) => false,
        }
    }
}

/// Returns whether an address belongs to this machine, or is valid only in its own network.
fn is_local_v4(address: Ipv4Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_private()
        || address.is_link_local()
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name.as_str()),
            Host::Ipv4(address) => address.fmt(f),
            Host::Ipv6(address) => write!(f, "[{address}]"),
        }
    }
}

/// Parses a host in [`Mode::Strict`].
impl FromStr for Host {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Host::parse(text, Mode::Strict)
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        }
    }
}

/// A well-formed host name in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses a complete host, which must consist of graphic octets.
pub(crate) fn host(text: Span<'_>, mode: Mode) -> Result<Host, UrlError> {
    match text.first() {
        Some(b'[') => ip_literal(text, mode),
        _ => name_or_quad(text, mode),
    }
}

/// Parses a complete `host [ ":" port ]`. The port is `None` if it is missing, or if it is empty in [`Mode::Lenient`].
///
/// # Errors
/// The errors of [`Host::parse`], and `EmptyPort`, `InvalidPort`, `PortOutOfRange`.
pub(crate) fn hostport(text: Span<'_>, mode: Mode) -> Result<(Host, Option<u16>), UrlError> {
    let (host, port) = match text.first() {
        Some(b'[') => {
            let literal = text.octets().iter().position(|&octet| octet == b']');
            let (host, rest) = text.split_at(literal.map_or(usize::MAX, |end| end + 1));
            (ip_literal(host, mode)?, rest)
        }
        _ => {
            let (host, rest) = text.cut(b":");
            (name_or_quad(host, mode)?, rest)
        }
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    let digits = port
        .strip_prefix(b":")
        .ok_or_else(|| port.fail(UrlErrorKind::InvalidHost))?;
    Ok((host, self::port(digits, mode)?))
}

fn port(digits: Span<'_>, mode: Mode) -> Result<Option<u16>, UrlError> {
    if digits.is_empty() {
        return match mode {
            Mode::Strict => Err(digits.fail(UrlErrorKind::EmptyPort)),
            Mode::Lenient => Ok(None),
        };
    }
    digits.allow_only(|octet| octet.is_ascii_digit(), UrlErrorKind::InvalidPort)?;
    match parse_ascii::<NonZeroU16>(digits.octets()) {
        Some(port) => Ok(Some(port.get())),
        None => Err(digits.fail(UrlErrorKind::PortOutOfRange)),
    }
}

/// Parses an IPv6 address in brackets.
fn ip_literal(text: Span<'_>, mode: Mode) -> Result<Host, UrlError> {
    match text.octets() {
        [b'[', address @ .., b']'] if mode == Mode::Lenient => parse_ascii(address)
            .map(Host::Ipv6)
            .ok_or_else(|| text.fail(UrlErrorKind::InvalidHost)),
        _ => Err(text.fail(UrlErrorKind::InvalidHost)),
    }
}

/// Parses a dotted quad or a host name. An error in a label has the offset of the octet at fault, and any other error
/// has the offset of the start of the host.
fn name_or_quad(text: Span<'_>, mode: Mode) -> Result<Host, UrlError> {
    if text.is_empty() {
        return Err(text.fail(UrlErrorKind::MissingHost));
    }
    let undotted = match text.octets() {
        [first, .., b'.'] if mode == Mode::Lenient && *first != b'.' => {
            text.split_at(text.octets().len() - 1).0
        }
        _ => text,
    };
    let mut top = undotted;
    for label in undotted.split(b'.') {
        self::label(label, mode)?;
        top = label;
    }
    if undotted.octets().len() > MAX_HOST_LENGTH {
        return Err(undotted.fail_at(MAX_HOST_LENGTH, UrlErrorKind::InvalidHost));
    }
    if top.first().is_some_and(|octet| octet.is_ascii_digit()) {
        return parse_ascii(text.octets())
            .map(Host::Ipv4)
            .ok_or_else(|| text.fail(UrlErrorKind::InvalidHost));
    }
    let name = undotted.to_text().to_ascii_lowercase();
    Ok(Host::Name(HostName(name)))
}

fn label(label: Span<'_>, mode: Mode) -> Result<(), UrlError> {
    if label.is_empty() {
        return Err(label.fail(UrlErrorKind::InvalidHost));
    }
    let last = label.octets().len() - 1;
    let mut octets = label.octets().iter().enumerate();
    let fault = octets.position(|(index, &octet)| {
        let fits = match octet {
            b'-' => index != 0 && index != last,
            b'_' => mode == Mode::Lenient,
            _ => octet.is_ascii_alphanumeric(),
        };
        !fits || index >= MAX_LABEL_LENGTH
    });
    match fault {
        Some(index) => Err(label.fail_at(index, UrlErrorKind::InvalidHost)),
        None => Ok(()),
    }
}

fn parse_ascii<T: FromStr>(octets: &[u8]) -> Option<T> {
    std::str::from_utf8(octets).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts() {
        for (text, expected) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("127.255.0.9", true),
            ("[::1]", true),
            ("localhost.example", false),
            ("126.0.0.1", false),
            ("[::2]", false),
        ] {
            let host = Host::parse(text, Mode::Lenient).expect(text);
            assert_eq!(host.is_loopback(), expected, "{text}");
        }
    }

    /// Tests hosts in both modes. For each mode, `expected` is the canonical form, or the kind and offset of the
    /// error.
    #[test]
    fn hosts_of_both_modes() {
        let check = |mode, text: &str, expected: &str| {
            let found = match Host::parse(text, mode) {
                Ok(host) => {
                    assert_eq!(
                        Host::parse(host.to_string(), mode).as_ref(),
                        Ok(&host),
                        "{text}"
                    );
                    let canonical = Host::parse(host.to_string(), Mode::Strict);
                    assert_eq!(canonical.is_ok(), host.is_strict(), "{text}");
                    host.to_string()
                }
                Err(refusal) => format!("{}@{}", refusal.kind().name(), refusal.offset()),
            };
            assert_eq!(found, expected, "{mode:?} {text}");
        };
        let label = "l".repeat(MAX_LABEL_LENGTH);
        let longest = format!("{label}.{label}.{label}.{}", &label[..MAX_LABEL_LENGTH - 2]);
        assert_eq!(longest.len(), MAX_HOST_LENGTH);
        for mode in [Mode::Strict, Mode::Lenient] {
            check(mode, "LIB.Example", "lib.example");
            check(mode, "3com.example", "3com.example");
            check(mode, "localhost", "localhost");
            check(mode, "255.0.0.1", "255.0.0.1");
            check(mode, &label, &label);
            check(mode, &format!("{label}l"), "InvalidHost@63");
            check(mode, &longest, &longest);
            check(mode, &format!("l{longest}"), "InvalidHost@63");
            check(mode, &format!("{longest}l"), "InvalidHost@253");
            check(mode, "", "MissingHost@0");
            check(mode, "h.example.1x", "InvalidHost@0");
            check(mode, "01.2.3.4", "InvalidHost@0");
            check(mode, "1.2.3.4.5", "InvalidHost@0");
            check(mode, "1..3.4", "InvalidHost@2");
            check(mode, "0x7f000001", "InvalidHost@0");
            check(mode, "a:210", "InvalidHost@1");
            check(mode, "a b", "InvalidCharacter@1");
            check(mode, ".", "InvalidHost@0");
            check(mode, "[v1.a]", "InvalidHost@0");
            check(mode, "[::1]x", "InvalidHost@0");
        }
        check(Mode::Strict, "[::1]", "InvalidHost@0");
        check(Mode::Lenient, "[0:0:0:0:0:0:0:1]", "[::1]");
        check(Mode::Lenient, "[::FFFF:192.0.2.7]", "[::ffff:192.0.2.7]");
        check(Mode::Strict, "lib.example.", "InvalidHost@12");
        check(Mode::Lenient, "lib.example.", "lib.example");
        check(Mode::Lenient, "lib.example..", "InvalidHost@12");
        check(Mode::Lenient, "1.2.3.4.", "InvalidHost@0");
        check(Mode::Strict, "_z3950.example", "InvalidHost@0");
        check(Mode::Lenient, "_z3950.example", "_z3950.example");
    }

    #[test]
    fn sockets_get_addresses_without_brackets() {
        let check = |text: &str, socket: &str| {
            assert_eq!(
                Host::parse(text, Mode::Lenient).unwrap().for_connecting(),
                socket
            );
        };
        check("LIB.example.", "lib.example");
        check("192.0.2.7", "192.0.2.7");
        check("[2001:DB8::1]", "2001:db8::1");
    }
}
