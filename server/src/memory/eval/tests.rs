//! Tests of queries against a few records: each attribute value, operator and diagnostic.

mod attributes;
mod diagnostics;
mod facets;
mod operators;
mod random;
mod uses;

use std::sync::Arc;

use z3950_asn1::apdu::{DatabaseName, RpnQuery};
use z3950_marc::{MarcRecord, iso2709, mrk};

use super::{Evaluated, find};
use crate::backend::{Hits, Search};
use crate::diagnostic::Diagnostic;
use crate::memory::fields::Fields;
use crate::memory::hits::{HitSet, Part};
use crate::memory::index::{Index, SegmentBuilder, WorkBudget};
use crate::memory::{AccessPoints, MOST_WORK, Profile};

/// A few records in an index.
struct Catalogue {
    index: Index,
    fields: Arc<Fields>,
    docids: Vec<String>,
    /// The maximum work for a query.
    work: u64,
}

impl Catalogue {
    fn of(records: &[MarcRecord], fields: Fields) -> Self {
        let fields = Arc::new(fields);
        let mut builder = SegmentBuilder::new(Arc::clone(&fields));
        let mut docids = Vec::new();
        for record in records {
            let octets = iso2709::encode(record).expect("a valid record");
            builder.add(0, octets.into(), record).expect("room");
            docids.push(
                String::from_utf8_lossy(record.control_number().unwrap_or_default()).into_owned(),
            );
        }
        let index = Index::new([(Arc::new(builder.finish()), Arc::new(Part::first(0)))]);
        Self {
            index,
            fields,
            docids,
            work: MOST_WORK,
        }
    }

    /// Returns the records of `records.mrk`.
    fn small() -> Self {
        Self::with(Profile::default())
    }

    /// Returns the records of `records.mrk`, searched under a profile.
    fn with(profile: Profile) -> Self {
        let records = mrk::parse_all(include_str!("tests/records.mrk")).expect("MARCMaker text");
        let fields = Fields::new(AccessPoints::default(), profile, []);
        Self::of(&records, fields)
    }

    fn evaluate(&self, query: &RpnQuery, term_counts: bool) -> Result<Evaluated<'_>, Diagnostic> {
        let result_set = |_: &[u8]| -> Option<Hits> { None };
        let databases = [DatabaseName::from("cat")];
        let search = Search {
            result_set: &result_set,
            term_counts,
            ..Search::new(&databases, query)
        };
        find(
            &self.index,
            &self.fields,
            &search,
            None,
            &mut WorkBudget::new(self.work),
        )
    }

    fn docids(&self, hits: &HitSet<'_>) -> String {
        let docid = |record: crate::memory::hits::RecordNumber| {
            self.docids
                .get(record.0 as usize)
                .expect("a record")
                .as_str()
        };
        hits.iter().map(docid).collect::<Vec<_>>().join(" ")
    }

    /// Returns the docids found, or the condition and additional information of the diagnostic.
    fn answer(&self, query: &RpnQuery) -> Result<String, String> {
        match self.evaluate(query, false) {
            Ok(found) => Ok(self.docids(&found.hits)),
            Err(refused) => Err(format!(
                "{} {}",
                refused.condition,
                refused.addinfo.to_string_lossy()
            )
            .trim_end()
            .to_owned()),
        }
    }

    /// Checks that each query in PQF finds the docids listed with it.
    fn check(&self, rows: &[(&str, &str)]) {
        let wrong = rows.iter().filter_map(|(query, expected)| {
            let found = self.answer(&pqf(query));
            (found.as_deref() != Ok(expected))
                .then(|| format!("{query}\n  expected {expected:?}\n  found    {found:?}"))
        });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// Checks that each query in PQF is refused with the condition and additional information listed with it.
    fn check_refused(&self, rows: &[(&str, &str)]) {
        let wrong = rows.iter().filter_map(|(query, expected)| {
            let found = self.answer(&pqf(query));
            (found.as_ref().err().map(String::as_str) != Some(*expected))
                .then(|| format!("{query}\n  expected {expected:?}\n  found    {found:?}"))
        });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

fn pqf(text: &str) -> RpnQuery {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}
