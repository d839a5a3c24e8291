//! Searches: each database in a session of its own, side by side, and a section of the page for each as soon as it has answered.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use futures_util::stream;
use futures_util::{Stream, StreamExt};
use z3950_server::web::http::StatusCode;
use z3950_server::web::{WebBody, WebClient};

use super::CataloguePage;
use super::answer::{PageAnswer, page_of};
use super::asked::PageQuery;
use super::facets::facets;
use super::hits::hits;
use super::parameters::Parameters;
use super::section::{Section, WholeDownload};
use crate::choices::{Catalogues, SearchForm};
use crate::layout::PageLayout;
use crate::text::{clean, described};

/// Records of a list.
pub(super) const PAGE: u64 = 10;
/// Records of a file of all records.
pub(super) const MAX_FILE: u64 = 1000;

impl CataloguePage {
    /// Answers `/search`.
    pub(super) async fn search(&self, parameters: Parameters, client: WebClient) -> PageAnswer {
        if parameters.query.is_empty() || parameters.ticks.is_some() {
            return self.start(&client, &parameters);
        }
        let bad = |words: &str| self.problem(StatusCode::BAD_REQUEST, words, &client, &parameters);
        let asked = match PageQuery::read(&parameters.query) {
            Ok(PageQuery::Url) => return self.follow(&client, &parameters),
            Ok(asked) => asked,
            Err(error) => {
                return bad(&format!("The query cannot be read: {}", described(&error)));
            }
        };
        let form = self.form(&client, &parameters);
        let is_list = parameters.at.is_none() && parameters.format.is_none();
        let targets = match parameters.only() {
            Some(name) if !is_list || parameters.within.is_some() => vec![name.to_owned()],
            _ => form.targets(&parameters.targets),
        };
        if parameters.format.is_some() {
            return self.download(&parameters, &targets, &asked, &client).await;
        }
        if parameters.at.is_some() {
            return match &*targets {
                [target] => self.record(&parameters, target, &asked, &client).await,
                _ => bad("Several databases have a record at this position: in=NAME says which."),
            };
        }
        let catalogues = Catalogues::of(&client);
        let sections = (1..).zip(&targets);
        let page = Results {
            layout: &self.layout,
            form,
            taken: asked.words(),
            narrowings: shown_narrowings(&parameters),
            sections: sections
                .map(|(number, name)| (number, catalogues.title(name)))
                .collect(),
            others: match parameters.within {
                Some(_) if parameters.targets.len() != 1 => parameters.whole_link(&[]),
                _ => String::new(),
            },
        };
        let Ok(page) = page.render() else {
            return self.failure(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The page cannot be made.",
            );
        };
        let (head, foot) = page.split_once(MARK).unwrap_or((&page, ""));
        let (head, foot) = (head.to_owned(), foot.to_owned());
        let search = Arc::new(PageSearch {
            parameters,
            asked,
            client,
            catalogues,
        });
        let pieces = (1..).zip(targets).map(|place| {
            let search = Arc::clone(&search);
            Box::pin(pieces_of(search, place))
        });
        let pieces = stream::select_all(pieces).map(Some);
        let pieces = pieces.chain(stream::once(ready(None)));
        let mut gathered = Gathered::default();
        let body = pieces.map(move |piece| match piece {
            Some(piece) => gathered.take(piece),
            None => gathered.rest(&search) + &foot,
        });
        let parts = stream::once(ready(head)).chain(body);
        let parts = parts.filter(|part| ready(!part.is_empty()));
        page_of(StatusCode::OK, WebBody::parts(parts.map(Bytes::from)))
    }
}

/// Where the sections of a page go. No text of others has it, because `<` is escaped there.
const MARK: &str = "<!-- sections -->";

/// A search of the page.
struct PageSearch {
    parameters: Parameters,
    asked: PageQuery,
    client: WebClient,
    catalogues: Catalogues,
}

/// What is known of a database.
enum PagePiece {
    /// Its section, the number of its records, and whether there is only a failure.
    Section {
        number: usize,
        text: String,
        hits: u64,
        has_failed: bool,
    },
    /// Its facets.
    Facets { number: usize, text: String },
}

/// The pieces of a database: its section as soon as it has answered, then its facets.
fn pieces_of(
    search: Arc<PageSearch>,
    (number, target): (usize, String),
) -> impl Stream<Item = PagePiece> + Send {
    let begun = (search, target);
    stream::once(async move {
        let (search, target) = begun;
        let PageSearch {
            parameters,
            asked,
            client,
            catalogues,
        } = &*search;
        let start = parameters.start.unwrap_or(1);
        let query = (asked, &*parameters.narrowings);
        let found = hits(client, &target, query, (start, PAGE), true).await;
        let section = Section::of(&found, (number, &target), parameters, catalogues);
        let found = found.ok().flatten();
        let section = PagePiece::Section {
            number,
            text: section.render().unwrap_or_default(),
            hits: found.as_ref().map_or(0, |found| found.count),
            has_failed: section.has_failed(),
        };
        let source = found.filter(|found| found.count > 1);
        let source = source.map(|found| found.source);
        let facets = stream::iter(source).filter_map(move |source| {
            let (search, target) = (Arc::clone(&search), target.clone());
            async move {
                let PageSearch {
                    parameters,
                    catalogues,
                    ..
                } = &*search;
                let text = facets(source, parameters, &target, catalogues).await?;
                Some(PagePiece::Facets { number, text })
            }
        });
        stream::once(ready(section)).chain(facets)
    })
    .flatten()
}

/// What has come so far, and is shown at the end.
#[derive(Default)]
struct Gathered {
    failures: BTreeMap<usize, String>,
    facets: BTreeMap<usize, String>,
    sections: usize,
    /// Sections with records.
    full: usize,
    hits: u64,
}

impl Gathered {
    /// What is shown now.
    fn take(&mut self, piece: PagePiece) -> String {
        match piece {
            PagePiece::Section {
                number,
                text,
                hits,
                has_failed,
            } => {
                self.sections += 1;
                self.full += usize::from(hits > 0);
                self.hits = self.hits.saturating_add(hits);
                if !has_failed {
                    return text;
                }
                self.failures.insert(number, text);
            }
            PagePiece::Facets { number, text } => {
                self.facets.insert(number, text);
            }
        }
        String::new()
    }

    /// What is shown at the end: failures, facets, and what is said of all sections together.
    fn rest(&mut self, search: &PageSearch) -> String {
        let parameters = &search.parameters;
        let hints = match self.hits {
            0 => search.asked.hints(&parameters.query),
            _ => Vec::new(),
        };
        let hints = hints.into_iter().map(|(words, meant)| {
            let link = meant.map(|meant| (parameters.link_of_query(&meant), clean(&meant)));
            (clean(&words), link)
        });
        let end = ResultsEnd {
            total: match self.full {
                0 | 1 => String::new(),
                full => format!("{} records in {full} databases", self.hits),
            },
            hints: hints.collect(),
            failures: self.failures.len(),
            whole: (self.full > 1 && parameters.within.is_none())
                .then(|| WholeDownload::of(self.hits, |further| parameters.whole_link(further))),
        };
        let failures = std::mem::take(&mut self.failures).into_values();
        let facets = std::mem::take(&mut self.facets).into_values();
        let end = end.render().unwrap_or_default();
        failures.chain(facets).chain([end]).collect()
    }
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'a> {
    layout: &'a PageLayout,
    form: SearchForm,
    taken: String,
    narrowings: Vec<ShownNarrowing>,
    /// The numbers and titles of the sections.
    sections: Vec<(usize, String)>,
    /// The same search in all databases, if this is of one of them.
    others: String,
}

/// What is said of all sections together.
#[derive(Template)]
#[template(path = "end.html")]
struct ResultsEnd {
    total: String,
    /// Each with a search that may have been meant, as a link and a text.
    hints: Vec<(String, Option<(String, String)>)>,
    failures: usize,
    whole: Option<WholeDownload>,
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
