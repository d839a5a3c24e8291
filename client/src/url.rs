//! URLs for Z39.50 sessions and records (RFC 2056, based on RFC 1738), and of all other schemes. [`Z3950Url::parse`]
//! and, for any scheme, [`Locator::parse`] return only valid values.
//!
//! | file | holds | source |
//! |---|---|---|
//! | `z3950/` | [`Z3950Url`], its grammar, its [builder](Z3950UrlBuilder) and its canonical form | RFC 2056 §5 |
//! | `locator` | [`Locator`]: a URL of any scheme, with the operations common to all schemes | RFC 1738, RFC 1736 |
//! | `gopher/` | [`GopherUrl`] and the octets of its request | the Gopher URL draft |
//! | `schemes/` | the other schemes of RFC 1738, a file for each | RFC 1738 §3 |
//! | `registry` | [`Registry`]: schemes added while the program runs | RFC 1736 §4.8 |
//! | `caution` | cautions about following a URL | RFC 1738 §6 |
//! | `generic`, `resolve` | URIs as text: one encoding level, partial forms, fragments | RFC 1630 |
//! | `extract/` | URLs in running text, in records and in HTML | RFC 1738 Appendix |
//! | `spell` | spelling a URL aloud | RFC 1736 §4.6 |
//! | `authority`, `host`, `userinfo` | the part between `//` and the next slash | RFC 1738 §3.1, §5 |
//! | `common` | modes, character classes, escapes, the scheme | RFC 1738 §2, §5 |
//! | `span`, `octets`, `encoded` | text with its offset, data that need not be text, text in which escapes matter | |
//! | `error` | errors: kind, offset, advice | |
//!
//! ```
//! use z3950::url::{Host, Kind, Locator, Mode, Z3950Url};
//!
//! let url = Z3950Url::parse("Z39.50R://CNIDR.org:2100/tmf?a%62c;esn=f;rs=marc", Mode::Strict)?;
//! assert_eq!(url.kind(), Kind::Retrieval);
//! assert_eq!(url.port(), 2100);
//! assert_eq!(url.docid().map(|docid| docid.as_bytes()), Some(&b"abc"[..]));
//! assert_eq!(url.canonical(), "z39.50r://cnidr.org:2100/tmf?abc;esn=f;rs=marc");
//!
//! let refusal = Z3950Url::parse("z39.50r://cnidr.org/tmf?a/b", Mode::Strict).unwrap_err();
//! assert_eq!((refusal.kind().name(), refusal.offset()), ("ReservedCharacter", 25));
//!
//! let built = Z3950Url::builder(Kind::Retrieval, Host::parse("cnidr.org", Mode::Strict)?)
//!     .database("tmf")
//!     .docid("a/b")
//!     .build()?;
//! assert_eq!(built.to_string(), "z39.50r://cnidr.org/tmf?a%2Fb");
//!
//! let found = Locator::parse("FTP://me:secret@Lib.Example/%2Fetc/motd;type=A", Mode::Strict)?;
//! assert_eq!(found.to_string(), "ftp://me:***@lib.example/%2Fetc/motd;type=a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod authority;
mod caution;
mod common;
mod encoded;
mod error;
pub mod extract;
pub mod generic;
mod gopher;
mod host;
mod locator;
mod octets;
mod registry;
mod resolve;
mod schemes;
mod span;
mod spell;
mod userinfo;
mod z3950;

pub use authority::{HostPort, Login};
pub use caution::{Caution, Scope};
pub use common::Mode;
pub use encoded::Encoded;
pub use error::{BuildError, MAX_URL_LENGTH, UrlError, UrlErrorKind};
pub(crate) use gopher::same_attribute;
pub use gopher::{
    AttributeScope, DEFAULT_GOPHER_PORT, GopherPlus, GopherType, GopherUrl, GopherUrlBuilder,
    PlusRequest, PlusWire, ReplyKind,
};
pub use host::{Host, HostName};
pub use locator::{Locator, Unsupported, UriKind, Url, uri_kind};
pub use octets::Octets;
pub use registry::{RegisterError, RegisteredUrl, Registry, SchemeUrl};
pub use resolve::{ResolveError, ResolveMode, resolve};
pub use schemes::{
    FileUrl, FtpPath, FtpStep, FtpUrl, HttpUrl, HttpsUrl, LocalPathError, MailtoUrl, MessageId,
    NewsUrl, Newsgroup, NntpUrl, OpaqueUri, ProsperoField, ProsperoUrl, RloginUrl, TelnetPlan,
    TelnetUrl, Tn3270Url, TypeCode, WaisTarget, WaisUrl,
};
use span::Span;
pub use spell::spell;
pub use userinfo::Userinfo;
pub use z3950::{DEFAULT_PORT, Extension, Kind, Z3950Url, Z3950UrlBuilder};

/// Returns the kind of a session or retrieval URL, judged only by its scheme. Returns `None` for any other text.
///
/// The text after the scheme is not examined, so a malformed URL also has a kind. Surrounding spaces, angle brackets
/// and one leading `URL:` are skipped, as in [`Mode::Lenient`].
///
/// Source: RFC 2056 §1; RFC 1738 §2.1 for ignoring letter case.
pub fn classify(text: impl AsRef<[u8]>) -> Option<Kind> {
    let (scheme, _) = common::scheme(common::unwrapped(Span::new(text.as_ref()))).ok()?;
    Kind::of_scheme(scheme.octets())
}

/// Parses a complete `host [ ":" port ]`, as it appears in a URL or a target.
///
/// Source: RFC 1738 §5.
///
/// # Errors
/// The errors of [`Host::parse`], and `EmptyPort`, `InvalidPort`, `PortOutOfRange`.
pub fn host_and_port(text: impl AsRef<[u8]>, mode: Mode) -> Result<(Host, Option<u16>), UrlError> {
    host::hostport(Span::new(text.as_ref()), mode)
}

/// Parses a complete `user [ ":" password ]` and decodes its escapes (RFC 1738 §3.1).
pub(crate) fn userinfo(text: &str) -> Result<Userinfo, UrlError> {
    Userinfo::parse(Span::new(text.as_bytes()), Mode::Lenient)
}
