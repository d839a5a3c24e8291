//! Checks of result sets: their names, how they are replaced, and how long they exist (Z39.50-2003 §3.1.6, §3.2.2.1.3).

use z3950_asn1::apdu::{Options, PresentRequest, PresentResponse, ResultSetStatus, SearchResponse};

use crate::server::answers::{Reaction, Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::DEFAULT;
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const NAMES: &str = "Z39.50-2003 §3.2.2.1.3";

pub(super) const CHECKS: &[Check] = checks! {
    "set.default" Shall NAMES:
        "Every server has the result set default."
        => default_set;
    "set.named" Shall NAMES:
        "Two named result sets exist side by side, if names were granted."
        => two_sets;
    "set.named.not-granted" Should "Z39.50 clarification Support for Named Result Sets":
        "If names were not granted, a name is refused with 22 or by close, or the set is made."
        => not_granted;
    "set.replace.on" Shall NAMES:
        "With replaceIndicator on, a search replaces the set of its name."
        => replaced;
    "set.replace.off" Shall NAMES:
        "With replaceIndicator off, a search whose set exists is refused with a diagnostic."
        => kept;
    "set.replace.off.code" Should "Bib-1 diagnostic 21":
        "With replaceIndicator off, a search whose set exists is refused with 21."
        => kept_with_code;
    "set.replace.off.unchanged" Shall NAMES:
        "A search that is refused because its set exists leaves the set as it was."
        => unchanged;
    "set.replace.off.new" Shall NAMES:
        "With replaceIndicator off, a search with a new name succeeds."
        => new_name;
    "set.replace.failed" Should NAMES:
        "After a search that failed with resultSetStatus none, the set of its name has no records."
        => failed;
    "set.unknown" Shall "Z39.50-2003 §3.2.3":
        "A Present of a result set that does not exist is refused with a diagnostic."
        => unknown;
    "set.unknown.code" Should "Bib-1 diagnostic 30":
        "A Present of a result set that does not exist is refused with 30."
        => unknown_with_code;
    "set.before-search" Shall "Z39.50-2003 §3.2.3":
        "A Present before any search is refused with a diagnostic."
        => before_search;
    "set.empty" Shall "Z39.50 clarification Zero Results":
        "A Present of a set without records is refused with a diagnostic."
        => empty;
    "set.next-session" Shall "Z39.50-2003 §3.1.6":
        "A result set ends with its session."
        => next_session;
    "set.name.long" Practice NAMES:
        "A set with a name of 200 octets is made, or refused with a diagnostic."
        => odd_name(&[b's'; 200]);
    "set.name.odd" Practice NAMES:
        "A set with a name of blanks and other characters is made, or refused with a diagnostic."
        => odd_name("a set/\u{e9}%*".as_bytes());
    "set.name.digits" Practice "practice: many clients number their sets":
        "A set with the name 1 is made and presented."
        => odd_name(b"1");
    "set.name.empty" Practice NAMES:
        "A set without a name is made, or refused with a diagnostic."
        => odd_name(b"");
    "set.name.case" Practice NAMES:
        "Sets whose names differ in case are two sets, or one: never another's records."
        => case_of_names;
    "set.many" Practice "practice: clients keep the sets of a session":
        "Of thirty sets, each has its records, or is refused with a diagnostic."
        => many;
    "set.default.again" Shall NAMES:
        "A second search replaces the default set."
        => default_again;
};

async fn search_into(trial: &mut Trial, name: &str, good: bool) -> Checked<SearchResponse> {
    let query = if good {
        trial.query()?
    } else {
        trial.query_without_hits()?
    };
    let mut search = trial.search(query);
    search.result_set_name = name.into();
    trial.ask(search).await
}

fn first_of(trial: &Trial, name: &[u8]) -> PresentRequest {
    PresentRequest {
        result_set_id: name.into(),
        ..trial.present(1, 1)
    }
}

async fn first(trial: &mut Trial, name: &str) -> Checked<PresentResponse> {
    trial.ask(first_of(trial, name.as_bytes())).await
}

/// Opens a session in which named result sets are granted. Ends the check if they are not.
async fn with_names(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::NAMED_RESULT_SETS)?;
    trial.query_with(1).map(drop)
}

/// Creates a result set that the check needs. Ends the check if this fails.
async fn given_set(trial: &mut Trial, name: &str) -> Checked {
    let made = search_into(trial, name, true).await.given()?;
    if made.search_status && made.result_count > 0 {
        Ok(())
    } else {
        Err(Verdict::not_judged("the set could not be made"))
    }
}

async fn default_set(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    first(trial, DEFAULT).await?.has_records(1)
}

async fn two_sets(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    given_set(trial, "judge-a").await?;
    let other = search_into(trial, "judge-b", false).await?;
    other.reaction()?;
    first(trial, "judge-a").await?.has_records(1)
}

async fn not_granted(trial: &mut Trial) -> Checked {
    let mut init = trial.base_init();
    init.options = Options::SEARCH.union(Options::PRESENT);
    trial.session_with(init).await?;
    if trial.granted.contains(Options::NAMED_RESULT_SETS) {
        return Err(Verdict::not_judged("names are granted"));
    }
    trial.query_with(1)?;
    let mut search = trial.good_search()?;
    search.result_set_name = "judge-c".into();
    let Some(response) = trial.ask_or_end(search).await? else {
        return Ok(());
    };
    match response.reaction()? {
        Reaction::Refused(_) => response.refused_with(&[22, 128]),
        Reaction::Accepted => first(trial, "judge-c").await?.has_records(1),
    }
}

async fn replaced(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    let empty = search_into(trial, "judge-d", false).await.given()?;
    if !empty.search_status {
        return Err(Verdict::not_judged("a search without hits fails"));
    }
    let full = search_into(trial, "judge-d", true).await?;
    want(full.search_status, "a successful search", || full.summary())?;
    first(trial, "judge-d").await?.has_records(1)
}

/// Runs a search with the name of an existing result set, without permission to replace the set.
async fn into_existing(trial: &mut Trial) -> Checked<SearchResponse> {
    with_names(trial).await?;
    given_set(trial, "judge-e").await?;
    let mut search = trial.search(trial.query_without_hits()?);
    search.result_set_name = "judge-e".into();
    search.replace_indicator = false;
    trial.ask(search).await
}

async fn kept(trial: &mut Trial) -> Checked {
    into_existing(trial).await?.refused()
}

async fn kept_with_code(trial: &mut Trial) -> Checked {
    into_existing(trial).await?.refused_with(&[21])
}

async fn unchanged(trial: &mut Trial) -> Checked {
    let response = into_existing(trial).await?;
    if response.search_status {
        return Err(Verdict::not_judged("the search was carried out"));
    }
    first(trial, "judge-e").await?.has_records(1)
}

async fn new_name(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    let mut search = trial.good_search()?;
    search.result_set_name = "judge-f".into();
    search.replace_indicator = false;
    let response = trial.ask(search).await?;
    want(response.search_status, "a successful search", || {
        response.summary()
    })
}

async fn failed(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let mut search = trial.good_search()?;
    search.database_names = vec!["z3950-conformance-none".into()];
    let response = trial.ask(search).await.given()?;
    let status = response.result_set_status;
    if response.search_status || status != Some(ResultSetStatus::NONE) {
        return Err(Verdict::not_judged(
            "no search failed with resultSetStatus none",
        ));
    }
    first(trial, DEFAULT).await?.refused()
}

async fn of_unknown(trial: &mut Trial) -> Checked<PresentResponse> {
    trial.hits(1).await?;
    first(trial, "z3950-conformance-none").await
}

async fn unknown(trial: &mut Trial) -> Checked {
    of_unknown(trial).await?.refused()
}

async fn unknown_with_code(trial: &mut Trial) -> Checked {
    of_unknown(trial).await?.refused_with(&[30, 27])
}

async fn before_search(trial: &mut Trial) -> Checked {
    trial.session().await?;
    first(trial, DEFAULT).await?.refused()
}

async fn empty(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let made = search_into(trial, DEFAULT, false).await.given()?;
    if !made.search_status || made.result_count != 0 {
        return Err(Verdict::not_judged("no search without hits succeeds"));
    }
    let response = first(trial, DEFAULT).await?;
    if response.surrogates().is_empty() {
        response.refused()
    } else {
        // Instead of refusing the Present, a server in version 3 may return a surrogate diagnostic for position 1.
        Ok(())
    }
}

async fn next_session(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    given_set(trial, "judge-g").await?;
    trial.session().await?;
    first(trial, "judge-g").await?.refused()
}

async fn odd_name(trial: &mut Trial, name: &[u8]) -> Checked {
    with_names(trial).await?;
    let mut search = trial.good_search()?;
    search.result_set_name = name.into();
    let response = trial.ask(search).await?;
    if let Reaction::Refused(_) = response.reaction()? {
        return Ok(());
    }
    trial.ask(first_of(trial, name)).await?.has_records(1)
}

async fn case_of_names(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    given_set(trial, "judge-case").await?;
    search_into(trial, "JUDGE-CASE", false).await.given()?;
    let response = first(trial, "judge-case").await?;
    match response.reaction()? {
        // If names are not case-sensitive, the second search may have replaced the set.
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => response.has_records(1),
    }
}

async fn many(trial: &mut Trial) -> Checked {
    with_names(trial).await?;
    for number in 0..30 {
        let made = search_into(trial, &format!("judge-{number}"), true).await?;
        made.reaction()?;
    }
    for number in [0, 15, 29] {
        let response = first(trial, &format!("judge-{number}")).await?;
        if let Reaction::Accepted = response.reaction()? {
            response.has_records(1)?;
        }
    }
    Ok(())
}

async fn default_again(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let made = search_into(trial, DEFAULT, false).await.given()?;
    if !made.search_status || made.result_count != 0 {
        return Err(Verdict::not_judged("no search without hits succeeds"));
    }
    let response = first(trial, DEFAULT).await?;
    let records = response.records().len() - response.surrogates().len();
    want(records == 0, "no record of the earlier search", || {
        response.summary()
    })
}
