//! The page of a single record, which shows the record with labels and as MARC, its holdings, and its URL.

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;

use askama::Template;
use futures_util::StreamExt;
use z3950::{Error, Record};
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use super::hits::PageSearch;
use super::sources::{self, SourceLink};
use super::{CataloguePage, PAGE, PageAnswer};
use crate::files::FileFormat;
use crate::layout::{PageLayout, html};
use crate::shown::ShownRecord;
use crate::text::{described, encoded};

impl CataloguePage {
    /// Answers a request to `/search` for a single record, at the position `at` in the only database searched.
    pub(super) async fn record(&self, search: &PageSearch, at: u64) -> PageAnswer {
        let fail =
            |status, words: &str| self.problem(status, words, &search.web, &search.parameters);
        let mut answers = pin!(search.answers(at, 1));
        let (_, answer) = answers.next().await.unwrap_or_default();
        let count = answer.hits();
        let target = search.targets.first().map_or("", String::as_str);
        let record = answer.records.into_iter().next();
        match (record, answer.failure) {
            (Some((_, Ok(record))), _) => {
                let shown = self.shown(&record, (target, (at, count)), search);
                html(StatusCode::OK, &shown)
            }
            (Some((_, Err(error))), _) | (None, Some(error)) => {
                fail(status_of(&error), &described(&error))
            }
            (None, None) if count == 0 => fail(StatusCode::NOT_FOUND, "Nothing was found."),
            (None, None) => {
                let words = format!(
                    "There is no record {at} in {}: it has {count}.",
                    search.catalogues.title(target),
                );
                fail(StatusCode::NOT_FOUND, &words)
            }
        }
    }

    fn shown<'a>(
        &'a self,
        record: &Record,
        (target, (at, count)): (&str, (u64, u64)),
        search: &PageSearch,
    ) -> Shown<'a> {
        let PageSearch {
            parameters,
            catalogues,
            web,
            ..
        } = search;
        let at_text = at.to_string();
        let downloads = FileFormat::of_one_record().map(|(format, title)| {
            let further = [("at", at_text.as_str()), ("format", format.name)];
            (title, parameters.link(target, &further))
        });
        let is_whole = is_same_everywhere(record);
        let database = if is_whole {
            target
        } else {
            record.database().unwrap_or(target)
        };
        let (host, _) = web.authority();
        let port = plain_port(web, &self.plain);
        let url = port.and_then(|port| url(record, database, (host, port)));
        let url_source = if record.sources().is_empty() || is_whole {
            String::new()
        } else {
            catalogues.short_title(database)
        };
        let title = |name: &str| catalogues.short_title(name);
        let neighbour = |at: u64| parameters.link(target, &[("at", &at.to_string())]);
        Shown {
            layout: &self.layout,
            database: catalogues.title(target),
            sources: sources::links(record, target, parameters, catalogues),
            position: format!("{at} of {count}"),
            before: (at > 1).then(|| neighbour(at - 1)),
            after: (at < count).then(|| neighbour(at + 1)),
            record: ShownRecord::of(
                record,
                url.unwrap_or_default(),
                downloads.collect(),
                &title,
                Some(&|query| parameters.new_search_link(query)),
            )
            .with_url(url_source, self.gateway.is_some()),
            back: match (at - 1) / PAGE * PAGE + 1 {
                1 => parameters.whole_link(&[]),
                start => parameters.link(target, &[("start", &start.to_string())]),
            },
        }
    }
}

/// Returns whether a record is merged from records with the same control number, so that a URL of the complete database leads to
/// all of them.
fn is_same_everywhere(record: &Record) -> bool {
    let marc = record.marc();
    let own = marc
        .as_ref()
        .and_then(|marc| marc.control_number())
        .map(|number| number.trim_ascii());
    let mut sources = record.sources().iter();
    let is_same = sources.all(|one| one.id.as_ref().map(|id| id.as_bytes()) == own);
    !record.sources().is_empty() && own.is_some() && is_same
}

/// Returns the HTTP status for a failure of the server that has the records: 504 if it cannot be reached, 502 otherwise.
pub(super) fn status_of(error: &Error) -> StatusCode {
    let is_gone = error.diagnostics().iter().any(|one| match one {
        DiagRec::DefaultFormat(one) => one.condition == Condition::DATABASE_UNAVAILABLE.0,
        DiagRec::ExternallyDefined(_) => false,
    });
    if is_gone {
        StatusCode::GATEWAY_TIMEOUT
    } else {
        StatusCode::BAD_GATEWAY
    }
}

/// Returns the `z39.50r` URL of a record (RFC 2056 §4), with this host and port.
fn url(record: &Record, database: &str, (host, port): (&str, u16)) -> Option<String> {
    let marc = record.marc()?;
    let number = marc.control_number()?.trim_ascii();
    let (database, number) = (encoded(database), encoded(number));
    (!number.is_empty()).then(|| format!("z39.50r://{host}:{port}/{database}?{number}"))
}

/// Returns the port for `z39.50r` URLs: the port of the request or, over TLS, the port of a listener without TLS on the same
/// host.
fn plain_port(client: &WebClient, plain: &[SocketAddr]) -> Option<u16> {
    let (host, port) = client.authority();
    if client.is_encrypted() {
        port_at(host, plain)
    } else {
        Some(port.unwrap_or(80))
    }
}

/// Returns the port of the first listener on this host.
fn port_at(host: &str, listeners: &[SocketAddr]) -> Option<u16> {
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    let is_there = |listener: &&SocketAddr| {
        let own = listener.ip();
        let is_local = host.eq_ignore_ascii_case("localhost") && own.is_loopback();
        own.is_unspecified() || Some(own) == address || is_local
    };
    listeners.iter().find(is_there).map(SocketAddr::port)
}

#[derive(Template)]
#[template(path = "record.html")]
struct Shown<'a> {
    layout: &'a PageLayout,
    database: String,
    /// The databases that contain the record; empty if the record belongs to this database itself.
    sources: Vec<SourceLink>,
    position: String,
    before: Option<String>,
    after: Option<String>,
    record: ShownRecord,
    back: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lead_to_a_listener_of_the_same_host() {
        let listeners = ["127.0.0.1:2100", "[::1]:2101", "192.0.2.1:2102"];
        let mut listeners: Vec<SocketAddr> =
            listeners.map(|one| one.parse().expect("an address")).into();
        for (host, expected) in [
            ("127.0.0.1", Some(2100)),
            ("LocalHost", Some(2100)),
            ("[::1]", Some(2101)),
            ("192.0.2.1", Some(2102)),
            ("192.0.2.2", None),
            ("lib.example", None),
        ] {
            assert_eq!(port_at(host, &listeners), expected, "{host}");
        }
        listeners.push("0.0.0.0:210".parse().expect("an address"));
        assert_eq!(port_at("lib.example", &listeners), Some(210));
    }
}
