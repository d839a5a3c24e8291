//! Reads the tables in `fixtures/urls`, and formats result lines to compare with those in the tables. The result line of an
//! accepted text is `Ok s|r host= port= db=[…] docid= …`, in which absent parts are left out.

use std::fmt::Write as _;

use z3950::url::{Caution, Kind, Mode, Octets, Z3950Url};

/// Returns the rows of a table with `N` columns, without comments and empty lines.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            columns
                .try_into()
                .unwrap_or_else(|_| panic!("{N} columns wanted: {line}"))
        })
}

pub(crate) fn mode_named(name: &str) -> Mode {
    match name {
        "strict" => Mode::Strict,
        "lenient" => Mode::Lenient,
        _ => panic!("no mode: {name}"),
    }
}

/// Returns the octets of a column, with the escapes `\t \n \r \\ \"` and `\xNN` decoded.
pub(crate) fn octets(column: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut rest = column;
    while let Some((head, tail)) = rest.split_once('\\') {
        octets.extend_from_slice(head.as_bytes());
        let (octet, length) = match tail.as_bytes() {
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [octet @ (b'\\' | b'"'), ..] => (*octet, 1),
            [b'x', ..] => (u8::from_str_radix(&tail[1..3], 16).expect("two digits"), 3),
            _ => panic!("no escape: {column}"),
        };
        octets.push(octet);
        rest = &tail[length..];
    }
    octets.extend_from_slice(rest.as_bytes());
    octets
}

/// Formats the result line of an accepted URL.
pub(crate) fn accepted(url: &Z3950Url) -> String {
    let list = |items: &[Octets]| items.iter().map(quoted).collect::<Vec<_>>().join(",");
    let kind = if url.kind() == Kind::Session {
        's'
    } else {
        'r'
    };
    assert!(url.scheme().ends_with(kind));
    let mut line = format!("Ok {kind} host={} port={}", url.host(), url.port());
    if let Some(userinfo) = url.userinfo() {
        write!(line, " userinfo={userinfo}").unwrap();
    }
    write!(line, " db=[{}]", list(url.databases())).unwrap();
    write!(
        line,
        " docid={}",
        url.docid().map_or("none".to_owned(), quoted)
    )
    .unwrap();
    if let Some(element_set) = url.element_set() {
        write!(line, " esn={}", quoted(element_set)).unwrap();
    }
    if !url.record_syntaxes().is_empty() {
        write!(line, " rs=[{}]", list(url.record_syntaxes())).unwrap();
    }
    if !url.extensions().is_empty() {
        let extensions = url.extensions().iter();
        let each = extensions.map(|each| format!("{}={}", each.keyword(), quoted(&each.value())));
        write!(line, " ext=[{}]", each.collect::<Vec<_>>().join(",")).unwrap();
    }
    if let Some(fragment) = url.fragment() {
        write!(line, " fragment={}", quoted(fragment)).unwrap();
    }
    if !url.warnings().is_empty() {
        let warnings = url.warnings().iter().map(Caution::code);
        write!(line, " warn=[{}]", warnings.collect::<Vec<_>>().join(",")).unwrap();
    }
    line
}

pub(crate) fn quoted(octets: &Octets) -> String {
    let mut line = String::from("\"");
    for &octet in octets.as_bytes() {
        match octet {
            b'\t' => line.push_str("\\t"),
            b'\n' => line.push_str("\\n"),
            b'\r' => line.push_str("\\r"),
            b'"' | b'\\' => line.extend(['\\', char::from(octet)]),
            0x20..=0x7E => line.push(char::from(octet)),
            _ => write!(line, "\\x{octet:02X}").unwrap(),
        }
    }
    line + "\""
}
