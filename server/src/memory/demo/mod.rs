//! The demo catalogue: well-known works in the public domain, written as MARCMaker text that a person can edit in
//! `books.mrk` and `serials.mrk` beside this file.

use z3950_asn1::record::mrk;

use super::MemoryBackendBuilder;

const DATABASES: [(&str, &str); 2] = [
    ("books", include_str!("books.mrk")),
    ("serials", include_str!("serials.mrk")),
];

/// Adds the databases of the catalogue.
pub(super) fn add(builder: MemoryBackendBuilder) -> MemoryBackendBuilder {
    DATABASES
        .into_iter()
        .fold(builder, |builder, (name, text)| {
            // The texts are part of the program, and read by its tests.
            let records =
                mrk::parse_all(text).unwrap_or_else(|error| panic!("{name}.mrk: {error}"));
            let added = builder.add_records(name, records);
            added.unwrap_or_else(|note| panic!("{name}.mrk: {note}"))
        })
}
