//! URLs that name Z39.50 sessions and records: RFC 2056, on the common ground of RFC 1738.
//! Text goes in once, through [`Z3950Url::parse`]; what comes out cannot be wrong.
//!
//! | file | holds | source |
//! |---|---|---|
//! | `z3950/` | [`Z3950Url`], its grammar, its [builder](Z3950UrlBuilder) and its canonical form | RFC 2056 §5 |
//! | `host`, `userinfo` | what stands between `//` and the next slash | RFC 1738 §3.1, §5 |
//! | `common` | modes, character classes, escapes, the scheme | RFC 1738 §2, §5 |
//! | `span`, `octets` | text that knows its offset, data that need not be text | |
//! | `error` | every refusal: kind, offset, remedy | |
//!
//! ```
//! use z3950_client::url::{Host, Kind, Mode, Z3950Url};
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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod common;
mod error;
mod host;
mod octets;
mod span;
mod userinfo;
mod z3950;

pub use common::{MAX_URL_LENGTH, Mode};
pub use error::{UrlError, UrlErrorKind};
pub use host::{Host, HostName, MAX_HOST_LENGTH, MAX_LABEL_LENGTH};
pub use octets::Octets;
pub use userinfo::Userinfo;
pub use z3950::{
    BuildError, DEFAULT_PORT, Extension, Kind, StringPart, Warning, Z3950Url, Z3950UrlBuilder,
};

use span::Span;

/// Says from the scheme alone whether `text` is a session or a retrieval URL; `None` for every other text.
///
/// Nothing behind the first colon is looked at, so a URL that cannot be parsed can still be
/// labelled. Outer blanks and one leading `URL:` are skipped, as in [`Mode::Lenient`].
///
/// Source: RFC 2056 §1; RFC 1738 §2.1 for letter case.
pub fn classify(text: impl AsRef<[u8]>) -> Option<Kind> {
    let (scheme, _) = common::scheme(common::unwrapped(Span::new(text.as_ref()))).ok()?;
    Kind::of_scheme(scheme.octets())
}

/// Reads `host [ ":" port ]` as it stands in a URL or in the name of a target, all of it.
///
/// Errors: those of [`Host::parse`] and `EmptyPort`, `InvalidPort`, `PortOutOfRange`. Source: RFC 1738 §5.
pub fn host_and_port(
    text: impl AsRef<[u8]>,
    mode: Mode,
) -> Result<(Host, Option<u16>), UrlError> {
    host::hostport(Span::new(text.as_ref()), mode)
}

/// Reads `user [ ":" password ]` with its escapes, all of it (RFC 1738 §3.1).
#[cfg(feature = "proxy")]
pub(crate) fn userinfo(text: &str) -> Result<Userinfo, UrlError> {
    Userinfo::parse(Span::new(text.as_bytes()), Mode::Lenient)
}
