//! The section of the results that belongs to one database.

use askama::Template;
use z3950::Record;
use z3950::find::Found;

use super::hits::{DatabaseAnswer, PageSearch};
use super::sources::{self, SourceHits, SourceLink};
use super::{MAX_FILE, PAGE};
use crate::files::FORMATS;
use crate::text::{clean, described};

/// The template of a section.
#[derive(Default, Template)]
#[template(path = "section.html")]
pub(super) struct Section {
    /// The number of the section on the page, from 1.
    number: usize,
    /// Whether the page has sections for other databases, and links to each of them.
    has_others: bool,
    name: String,
    hits: String,
    /// The text beside the link to the section: the number of records, or that the database did not answer.
    count: String,
    /// Remarks, such as which alternative searches were made, and why a record was chosen as the best one.
    notes: Vec<String>,
    /// The reasons why the answer is missing or incomplete.
    failures: Vec<String>,
    /// The results of the parts of the database.
    parts: Vec<SourceHits>,
    start: u64,
    /// The number of digits of the last number in the list.
    digits: u32,
    lines: Vec<HitLine>,
    first: String,
    before: String,
    after: String,
    /// The menu of downloads: the records in the list, and all records if the list shows only some of them.
    downloads: Vec<ShownDownload>,
}

/// The downloads of a selection of records, one in each file format.
pub(super) struct ShownDownload {
    /// A description of the selection, such as `All 17 records`.
    pub(super) words: String,
    pub(super) links: Vec<(&'static str, String)>,
}

impl ShownDownload {
    /// Returns the downloads for a selection of records. `selected` is the parameter that selects them, and `link`
    /// returns the path for a list of parameters.
    fn new(
        words: String,
        selected: (&str, &str),
        link: impl Fn(&[(&str, &str)]) -> String,
    ) -> Self {
        let links = FORMATS.iter().map(|format| {
            let link = link(&[selected, ("format", format.name)]);
            (format.title, link)
        });
        Self {
            words,
            links: links.collect(),
        }
    }

    /// Returns the downloads for all `count` records, or for the maximum number of records in a file if there are more.
    pub(super) fn of_all(count: u64, link: impl Fn(&[(&str, &str)]) -> String) -> Self {
        let words = match count {
            1 => "This record".to_owned(),
            2..=MAX_FILE => format!("All {count} records"),
            _ => format!("The first {MAX_FILE} of {count} records"),
        };
        Self::new(words, ("all", "1"), link)
    }
}

/// The line of a list that shows one record.
struct HitLine {
    link: String,
    title: String,
    author: String,
    year: String,
    availability: String,
    /// The databases that contain the record; empty if the record belongs to this database itself.
    sources: Vec<SourceLink>,
}

impl Section {
    /// Creates the section for the answer from a database.
    pub(super) fn of(
        answer: &DatabaseAnswer,
        (number, target): (usize, &str),
        search: &PageSearch,
    ) -> Self {
        let mut section = Self {
            number,
            has_others: search.targets.len() > 1,
            name: search.catalogues.title(target),
            notes: answer.notes.clone(),
            ..Self::default()
        };
        if let Some(found) = &answer.found {
            section.add_found(found, search);
            section.add_records(answer, target, search);
            if search.is_for_best() {
                section.lead_to_best(answer, target, search);
            } else {
                section.lead_further(found.result.hits, target, search);
            }
        } else if answer.failure.is_none() {
            section.hits = sources::in_words(0);
        }
        section
            .failures
            .extend(answer.failure.iter().map(|error| described(error)));
        section.count = match &answer.found {
            _ if section.has_failed() => "no answer".to_owned(),
            Some(found) if found.result.is_estimate() => format!("about {}", found.result.hits),
            found => found
                .as_ref()
                .map_or(0, |found| found.result.hits)
                .to_string(),
        };
        section.digits = last_digits(section.start, section.lines.len());
        section
    }

    fn add_found(&mut self, found: &Found, search: &PageSearch) {
        let result = &found.result;
        let words = sources::in_words(result.hits);
        self.hits = if result.is_estimate() && result.hits > 0 {
            format!("about {words}")
        } else {
            words
        };
        self.parts = sources::hits(result, &search.parameters, &search.catalogues);
    }

    fn add_records(&mut self, answer: &DatabaseAnswer, target: &str, search: &PageSearch) {
        let (parameters, catalogues) = (&search.parameters, &search.catalogues);
        for (position, record) in &answer.records {
            match record {
                Ok(record) => {
                    let link = parameters.link(target, &[("at", &position.to_string())]);
                    let sources = sources::links(record, target, parameters, catalogues);
                    self.lines.push(HitLine::of(record, link, sources));
                }
                Err(error) => self.failures.push(described(error)),
            }
        }
    }

    /// Adds links to files of the best record.
    fn lead_to_best(&mut self, answer: &DatabaseAnswer, target: &str, search: &PageSearch) {
        if let Some((position, Ok(_))) = answer.records.last() {
            self.start = *position;
            let link = |further: &[(&str, &str)]| search.parameters.link(target, further);
            let place = position.to_string();
            let download = ShownDownload::new("This record".to_owned(), ("at", &place), link);
            self.downloads.push(download);
        }
    }

    /// Adds links to further records and to files.
    fn lead_further(&mut self, count: u64, target: &str, search: &PageSearch) {
        let start = search.parameters.start.unwrap_or(1);
        self.start = start;
        let link = |further: &[(&str, &str)]| search.parameters.link(target, further);
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
            let is_all = count <= PAGE && start == 1;
            if !is_all {
                let words = match self.lines.len() {
                    1 => "This record".to_owned(),
                    shown => format!("These {shown} records"),
                };
                let place = start.to_string();
                let download = ShownDownload::new(words, ("start", &place), link);
                self.downloads.push(download);
            }
            self.downloads.push(ShownDownload::of_all(count, link));
        }
    }

    /// Returns whether the section shows only failures.
    pub(super) fn has_failed(&self) -> bool {
        !self.failures.is_empty() && self.lines.is_empty()
    }
}

/// Returns the number of digits of the last number in a list that begins with `start`.
fn last_digits(start: u64, lines: usize) -> u32 {
    let last = u64::try_from(lines).map_or(start, |lines| start.saturating_add(lines));
    last.saturating_sub(1).checked_ilog10().unwrap_or(0) + 1
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

/// Returns the number of copies that are available now, in words; empty if the record does not state it.
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
