//! Names of record syntaxes in the `rs` parameter, which RFC 2056 §4 leaves undefined: a table of names in any
//! case, or the dotted object identifier of any syntax (Z39.50-2003 Appendix OID).

use z3950_asn1::oid::{GRS_1, HTML, OPAC, Oid, SUMMARY, SUTRS, UKMARC, UNIMARC, USMARC, XML};

/// The names, in lower case.
const NAMES: &[(&str, Oid)] = &[
    ("usmarc", USMARC),
    ("marc", USMARC),
    ("marc21", USMARC),
    ("unimarc", UNIMARC),
    ("ukmarc", UKMARC),
    ("sutrs", SUTRS),
    ("opac", OPAC),
    ("summary", SUMMARY),
    ("grs1", GRS_1),
    ("grs-1", GRS_1),
    ("xml", XML),
    ("html", HTML),
];

/// All record syntaxes that have a name, each once.
pub fn record_syntaxes() -> Vec<Oid> {
    let mut syntaxes: Vec<Oid> = Vec::new();
    for (_, syntax) in NAMES {
        if !syntaxes.contains(syntax) {
            syntaxes.push(*syntax);
        }
    }
    syntaxes
}

/// The record syntax that a name or a dotted identifier means.
pub fn record_syntax_by_name(name: impl AsRef<[u8]>) -> Option<Oid> {
    let name = name.as_ref();
    dotted(name).or_else(|| {
        let found = NAMES
            .iter()
            .find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        found.map(|(_, syntax)| *syntax)
    })
}

/// The same, if it is one of `supported` or dotted: who writes an identifier can do with raw octets.
pub(super) fn supported(name: &[u8], supported: &[Oid]) -> Option<Oid> {
    dotted(name).or_else(|| record_syntax_by_name(name).filter(|syntax| supported.contains(syntax)))
}

fn dotted(name: &[u8]) -> Option<Oid> {
    std::str::from_utf8(name).ok()?.parse().ok()
}
