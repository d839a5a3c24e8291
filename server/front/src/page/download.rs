//! Downloads of a record, of a list, or of everything found in one or several databases. If some records cannot be written to the
//! file, a page that lists them is shown first.

use std::pin::pin;

use askama::Template;
use futures_util::StreamExt;
use z3950::{Error, Record, RecordForm};
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{CONTENT_DISPOSITION, HeaderValue};

use super::hits::PageSearch;
use super::parameters::Parameters;
use super::record::status_of;
use super::sources;
use super::{CataloguePage, MAX_FILE, PAGE, PageAnswer};
use crate::files::{FORMATS, FileFormat, file_name};
use crate::layout::{PageLayout, html, with_type};
use crate::text::{clean, described};

/// The number of records that are retrieved at a time.
const STEP: u64 = 100;
/// The maximum number of octets in a file of several records.
const MAX_OCTETS: usize = 16 << 20;
/// The maximum number of records that the page lists because they cannot be written to the file.
const MAX_LEFT_OUT: usize = 100;

impl CataloguePage {
    /// Returns a file of records. If some records cannot be written to the file, returns a page that lists them, with a link to a
    /// file of the remaining records.
    pub(super) async fn download(&self, search: &PageSearch) -> PageAnswer {
        let parameters = &search.parameters;
        let fail = |status, words: &str| self.problem(status, words, &search.web, parameters);
        let format = parameters.format.as_deref();
        let Some(format) = format.and_then(FileFormat::named) else {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            let words = format!(
                "Records cannot be written in this format; the formats are {}.",
                names.join(", ")
            );
            return fail(StatusCode::NOT_FOUND, &words);
        };
        let mut file = RecordFile::new(format);
        let targets = &search.targets;
        // To choose the best record, all databases are read together. A file of all records contains one database after the
        // other, so the databases are read one at a time.
        let together = if search.is_for_best() {
            targets.len().max(1)
        } else {
            1
        };
        for databases in targets.chunks(together) {
            file.read(databases, search).await;
        }
        if let (1, 0, Some(error)) = (targets.len(), file.count, &file.failed) {
            return fail(status_of(error), &described(error));
        }
        if file.count == 0 && file.left_out.is_empty() {
            let words = match parameters.at {
                Some(_) => "There is no such record.",
                None => "Nothing was found.",
            };
            return fail(StatusCode::NOT_FOUND, words);
        }
        let is_complete = file.left_out.is_empty();
        if is_complete || parameters.may_be_incomplete && !file.written.is_empty() {
            file.answer(is_complete)
        } else {
            self.left_out(file, parameters, targets)
        }
    }

    fn left_out(
        &self,
        file: RecordFile,
        parameters: &Parameters,
        targets: &[String],
    ) -> PageAnswer {
        let format = file.format;
        let link = |further: &[(&str, &str)]| match targets {
            [target] => parameters.link(target, further),
            _ => parameters.whole_link(further),
        };
        let start = parameters.start.unwrap_or(1);
        let place = match (parameters.at, parameters.has_all) {
            (Some(at), _) => ("at", at.to_string()),
            (None, true) => ("all", "1".to_owned()),
            (None, false) => ("start", start.to_string()),
        };
        let place = (place.0, &*place.1);
        let back = match place.0 {
            "all" => link(&[]),
            _ => link(&[place]),
        };
        let others: Vec<_> = match parameters.at {
            Some(_) => FileFormat::of_one_record().collect(),
            None => FORMATS.iter().map(|other| (other, other.title)).collect(),
        };
        let is_other =
            |(other, _): &(&FileFormat, _)| file.has_other_form && other.name != format.name;
        let others = others.into_iter().filter(is_other);
        let page = LeftOut {
            layout: &self.layout,
            format: format.title,
            count: file.count,
            others: (!file.written.is_empty())
                .then(|| link(&[place, ("format", format.name), ("incomplete", "1")])),
            formats: others
                .map(|(other, title)| (title, link(&[place, ("format", other.name)])))
                .collect(),
            back,
            records: file.left_out,
        };
        let status = file.failed.as_ref().map(status_of);
        html(status.unwrap_or(StatusCode::NOT_FOUND), &page)
    }
}

/// A file to which records are added.
struct RecordFile {
    format: &'static FileFormat,
    written: Vec<Vec<u8>>,
    /// The total number of octets of the records in the file.
    octets: usize,
    left_out: Vec<LeftOutRecord>,
    /// The number of records processed so far, both written to the file and left out.
    count: u64,
    /// The first error that occurred while records were retrieved.
    failed: Option<Error>,
    /// Whether any of the records left out can be written to a file of another format.
    has_other_form: bool,
    /// The file name for a record that was requested alone; `None` for several records.
    alone: Option<String>,
}

impl RecordFile {
    fn new(format: &'static FileFormat) -> Self {
        Self {
            format,
            written: Vec::new(),
            octets: 0,
            left_out: Vec::new(),
            count: 0,
            failed: None,
            has_other_form: false,
            alone: None,
        }
    }

    /// Adds the records of the databases that the parameters select.
    async fn read(&mut self, databases: &[String], search: &PageSearch) {
        let parameters = &search.parameters;
        let room = MAX_FILE.saturating_sub(self.count);
        let (start, most) = match (parameters.at, parameters.has_all) {
            (Some(at), _) => (at, 1),
            (None, true) => (1, room),
            (None, false) => (parameters.start.unwrap_or(1), PAGE.min(room)),
        };
        if most == 0 {
            return;
        }
        let title = |target: usize| {
            let name = databases.get(target).map_or("", String::as_str);
            search.catalogues.title(name)
        };
        let end = start.saturating_add(most);
        let mut start = start;
        while start < end && self.octets <= MAX_OCTETS {
            let step = STEP.min(end - start);
            let form = RecordForm::default();
            let mut answers = pin!(search.answers_in(databases, (start, step), form));
            start += step;
            let mut has_more = false;
            while let Some((target, answer)) = answers.next().await {
                has_more |= answer.hits() >= start && !answer.records.is_empty();
                for (position, record) in answer.records {
                    let place = format!("Record {position} of {}", title(target));
                    self.put(record, place, parameters.at.is_some());
                }
                if let Some(error) = answer.failure {
                    self.leave_out(title(target), String::new(), described(&error));
                    self.failed.get_or_insert(error);
                    has_more = false;
                }
            }
            if !has_more || search.is_for_best() {
                break;
            }
        }
    }

    fn put(&mut self, record: Result<Record, Error>, place: String, is_alone: bool) {
        self.count += 1;
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                self.leave_out(place, String::new(), described(&error));
                self.failed.get_or_insert(error);
                return;
            }
        };
        let source = sources::names(&record).join(" | ");
        let octets = if is_alone {
            self.format.alone(&record, &source)
        } else {
            self.format.written(&record, &source)
        };
        let why = match octets {
            Ok(octets) if self.octets.saturating_add(octets.len()) <= MAX_OCTETS => {
                self.octets += octets.len();
                self.written.push(octets);
                self.alone = is_alone.then(|| name_of(&record, self.format.extension));
                return;
            }
            Ok(_) => format!("a file has at most {} MiB", MAX_OCTETS >> 20),
            Err(why) => {
                self.has_other_form = true;
                why
            }
        };
        self.leave_out(place, clean(&record.title().unwrap_or_default()), why);
    }

    fn leave_out(&mut self, place: String, title: String, why: String) {
        if self.left_out.len() < MAX_LEFT_OUT {
            let why = clean(&why);
            self.left_out.push(LeftOutRecord { place, title, why });
        }
    }

    /// Returns the file as an HTTP answer. The name of an incomplete file contains `incomplete`.
    fn answer(self, is_complete: bool) -> PageAnswer {
        let octets = match self.alone {
            Some(_) => self.written.concat(),
            None => self.format.file(&self.written),
        };
        let mut answer = with_type(StatusCode::OK, self.format.media_type, octets);
        let part = if is_complete { "" } else { "-incomplete" };
        let of_several = || format!("records{part}.{}", self.format.extension);
        let name = self.alone.unwrap_or_else(of_several);
        let name = format!("attachment; filename=\"{name}\"");
        if let Ok(name) = HeaderValue::try_from(name) {
            answer.headers_mut().insert(CONTENT_DISPOSITION, name);
        }
        answer
    }
}

/// Returns the name of a file with a single record.
fn name_of(record: &Record, extension: &str) -> String {
    let marc = record.marc();
    let number = marc.as_ref().and_then(|marc| marc.control_number());
    file_name(number.unwrap_or_default().trim_ascii(), extension)
}

/// The template of the page that explains why records are left out of a file.
#[derive(Template)]
#[template(path = "left-out.html")]
struct LeftOut<'a> {
    layout: &'a PageLayout,
    format: &'static str,
    records: Vec<LeftOutRecord>,
    /// The number of records that were to be written.
    count: u64,
    /// The link to a file of the remaining records; `None` if no records remain.
    others: Option<String>,
    /// The names and links of the other formats.
    formats: Vec<(&'static str, String)>,
    back: String,
}

/// A record that cannot be written to the file, or a database whose records could not be retrieved.
struct LeftOutRecord {
    place: String,
    title: String,
    why: String,
}
