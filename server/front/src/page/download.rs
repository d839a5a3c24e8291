//! Downloads: of a record, of a list, or of all that was found in one database or several; or a page that names the records that
//! cannot be in the file.

use askama::Template;
use z3950::{Error, Record};
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{CONTENT_DISPOSITION, HeaderValue};

use super::CataloguePage;
use super::answer::{PageAnswer, html};
use super::asked::PageQuery;
use super::hits::hits;
use super::parameters::Parameters;
use super::record::status_of;
use super::search::{MAX_FILE, PAGE};
use super::sources;
use crate::choices::Catalogues;
use crate::files::{FORMATS, FileFormat, file_name};
use crate::layout::{PageLayout, with_type};
use crate::text::{clean, described};

/// Octets of a file of several records.
const MAX_OCTETS: usize = 16 << 20;
/// Records that are read at a time.
const STEP: u64 = 100;
/// Records that cannot be in a file, as far as they are named.
const MAX_LEFT_OUT: usize = 100;

impl CataloguePage {
    /// A file of records, or a page that names those that cannot be in it and leads to a file of the others.
    pub(super) async fn download(
        &self,
        parameters: &Parameters,
        targets: &[String],
        asked: &PageQuery,
        client: &WebClient,
    ) -> PageAnswer {
        let fail = |status, words: &str| self.problem(status, words, client, parameters);
        let format = parameters.format.as_deref();
        let Some(format) = format.and_then(FileFormat::named) else {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            let words = format!(
                "Records cannot be written in this format; the formats are {}.",
                names.join(", ")
            );
            return fail(StatusCode::NOT_FOUND, &words);
        };
        if parameters.at.is_some() && targets.len() > 1 {
            let words = "Several databases have a record at this position: in=NAME says which.";
            return fail(StatusCode::BAD_REQUEST, words);
        }
        let mut file = RecordFile {
            format,
            catalogues: Catalogues::of(client),
            written: Vec::new(),
            octets: 0,
            left_out: Vec::new(),
            count: 0,
            failed: None,
            has_other_form: false,
            alone: None,
        };
        for target in targets {
            let read = file.read(target, parameters, asked, client).await;
            if let Err(error) = read {
                if targets.len() == 1 {
                    return fail(status_of(&error), &described(&error));
                }
                file.failed.get_or_insert(status_of(&error));
                let place = file.catalogues.title(target);
                file.leave_out(place, String::new(), described(&error));
            }
        }
        if file.count == 0 && file.left_out.is_empty() {
            let words = match parameters.at {
                Some(_) => "There is no such record.",
                None => "Nothing was found.",
            };
            return fail(StatusCode::NOT_FOUND, words);
        }
        let is_complete = file.left_out.is_empty();
        match is_complete || parameters.may_be_incomplete && !file.written.is_empty() {
            true => file.answer(is_complete),
            false => self.left_out(file, parameters, targets),
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
        let others = FORMATS.iter();
        let others = others.filter(|other| file.has_other_form && other.name != format.name);
        let page = LeftOut {
            layout: &self.layout,
            format: format.title,
            count: file.count,
            others: (!file.written.is_empty())
                .then(|| link(&[place, ("format", format.name), ("incomplete", "1")])),
            formats: others
                .map(|other| (other.title, link(&[place, ("format", other.name)])))
                .collect(),
            back,
            records: file.left_out,
        };
        html(file.failed.unwrap_or(StatusCode::NOT_FOUND), &page)
    }
}

/// A file that is being written.
struct RecordFile {
    format: &'static FileFormat,
    catalogues: Catalogues,
    written: Vec<Vec<u8>>,
    /// Of those written.
    octets: usize,
    left_out: Vec<LeftOutRecord>,
    /// How many records there are, written or left out.
    count: u64,
    /// The status that tells of the first failure at a server that has the records.
    failed: Option<StatusCode>,
    /// Whether another format helps one of those left out.
    has_other_form: bool,
    /// The name of a file of one record that was asked for alone.
    alone: Option<String>,
}

impl RecordFile {
    /// Reads the records of a database that the parameters name.
    ///
    /// # Errors
    /// Why it has no answer.
    async fn read(
        &mut self,
        target: &str,
        parameters: &Parameters,
        asked: &PageQuery,
        client: &WebClient,
    ) -> Result<(), Error> {
        let room = MAX_FILE.saturating_sub(self.count);
        let (mut start, most) = match (parameters.at, parameters.has_all) {
            (Some(at), _) => (at, 1),
            (None, true) => (1, room),
            (None, false) => (parameters.start.unwrap_or(1), PAGE.min(room)),
        };
        let end = start.saturating_add(most);
        while start < end && self.octets <= MAX_OCTETS {
            let query = (asked, &*parameters.narrowings);
            let range = (start, STEP.min(end - start));
            let Some(found) = hits(client, target, query, range, false).await? else {
                break;
            };
            for (record, position) in found.records.iter().zip(start..) {
                self.put(record, (target, position), parameters.at.is_some());
            }
            let came = u64::try_from(found.records.len()).unwrap_or(u64::MAX);
            start = start.saturating_add(came);
            if came == 0 || start > found.count {
                break;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        record: &Result<Record, Error>,
        (target, position): (&str, u64),
        is_alone: bool,
    ) {
        self.count += 1;
        let (title, result) = match record {
            Ok(record) => {
                let source = sources::names(record).join(" | ");
                let octets = match is_alone {
                    true => self.format.alone(record, &source),
                    false => self.format.written(record, &source),
                };
                self.has_other_form |= octets.is_err();
                (record.title(), octets)
            }
            Err(error) => {
                self.failed.get_or_insert(status_of(error));
                (None, Err(described(error)))
            }
        };
        let result = match result {
            Ok(octets) if self.octets.saturating_add(octets.len()) > MAX_OCTETS => {
                Err(format!("a file has at most {} MiB", MAX_OCTETS >> 20))
            }
            result => result,
        };
        match result {
            Ok(octets) => {
                self.octets += octets.len();
                self.written.push(octets);
                let record = record.as_ref().ok().filter(|_| is_alone);
                self.alone = record.map(|record| name_of(record, self.format.extension));
            }
            Err(why) => {
                let place = format!("Record {position} of {}", self.catalogues.title(target));
                self.leave_out(place, clean(&title.unwrap_or_default()), why);
            }
        }
    }

    fn leave_out(&mut self, place: String, title: String, why: String) {
        if self.left_out.len() < MAX_LEFT_OUT {
            let why = clean(&why);
            self.left_out.push(LeftOutRecord { place, title, why });
        }
    }

    /// The file. The name of one that is not complete says so.
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

/// The name of a file of one record.
fn name_of(record: &Record, extension: &str) -> String {
    let marc = record.marc();
    let number = marc.as_ref().and_then(|marc| marc.control_number());
    file_name(number.unwrap_or_default().trim_ascii(), extension)
}

/// Why there is no file of all records.
#[derive(Template)]
#[template(path = "left-out.html")]
struct LeftOut<'a> {
    layout: &'a PageLayout,
    format: &'static str,
    records: Vec<LeftOutRecord>,
    /// How many records there are in all.
    count: u64,
    /// The file of the others.
    others: Option<String>,
    /// The other formats.
    formats: Vec<(&'static str, String)>,
    back: String,
}

/// A record that a format cannot hold, or the records of a database that has no answer.
struct LeftOutRecord {
    place: String,
    title: String,
    why: String,
}
