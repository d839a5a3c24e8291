//! A record alone: with labels, its holdings, its URL, and as MARC.

use std::net::{IpAddr, SocketAddr};

use askama::Template;
use z3950::{Error, Record};
use z3950_server::web::WebClient;
use z3950_server::web::http::StatusCode;

use super::CataloguePage;
use super::answer::{PageAnswer, html};
use super::asked::PageQuery;
use super::download::{DownloadFormat, FORMATS};
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
        if found.records.is_empty() {
            return self.failure(StatusCode::NOT_FOUND, "There is no such record.");
        }
        if let Some(format) = &parameters.format {
            return self.download(format, parameters, target, (range.0, &found.records));
        }
        match found.records.first() {
            Some(Ok(record)) => {
                let shown = self.shown(record, parameters, target, client);
                html(StatusCode::OK, &shown)
            }
            Some(Err(error)) => self.failure(StatusCode::BAD_GATEWAY, &described(error)),
            None => self.failure(StatusCode::NOT_FOUND, "There is no such record."),
        }
    }

    /// A file of records, or a page that names those that cannot be in it and leads to a file of the others.
    fn download(
        &self,
        format: &str,
        parameters: &Parameters,
        target: &str,
        (start, records): (u64, &[Result<Record, Error>]),
    ) -> PageAnswer {
        let Some(format) = DownloadFormat::named(format) else {
            let words = "The records cannot be written in this format.";
            return self.failure(StatusCode::NOT_FOUND, words);
        };
        let mut written = Vec::new();
        let mut left_out = Vec::new();
        for (record, position) in records.iter().zip(start..) {
            let (title, result) = match record {
                Ok(record) => (record.title(), format.written(record)),
                Err(error) => (None, Err(described(error))),
            };
            match result {
                Ok(octets) => written.push(octets),
                Err(why) => left_out.push(LeftOutRecord {
                    position,
                    title: clean(&title.unwrap_or_default()),
                    why: clean(&why),
                }),
            }
        }
        let is_complete = left_out.is_empty();
        if is_complete || parameters.may_be_incomplete && !written.is_empty() {
            return format.file(&written, is_complete);
        }
        let place = match parameters.at {
            Some(at) => ("at", at.to_string()),
            None => ("start", start.to_string()),
        };
        let place = (place.0, &*place.1);
        let others = FORMATS.iter().filter(|other| other.name != format.name);
        let page = LeftOut {
            layout: &self.layout,
            format: format.title,
            records: left_out,
            count: records.len(),
            others: (!written.is_empty()).then(|| {
                let further = [place, ("format", format.name), ("incomplete", "1")];
                parameters.link(target, &further)
            }),
            formats: others
                .map(|other| {
                    let link = parameters.link(target, &[place, ("format", other.name)]);
                    (other.title, link)
                })
                .collect(),
            back: parameters.link(target, &[place]),
        };
        html(StatusCode::NOT_FOUND, &page)
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

/// Why there is no file of all records.
#[derive(Template)]
#[template(path = "left-out.html")]
struct LeftOut<'a> {
    layout: &'a PageLayout,
    format: &'static str,
    records: Vec<LeftOutRecord>,
    /// How many records there are in all.
    count: usize,
    /// The file of the others.
    others: Option<String>,
    /// The other formats.
    formats: Vec<(&'static str, String)>,
    back: String,
}

/// A record that a format cannot hold.
struct LeftOutRecord {
    position: u64,
    title: String,
    why: String,
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
