//! The options of `z3950 url`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use crate::url::{self, Kind};

/// Commands on URLs as texts.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Url {
    /// Show the parts of a URL.
    Parse(Texts),
    /// Print the canonical form of URLs, by which they are compared.
    Canon(Canon),
    /// Build a Z39.50 URL from its parts, escaping where needed.
    Build(Box<Build>),
    /// Resolve a relative URL such as ../b against a base URL.
    Resolve(crate::cli::url::resolve::Arguments),
    /// Check that URLs are well formed, and optionally that they lead somewhere.
    Check(Box<crate::cli::url::check::Arguments>),
    /// Extract the URLs from text, MARC records or an HTML page.
    Extract(crate::cli::url::extract::Arguments),
    /// Wrap URLs in <URL: and >, in lines short enough for e-mail.
    Wrap(crate::cli::url::wrap::Arguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Texts {
    /// URLs of any scheme.
    #[arg(required = true, value_name = "URL")]
    pub(in crate::cli) urls: Vec<OsString>,

    #[command(flatten)]
    pub(in crate::cli) reading: Reading,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Canon {
    #[command(flatten)]
    pub(in crate::cli) texts: Texts,

    #[command(flatten)]
    pub(in crate::cli) showing: Showing,
}

/// Whom URLs are written for.
#[derive(Debug, Args)]
pub(in crate::cli) struct Showing {
    /// Replace passwords by ***; by default, URLs are printed unchanged.
    #[arg(long)]
    pub(in crate::cli) redact: bool,
}

/// How URLs are read and answers written.
#[derive(Debug, Args)]
pub(in crate::cli) struct Reading {
    /// Accept only what RFC 2056 and RFC 1738 strictly allow.
    #[arg(long)]
    pub(in crate::cli) strict: bool,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Build {
    /// z39.50s for a session, z39.50r for a retrieval.
    #[arg(long, value_parser = kind, value_name = "session|retrieval")]
    pub(in crate::cli) kind: Kind,

    /// Host name or address.
    #[arg(long)]
    pub(in crate::cli) host: String,

    /// TCP port.
    #[arg(long, default_value_t = url::DEFAULT_PORT)]
    pub(in crate::cli) port: u16,

    /// Database; may be repeated.
    #[arg(long = "database", value_name = "NAME")]
    pub(in crate::cli) databases: Vec<OsString>,

    /// Identifier of the record.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) docid: Option<OsString>,

    /// Identifier of the record, in hexadecimal.
    #[arg(long, value_name = "HEX", conflicts_with = "docid", value_parser = hexadecimal)]
    pub(in crate::cli) docid_hex: Option<Octets>,

    /// Element set name.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) element_set: Option<OsString>,

    /// Record syntax, by name or object identifier; may be repeated, best first.
    #[arg(long = "record-syntax", value_name = "NAME")]
    pub(in crate::cli) record_syntaxes: Vec<OsString>,

    /// Additional parameter; may be repeated.
    #[arg(long = "extension", value_name = "KEYWORD=VALUE", value_parser = extension)]
    pub(in crate::cli) extensions: Vec<(String, String)>,

    #[command(flatten)]
    pub(in crate::cli) reading: Reading,
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
pub(in crate::cli) struct Octets(pub(in crate::cli) Vec<u8>);

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
