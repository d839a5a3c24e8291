//! The errors of URL parsing: the kind of error, its offset, and advice on how to write the URL correctly. Sources: RFC
//! 2056 §3–§5, RFC 1738 §2, §3 and §5; RFC 1630 for relative references.

use std::fmt;

/// The maximum length of a URL in octets, both as written and in canonical form.
///
/// The RFCs set no limit. This one protects against hostile input, and is much larger than any docid requires.
pub const MAX_URL_LENGTH: usize = 65_536;

/// The reason why text is not a valid URL, and the place of the fault.
///
/// The message contains at most one octet of the text, and no graphic octet of the host, port or userinfo, because
/// these may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlError {
    kind: UrlErrorKind,
    offset: usize,
    /// The octet at fault, if the message shows it.
    octet: Option<u8>,
    /// Advice on what to write instead, if it is more specific than the advice for the kind of error.
    remedy: Option<&'static str>,
}

impl UrlError {
    pub(crate) fn new(kind: UrlErrorKind, offset: usize, octet: Option<u8>) -> Self {
        UrlError {
            kind,
            offset,
            octet: octet.filter(|_| kind.names_its_octet()),
            remedy: None,
        }
    }

    /// Replaces the advice in the message with `remedy`.
    pub(crate) fn advising(self, remedy: &'static str) -> Self {
        UrlError {
            remedy: Some(remedy),
            ..self
        }
    }

    /// Creates an error, for use in the parser of a [registered scheme](super::Registry). `offset` is counted from the
    /// first octet after the colon of the scheme.
    pub fn at(kind: UrlErrorKind, offset: usize) -> Self {
        UrlError::new(kind, offset, None)
    }

    /// Adds `octets` to the offset.
    pub(crate) fn shifted(self, octets: usize) -> Self {
        UrlError {
            offset: self.offset.saturating_add(octets),
            ..self
        }
    }

    /// Omits the octet at fault from the message.
    pub(crate) fn without_octet(self) -> Self {
        UrlError {
            octet: None,
            ..self
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> UrlErrorKind {
        self.kind
    }

    /// Returns the offset, in the caller's text, of the first octet at fault or of the place where a part is missing.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl std::error::Error for UrlError {}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, problem, remedy) = self.kind.words();
        match self.octet {
            Some(octet) if octet.is_ascii_graphic() => {
                write!(f, "{problem} `{}`", char::from(octet))
            }
            Some(octet) => write!(f, "{problem} {octet:02X} (hex)"),
            None => f.write_str(problem),
        }?;
        if self.kind == UrlErrorKind::EmptyInput {
            f.write_str(": ")
        } else {
            // Everything before the error is ASCII, so the offset also counts characters. The message counts from 1.
            write!(f, " at character {}: ", self.offset + 1)
        }?;
        if let Some(remedy) = self.remedy {
            return f.write_str(remedy);
        }
        match (self.kind, self.octet) {
            (UrlErrorKind::ReservedCharacter | UrlErrorKind::InvalidCharacter, Some(octet)) => {
                write!(f, "to use it as data, write %{octet:02X}")
            }
            (UrlErrorKind::TooLong, _) => write!(f, "{remedy} {MAX_URL_LENGTH} octets"),
            _ => f.write_str(remedy),
        }
    }
}

/// The kinds of errors. If a URL has several errors, the first of them in this order is reported: `TooLong`;
/// `InvalidCharacter` for an octet outside 21–7E hex; other errors from left to right; `FragmentNotAllowed`;
/// `MissingDatabase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UrlErrorKind {
    /// The text is empty or consists of spaces.
    EmptyInput,
    /// The URL has more than [`MAX_URL_LENGTH`] octets. If the text itself is too long, the error has the offset of the
    /// first octet beyond the limit. If only the canonical form is too long, it has the offset of the end of the text.
    TooLong,
    /// No colon precedes the first slash.
    MissingScheme,
    /// An octet is not allowed in a scheme name.
    InvalidScheme,
    /// The parser does not support the scheme.
    UnsupportedScheme,
    /// The text after the colon of the scheme does not begin with `//`.
    MissingDoubleSlash,
    /// The host is missing.
    MissingHost,
    /// The text is not a host name, a dotted quad or (in lenient mode) a bracketed IPv6 address.
    InvalidHost,
    /// The URL contains `user:password@`, in strict mode.
    UserinfoNotAllowed,
    /// A colon is not followed by a port, in strict mode.
    EmptyPort,
    /// The port is not a number.
    InvalidPort,
    /// The port is outside 1–65535.
    PortOutOfRange,
    /// A delimiter occurs where it is not allowed.
    UnexpectedCharacter,
    /// The octet must always be escaped.
    InvalidCharacter,
    /// Data contains one of `/?:@&=`.
    ReservedCharacter,
    /// A `%` is not followed by two hexadecimal digits.
    BadPercentEscape,
    /// A part that is sent as a protocol string contains an escaped control character.
    ForbiddenControl,
    /// A database name is empty.
    EmptyDatabase,
    /// The URL has a docid but no database.
    DocidWithoutDatabase,
    /// A `?` is not followed by a docid, in strict mode.
    EmptyDocid,
    /// A parameter does not have the form `keyword=value`.
    MalformedParameter,
    /// The parameter `esn` or `rs` occurs twice.
    DuplicateParameter,
    /// The parameter `esn` follows `rs`, in strict mode.
    ParameterOrder,
    /// The parameter `esn` has no value.
    EmptyElementSet,
    /// A record syntax is empty.
    EmptyRecordSyntax,
    /// The URL contains a `#`, in strict mode.
    FragmentNotAllowed,
    /// A retrieval URL has no database.
    MissingDatabase,
    /// A part such as an address or a newsgroup is empty.
    EmptyPart,
    /// A required part and the delimiter before it are missing.
    MissingPart,
    /// The FTP type code is not `a`, `i` or `d`.
    BadTypeCode,
    /// The article number is not a number.
    InvalidNumber,
    /// The Gopher item type is not allowed.
    InvalidGopherType,
    /// The partial form begins with more slashes than the longest sequence of slashes in the base (RFC 1630).
    NoMatchingSlashRun,
}

impl UrlErrorKind {
    /// Returns a stable name for the error, for use by programs, such as `BadPercentEscape`.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    fn names_its_octet(self) -> bool {
        use UrlErrorKind::*;
        matches!(
            self,
            UnexpectedCharacter | InvalidCharacter | ReservedCharacter
        )
    }

    /// Returns the name, the problem and the advice for the kind of error.
    #[rustfmt::skip]
    fn words(self) -> (&'static str, &'static str, &'static str) {
        use UrlErrorKind::*;
        match self {
            EmptyInput => ("EmptyInput", "no URL", "give one, such as z39.50r://host/database?docid"),
            TooLong => ("TooLong", "URL too long", "keep it, escapes included, within"),
            MissingScheme => ("MissingScheme", "no scheme", "begin with z39.50s:// for a session or z39.50r:// for a record"),
            InvalidScheme => ("InvalidScheme", "invalid character in the scheme", "a scheme has letters, digits, `+`, `.` and `-`"),
            UnsupportedScheme => ("UnsupportedScheme", "not a Z39.50 scheme", "begin with z39.50s:// for a session or z39.50r:// for a record"),
            MissingDoubleSlash => ("MissingDoubleSlash", "no `//`", "write it between the scheme's colon and the host"),
            MissingHost => ("MissingHost", "no host", "write a host name or an address; an IPv6 address goes in brackets"),
            InvalidHost => ("InvalidHost", "invalid host", "use letters, digits, inner hyphens and single dots, or an address such as 192.0.2.7"),
            UserinfoNotAllowed => ("UserinfoNotAllowed", "user name or password not allowed", "remove everything up to the `@`"),
            EmptyPort => ("EmptyPort", "no port after the colon", "add a number or remove the colon"),
            InvalidPort => ("InvalidPort", "port is not a number", "use digits only"),
            PortOutOfRange => ("PortOutOfRange", "port out of range", "use a number from 1 to 65535"),
            UnexpectedCharacter => ("UnexpectedCharacter", "unexpected character", "host and port are followed by a `/` or nothing"),
            InvalidCharacter => ("InvalidCharacter", "invalid character", "write it as `%` and two hexadecimal digits"),
            ReservedCharacter => ("ReservedCharacter", "reserved character", "write it as `%` and two hexadecimal digits"),
            BadPercentEscape => ("BadPercentEscape", "incomplete escape", "put two hexadecimal digits after `%`, or write %25 for a percent sign"),
            ForbiddenControl => ("ForbiddenControl", "escaped control character", "remove it: it would end a line of the protocol"),
            EmptyDatabase => ("EmptyDatabase", "empty database name", "remove the extra `+`, or write %2B for a plus sign in a name"),
            DocidWithoutDatabase => ("DocidWithoutDatabase", "docid without a database", "name the database between `/` and `?`"),
            EmptyDocid => ("EmptyDocid", "no docid after `?`", "add one or remove the `?`"),
            MalformedParameter => ("MalformedParameter", "malformed parameter", "write `;keyword=value`, or %3B for a semicolon in the data"),
            DuplicateParameter => ("DuplicateParameter", "parameter given twice", "keep one; write several record syntaxes as one list, rs=a+b"),
            ParameterOrder => ("ParameterOrder", "parameter out of order", "put esn before rs"),
            EmptyElementSet => ("EmptyElementSet", "empty element set name", "add one or remove `;esn=`"),
            EmptyRecordSyntax => ("EmptyRecordSyntax", "empty record syntax", "add one or remove the extra `+` or `;rs=`"),
            FragmentNotAllowed => ("FragmentNotAllowed", "fragment not allowed", "remove everything from `#` on, or write %23 for a number sign in the data"),
            MissingDatabase => ("MissingDatabase", "no database", "a retrieval URL needs at least one, after the slash that follows the host"),
            EmptyPart => ("EmptyPart", "empty part", "fill it in"),
            MissingPart => ("MissingPart", "part missing", "add it, with the delimiter before it"),
            BadTypeCode => ("BadTypeCode", "invalid FTP type code", "use a for text, i for binary files, d for a listing"),
            InvalidNumber => ("InvalidNumber", "article number is not a number", "use digits only, or remove the slash before it"),
            InvalidGopherType => ("InvalidGopherType", "invalid Gopher type", "use one of 0 to 9, `+`, `g`, `I` and `T`; lenient reading takes any single character"),
            NoMatchingSlashRun => ("NoMatchingSlashRun", "more slashes in a row than in the base", "begin with one slash for a path, two for a host"),
        }
    }
}

/// The reason why parts cannot be combined into a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    name: &'static str,
    message: String,
}

impl BuildError {
    pub(crate) fn new(name: &'static str, message: impl Into<String>) -> Self {
        BuildError {
            name,
            message: message.into(),
        }
    }

    /// Returns an error for a canonical form of more than [`MAX_URL_LENGTH`] octets.
    pub(crate) fn bounded(canonical: &str) -> Result<(), Self> {
        match canonical.len() {
            length if length > MAX_URL_LENGTH => Err(BuildError::new(
                "TooLong",
                format!("the URL has {length} octets: {MAX_URL_LENGTH} are the limit"),
            )),
            _ => Ok(()),
        }
    }

    /// Returns a stable name for the error, for use by programs, such as `MissingDatabase`.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_octet_its_place_and_the_remedy() {
        let check = |kind: UrlErrorKind, octet, words: &str| {
            assert_eq!(UrlError::new(kind, 27, octet).to_string(), words);
            assert_eq!(format!("{kind:?}"), kind.name());
        };
        check(
            UrlErrorKind::ReservedCharacter,
            Some(b'/'),
            "reserved character `/` at character 28: to use it as data, write %2F",
        );
        check(
            UrlErrorKind::InvalidCharacter,
            Some(0xFC),
            "invalid character FC (hex) at character 28: to use it as data, write %FC",
        );
        check(
            UrlErrorKind::InvalidHost,
            Some(b'_'),
            "invalid host at character 28: use letters, digits, inner hyphens and single dots, or an \
             address such as 192.0.2.7",
        );
        let advised = UrlError::new(UrlErrorKind::EmptyPart, 5, None).advising("name a newsgroup");
        assert_eq!(
            advised.to_string(),
            "empty part at character 6: name a newsgroup"
        );
        check(
            UrlErrorKind::TooLong,
            None,
            "URL too long at character 28: keep it, escapes included, within 65536 octets",
        );
    }
}
