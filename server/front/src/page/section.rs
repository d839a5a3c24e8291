//! The part of the results that one database has.

use askama::Template;
use z3950::{Error, Record};

use super::hits::Hits;
use super::parameters::Parameters;
use super::search::{MAX_FILE, PAGE};
use super::sources::{self, SourceHits, SourceLink};
use crate::choices::Catalogues;
use crate::files::FORMATS;
use crate::text::{clean, described};

/// The section of a database.
#[derive(Default, Template)]
#[template(path = "section.html")]
pub(super) struct Section {
    /// Its place among those of the search, from 1.
    number: usize,
    name: String,
    hits: String,
    /// Why there is no answer, or not all of it.
    failures: Vec<String>,
    /// What the parts of the database have found.
    parts: Vec<SourceHits>,
    start: u64,
    lines: Vec<HitLine>,
    first: String,
    before: String,
    after: String,
    downloads: Vec<(&'static str, String)>,
    /// Files of more than the list has.
    whole: Option<WholeDownload>,
}

/// Files of all records found, or of as many as a file has.
pub(super) struct WholeDownload {
    pub(super) words: String,
    pub(super) links: Vec<(&'static str, String)>,
}

impl WholeDownload {
    /// Files of this many records, with the path for the parameters that are added.
    pub(super) fn of(count: u64, link: impl Fn(&[(&str, &str)]) -> String) -> Self {
        let links = FORMATS.iter().map(|format| {
            let link = link(&[("all", "1"), ("format", format.name)]);
            (format.title, link)
        });
        Self {
            words: match count > MAX_FILE {
                true => format!("the first {MAX_FILE} of {count} records"),
                false => format!("all {count} records"),
            },
            links: links.collect(),
        }
    }
}

/// A record of a list.
struct HitLine {
    link: String,
    title: String,
    author: String,
    year: String,
    availability: String,
    /// The databases that have it, if these are others.
    sources: Vec<SourceLink>,
}

impl Section {
    /// The section for what a search found.
    pub(super) fn of(
        found: &Result<Option<Hits>, Error>,
        (number, target): (usize, &str),
        parameters: &Parameters,
        catalogues: &Catalogues,
    ) -> Self {
        let mut section = Self {
            number,
            name: catalogues.title(target),
            ..Self::default()
        };
        match found {
            Err(error) => section.failures.push(described(error)),
            Ok(None) => "nothing found".clone_into(&mut section.hits),
            Ok(Some(found)) => section.fill(found, target, parameters, catalogues),
        }
        section
    }

    fn fill(
        &mut self,
        found: &Hits,
        target: &str,
        parameters: &Parameters,
        catalogues: &Catalogues,
    ) {
        let start = parameters.start.unwrap_or(1);
        self.start = start;
        let link = |further: &[(&str, &str)]| parameters.link(target, further);
        let count = found.count;
        let words = sources::in_words(count);
        self.hits = match found.is_estimate && count > 0 {
            true => format!("about {words}"),
            false => words,
        };
        self.parts = sources::hits(&found.found, parameters, catalogues);
        for (record, position) in found.records.iter().zip(start..) {
            match record {
                Ok(record) => {
                    let link = link(&[("at", &position.to_string())]);
                    let sources = sources::links(record, target, parameters, catalogues);
                    self.lines.push(HitLine::of(record, link, sources));
                }
                Err(error) => self.failures.push(described(error)),
            }
        }
        if start > count && count > 0 {
            self.first = link(&[]);
        } else if start > 1 {
            let before = start.saturating_sub(PAGE).max(1).to_string();
            self.before = link(&[("start", &before)]);
        }
        if start.saturating_add(PAGE) <= count {
            self.after = link(&[("start", &start.saturating_add(PAGE).to_string())]);
        }
        if !self.lines.is_empty() {
            let from = start.to_string();
            let formats = FORMATS.iter();
            let downloads = formats.map(|format| {
                let link = link(&[("start", &from), ("format", format.name)]);
                (format.title, link)
            });
            self.downloads = downloads.collect();
        }
        if count > PAGE && !self.lines.is_empty() {
            self.whole = Some(WholeDownload::of(count, link));
        }
    }

    /// Whether there is a failure and nothing else.
    pub(super) fn has_failed(&self) -> bool {
        !self.failures.is_empty() && self.lines.is_empty()
    }
}

impl HitLine {
    fn of(record: &Record, link: String, sources: Vec<SourceLink>) -> Self {
        let citation = record.citation();
        Self {
            link,
            title: clean(citation.title.as_deref().unwrap_or("[no title]")),
            author: clean(citation.author.as_deref().unwrap_or_default()),
            year: citation
                .year
                .map(|year| year.to_string())
                .unwrap_or_default(),
            availability: availability(record),
            sources,
        }
    }
}

/// How many copies can be lent now, if the record says so.
fn availability(record: &Record) -> String {
    let holdings = record.holdings();
    let told = holdings.iter().filter_map(|holding| holding.available);
    let (count, free) = told.fold((0, 0), |(count, free), is_free| {
        (count + 1, free + usize::from(is_free))
    });
    match (count, free) {
        (0, _) => String::new(),
        (1, 1) => "available".to_owned(),
        (_, 0) => "not available".to_owned(),
        (count, free) => format!("{free} of {count} copies available"),
    }
}
