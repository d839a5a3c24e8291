//! Detects the form of an input from its first octets or its file name.

use std::io;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::InputForm;
use crate::marcline;
use crate::record::number;

impl InputForm {
    /// All forms.
    pub const ALL: [Self; 5] = [Self::Marc, Self::MarcXml, Self::Json, Self::Mrk, Self::Line];

    /// Returns the name of the form: `marc`, `marcxml`, `json`, `mrk` or `line`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marc => "marc",
            Self::MarcXml => "marcxml",
            Self::Json => "json",
            Self::Mrk => "mrk",
            Self::Line => "line",
        }
    }

    /// Returns the form of an input that begins with these octets; `None` if there are too few octets or they match no
    /// form.
    pub fn guess(octets: &[u8]) -> Option<Self> {
        if let Some(encoding) = utf16(octets) {
            let (text, _) = encoding.decode_with_bom_removal(octets);
            return Self::guess(text.as_bytes());
        }
        let octets = octets.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(octets);
        let text = octets.trim_ascii_start();
        match text.first()? {
            b'<' => Some(Self::MarcXml),
            b'{' | b'[' => Some(Self::Json),
            b'=' | b'#' => Some(Self::Mrk),
            _ if is_leader_line(text) || is_display(text) => Some(Self::Line),
            _ if text.get(..5).and_then(number).is_some() || text.contains(&0x1E) => {
                Some(Self::Marc)
            }
            _ => None,
        }
    }

    /// Returns the form of a file with this extension; case is ignored: `mrc`, `marc`, `iso`, `xml`, `json`, `mrk`,
    /// `line`, `txt` …
    pub fn by_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "mrc" | "marc" | "iso" | "iso2709" | "mrk21" | "dat" | "lex" => Self::Marc,
            "xml" | "marcxml" | "mrcx" => Self::MarcXml,
            "json" | "jsonl" | "ndjson" | "mij" => Self::Json,
            "mrk" | "mrk8" => Self::Mrk,
            "line" | "txt" => Self::Line,
            _ => return None,
        })
    }
}

/// Returns an error if the octets are compressed, because no record would be found in them.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`]; the message names the kind of compression.
pub fn refuse_compressed(octets: &[u8]) -> io::Result<()> {
    const COMPRESSIONS: [(&[u8], &str); 5] = [
        (b"\x1F\x8B", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"BZh", "bzip2"),
        (b"\xFD7zXZ\0", "xz"),
        (b"\x28\xB5\x2F\xFD", "zstd"),
    ];
    match COMPRESSIONS
        .iter()
        .find(|(magic, _)| octets.starts_with(magic))
    {
        None => Ok(()),
        Some((_, name)) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("compressed with {name}; decompress it first"),
        )),
    }
}

/// The length of the longest signature of a compressed file, in octets.
pub(super) const LONGEST_MAGIC: usize = 6;

/// Returns whether the first line of the text is 24 octets without a separator, like a leader.
fn is_leader_line(text: &[u8]) -> bool {
    let Some((leader, rest)) = text.split_at_checked(24) else {
        return false;
    };
    let plain = |octet: &u8| *octet >= b' ';
    leader.iter().all(plain) && (rest.starts_with(b"\n") || rest.starts_with(b"\r"))
}

/// Returns whether the text begins with a leader as catalogues show it, followed by the end of the line.
fn is_display(text: &[u8]) -> bool {
    let line = text.split(|octet| matches!(octet, b'\n' | b'\r')).next();
    line.is_some_and(marcline::begins_display)
}

/// Returns the byte order of UTF-16, detected by its byte order mark or by the NULs in two ASCII characters.
pub(super) fn utf16(octets: &[u8]) -> Option<&'static Encoding> {
    match octets {
        [0xFF, 0xFE, ..] => Some(UTF_16LE),
        [0xFE, 0xFF, ..] => Some(UTF_16BE),
        [b' '..=b'~', 0, b' '..=b'~', 0, ..] => Some(UTF_16LE),
        [0, b' '..=b'~', 0, b' '..=b'~', ..] => Some(UTF_16BE),
        _ => None,
    }
}
