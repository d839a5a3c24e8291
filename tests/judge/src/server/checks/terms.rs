//! Checks of query terms of all types, and of terms with unusual octets (Z39.50-2003 §3.7, §4.1 `Term`).

use z3950_asn1::apdu::{
    AttributesPlusTerm, External, IntUnit, Operand, RpnQuery, RpnStructure, SearchResponse, Term,
    Unit,
};
use z3950_asn1::oid::{BIB_1, SUTRS};

use crate::server::answers::Refusable;
use crate::server::check::{Check, checks};
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const TYPES: &str = "Z39.50-2003 §4.1 Term";

pub(super) const CHECKS: &[Check] = checks! {
    "term.character-string" Should TYPES:
        "A character string finds what the same octets find, or is refused with 229."
        => character_string;
    "term.numeric" Should TYPES:
        "A number as a term is searched, or refused with a diagnostic."
        => answered(Term::Numeric(2003));
    "term.numeric.negative" Practice TYPES:
        "A negative number as a term is searched, or refused with a diagnostic."
        => answered(Term::Numeric(-1));
    "term.oid" Should TYPES:
        "An object identifier as a term is searched, or refused with a diagnostic."
        => answered(Term::Oid(BIB_1));
    "term.date-time" Should TYPES:
        "A date as a term is searched, or refused with a diagnostic."
        => answered(Term::DateTime("20030101000000Z".into()));
    "term.external" Should TYPES:
        "An EXTERNAL as a term is searched, or refused with a diagnostic."
        => answered(Term::External(Box::new(External::octet_aligned(SUTRS, "x"))));
    "term.integer-and-unit" Should TYPES:
        "A quantity as a term is searched, or refused with a diagnostic."
        => answered(Term::IntegerAndUnit(Box::new(quantity())));
    "term.null" Should TYPES:
        "NULL as a term is searched, or refused with a diagnostic."
        => answered(Term::Null);
    "term.empty" Practice "practice: empty terms are typed":
        "An empty term is searched, or refused with a diagnostic."
        => octets(b"");
    "term.blank" Practice "practice: blanks are typed":
        "A term of blanks is searched, or refused with a diagnostic."
        => octets(b" ");
    "term.zero-octets" Practice "practice: terms end at a zero octet on some servers":
        "A term with zero octets is searched, or refused with a diagnostic."
        => octets(b"z\0q\0");
    "term.not-utf-8" Practice "practice: terms are in MARC-8, ISO 8859-1 and UTF-8":
        "A term that is not UTF-8 is searched, or refused with a diagnostic."
        => octets(&[0xff, 0xfe, 0xe2, b'e']);
    "term.utf-8" Practice "practice: terms are in MARC-8, ISO 8859-1 and UTF-8":
        "A term beyond ASCII is searched, or refused with a diagnostic."
        => octets("Война и мир \u{1f4da}".as_bytes());
    "term.masks" Practice "practice: masks and operators are typed":
        "A term of characters that other query languages know is searched, or refused with a diagnostic."
        => octets(b"@and \"*?#%_\\' or 1=1;--");
    "term.long" Practice "practice: titles are pasted":
        "A term of 2000 octets is searched, or refused with a diagnostic."
        => octets(&[b'q'; 2000]);
    "term.many-words" Practice "practice: titles are pasted":
        "A term of 200 words is searched, or refused with a diagnostic."
        => many_words;
    "term.again" Practice "practice: sessions go on":
        "After odd terms, the session still finds what it found before."
        => session_goes_on;
};

fn quantity() -> IntUnit {
    IntUnit {
        value: 5,
        unit_used: Unit::default(),
    }
}

/// Searches for a term with the attributes of the query that has hits.
async fn searched(trial: &mut Trial, term: Term) -> Checked<SearchResponse> {
    let attributes = trial.attributes()?;
    if trial.version == 0 {
        trial.session().await?;
    }
    let rpn = RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
        attributes,
        term,
    }));
    let search = trial.search(RpnQuery::bib1(rpn));
    trial.ask(search).await
}

async fn answered(trial: &mut Trial, term: Term) -> Checked {
    trial.session().await?;
    // In version 2, a term can only be an octet string.
    if !matches!(term, Term::General(_)) {
        trial.needs_version_3()?;
    }
    let response = searched(trial, term).await?;
    response.reaction().map(drop)
}

async fn octets(trial: &mut Trial, octets: &[u8]) -> Checked {
    answered(trial, Term::General(octets.into())).await
}

async fn many_words(trial: &mut Trial) -> Checked {
    let words = "word ".repeat(200);
    octets(trial, words.as_bytes()).await
}

async fn character_string(trial: &mut Trial) -> Checked {
    let term = match trial.term()?.term {
        Term::General(octets) => octets,
        _ => {
            return Err(Verdict::not_judged(
                "the term of the query is not of octets",
            ));
        }
    };
    trial.session().await?;
    trial.needs_version_3()?;
    let plain = searched(trial, Term::General(term.clone())).await.given()?;
    let response = searched(trial, Term::CharacterString((&*term).into())).await?;
    response.not_offered_if(&[124, 228, 229, 3])?;
    let hits = plain.result_count;
    let holds = response.search_status && response.result_count == hits;
    want(holds, counted(hits, "hit"), || response.summary())
}

async fn session_goes_on(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    for odd in ["", "*", "\u{0}", "((", "@attr 1=4", "\u{7f}"] {
        searched(trial, Term::General(odd.into())).await?;
    }
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    let holds = response.search_status && response.result_count == hits;
    want(holds, counted(hits, "hit"), || response.summary())
}
