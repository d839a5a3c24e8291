//! Names of record syntaxes in the `rs` parameter, which RFC 2056 §4 leaves undefined: every name that the standard's table
//! of object identifiers gives a record syntax, a few more in use, in any case, or the dotted object identifier of any syntax
//! (Z39.50-2003 Appendix OID).

use z3950_asn1::oid::{DANMARC, GRS_1, Oid, USMARC};

/// Names in use beside the registered ones, in lower case.
const ALIASES: &[(&str, Oid)] = &[
    ("marc", USMARC),
    ("marc21", USMARC),
    ("danmarc2", DANMARC),
    ("grs1", GRS_1),
];

/// All record syntaxes that have a name, each once.
pub fn record_syntaxes() -> Vec<Oid> {
    Oid::record_syntaxes().map(|(_, syntax)| syntax).collect()
}

/// The record syntax that a name or a dotted identifier means.
pub fn record_syntax_by_name(name: impl AsRef<[u8]>) -> Option<Oid> {
    let name = name.as_ref();
    dotted(name).or_else(|| {
        let found = names().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        found.map(|(_, syntax)| syntax)
    })
}

/// The name that a misspelt one is most like, if there is one that is like it.
pub(super) fn similar(name: &[u8]) -> Option<&'static str> {
    /// Names longer than this are not looked at, since the time it takes grows with the length.
    const LONGEST: usize = 32;
    /// A name shorter than this is like too many others.
    const SHORTEST: usize = 3;
    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
    if !(SHORTEST..=LONGEST).contains(&name.len()) || record_syntax_by_name(&name).is_some() {
        return None;
    }
    let distances = names().map(|(known, _)| (strsim::osa_distance(&name, known), known));
    let (distance, known) = distances.min_by_key(|(distance, _)| *distance)?;
    let most = if name.len() < 6 { 1 } else { 2 };
    (distance <= most).then_some(known)
}

fn names() -> impl Iterator<Item = (&'static str, Oid)> {
    Oid::record_syntaxes().chain(ALIASES.iter().copied())
}

/// The same, if it is one of `supported` or dotted: who writes an identifier can do with raw octets.
pub(super) fn supported(name: &[u8], supported: &[Oid]) -> Option<Oid> {
    dotted(name).or_else(|| record_syntax_by_name(name).filter(|syntax| supported.contains(syntax)))
}

fn dotted(name: &[u8]) -> Option<Oid> {
    std::str::from_utf8(name).ok()?.parse().ok()
}
