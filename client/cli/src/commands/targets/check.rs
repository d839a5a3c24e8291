//! `z3950 targets check`: checks whether targets can be searched.

use std::cell::Cell;
use std::pin::pin;

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use z3950::Query;
use z3950::error::{Diagnostics, Error};
use z3950::retrieve::OutcomeName;
use z3950::service::init::ServerInfo;
use z3950::service::search::SearchOptions;
use z3950::session::Session;
use z3950_asn1::apdu::{self, InitializeResponse};

use super::EachTarget;
use crate::answer::Envelope;
use crate::batch::Tally;
use crate::commands::connection::{ConnectionOptions, may_prompt};
use crate::commands::target::{NamedTarget, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::text_of;

/// The number of targets that are checked at the same time.
const CHECKS: usize = 8;

pub(super) async fn check(
    arguments: &EachTarget<ConnectionOptions>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let reach = TargetClient::new(&arguments.options).await?;
    let places = arguments.targets.iter();
    let places: Vec<_> = places.map(|text| reach.place(text, &[], output)).collect();
    let (count, waiting) = (places.len(), output.waiting());
    let done = Cell::new(0);
    let mut known = places.iter().flatten();
    // Two password commands must not prompt at the same time.
    let at_once = if known.any(|place| may_prompt(&place.resolved.profile)) {
        1
    } else {
        CHECKS
    };
    let checks = stream::iter(places).map(|place| {
        let (reach, done, waiting) = (&reach, &done, &waiting);
        async move {
            let place = place?;
            let answer = server(reach, &place).await;
            done.set(done.get() + 1);
            waiting.says(Some(format!("{} of {count} targets checked", done.get())));
            Ok::<_, Failure>((place, answer))
        }
    });
    let mut checks = pin!(checks.buffered(at_once));
    let mut tally = Tally::default();
    let checked = Interrupt.exit(async {
        while let Some(check) = checks.next().await {
            let (exit, outcome) = match check {
                Ok((place, found)) => answer(arguments.json, &place, &found, output)?,
                Err(failure) => {
                    output.error(&failure.to_string());
                    (Exit::Usage, OutcomeName::NotSent)
                }
            };
            tally.add(exit, outcome);
        }
        Ok::<_, Failure>(tally.exits().fold(Exit::Delivered, Exit::and))
    });
    let exit = waiting.during(checked).await?;
    if count > 1 {
        let done = if tally.total() == u64::try_from(count).unwrap_or(u64::MAX) {
            String::new()
        } else {
            format!("{} of ", tally.total())
        };
        output.note(&format!("{done}{count} targets: {tally}"));
    }
    Ok(exit)
}

/// Checks one target, and writes the result.
pub(super) async fn try_out(
    reach: &TargetClient,
    place: &NamedTarget,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let waiting = output.waiting();
    let checked = Interrupt.or(server(reach, place));
    match waiting.during(checked).await {
        Ok(found) => answer(false, place, &found, output).map(|(exit, _)| exit),
        Err(Stopped(exit)) => Ok(exit),
    }
}

/// Opens a session, searches, and closes the session. Returns the information about the server from Init.
async fn server(reach: &TargetClient, place: &NamedTarget) -> Result<ServerInfo, Unanswered> {
    let session = reach.session(place).await?;
    let server = session.server_info().clone();
    let searched = search(&session, place).await;
    // An error only means that the session has already ended.
    let _ = session.close().await;
    searched?;
    Ok(server)
}

/// A title that is unlikely to occur in any record.
const NO_TITLE: &str = "qzxjqv";

/// Searches the databases. Init does not name databases, so only a search shows that a database does not exist (Bib-1
/// diagnostics 109 and 235). Refusals of the query itself are ignored.
async fn search(session: &Session, place: &NamedTarget) -> Result<(), Error> {
    sleep(place.resolved.profile.pause.unwrap_or_default()).await;
    let query = place.adapted(Query::title(NO_TITLE).as_rpn())?;
    let mut options = SearchOptions::default();
    options.databases.clone_from(&place.resolved.databases);
    options.takes_unknown_count = true;
    match session.search(apdu::Query::Type1(query), &options).await {
        Err(Error::Refused { diagnostics, .. }) if is_of_query(&diagnostics) => Ok(()),
        searched => searched.map(drop),
    }
}

/// Returns whether all diagnostics are about the query itself.
fn is_of_query(diagnostics: &Diagnostics) -> bool {
    let condition = diagnostics.condition();
    condition.is_some_and(|code| matches!(code, 3 | 108 | 113..=126 | 247 | 1024 | 1056))
}

/// Writes the result of a check, and returns its exit code and outcome.
fn answer(
    json: bool,
    place: &NamedTarget,
    found: &Result<ServerInfo, Unanswered>,
    output: &mut Output,
) -> Result<(Exit, OutcomeName), Failure> {
    let envelope = Envelope::of(place, &["implementation"]);
    match found {
        Ok(server) => {
            let InitializeResponse {
                implementation_name: name,
                implementation_version: version,
                ..
            } = &server.response;
            let words: Vec<String> = [name, version].into_iter().flatten().map(text_of).collect();
            let name = words.join(" ");
            if json {
                envelope
                    .with("outcome", OutcomeName::Ok.as_str())
                    .with("implementation", name)
                    .write(output)?;
            } else if place.resolved.endpoint.is_sru() {
                // SRU does not have Init, so the protocol version is unknown.
                output.line(&format!("{place}: ok, {name}"))?;
            } else {
                output.line(&format!("{place}: ok, version {}, {name}", server.version))?
            }
            Ok((Exit::Delivered, OutcomeName::Ok))
        }
        Err(failure) => {
            let answer = failure.answer();
            let outcome = answer.ending.outcome;
            Ok((answer.report(json, envelope, place, output)?, outcome))
        }
    }
}
