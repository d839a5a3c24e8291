//! Checks of the lists of terms that Scan returns, and of the position of the start term in them (Z39.50-2003 §3.2.8.1).

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, Entry, Operand, Options, RpnQuery, RpnStructure,
    ScanRequest, ScanResponse, ScanStatus, Term,
};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::oid::Oid;

use crate::server::answers::{Reaction, Refusable};
use crate::server::check::{Check, checks};
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const SCAN: &str = "Z39.50-2003 §3.2.8.1";
const POSITION: &str = "Z39.50 clarification Scan: Values of Position-in-response";

/// A term that sorts after all other terms: U+10FFFF, followed by letters.
const LAST: &[u8] = b"\xf4\x8f\xbf\xbfzzzz";

/// A check that is hostile because Metaproxy 1.22 crashes on a scan of this kind.
pub(super) const HOSTILE: &[Check] = checks! {
    "scan.position.omitted" Should SCAN:
        "In a scan without preferredPositionInResponse, the server chooses a position."
        => position_omitted;
};

pub(super) const CHECKS: &[Check] = checks! {
    "scan.answered" Shall SCAN:
        "A scan is answered by a scanResponse with terms or a diagnostic."
        => answered;
    "scan.count" Shall SCAN:
        "numberOfEntriesReturned of a scanResponse is the number of its entries."
        => entry_count;
    "scan.number" Shall SCAN:
        "A scan brings no more terms than were asked for."
        => number(3);
    "scan.number.one" Shall SCAN:
        "A scan for one term brings no second one."
        => number(1);
    "scan.number.status" Should SCAN:
        "If a scan brings fewer terms than were asked for, scanStatus does not say success."
        => short_status;
    "scan.number.zero" Practice SCAN:
        "A scan for no terms is answered without terms."
        => odd_number(0);
    "scan.number.negative" Practice SCAN:
        "A scan for a negative number of terms is refused with a diagnostic, or answered without terms."
        => odd_number(-3);
    "scan.again" Practice "practice: people page through terms":
        "A scan that is repeated brings the same terms."
        => again;
    "scan.next" Practice "practice: people page through terms":
        "A scan from the second term of a list begins with that term."
        => next;
    "scan.position.first" Should POSITION:
        "In a scan with preferredPositionInResponse 1, positionOfTerm is 1."
        => position_of(1);
    "scan.position.second" Should POSITION:
        "In a scan with preferredPositionInResponse 2, the start term comes second, or where positionOfTerm says."
        => shifted(2);
    "scan.position.second.preferred" Should POSITION:
        "In the middle of an index, a scan with preferredPositionInResponse 2 has the start term there."
        => honoured;
    "scan.position.last" Should POSITION:
        "In a scan with the number of terms as preferredPositionInResponse, the start term comes last, or where positionOfTerm says."
        => shifted(4);
    "scan.position.zero" Should POSITION:
        "In a scan with preferredPositionInResponse 0, the list begins after the start term, or 233 refuses it."
        => shifted(0);
    "scan.position.negative" Practice POSITION:
        "In a scan with preferredPositionInResponse -1, the list begins two terms after the start term, or 233 refuses it."
        => shifted(-1);
    "scan.position.after" Practice POSITION:
        "In a scan with a preferredPositionInResponse after the last term, the list ends before the start term, or 233 refuses it."
        => shifted(5);
    "scan.step.zero" Should SCAN:
        "A scan with step size 0 leaves out no term."
        => step_zero;
    "scan.step.one" Should "Bib-1 diagnostic 205":
        "A scan with step size 1 leaves out every other term, or is refused with 205 or 206."
        => step_one;
    "scan.term.empty" Practice SCAN:
        "A scan from an empty term is answered."
        => odd_term(b"");
    "scan.term.past-end" Practice SCAN:
        "A scan from a term after the last one is answered."
        => odd_term(LAST);
    "scan.term.not-utf-8" Practice SCAN:
        "A scan from a term that is not UTF-8 is answered."
        => odd_term(&[0xff, 0xfe]);
    "scan.term.long" Practice SCAN:
        "A scan from a term of 2000 octets is answered."
        => odd_term(&[b's'; 2000]);
    "scan.database.unknown" Should "Bib-1 diagnostics 109, 235":
        "A scan of an unknown database is refused with 109 or 235."
        => unknown_database;
    "scan.use.unknown" Should "Bib-1 diagnostic 114":
        "A scan by an unknown Use attribute is refused with 114."
        => unknown_use;
    "scan.attribute-set.unknown" Should "Bib-1 diagnostic 121":
        "A scan with an unknown attribute set is refused with 121."
        => unknown_set;
    "scan.failed.status" Shall SCAN:
        "A scan that is refused has scanStatus failure and no terms."
        => failed;
    "scan.occurrences" Practice "practice: people search for what they scanned":
        "A search for a term finds as many records as the scan said."
        => occurrences;
    "scan.numeric-term" Practice SCAN:
        "A scan from a number is answered."
        => numeric_term;
    "scan.after-failure" Shall SCAN:
        "After a scan that was refused, the next one is answered."
        => after_failure;
};

async fn scanned(
    trial: &mut Trial,
    change: impl FnOnce(&mut ScanRequest),
) -> Checked<ScanResponse> {
    if trial.version == 0 {
        trial.session().await?;
    }
    trial.needs(Options::SCAN)?;
    let mut request = trial.scan()?;
    change(&mut request);
    trial.ask(request).await
}

/// Returns at least `least` terms of the index, which the check needs. Ends the check if this fails.
async fn terms_given(trial: &mut Trial, least: usize) -> Checked<Vec<Term>> {
    let response = scanned(trial, |_| {}).await.given()?;
    let terms = terms(&response);
    if terms.len() >= least && terms.len() == entries(&response).len() {
        Ok(terms)
    } else {
        let wanted = counted(least, "term");
        let reason = format!("needs {wanted} from a scan, not {}", terms.len());
        Err(Verdict::not_judged(reason))
    }
}

fn entries(response: &ScanResponse) -> &[Entry] {
    let entries = response.entries.as_ref();
    entries
        .and_then(|entries| entries.entries.as_deref())
        .unwrap_or_default()
}

fn terms(response: &ScanResponse) -> Vec<Term> {
    let terms = entries(response).iter().filter_map(|entry| match entry {
        Entry::TermInfo(info) => Some(info.term.clone()),
        Entry::SurrogateDiagnostic(_) => None,
    });
    terms.collect()
}

async fn answered(trial: &mut Trial) -> Checked {
    scanned(trial, |_| {}).await?.reaction().map(drop)
}

fn count_holds(response: &ScanResponse) -> Checked {
    let number = entries(response).len();
    let holds = usize::try_from(response.number_of_entries_returned) == Ok(number);
    want(holds, format!("numberOfEntriesReturned {number}"), || {
        response.summary()
    })
}

async fn entry_count(trial: &mut Trial) -> Checked {
    let response = scanned(trial, |_| {}).await?;
    count_holds(&response)
}

async fn number(trial: &mut Trial, number: i64) -> Checked {
    let response = scanned(trial, |scan| scan.number_of_terms_requested = number).await?;
    let came = entries(&response).len();
    let holds = i64::try_from(came).is_ok_and(|came| came <= number);
    want(
        holds,
        format!("{} at most", counted(number, "term")),
        || response.summary(),
    )
}

async fn short_status(trial: &mut Trial) -> Checked {
    // In most indexes, at least one of these terms is so near the end that fewer terms follow than are requested.
    for start in [LAST, "龜龜".as_bytes(), "яяяя".as_bytes(), b"zzzz"] {
        let response = scanned(trial, |scan| {
            scan.term_list_and_start_point.term = Term::General(start.into());
        })
        .await?;
        if entries(&response).len() < 5 {
            let holds = response.scan_status != ScanStatus::SUCCESS;
            return want(holds, "scanStatus partial-5, or a failure", || {
                response.summary()
            });
        }
    }
    Err(Verdict::not_judged("the end of the index was not found"))
}

async fn odd_number(trial: &mut Trial, number: i64) -> Checked {
    let response = scanned(trial, |scan| scan.number_of_terms_requested = number).await?;
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => want(entries(&response).is_empty(), "no terms", || {
            response.summary()
        }),
    }
}

async fn again(trial: &mut Trial) -> Checked {
    let first = terms_given(trial, 1).await?;
    let response = scanned(trial, |_| {}).await?;
    want(terms(&response) == first, "the same terms", || {
        response.summary()
    })
}

async fn next(trial: &mut Trial) -> Checked {
    let list = terms_given(trial, 2).await?;
    let second = list.get(1).cloned();
    let start = second.clone();
    let response = scanned(trial, |scan| {
        if let Some(term) = start {
            scan.term_list_and_start_point.term = term;
        }
    })
    .await?;
    let found = terms(&response).first().cloned();
    let wanted = match &second {
        Some(Term::General(octets)) => format!("{:?} first", String::from_utf8_lossy(octets)),
        _ => "the second term first".to_owned(),
    };
    want(found == second, wanted, || response.summary())
}

async fn at(trial: &mut Trial, position: i64, number: i64) -> Checked<ScanResponse> {
    scanned(trial, |scan| {
        scan.preferred_position_in_response = Some(position);
        scan.number_of_terms_requested = number;
    })
    .await
}

async fn position_of(trial: &mut Trial, position: i64) -> Checked {
    terms_given(trial, 1).await?;
    let response = at(trial, position, 3).await?;
    let holds = response.position_of_term == Some(position);
    want(holds, format!("positionOfTerm {position}"), || {
        response.summary()
    })
}

/// Requests four terms around the fourth term of a list, with the given preferred position. The server may choose a different
/// position, but must report the position that it chose.
async fn around_fourth(trial: &mut Trial, position: i64) -> Checked<(Vec<Term>, ScanResponse)> {
    let list = scanned(trial, |scan| scan.number_of_terms_requested = 6)
        .await
        .given()?;
    let list = terms(&list);
    let Some(fourth) = list.get(3).filter(|_| list.len() == 6).cloned() else {
        return Err(Verdict::not_judged("needs a scan with six terms"));
    };
    let response = scanned(trial, |scan| {
        scan.term_list_and_start_point.term = fourth;
        scan.preferred_position_in_response = Some(position);
        scan.number_of_terms_requested = 4;
    })
    .await?;
    response.not_offered_if(&[233, 228])?;
    response.reaction()?;
    Ok((list, response))
}

async fn shifted(trial: &mut Trial, position: i64) -> Checked {
    let (list, response) = around_fourth(trial, position).await?;
    let found = terms(&response);
    let actual = match position {
        1..=4 => response.position_of_term.unwrap_or(position),
        _ => position,
    };
    // The fourth term of the list is at position `actual` in the answer. The list and the answer must have the same terms where
    // they overlap.
    let shift = usize::try_from((4 - actual).abs()).unwrap_or(usize::MAX);
    let (of_list, of_answer) = if actual <= 4 {
        (list.get(shift..), Some(&*found))
    } else {
        (Some(&*list), found.get(shift..))
    };
    let wanted = format!("the terms around the fourth of the list, with that at position {actual}");
    let holds = of_list.zip(of_answer).is_some_and(|(of_list, of_answer)| {
        let mut pairs = of_list.iter().zip(of_answer);
        !found.is_empty() && pairs.all(|(wanted, came)| wanted == came)
    });
    want(holds, wanted, || response.summary())
}

async fn honoured(trial: &mut Trial) -> Checked {
    let (_, response) = around_fourth(trial, 2).await?;
    let holds = response.position_of_term == Some(2);
    want(holds, "positionOfTerm 2", || response.summary())
}

async fn position_omitted(trial: &mut Trial) -> Checked {
    let list = terms_given(trial, 1).await?;
    let response = scanned(trial, |scan| scan.preferred_position_in_response = None).await?;
    let holds = list
        .first()
        .is_some_and(|first| terms(&response).contains(first));
    want(holds, "a list with the first term", || response.summary())
}

async fn step_zero(trial: &mut Trial) -> Checked {
    let list = terms_given(trial, 1).await?;
    let response = scanned(trial, |scan| scan.step_size = Some(0)).await?;
    response.not_offered_if(&[205, 206])?;
    want(terms(&response) == list, "the same terms", || {
        response.summary()
    })
}

async fn step_one(trial: &mut Trial) -> Checked {
    let list = terms_given(trial, 3).await?;
    let response = scanned(trial, |scan| {
        scan.step_size = Some(1);
        scan.number_of_terms_requested = 2;
    })
    .await?;
    response.not_offered_if(&[205, 206])?;
    if response.step_size == Some(0) {
        return Err(Verdict::not_offered("the answer says that it has no steps"));
    }
    let found = terms(&response);
    let holds = found.first() == list.first() && found.get(1) == list.get(2);
    want(holds, "the first and the third term", || response.summary())
}

async fn odd_term(trial: &mut Trial, octets: &[u8]) -> Checked {
    let response = scanned(trial, |scan| {
        scan.term_list_and_start_point.term = Term::General(octets.into());
    })
    .await?;
    response.reaction()?;
    count_holds(&response)
}

async fn unknown_database(trial: &mut Trial) -> Checked {
    let response = in_unknown_database(trial).await?;
    response.refused_with(&[109, 235])
}

async fn in_unknown_database(trial: &mut Trial) -> Checked<ScanResponse> {
    scanned(trial, |scan| {
        scan.database_names = vec!["z3950-conformance-none".into()]
    })
    .await
}

async fn unknown_use(trial: &mut Trial) -> Checked {
    let response = scanned(trial, |scan| {
        scan.term_list_and_start_point.attributes = vec![AttributeElement::numeric(USE, 9999)];
    })
    .await?;
    response.refused_with(&[114])
}

async fn unknown_set(trial: &mut Trial) -> Checked {
    let response = scanned(trial, |scan| {
        scan.attribute_set = Some(Oid::z3950(&[3, 9999]))
    })
    .await?;
    response.refused_with(&[121])
}

async fn failed(trial: &mut Trial) -> Checked {
    let response = in_unknown_database(trial).await?;
    if response.diagnostics().is_empty() && response.succeeded() {
        return Err(Verdict::not_judged("the scan was not refused"));
    }
    let holds = response.scan_status == ScanStatus::FAILURE && entries(&response).is_empty();
    want(holds, "scanStatus failure without terms", || {
        response.summary()
    })
}

async fn occurrences(trial: &mut Trial) -> Checked {
    let response = scanned(trial, |_| {}).await.given()?;
    let info = entries(&response).iter().find_map(|entry| match entry {
        Entry::TermInfo(info) => Some((info.term.clone(), info.global_occurrences?)),
        Entry::SurrogateDiagnostic(_) => None,
    });
    let (term, said) =
        info.ok_or_else(|| Verdict::not_offered("no term has its number of records"))?;
    let attributes = trial.scan()?.term_list_and_start_point.attributes;
    let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
        attributes,
        term,
    }));
    let search = trial.search(RpnQuery::bib1(rpn));
    let found = trial.ask(search).await.given()?;
    let holds = found.search_status && found.result_count == said;
    want(holds, counted(said, "hit"), || found.summary())
}

async fn numeric_term(trial: &mut Trial) -> Checked {
    let response = scanned(trial, |scan| {
        scan.term_list_and_start_point.term = Term::Numeric(5);
    })
    .await?;
    response.reaction().map(drop)
}

async fn after_failure(trial: &mut Trial) -> Checked {
    in_unknown_database(trial).await.given()?;
    scanned(trial, |_| {}).await?.reaction().map(drop)
}
