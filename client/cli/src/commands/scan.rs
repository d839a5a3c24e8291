//! `z3950 scan`: the terms of an index around a given one (Z39.50-2003 §3.2.8.1).

use z3950::retrieve::OutcomeName;
use z3950::service::scan::{ScanOptions, ScanResult};
use z3950::service::search::SearchOptions;
use z3950_asn1::apdu::{
    AttributesPlusTerm, Entry, Operand, Query, RpnQuery, RpnStructure, Term, TermInfo,
};
use z3950_marc::charset::Charset;

use crate::args::Scan;
use crate::commands::query;
use crate::commands::target::{Place, Reach, Unanswered};
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::shown;

pub(crate) async fn run(arguments: &Scan, output: &mut Output) -> Result<Exit, Failure> {
    let Some(query) = query::asked(&arguments.term, &arguments.language, output)? else {
        return Ok(Exit::Usage);
    };
    let RpnStructure::Op(Operand::AttributesPlusTerm(_)) = &query.rpn else {
        output.error(
            "scan takes one term, without operators and result sets; quote a term of several words: '\"war and peace\"'",
        );
        return Ok(Exit::Usage);
    };
    let set = match &arguments.set {
        None => None,
        Some(text) => match query::asked(text, &arguments.language, output)? {
            Some(query) => Some(query),
            None => return Ok(Exit::Usage),
        },
    };
    let reach = Reach::new(&arguments.connection).await?;
    let Some(place) = reach.place(&arguments.target, &arguments.databases, output) else {
        return Ok(Exit::Usage);
    };
    let envelope = Envelope::of(&place, &["query", "position", "term", "is_start"])
        .with("query", query.to_string());
    let work = async {
        let query = place.adapted(&query)?;
        let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = query.rpn else {
            return Err(Unanswered::Query("a scan begins at one term".into()));
        };
        let mut options = options(arguments, &place);
        options.attribute_set = Some(query.attribute_set);
        let set = set.as_ref().map(|query| place.adapted(query)).transpose()?;
        scan(&reach, &place, start, options, set).await
    };
    match Interrupt.or(work).await {
        Err(Stopped(exit)) => Ok(exit),
        Ok(Ok(result)) => show(arguments, &place, &envelope, &result, output),
        Ok(Err(failure)) => {
            let (exit, words) = failure.explain();
            match arguments.json {
                true => envelope.failed(&failure).write(output)?,
                false => output.error(&format!("{place}: {words}")),
            }
            Ok(exit)
        }
    }
}

fn options(arguments: &Scan, place: &Place) -> ScanOptions {
    let mut options = ScanOptions::default();
    options.databases = place.resolved.databases.clone();
    options.step_size = arguments.step;
    options.number_of_terms = arguments.size;
    options.preferred_position = Some(arguments.position);
    options
}

/// Scans; with a query in the records that it finds.
async fn scan(
    reach: &Reach,
    place: &Place,
    start: AttributesPlusTerm,
    mut options: ScanOptions,
    set: Option<RpnQuery>,
) -> Result<ScanResult, Unanswered> {
    let session = reach.session(place).await?;
    if let Some(query) = set {
        let mut search = SearchOptions::default();
        search.databases = options.databases.clone();
        session.search(Query::Type1(query), &search).await?;
        options = options.in_result_set(search.result_set);
    }
    let result = session.scan(start, &options).await?;
    // What ended otherwise need not be closed.
    let _ = session.close().await;
    Ok(result)
}

/// A line for each term: how many records have it, and the term; `*` stands before the one asked for, or the one after
/// its place.
fn show(
    arguments: &Scan,
    place: &Place,
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
                let term = text(info, place.resolved.profile.query_charset);
                let hits = info.global_occurrences;
                match arguments.json {
                    true => envelope
                        .with("outcome", OutcomeName::Delivered.as_str())
                        .with("term", term)
                        .with("hits", hits)
                        .write(output)?,
                    false => {
                        let mark = if is_start { '*' } else { ' ' };
                        let hits = hits.map_or_else(|| "-".to_owned(), |hits| hits.to_string());
                        output.line(&format!("{mark}{hits:>8}  {term}"))?;
                    }
                }
                Exit::Delivered
            }
            Entry::SurrogateDiagnostic(diagnostic) => {
                let words = format!("term {position}: {diagnostic}");
                match arguments.json {
                    true => envelope
                        .outcome(OutcomeName::RecordRefused, &words)
                        .diagnosed(std::slice::from_ref(diagnostic))
                        .write(output)?,
                    false => output.error(&format!("{place}: {words}")),
                }
                Exit::Refused
            }
        };
        exit = match exit {
            Exit::NoMatch => one,
            exit => exit.and(one),
        };
    }
    if result.entries.is_empty() {
        match arguments.json {
            true => envelope
                .clone()
                .outcome(OutcomeName::NoMatch, "the index has no terms there")
                .write(output)?,
            false => output.error(&format!("{place}: the index has no terms there")),
        }
    }
    Ok(exit)
}

/// A term as it is meant to be shown, on one line.
fn text(info: &TermInfo, charset: Option<Charset>) -> String {
    let decoded = |octets: &[u8]| match charset {
        Some(charset) => shown(charset.decode(octets).text.as_bytes()),
        None => shown(octets),
    };
    match (&info.display_term, &info.term) {
        (Some(term), _) => decoded(term.as_bytes()),
        (None, Term::General(term)) => decoded(term.as_bytes()),
        (None, Term::CharacterString(term)) => decoded(term.as_bytes()),
        (None, Term::Numeric(number)) => number.to_string(),
        (None, other) => shown(format!("{other:?}").as_bytes()),
    }
}
