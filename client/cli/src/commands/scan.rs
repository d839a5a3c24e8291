//! `z3950 scan`: lists the terms around a given term in an index (Z39.50-2003 §3.2.8.1).

use std::ffi::OsString;

use clap::Args;
use z3950::Error;
use z3950::retrieve::OutcomeName;
use z3950::service::scan::{ScanOptions, ScanResult, cql_clause};
use z3950::service::search::SearchOptions;
use z3950_asn1::apdu::{
    AttributesPlusTerm, Entry, Operand, Query, RpnQuery, RpnStructure, Term, TermInfo,
};
use z3950_asn1::query::cql::{self, Node};
use z3950_marc::charset::Charset;

use crate::answer::Envelope;
use crate::commands::complete;
use crate::commands::query::{self, AskedQuery, QueryLanguage};
use crate::commands::target::{NamedTarget, Service, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{shown, term};

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The term to start from: ti:war, or PQF if it begins with @.
    #[arg(value_name = "TERM", allow_hyphen_values = true, add = complete::index())]
    term: OsString,

    #[command(flatten)]
    language: QueryLanguage,

    /// The database to use, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME", hide_short_help = true, add = complete::database())]
    databases: Vec<String>,

    /// How many terms to request.
    #[arg(short = 'n', long, aliases = ["size", "limit"], value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    /// The position of the given term in the list; 1 is first.
    #[arg(long, value_name = "POSITION", default_value_t = 1)]
    position: u64,

    /// Count only records that also match this query, in the language of the term; supported by servers from Index
    /// Data.
    #[arg(
        long,
        value_name = "QUERY",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    set: Option<OsString>,

    /// How many terms to skip between two listed ones.
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    step: Option<u64>,

    /// Print one JSON object per term.
    #[arg(long)]
    json: bool,
}

impl Service for Arguments {
    const NAME: &'static str = "scan";
    const SUMMARY: &'static str = "list the terms of an index around a given one; without a term, the ones that follow the last list. Options are those of z3950 scan";

    fn databases(&self) -> &[String] {
        &self.databases
    }

    fn check(&self) -> Result<(), Failure> {
        query::check(&self.language, [&self.term].into_iter().chain(&self.set))
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let read = |text| query::asked(text, &self.language, &reach.dialects, output);
        let cql = if place.resolved.endpoint.is_sru() {
            query::as_cql(&self.term, &self.language, &reach.dialects)?
        } else {
            None
        };
        let start = match cql {
            Some(text) => AskedQuery::Cql(text),
            None => AskedQuery::Rpn(read(&self.term)?),
        };
        let is_one_term = match &start {
            AskedQuery::Rpn(query) => {
                matches!(&query.rpn, RpnStructure::Op(Operand::AttributesPlusTerm(_)))
            }
            AskedQuery::Cql(text) => cql::parse(text).is_ok_and(|query| {
                query.sort.is_empty() && !matches!(query.query, Node::Boolean(_))
            }),
        };
        if !is_one_term {
            let words = "scan takes one term, without operators and result sets; quote a term of several words: '\"war and peace\"'";
            return Err(Failure::Usage(words.into()));
        }
        let set = self.set.as_deref().map(read).transpose()?;
        let envelope = envelope(place, start.to_string());
        match self.scan(&start, set.as_ref(), reach, place).await {
            Ok(result) => show(self.json, place, &envelope, &result, output),
            Err(failure) => failure.answer().report(self.json, envelope, place, output),
        }
    }
}

impl Arguments {
    /// Requests the terms. If the query `set` is given, only the records that match it are counted.
    async fn scan(
        &self,
        start: &AskedQuery,
        set: Option<&RpnQuery>,
        reach: &TargetClient,
        place: &NamedTarget,
    ) -> Result<ScanResult, Unanswered> {
        let TermList { start, mut options } = match start {
            AskedQuery::Cql(text) => TermList {
                start: cql_clause(text),
                options: ScanOptions::default(),
            },
            AskedQuery::Rpn(query) => TermList::around(place.adapted(query)?)?,
        };
        options.databases = place.resolved.databases.clone();
        options.step_size = self.step;
        options.number_of_terms = self.count;
        options.preferred_position = Some(self.position);
        let set = set.map(|query| place.adapted(query)).transpose()?;
        let session = reach.session(place).await?;
        if let Some(query) = set {
            let mut search = SearchOptions::default();
            search.databases = options.databases.clone();
            reach.note_search();
            session.search(Query::Type1(query), &search).await?;
            options = options.in_result_set(search.result_set);
        }
        let result = session.scan(start, &options).await?;
        reach.leave(session).await;
        Ok(result)
    }
}

/// A section of a term list, to be requested from a server.
#[derive(Debug, Clone)]
pub(crate) struct TermList {
    pub(crate) start: AttributesPlusTerm,
    pub(crate) options: ScanOptions,
}

impl TermList {
    /// Creates a request for the terms around the term of a query.
    ///
    /// # Errors
    /// [`Error::NotOneTerm`] if the query does not consist of one term.
    pub(crate) fn around(query: RpnQuery) -> Result<Self, Error> {
        let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = query.rpn else {
            return Err(Error::NotOneTerm);
        };
        let mut options = ScanOptions::default();
        options.attribute_set = Some(query.attribute_set);
        Ok(Self { start, options })
    }
}

/// Returns the JSON object that the objects of all terms extend.
pub(crate) fn envelope(place: &NamedTarget, query: String) -> Envelope {
    Envelope::of(place, &["query", "position", "term", "is_start"]).with("query", query)
}

/// Writes a line for each term, with the number of records that contain it. `*` marks the requested term or, if the
/// index does not contain it, the term after it.
pub(crate) fn show(
    json: bool,
    place: &NamedTarget,
    envelope: &Envelope,
    result: &ScanResult,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if !result.diagnostics.is_empty() {
        output.note(&format!("{place}: {}", result.diagnostics));
    }
    let mut exit = Exit::NoMatch;
    for (position, entry) in (1_i64..).zip(&result.entries) {
        let is_start = result.position_of_term == Some(position);
        let envelope = envelope
            .clone()
            .with("position", position)
            .with("is_start", is_start);
        let one = match entry {
            Entry::TermInfo(info) => {
                let text = text(info, place.resolved.profile.query_charset);
                let hits = info.global_occurrences;
                if json {
                    envelope
                        .with("outcome", OutcomeName::Delivered.as_str())
                        .with("term", text)
                        .with("hits", hits)
                        .write(output)?;
                } else {
                    let mark = if is_start { '*' } else { ' ' };
                    let hits = hits.map_or_else(|| "-".to_owned(), |hits| hits.to_string());
                    output.line(&format!("{mark}{hits:>8}  {text}"))?;
                }
                Exit::Delivered
            }
            Entry::SurrogateDiagnostic(diagnostic) => {
                let words = format!("term {position}: {diagnostic}");
                let envelope = envelope.outcome(OutcomeName::RecordRefused, &words);
                let envelope = envelope.diagnosed(std::slice::from_ref(diagnostic));
                envelope.or_error(json, &format!("{place}: {words}"), output)?;
                Exit::Refused
            }
        };
        exit = match exit {
            Exit::NoMatch => one,
            exit => exit.and(one),
        };
    }
    if result.entries.is_empty() {
        let words = "the index has no terms there";
        let envelope = envelope.clone().outcome(OutcomeName::NoMatch, words);
        envelope.or_error(json, &format!("{place}: {words}"), output)?;
    }
    Ok(exit)
}

/// Returns the text to display for a term, on one line.
fn text(info: &TermInfo, charset: Option<Charset>) -> String {
    let decoded = |octets: &[u8]| match charset {
        Some(charset) => shown(charset.decode(octets).text.as_bytes()),
        None => shown(octets),
    };
    match (&info.display_term, &info.term) {
        (Some(text), _) => decoded(text.as_bytes()),
        (None, Term::General(text)) => decoded(text.as_bytes()),
        (None, Term::CharacterString(text)) => decoded(text.as_bytes()),
        (None, other) => term(other),
    }
}
