//! The demo catalogue: well-known works in the public domain, as MARCMaker text in `demo/books.mrk` and `demo/serials.mrk`.

use z3950_marc::mrk;

use super::MemoryBackendBuilder;

/// The name, title, description and records of each.
const DATABASES: [(&str, &str, &str, &str); 2] = [
    (
        "books",
        "Demo catalogue: books",
        "Well-known works in the public domain, in many languages and scripts",
        include_str!("demo/books.mrk"),
    ),
    (
        "serials",
        "Demo catalogue: serials",
        "Newspapers and journals",
        include_str!("demo/serials.mrk"),
    ),
];

/// Adds the databases of the catalogue.
#[expect(
    clippy::panic,
    reason = "the tests read the texts, which are part of the program"
)]
pub(super) fn add(builder: MemoryBackendBuilder) -> MemoryBackendBuilder {
    DATABASES
        .into_iter()
        .fold(builder, |builder, (name, title, description, text)| {
            let records =
                mrk::parse_all(text).unwrap_or_else(|error| panic!("{name}.mrk: {error}"));
            let builder = builder.describe(name, title, description);
            let added = builder.add_records(name, records);
            added.unwrap_or_else(|note| panic!("{name}.mrk: {note}"))
        })
}
