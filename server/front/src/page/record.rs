//! A record alone: with labels, its holdings, its URL, and as MARC.

use askama::Template;
use z3950::Record;
use z3950::asn1::record::holdings::Holding;
use z3950::marc::crosswalk::sutrs::sutrs_text;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use super::CataloguePage;
use super::answer::{PageAnswer, html};
use super::asked::PageQuery;
use super::download::{self, FORMATS};
use super::parameters::Parameters;
use super::search::{PAGE, hits};
use super::text::{VALUE, clean, cut, described, encoded};

impl CataloguePage {
    /// Answers `/search` for one record, or for a download.
    pub(super) async fn of_one(
        &self,
        parameters: &Parameters,
        target: &str,
        asked: &PageQuery,
        client: &WebClient,
    ) -> PageAnswer {
        let range = match parameters.at {
            Some(at) => (at, 1),
            None => (parameters.start.unwrap_or(1), PAGE),
        };
        let is_download = parameters.format.is_some();
        let found = match hits(client, target, asked, range, !is_download).await {
            Ok(Some(found)) => found,
            Ok(None) => return self.failure(StatusCode::NOT_FOUND, "Nothing was found."),
            Err(error) => return self.failure(StatusCode::BAD_GATEWAY, &described(&error)),
        };
        let records = found.records.into_iter().collect::<Result<Vec<_>, _>>();
        let records = match records {
            Ok(records) if records.is_empty() => {
                return self.failure(StatusCode::NOT_FOUND, "There is no such record.");
            }
            Ok(records) => records,
            Err(error) => return self.failure(StatusCode::BAD_GATEWAY, &described(&error)),
        };
        if let Some(format) = &parameters.format {
            return match download::of(format, &records) {
                Some(answer) => answer,
                None => {
                    let words = "The records cannot be written in this format.";
                    self.failure(StatusCode::NOT_FOUND, words)
                }
            };
        }
        match records.first() {
            Some(record) => {
                let shown = self.shown(record, parameters, target, client);
                html(StatusCode::OK, &shown)
            }
            None => self.failure(StatusCode::NOT_FOUND, "There is no such record."),
        }
    }

    fn shown<'a>(
        &'a self,
        record: &Record,
        parameters: &Parameters,
        target: &str,
        client: &WebClient,
    ) -> Shown<'a> {
        let marc = record.marc();
        let labelled = marc.as_ref().map(sutrs_text).unwrap_or_default();
        let rows = labelled.lines().filter_map(|line| line.split_once(": "));
        let at = parameters.at.unwrap_or(1).to_string();
        let downloads = FORMATS.iter().map(|format| {
            let further = [("at", at.as_str()), ("format", format.name)];
            let link = Parameters::link(&parameters.query, target, &further);
            (format.title, link)
        });
        let database = record.database().unwrap_or(target);
        Shown {
            page: self,
            title: clean(record.title().as_deref().unwrap_or("[no title]")),
            database: clean(database),
            rows: rows
                .map(|(label, value)| (label.to_owned(), cut(value, VALUE)))
                .collect(),
            holdings: record.holdings().iter().map(ShownCopy::of).collect(),
            url: url(record, database, client).unwrap_or_default(),
            text: cut(&record.text(), 10 * VALUE),
            back: {
                let start = (parameters.at.unwrap_or(1) - 1) / PAGE * PAGE + 1;
                Parameters::link(&parameters.query, target, &[("start", &start.to_string())])
            },
            downloads: downloads.collect(),
        }
    }
}

/// The `z39.50r` URL of a record (RFC 2056 §4). One of a listener with TLS cannot be written.
fn url(record: &Record, database: &str, client: &WebClient) -> Option<String> {
    let marc = record.marc()?;
    let number = marc.control_number()?.trim_ascii();
    let (host, port) = client.authority();
    let port = port.unwrap_or(80);
    let is_known = !number.is_empty() && !client.is_encrypted();
    is_known.then(|| {
        let (database, number) = (encoded(database), encoded(number));
        format!("z39.50r://{host}:{port}/{database}?{number}")
    })
}

/// A copy as it is shown.
struct ShownCopy {
    place: String,
    call_number: String,
    status: String,
}

impl ShownCopy {
    fn of(holding: &Holding) -> Self {
        let joined = |parts: &[&Option<String>]| {
            let parts = parts.iter().filter_map(|part| part.as_deref());
            clean(&parts.collect::<Vec<_>>().join(", "))
        };
        let available = match holding.available {
            Some(true) => Some("available".to_owned()),
            Some(false) => Some("not available".to_owned()),
            None => None,
        };
        let due = holding.due.as_ref().map(|due| format!("due {due}"));
        Self {
            place: joined(&[
                &holding.library,
                &holding.location,
                &holding.shelving_location,
                &holding.temporary_location,
            ]),
            call_number: joined(&[&holding.call_number, &holding.volume, &holding.copy]),
            status: joined(&[
                &available,
                &due,
                &holding.status,
                &holding.restrictions,
                &holding.note,
            ]),
        }
    }
}

#[derive(Template)]
#[template(path = "record.html")]
struct Shown<'a> {
    page: &'a CataloguePage,
    title: String,
    database: String,
    rows: Vec<(String, String)>,
    holdings: Vec<ShownCopy>,
    url: String,
    text: String,
    back: String,
    downloads: Vec<(&'static str, String)>,
}
