//! A record alone: with labels, its holdings, its URL, and as MARC.

use std::net::{IpAddr, SocketAddr};

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
        let (host, _) = client.authority();
        let port = plain_port(client, &self.plain);
        let url = port.and_then(|port| url(record, database, (host, port)));
        Shown {
            layout: &self.layout,
            database: clean(database),
            record: ShownRecord::of(record, url.unwrap_or_default(), downloads.collect()),
            back: {
                let start = (parameters.at.unwrap_or(1) - 1) / PAGE * PAGE + 1;
                parameters.link(target, &[("start", &start.to_string())])
            },
        }
    }
}

/// The `z39.50r` URL of a record (RFC 2056 §4) at this host and port.
fn url(record: &Record, database: &str, (host, port): (&str, u16)) -> Option<String> {
    let marc = record.marc()?;
    let number = marc.control_number()?.trim_ascii();
    let (database, number) = (encoded(database), encoded(number));
    (!number.is_empty()).then(|| format!("z39.50r://{host}:{port}/{database}?{number}"))
}

/// The port where `z39.50r` URLs lead: the one of the request, or that of a listener without TLS which has the same host.
fn plain_port(client: &WebClient, plain: &[SocketAddr]) -> Option<u16> {
    let (host, port) = client.authority();
    match client.is_encrypted() {
        false => Some(port.unwrap_or(80)),
        true => port_at(host, plain),
    }
}

/// The port of the first of these listeners that has the host.
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
