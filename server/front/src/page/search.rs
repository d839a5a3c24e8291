//! The results of a search. All databases are searched at once, and the page gets a section for each database as soon as it has
//! answered.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use z3950_server::web::http::StatusCode;
use z3950_server::web::{WebBody, WebClient};

use super::asked::{PageQuery, is_url};
use super::facets::facets;
use super::hits::{DatabaseAnswer, PageSearch};
use super::order::ListOrder;
use super::parameters::Parameters;
use super::section::{Section, ShownDownload};
use super::{CataloguePage, PAGE, PageAnswer, sources, suggestion};
use crate::choices::SearchForm;
use crate::layout::{PageLayout, page_of, rendered};
use crate::text::{clean, described};

impl CataloguePage {
    /// Answers a request to `/search` with the form, a redirect, a download, a record, or a list of results.
    pub(super) async fn search(&self, parameters: Parameters, client: WebClient) -> PageAnswer {
        if parameters.query.is_empty() || parameters.ticks.is_some() {
            return self.start(&client, &parameters);
        }
        if is_url(&parameters.query) {
            return self.follow(&client, &parameters);
        }
        let bad = |words: &str| self.problem(StatusCode::BAD_REQUEST, words, &client, &parameters);
        let asked = match PageQuery::read(&parameters.query) {
            Ok(asked) => asked,
            Err(error) => {
                return bad(&format!("The query cannot be read: {error}"));
            }
        };
        let form = self.form(&client, &parameters);
        let is_list = parameters.at.is_none() && parameters.format.is_none();
        let targets = match parameters.only() {
            Some(name) if !is_list || parameters.within.is_some() => vec![name.to_owned()],
            _ => form.targets(&parameters.targets),
        };
        if parameters.at.is_some() && targets.len() != 1 {
            return bad("Several databases have a record at this position: in=NAME says which.");
        }
        let search = PageSearch::new(parameters.clone(), asked, targets, client.clone());
        let search = match search.await {
            Ok(search) => search,
            Err(error) => return bad(&described(&error)),
        };
        if parameters.format.is_some() {
            self.download(&search).await
        } else if let Some(at) = parameters.at {
            self.record(&search, at).await
        } else {
            self.list(search, form)
        }
    }

    /// Returns the page, whose sections are sent as the databases answer.
    fn list(&self, search: PageSearch, mut form: SearchForm) -> PageAnswer {
        let parameters = &search.parameters;
        form.is_folded = true;
        let sections = (1..).zip(&search.targets);
        let page = Results {
            layout: &self.layout,
            title: clean(&parameters.query),
            form,
            taken: search.asked.words(),
            lacks_best: parameters.has_best && !search.is_for_best(),
            narrowings: shown_narrowings(parameters),
            orders: if search.is_for_best() {
                Vec::new()
            } else {
                shown_orders(&search)
            },
            sections: sections
                .map(|(number, name)| (number, search.catalogues.title(name)))
                .collect(),
            others: match parameters.within {
                Some(_) if parameters.targets.len() != 1 => parameters.whole_link(&[]),
                _ => String::new(),
            },
        };
        let page = rendered(&page);
        let (head, foot) = page.split_once(MARK).unwrap_or((&page, ""));
        let (head, foot) = (head.to_owned(), foot.to_owned());
        let answers = search.answers(parameters.start.unwrap_or(1), PAGE);
        let search = Arc::new(search);
        let of_answer = Arc::clone(&search);
        let pieces = answers.flat_map_unordered(None, move |(index, answer)| {
            Box::pin(pieces_of(Arc::clone(&of_answer), index, answer))
        });
        let pieces = pieces.map(Some).chain(stream::once(ready(None)));
        let mut gathered = Gathered::default();
        let time = self.suggestion_time;
        let body = pieces.then(move |piece| {
            let text = match piece {
                Some(piece) => Ok(gathered.take(piece)),
                None => Err((std::mem::take(&mut gathered), foot.clone())),
            };
            let search = Arc::clone(&search);
            async move {
                match text {
                    Ok(text) => text,
                    Err((gathered, foot)) => gathered.rest(&search, time).await + &foot,
                }
            }
        });
        let parts = stream::once(ready(head))
            .chain(body)
            .filter(|part| ready(!part.is_empty()));
        page_of(StatusCode::OK, WebBody::parts(parts.map(Bytes::from)))
    }
}

/// The mark in a rendered page that is replaced by the sections. Escaped text cannot contain the mark, because `<` is escaped.
const MARK: &str = "<!-- sections -->";

/// A piece of the page that belongs to one database.
enum PagePiece {
    /// The section of the database, its number of hits, and whether it shows only failures.
    Section {
        text: String,
        hits: u64,
        has_failed: bool,
    },
    /// The facets of the database.
    Facets { number: usize, text: String },
}

/// Returns the pieces for a database that has answered: its section, then its facets.
fn pieces_of(
    search: Arc<PageSearch>,
    index: usize,
    answer: DatabaseAnswer,
) -> impl Stream<Item = PagePiece> + Send {
    let number = index + 1;
    let target = search.targets.get(index).map_or("", String::as_str);
    let section = Section::of(&answer, (number, target), &search);
    let hits = answer.hits();
    let piece = PagePiece::Section {
        text: rendered(&section),
        hits,
        has_failed: section.has_failed(),
    };
    let has_facets = hits > 1 && !search.is_for_best();
    let source = stream::iter(has_facets.then_some(search));
    let of_facets = source.filter_map(move |search| async move {
        let text = facets(&search, index).await?;
        Some(PagePiece::Facets { number, text })
    });
    stream::once(ready(piece)).chain(of_facets)
}

/// The pieces that are held back until the end of the page, and the totals of all sections.
#[derive(Default)]
struct Gathered {
    facets: BTreeMap<usize, String>,
    /// The number of sections that show only failures.
    failures: usize,
    /// The number of sections that have records.
    full: usize,
    hits: u64,
}

impl Gathered {
    /// Adds a piece; returns the text to send now, which is empty for a piece that is held back.
    fn take(&mut self, piece: PagePiece) -> String {
        match piece {
            PagePiece::Section {
                text,
                hits,
                has_failed,
            } => {
                self.full += usize::from(hits > 0);
                self.hits = self.hits.saturating_add(hits);
                self.failures += usize::from(has_failed);
                text
            }
            PagePiece::Facets { number, text } => {
                self.facets.insert(number, text);
                String::new()
            }
        }
    }

    /// Returns the end of the page: facets, and remarks on all sections together. `time` is the maximum time for a suggestion.
    async fn rest(self, search: &PageSearch, time: Duration) -> String {
        let parameters = &search.parameters;
        let link = |meant: String| (parameters.link_of_query(&meant), clean(&meant));
        let mut hints = Vec::new();
        let mut suggestion = None;
        if self.hits == 0 {
            hints = search.asked.hints(&parameters.query);
            suggestion = suggestion::suggested(search, time).await.map(link);
        }
        let is_whole = parameters.within.is_none() && !search.is_for_best();
        let whole = (self.full > 1 && is_whole)
            .then(|| ShownDownload::of_all(self.hits, |further| parameters.whole_link(further)));
        let hints = hints.into_iter();
        let end = ResultsEnd {
            has_total: search.targets.len() > 1,
            total: match (self.hits, self.full) {
                (_, 0) => String::new(),
                (hits, 1) => format!("{} in one database", sources::in_words(hits)),
                (hits, full) => format!("{hits} records in {full} databases"),
            },
            suggestion,
            hints: hints
                .map(|(words, meant)| (clean(&words), meant.map(link)))
                .collect(),
            failures: self.failures,
            downloads: whole.into_iter().collect(),
            name: "all databases",
        };
        let facets = self.facets.into_values();
        facets.chain([rendered(&end)]).collect()
    }
}

#[derive(Template)]
#[template(path = "results.html")]
struct Results<'a> {
    layout: &'a PageLayout,
    /// The query as shown in the title of the page.
    title: String,
    form: SearchForm,
    taken: String,
    /// Whether all records are shown although only the best one was requested.
    lacks_best: bool,
    narrowings: Vec<ShownNarrowing>,
    /// The orders in which the records can be listed, with links; the current order has no link.
    orders: Vec<(&'static str, String)>,
    /// The numbers and titles of the sections.
    sections: Vec<(usize, String)>,
    /// The link to the same search in all databases; empty if the search is in all of them already.
    others: String,
}

/// The template of the remarks on all sections together.
#[derive(Template)]
#[template(path = "end.html")]
struct ResultsEnd {
    /// Whether the page shows a total, because several databases were searched.
    has_total: bool,
    /// The number of records in all databases; empty if nothing was found.
    total: String,
    /// A suggested search that finds something, as a link and its text.
    suggestion: Option<(String, String)>,
    /// The hints; a hint may have a corrected search, as a link and its text.
    hints: Vec<(String, Option<(String, String)>)>,
    /// The number of databases that have not answered.
    failures: usize,
    downloads: Vec<ShownDownload>,
    /// The name of the searched databases in the menu of downloads.
    name: &'static str,
}

/// A term that narrows the search, with a link to the search without it.
struct ShownNarrowing {
    title: &'static str,
    term: String,
    link: String,
}

/// Returns the orders in which at least one database of the search can sort a list, with links; the current order has no link.
fn shown_orders(search: &PageSearch) -> Vec<(&'static str, String)> {
    let parameters = &search.parameters;
    let catalogues = &search.catalogues;
    let offered = |order: &ListOrder| {
        parameters.sort == Some(*order) || catalogues.sorts(&search.targets, order.use_value())
    };
    let offered: Vec<ListOrder> = ListOrder::ALL.into_iter().filter(offered).collect();
    if offered.is_empty() {
        return Vec::new();
    }
    let orders = std::iter::once(None).chain(offered.into_iter().map(Some));
    let shown = orders.map(|order| {
        let title = order.map_or("database order", ListOrder::title);
        let link = match order {
            order if order == parameters.sort => String::new(),
            order => parameters.sorted_link(order),
        };
        (title, link)
    });
    shown.collect()
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
