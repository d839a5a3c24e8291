//! A record alone: with labels, its holdings, its URL, and as MARC.

use askama::Template;
use z3950::Record;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use super::CataloguePage;
use super::answer::{PageAnswer, html};
use super::asked::PageQuery;
use super::download::{self, FORMATS};
use super::parameters::Parameters;
use super::search::{PAGE, hits};
use crate::layout::PageLayout;
use crate::shown::ShownRecord;
use crate::text::{clean, described, encoded};

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
        let found = match hits(
            client,
            target,
            (asked, &parameters.narrowings),
            range,
            !is_download,
        )
        .await
        {
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
        let at = parameters.at.unwrap_or(1).to_string();
        let downloads = FORMATS.iter().map(|format| {
            let further = [("at", at.as_str()), ("format", format.name)];
            let link = parameters.link(target, &further);
            (format.title, link)
        });
        let database = record.database().unwrap_or(target);
        let url = url(record, database, client).unwrap_or_default();
        Shown {
            layout: &self.layout,
            database: clean(database),
            record: ShownRecord::of(record, url, downloads.collect()),
            back: {
                let start = (parameters.at.unwrap_or(1) - 1) / PAGE * PAGE + 1;
                parameters.link(target, &[("start", &start.to_string())])
            },
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

#[derive(Template)]
#[template(path = "record.html")]
struct Shown<'a> {
    layout: &'a PageLayout,
    database: String,
    record: ShownRecord,
    back: String,
}
