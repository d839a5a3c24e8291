//! Searches: each database in a session of its own, side by side, and a section of the page for each as soon as it has answered.

use std::future::ready;
use std::ops::Range;
use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use futures_util::stream;
use futures_util::{Stream, StreamExt};
use z3950::asn1::oid::{OPAC, XML};
use z3950::{Error, Query, Record, RecordForm, ResultSet};
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{HeaderValue, LOCATION};
use z3950_server::web::{WebBody, WebClient};

use super::answer::{PageAnswer, html, page_of};
use super::asked::PageQuery;
use super::facets::{FacetSource, Narrowing, facets, narrowed};
use super::parameters::Parameters;
use super::session;
use super::{CataloguePage, Failed, SearchForm};
use crate::layout::{PageLayout, with_type};
use crate::text::{clean, described, encoded};

/// Records of a list.
pub(super) const PAGE: u64 = 10;

impl CataloguePage {
    /// Answers `/search`.
    pub(super) async fn search(&self, parameters: Parameters, client: WebClient) -> PageAnswer {
        if parameters.query.is_empty() {
            return self.start(&client);
        }
        let asked = match PageQuery::read(&parameters.query) {
            Ok(PageQuery::Url) => return self.follow(&parameters.query),
            Ok(asked) => asked,
            Err(error) => {
                let words = format!("The query cannot be read: {}", described(&error));
                let page = Failed {
                    layout: &self.layout,
                    title: "Bad Request",
                    words: &words,
                    form: Some(SearchForm::new(&client, &parameters)),
                };
                return html(StatusCode::BAD_REQUEST, &page);
            }
        };
        if let Some(target) = parameters.targets.first()
            && (parameters.at.is_some() || parameters.format.is_some())
        {
            return self.of_one(&parameters, target, &asked, &client).await;
        }
        let form = SearchForm::new(&client, &parameters);
        let targets = form.targets(&parameters);
        let page = Results {
            layout: &self.layout,
            form,
            taken: asked.words(),
            narrowings: shown_narrowings(&parameters),
        };
        let Ok(page) = page.render() else {
            return self.failure(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The page cannot be made.",
            );
        };
        let (head, foot) = page.split_once(MARK).unwrap_or((&page, ""));
        let (head, foot) = (Bytes::from(head.to_owned()), Bytes::from(foot.to_owned()));
        let search = Arc::new((parameters, asked, client));
        let sections = targets.into_iter().map(|target| {
            let search = Arc::clone(&search);
            Box::pin(parts_of(search, target))
        });
        let sections = stream::select_all(sections);
        let parts = stream::once(ready(head))
            .chain(sections)
            .chain(stream::once(ready(foot)));
        page_of(StatusCode::OK, WebBody::parts(parts))
    }

    /// Sends the client to where URLs are followed.
    fn follow(&self, url: &str) -> PageAnswer {
        if self.gateway.is_none() {
            let words = "This server does not follow URLs: it has no gateway.";
            return self.failure(StatusCode::NOT_FOUND, words);
        }
        let mut answer = with_type(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
        let place = HeaderValue::try_from(format!("/get?url={}", encoded(url)));
        match place {
            Ok(place) => {
                answer.headers_mut().insert(LOCATION, place);
                answer
            }
            Err(_) => self.failure(StatusCode::BAD_REQUEST, "The URL cannot be followed."),
        }
    }
}

/// Where the sections of a page go. No text of others has it, because `<` is escaped there.
const MARK: &str = "<!-- sections -->";

/// The parts of a page for a database: its section as soon as it has answered, then its facets.
fn parts_of(
    search: Arc<(Parameters, PageQuery, WebClient)>,
    target: String,
) -> impl Stream<Item = Bytes> + Send {
    let begun = (search, target);
    stream::once(async move {
        let (search, target) = begun;
        let (parameters, asked, client) = &*search;
        let (section, source) = section(parameters, &target, asked, client).await;
        let facets = stream::iter(source).filter_map(move |source| {
            let (search, target) = (Arc::clone(&search), target.clone());
            async move { facets(source, &search.0, &target).await }
        });
        stream::once(ready(section)).chain(facets)
    })
    .flatten()
}

/// What a search found.
pub(super) struct Hits {
    /// Where its facets are.
    pub(super) source: FacetSource,
    count: u64,
    is_estimate: bool,
    /// In order; a failure is in the place of its record.
    pub(super) records: Vec<Result<Record, Error>>,
}

/// Searches a database, and reads some of the records, with holdings if the database has them.
pub(super) async fn hits(
    client: &WebClient,
    target: &str,
    (asked, narrowings): (&PageQuery, &[Narrowing]),
    (start, count): (u64, u64),
    with_holdings: bool,
) -> Result<Option<Hits>, Error> {
    let connection = session::connection(client, target).await?;
    let query = match asked {
        PageQuery::Url => return Ok(None),
        PageQuery::Query(query, _) => (**query).clone(),
        PageQuery::Identifier(identifier) => {
            let name = identifier.kind.name();
            let found = connection
                .lookup(&format!("{name}:{}", identifier.text))
                .await?;
            match found {
                Some(found) => Query::pqf(&found.query)?,
                None => return Ok(None),
            }
        }
    };
    let query = narrowed(query, narrowings);
    let form = |syntax| RecordForm::new(Some(syntax), None);
    let of_opac = with_holdings.then(|| form(OPAC));
    // XML holds what is too long for MARC (ISO 2709).
    let others = [RecordForm::default(), form(XML)];
    let mut hits: Option<Hits> = None;
    for form in of_opac.into_iter().chain(others) {
        let set = connection
            .clone()
            .with_form(form)
            .search(query.clone())
            .await?;
        let end = start.saturating_add(count);
        let end = end.min(set.count().saturating_add(1));
        let mut known = match hits.take() {
            Some(known) => known,
            None => Hits {
                source: FacetSource {
                    connection: connection.clone(),
                    query: query.clone(),
                },
                count: set.count(),
                is_estimate: set.is_estimate(),
                records: Vec::new(),
            },
        };
        known.fill(&set, start..end).await;
        let has_all = known.has_all(end.saturating_sub(start));
        hits = Some(known);
        if has_all {
            break;
        }
    }
    Ok(hits)
}

impl Hits {
    /// Whether there are this many records, and none is a failure.
    fn has_all(&self, wanted: u64) -> bool {
        let count = u64::try_from(self.records.len());
        count.is_ok_and(|count| count >= wanted) && self.records.iter().all(Result::is_ok)
    }

    /// Reads the records at these positions that are failures so far, or missing.
    async fn fill(&mut self, set: &ResultSet, positions: Range<u64>) {
        let known = self.records.iter().take_while(|record| record.is_ok());
        let known = known.count();
        let from = u64::try_from(known).unwrap_or(u64::MAX);
        let from = positions.start.saturating_add(from);
        if from >= positions.end {
            return;
        }
        let mut some = set.range(from..positions.end);
        let mut at = known;
        while let Some(record) = some.next().await {
            match self.records.get_mut(at) {
                Some(Ok(_)) => {}
                Some(failed) => {
                    if record.is_ok() {
                        *failed = record;
                    }
                }
                None => self.records.push(record),
            }
            at += 1;
        }
    }
}

/// A line of a list.
struct HitLine {
    link: String,
    title: String,
    author: String,
    year: String,
    availability: String,
}

/// The section of a database, and where to ask for facets of the records found.
async fn section(
    parameters: &Parameters,
    target: &str,
    asked: &PageQuery,
    client: &WebClient,
) -> (Bytes, Option<FacetSource>) {
    let start = parameters.start.unwrap_or(1);
    let found = hits(
        client,
        target,
        (asked, &parameters.narrowings),
        (start, PAGE),
        true,
    )
    .await;
    let link = |further: &[(&str, &str)]| parameters.link(target, further);
    let mut section = Section {
        name: clean(target),
        ..Section::default()
    };
    match &found {
        Err(error) => section.failure = described(error),
        Ok(None) => section.count = "nothing found".to_owned(),
        Ok(Some(found)) => {
            let count = found.count;
            section.count = match (count, found.is_estimate) {
                (0, _) => "nothing found".to_owned(),
                (1, false) => "1 record".to_owned(),
                (count, false) => format!("{count} records"),
                (count, true) => format!("about {count} records"),
            };
            for (record, position) in found.records.iter().zip(start..) {
                match record {
                    Ok(record) => {
                        let position = position.to_string();
                        let line = HitLine::of(record, link(&[("at", &position)]));
                        section.lines.push(line);
                    }
                    Err(error) => section.failure = described(error),
                }
            }
            let from = start.to_string();
            if start > 1 {
                let before = start.saturating_sub(PAGE).max(1).to_string();
                section.before = link(&[("start", &before)]);
            }
            if start.saturating_add(PAGE) <= count {
                section.after = link(&[("start", &start.saturating_add(PAGE).to_string())]);
            }
            if !section.lines.is_empty() {
                let formats = super::download::FORMATS.iter();
                let downloads = formats.map(|format| {
                    let link = link(&[("start", &from), ("format", format.name)]);
                    (format.title, link)
                });
                section.downloads = downloads.collect();
                section.start = start;
            }
        }
    }
    let section = section.render().unwrap_or_default().into();
    let found = found.ok().flatten().filter(|found| found.count > 1);
    (section, found.map(|found| found.source))
}

impl HitLine {
    fn of(record: &Record, link: String) -> Self {
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

#[derive(Default, Template)]
#[template(path = "section.html")]
struct Section {
    name: String,
    count: String,
    failure: String,
    start: u64,
    lines: Vec<HitLine>,
    before: String,
    after: String,
    downloads: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'a> {
    layout: &'a PageLayout,
    form: SearchForm,
    taken: String,
    narrowings: Vec<ShownNarrowing>,
}

/// A term to which the search is narrowed, and the search without it.
struct ShownNarrowing {
    title: &'static str,
    term: String,
    link: String,
}

fn shown_narrowings(parameters: &Parameters) -> Vec<ShownNarrowing> {
    let narrowings = parameters.narrowings.iter();
    let shown = narrowings.map(|narrowing| ShownNarrowing {
        title: narrowing.field.title,
        term: clean(&narrowing.term),
        link: parameters.widened_link(narrowing),
    });
    shown.collect()
}
