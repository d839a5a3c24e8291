//! Checks with octets that the standard forbids. A server may send Close or end the connection, but must neither perform such
//! requests nor stop serving other clients (Z39.50-2003 §4.2; X.690). Undefined values of closeReason are checked in another
//! module.

use z3950_asn1::apdu::{Apdu, InitializeRequest, Operator, RpnQuery, RpnStructure, SearchRequest};
use z3950_asn1::codec::frame::{Header, Length};

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::id;
use crate::server::trial::{Received, Trial, contents, encoded, replaced, tagged};
use crate::server::verdict::{Checked, Preparation, Verdict, want};

const PROTOCOL: &str = "Z39.50-2003 §4.2";
const PRACTICE: &str = "practice: anybody can connect";

pub(super) const CHECKS: &[Check] = checks! {
    "hostile.first.garbage" Practice PRACTICE:
        "Octets that are not an APDU end the connection."
        => first_ends(b"\x00\x01\x02 this is no APDU \xff\xff\xff\xff");
    "hostile.first.text" Practice PRACTICE:
        "A line of text does not stop the server."
        => first(b"HELO z3950.example\r\n\r\n");
    "hostile.first.tls" Practice PRACTICE:
        "The beginning of TLS does not stop the server."
        => first(&[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]);
    "hostile.first.length" Practice "X.690 §8.1.3":
        "A length of four times ff ends the connection."
        => first_ends(&[0xb4, 0x84, 0xff, 0xff, 0xff, 0xff, 0]);
    "hostile.first.length-of-length" Practice "X.690 §8.1.3":
        "A length of 127 octets ends the connection."
        => first_ends(&[0xb4, 0xff, 1, 2, 3, 4]);
    "hostile.first.empty" Practice PROTOCOL:
        "An initRequest without elements is not accepted."
        => empty_init;
    "hostile.first.response" Practice PROTOCOL:
        "An initResponse as the first APDU is not answered like Init."
        => response_first;
    "hostile.first.truncated" Practice PRACTICE:
        "After half an Init and the end of the connection, others are served."
        => truncated(false);
    "hostile.session.truncated" Practice PRACTICE:
        "After half a search and the end of the connection, others are served."
        => truncated(true);
    "hostile.apdu.unknown" Should PROTOCOL:
        "An APDU with an unknown tag ends the session."
        => unknown_apdu;
    "hostile.apdu.of-server" Should PROTOCOL:
        "A searchResponse from the client ends the session."
        => of_server;
    "hostile.apdu.segment" Should PROTOCOL:
        "A segment from the client ends the session."
        => segment;
    "hostile.apdu.garbage" Should PROTOCOL:
        "Octets that are not an APDU end the session."
        => garbage;
    "hostile.apdu.empty" Should PROTOCOL:
        "A searchRequest without elements ends the session."
        => empty_search;
    "hostile.element.missing" Should PROTOCOL:
        "A searchRequest without its query ends the session."
        => without_query;
    "hostile.element.wrong-type" Should PROTOCOL:
        "A BOOLEAN of no octets ends the session."
        => empty_boolean;
    "hostile.element.long-integer" Practice "X.690 §8.3":
        "An INTEGER of 40 octets is not cut short: the Present is refused, or the session ends."
        => long_integer;
    "hostile.element.long-oid" Practice "X.690 §8.19":
        "A search with an object identifier of 500 octets is answered, or ends the session."
        => long_oid;
    "hostile.element.unended-oid" Practice "X.690 §8.19":
        "A search with an object identifier without an end is answered, or ends the session."
        => unended_oid;
    "hostile.element.beyond" Should "X.690 §8.1.3":
        "An element that reaches past the end of its APDU ends the session."
        => beyond;
    "hostile.nested" Practice PRACTICE:
        "Ten thousand nested values of indefinite length do not stop the server."
        => nested;
    "hostile.query.deep" Practice PRACTICE:
        "A query of 5000 nested operators does not stop the server."
        => deep_query;
    "hostile.query.wide" Practice PRACTICE:
        "A query of 1000 terms is answered, or ends the session."
        => wide_query;
    "hostile.reference-id.large" Practice PRACTICE:
        "A referenceId of a million octets is answered, or ends the session."
        => large_reference_id;
    "hostile.term.large" Practice PRACTICE:
        "A term of a million octets is answered, or ends the session."
        => large_term;
    "hostile.many-databases" Practice PRACTICE:
        "A search of ten thousand databases is refused with a diagnostic, or ends the session."
        => many_databases;
    "hostile.connections" Practice PRACTICE:
        "After fifty connections that say nothing, one after the other, a session begins."
        => connections;
};

/// The tag of the query, which is the last element of the searches in this file.
const QUERY: u8 = 0xb5;

/// Fails unless a new session can be opened and a search in it has the same result as before.
async fn still_serves(trial: &mut Trial) -> Checked {
    let search = trial.good_search()?;
    let init = trial.base_init();
    trial.hang_up();
    match trial.opened(init).await {
        Ok(response) if response.result => trial.ask(search).await.map(drop),
        Ok(_) => Err(Verdict::fail("a server that serves others", "a rejection")),
        Err(Verdict::Fail { came, .. }) => Err(Verdict::fail("a server that serves others", came)),
        // Other checks are not judged if the server cannot be reached. These checks fail in this case, because they are meant to
        // find servers that stop.
        Err(other) if trial.ledger.is_unreachable => {
            let reason = match other {
                Verdict::NotJudged { reason } => reason,
                other => other.as_str().to_owned(),
            };
            Err(Verdict::fail("a server that serves others", reason))
        }
        Err(other) => Err(other),
    }
}

/// Sends octets as the first octets of a new connection. The server may answer or end the connection, but must not open a
/// session.
async fn first(trial: &mut Trial, octets: &'static [u8]) -> Checked {
    trial.connect().await?;
    trial.send_octets(octets).await?;
    let received = trial.receive().await;
    let began = match &received {
        Received::Apdu(apdu) => match &**apdu {
            Apdu::InitializeResponse(response) => response.result,
            _ => false,
        },
        _ => false,
    };
    want(!began, "no session", || received.to_string())?;
    // A server that also supports another protocol may answer in that protocol, but must send nothing after it.
    if let Received::Malformed(words) = received {
        want(trial.stops().await, "an answer that ends", || words)?;
    }
    still_serves(trial).await
}

/// Sends octets as the first octets of a new connection. The server has to end the connection.
async fn first_ends(trial: &mut Trial, octets: &'static [u8]) -> Checked {
    trial.connect().await?;
    trial.send_octets(octets).await?;
    let received = trial.receive().await;
    let wanted = "a close or the end of the connection";
    want(received.is_over(), wanted, || received.to_string())?;
    still_serves(trial).await
}

async fn empty_init(trial: &mut Trial) -> Checked {
    first(trial, &[0xb4, 0]).await
}

async fn response_first(trial: &mut Trial) -> Checked {
    first(
        trial,
        &[
            0xb5, 0x11, 0x83, 2, 0, 0xe0, 0x84, 2, 0, 0xc0, 0x85, 1, 1, 0x86, 1, 1, 0x8c, 1, 0xff,
        ],
    )
    .await
}

/// Sends half of an APDU and closes the connection.
async fn truncated(trial: &mut Trial, in_session: bool) -> Checked {
    let octets = if in_session {
        trial.session().await?;
        encoded(&trial.good_search()?.into())?
    } else {
        trial.connect().await?;
        // The Init has no credentials, because they would be visible in the truncated octets in the report.
        let init = InitializeRequest {
            id_authentication: None,
            ..trial.base_init()
        };
        encoded(&init.into())?
    };
    let half = octets.get(..octets.len() / 2).unwrap_or_default().to_vec();
    trial.send_octets(half).await?;
    trial.hang_up();
    still_serves(trial).await
}

/// Sends octets in a session. The server has to end the session, either with Close or by ending the connection.
async fn ends(trial: &mut Trial, octets: Vec<u8>) -> Checked {
    trial.session().await?;
    trial.send_octets(octets).await?;
    let received = trial.receive().await;
    let wanted = "a close or the end of the connection";
    want(received.is_over(), wanted, || received.to_string())?;
    still_serves(trial).await
}

/// Sends the octets of a search in a session. Any answer is acceptable, including the end of the session.
async fn survives(trial: &mut Trial, octets: Vec<u8>) -> Checked {
    trial.session().await?;
    trial.send_octets(octets).await?;
    let received = trial.receive().await;
    let is_answer = match &received {
        Received::Apdu(apdu) => matches!(**apdu, Apdu::SearchResponse(_)),
        _ => false,
    };
    let wanted = "a searchResponse or the end of the session";
    want(is_answer || received.is_over(), wanted, || {
        received.to_string()
    })?;
    still_serves(trial).await
}

async fn unknown_apdu(trial: &mut Trial) -> Checked {
    // These octets are a constructed element with the tag [60], which is not the tag of any APDU.
    ends(trial, vec![0xbf, 0x3c, 3, 0x81, 1, 1]).await
}

async fn of_server(trial: &mut Trial) -> Checked {
    ends(
        trial,
        vec![0xb7, 0x0c, 0x97, 1, 5, 0x98, 1, 0, 0x99, 1, 1, 0x96, 1, 1],
    )
    .await
}

async fn segment(trial: &mut Trial) -> Checked {
    ends(trial, vec![0xbf, 0x2d, 5, 0x98, 1, 0, 0xa0, 0]).await
}

async fn garbage(trial: &mut Trial) -> Checked {
    ends(trial, b"\x01\x02\x03 no APDU at all".to_vec()).await
}

async fn empty_search(trial: &mut Trial) -> Checked {
    ends(trial, vec![0xb6, 0]).await
}

/// Returns the octets of a search that has hits.
fn search_octets(trial: &Trial) -> Checked<Vec<u8>> {
    encoded(&trial.good_search()?.into())
}

async fn without_query(trial: &mut Trial) -> Checked {
    let octets = search_octets(trial)?;
    let body = contents(&octets);
    let query = position_of(body, QUERY).unwrap_or(0);
    ends(trial, tagged(0xb6, body.get(..query).unwrap_or_default())).await
}

/// Returns the offset of the element with this tag, or `None` if there is no such element.
fn position_of(body: &[u8], tag: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = body.get(at..)?;
        let header = Header::read(rest).ok()??;
        if rest.first() == Some(&tag) {
            return Some(at);
        }
        match header.length {
            Length::Definite(length) => at += header.octets + length,
            Length::Indefinite => return None,
        }
    }
}

async fn empty_boolean(trial: &mut Trial) -> Checked {
    let octets = search_octets(trial)?;
    // The element [16] replaceIndicator, which is mandatory, is removed.
    ends(trial, replaced(&octets, 0x90, &[])).await
}

async fn long_integer(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let octets = encoded(&trial.present(1, 1).into())?;
    // The element [30] resultSetStartPoint is 2^312 + 1, which truncation would turn into 1.
    let integer = [&[1][..], &[0; 38], &[1]].concat();
    let octets = replaced(&octets, 0x9e, &integer);
    trial.send_octets(octets).await?;
    let received = trial.receive().await;
    let is_refused = match &received {
        Received::Apdu(apdu) => match &**apdu {
            Apdu::PresentResponse(response) => response.records().is_empty(),
            _ => false,
        },
        _ => false,
    };
    let wanted = "a refusal or the end of the session";
    want(is_refused || received.is_over(), wanted, || {
        received.to_string()
    })?;
    still_serves(trial).await
}

/// Returns the octets of a search whose preferredRecordSyntax consists of the given octets.
fn with_syntax(trial: &Trial, oid: &[u8]) -> Checked<Vec<u8>> {
    let search = SearchRequest {
        preferred_record_syntax: None,
        ..trial.good_search()?
    };
    let octets = encoded(&search.into())?;
    let body = contents(&octets);
    let at = position_of(body, QUERY).unwrap_or(body.len());
    let (before, after) = body.split_at_checked(at).unwrap_or((body, &[]));
    let length = u32::try_from(oid.len()).unwrap_or(0).to_be_bytes();
    let syntax = [&[0x9f, 0x68, 0x84][..], &length, oid].concat();
    Ok(tagged(0xb6, &[before, &syntax, after].concat()))
}

async fn long_oid(trial: &mut Trial) -> Checked {
    let octets = with_syntax(trial, &[0x2a; 500])?;
    survives(trial, octets).await
}

async fn unended_oid(trial: &mut Trial) -> Checked {
    let octets = with_syntax(trial, &[0x2a, 0x86, 0x86, 0x86])?;
    survives(trial, octets).await
}

async fn beyond(trial: &mut Trial) -> Checked {
    // The last element of this Present claims to have 100 octets.
    ends(
        trial,
        vec![
            0xb8, 0x0c, 0x9f, 0x1f, 1, b'1', 0x9e, 1, 1, 0x9d, 100, 1, 0, 0,
        ],
    )
    .await
}

async fn nested(trial: &mut Trial) -> Checked {
    let mut octets = vec![0xb6, 0x80];
    octets.extend([0xa1, 0x80].repeat(10_000));
    octets.extend([0, 0].repeat(10_001));
    survives(trial, octets).await
}

async fn deep_query(trial: &mut Trial) -> Checked {
    let octets = search_octets(trial)?;
    let body = contents(&octets);
    let at = position_of(body, QUERY).unwrap_or(body.len());
    let before = body.get(..at).unwrap_or_default();
    // The tree consists of 5,000 nested `or` operators. The left operand of each operator is the next operator, and the right
    // operand is always the same term, which is also the left operand of the innermost operator.
    let operand = tagged(0xa0, &[0xbf, 0x66, 7, 0xbf, 0x2c, 0, 0x9f, 0x2d, 1, b'q']);
    let mut tree = Vec::new();
    tree.extend([0xa1, 0x80].repeat(5000));
    tree.extend(&operand);
    for _ in 0..5000 {
        tree.extend(&operand);
        tree.extend([0xbf, 0x2e, 2, 0x81, 0, 0, 0]);
    }
    let set = [6, 7, 0x2a, 0x86, 0x48, 0xce, 0x13, 3, 1];
    let query = tagged(0xb5, &tagged(0xa1, &[&set[..], &tree].concat()));
    survives(trial, tagged(0xb6, &[before, &query].concat())).await
}

async fn wide_query(trial: &mut Trial) -> Checked {
    let good = trial.query()?.rpn;
    // The tree is balanced, so it is wide but not deep.
    let mut trees: Vec<RpnStructure> = vec![good; 1000];
    while trees.len() > 1 {
        let mut pairs = Vec::new();
        let mut rest = trees.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => RpnStructure::combined(left, Operator::Or, right),
                None => left,
            });
        }
        trees = pairs;
    }
    let rpn = trees.pop().ok_or_else(|| Verdict::not_judged("no query"))?;
    let octets = encoded(&trial.search(RpnQuery::bib1(rpn)).into())?;
    survives(trial, octets).await
}

const MILLION: usize = 1_000_000;

async fn large_reference_id(trial: &mut Trial) -> Checked {
    let search = SearchRequest {
        reference_id: id(&vec![b'r'; MILLION]),
        ..trial.good_search()?
    };
    survives(trial, encoded(&search.into())?).await
}

async fn large_term(trial: &mut Trial) -> Checked {
    let rpn = RpnStructure::term(trial.attributes()?, vec![b'q'; MILLION]);
    let octets = encoded(&trial.search(RpnQuery::bib1(rpn)).into())?;
    survives(trial, octets).await
}

async fn many_databases(trial: &mut Trial) -> Checked {
    let names = (0..10_000).map(|number| format!("z3950-conformance-{number}").as_str().into());
    let search = SearchRequest {
        database_names: names.collect(),
        ..trial.good_search()?
    };
    trial.session().await?;
    if let Some(response) = trial.ask_or_end(search).await? {
        response.refused()?;
    }
    still_serves(trial).await
}

async fn connections(trial: &mut Trial) -> Checked {
    for _ in 0..50 {
        trial.connect().await.given()?;
        trial.hang_up();
    }
    still_serves(trial).await
}
