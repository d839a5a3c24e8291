//! The options of `z3950 url`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use z3950::url::{self, Kind};

/// Commands on URLs as texts.
#[derive(Debug, Subcommand)]
pub(crate) enum Url {
    /// Show the parts of a URL.
    Parse(Texts),
    /// Print the canonical form of URLs, by which they are compared.
    Canon(Canon),
    /// Build a Z39.50 URL from its parts, escaping where needed.
    Build(Box<Build>),
    /// Resolve a relative URL such as ../b against a base URL.
    Resolve(crate::commands::url::resolve::Arguments),
    /// Check that URLs are well formed, and optionally that they lead somewhere.
    Check(Box<crate::commands::url::check::Arguments>),
    /// Extract the URLs from text, MARC records or an HTML page.
    Extract(crate::commands::url::extract::Arguments),
    /// Wrap URLs in <URL: and >, in lines short enough for e-mail.
    Wrap(crate::commands::url::wrap::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Texts {
    /// URLs of any scheme.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<OsString>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Canon {
    #[command(flatten)]
    pub(crate) texts: Texts,

    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Whom URLs are written for.
#[derive(Debug, Args)]
pub(crate) struct Showing {
    /// Replace passwords by ***; by default, URLs are printed unchanged.
    #[arg(long)]
    pub(crate) redact: bool,
}

/// How URLs are read and answers written.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Accept only what RFC 2056 and RFC 1738 strictly allow.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// z39.50s for a session, z39.50r for a retrieval.
    #[arg(long, value_parser = kind, value_name = "session|retrieval")]
    pub(crate) kind: Kind,

    /// Host name or address.
    #[arg(long)]
    pub(crate) host: String,

    /// TCP port.
    #[arg(long, default_value_t = url::DEFAULT_PORT)]
    pub(crate) port: u16,

    /// Database; may be repeated.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<OsString>,

    /// Identifier of the record.
    #[arg(long, value_name = "ID")]
    pub(crate) docid: Option<OsString>,

    /// Identifier of the record, in hexadecimal.
    #[arg(long, value_name = "HEX", conflicts_with = "docid", value_parser = hexadecimal)]
    pub(crate) docid_hex: Option<Octets>,

    /// Element set name.
    #[arg(long, value_name = "NAME")]
    pub(crate) element_set: Option<OsString>,

    /// Record syntax, by name or object identifier; may be repeated, best first.
    #[arg(long = "record-syntax", value_name = "NAME")]
    pub(crate) record_syntaxes: Vec<OsString>,

    /// Additional parameter; may be repeated.
    #[arg(long = "extension", value_name = "KEYWORD=VALUE", value_parser = extension)]
    pub(crate) extensions: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

fn kind(text: &str) -> Result<Kind, String> {
    match text.to_ascii_lowercase().as_str() {
        "session" | "s" | "z39.50s" => Ok(Kind::Session),
        "retrieval" | "r" | "z39.50r" => Ok(Kind::Retrieval),
        _ => Err("neither session nor retrieval".to_owned()),
    }
}

/// Octets given by their hexadecimal digits.
#[derive(Debug, Clone)]
pub(crate) struct Octets(pub(crate) Vec<u8>);

fn hexadecimal(text: &str) -> Result<Octets, String> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            let octets = digits
                .chunks_exact(2)
                .map(|pair| pair.iter().fold(0, |octet, digit| octet << 4 | digit));
            Ok(Octets(octets.collect()))
        }
        _ => Err("not pairs of hexadecimal digits".to_owned()),
    }
}

fn extension(text: &str) -> Result<(String, String), String> {
    let (keyword, value) = text
        .split_once('=')
        .ok_or("not of the form KEYWORD=VALUE")?;
    Ok((keyword.to_owned(), value.to_owned()))
}
