//! Checks of Close: the client ends the session, with and without a message (Z39.50-2003 §3.2.11.1).

use z3950_asn1::apdu::{Apdu, Close, CloseReason, ProtocolVersion};
use z3950_asn1::oid::Oid;

use crate::server::check::{Check, checks};
use crate::server::requests::id;
use crate::server::trial::{Received, Trial, encoded, summary};
use crate::server::verdict::{Checked, Verdict, want};

const CLOSE: &str = "Z39.50-2003 §3.2.11.1";

pub(super) const CHECKS: &[Check] = checks! {
    "close.answered" Shall CLOSE:
        "In version 3, a close is answered by a close."
        => answered(CloseReason::FINISHED);
    "close.reason" Shall CLOSE:
        "The closeReason of the server's close is one that the standard has."
        => reason;
    "close.reference-id" Should "Z39.50-2003 §3.4":
        "The server's close carries the referenceId of the client's."
        => reference_id;
    "close.then-end" Should CLOSE:
        "After its own close, the server ends the connection or waits for the client to do so: it says nothing more."
        => then_end;
    "close.reason.shutdown" Shall CLOSE:
        "A close with the reason shutdown is answered by a close."
        => answered(CloseReason::SHUTDOWN);
    "close.reason.peer-abort" Shall CLOSE:
        "A close with the reason peerAbort is answered by a close."
        => answered(CloseReason::PEER_ABORT);
    "close.words" Shall CLOSE:
        "A close with diagnosticInformation and a resourceReportFormat is answered by a close."
        => with_words;
    "close.after-search" Shall CLOSE:
        "A close is answered after a search."
        => after_search;
    "close.during-search" Shall CLOSE:
        "A close that comes with a search ends the session."
        => during_search;
    "close.request-after" Shall CLOSE:
        "A search after a close is not carried out."
        => request_after;
    "close.new-session" Practice CLOSE:
        "After a close, the next session begins."
        => new_session;
    "close.without-close" Practice "practice: many clients just hang up":
        "After a connection that ended without close, the next session begins."
        => without_close;
    "close.during-answer" Practice "practice: people interrupt":
        "After a connection that ended before the answer, the next session begins."
        => during_answer;
    "close.version-2" Practice "practice: clients of version 2 send close":
        "In version 2, a close ends the session."
        => in_version_2;
};

async fn closed(trial: &mut Trial, close: Close) -> Checked<Close> {
    trial.session().await?;
    trial.needs_version_3()?;
    trial.ask(close).await
}

async fn answered(trial: &mut Trial, reason: CloseReason) -> Checked {
    closed(trial, Close::new(reason, None)).await.map(drop)
}

async fn reason(trial: &mut Trial) -> Checked {
    let answer = closed(trial, Close::new(CloseReason::FINISHED, None)).await?;
    // The value 10 is only valid in an answer, and this is an answer.
    let holds = (0..=10).contains(&answer.close_reason.0);
    want(holds, "a closeReason from 0 to 10", || {
        summary(&answer.into())
    })
}

async fn reference_id(trial: &mut Trial) -> Checked {
    let mut close = Close::new(CloseReason::FINISHED, None);
    close.reference_id = id(b"judge-close");
    let answer = closed(trial, close).await?;
    let holds = answer.reference_id == id(b"judge-close");
    want(holds, "the referenceId", || summary(&answer.into()))
}

async fn then_end(trial: &mut Trial) -> Checked {
    closed(trial, Close::new(CloseReason::FINISHED, None)).await?;
    over(trial, "the end of the connection").await
}

/// Fails if the server sends anything more.
async fn over(trial: &mut Trial, wanted: &str) -> Checked {
    let next = trial.unasked().await;
    let holds = matches!(next, Received::End(_) | Received::Silence(_));
    want(holds, wanted, || next.to_string())
}

async fn with_words(trial: &mut Trial) -> Checked {
    let close = Close {
        resource_report_format: Some(Oid::z3950(&[7, 1])),
        ..Close::new(CloseReason::FINISHED, Some("the judge has finished"))
    };
    closed(trial, close).await.map(drop)
}

async fn after_search(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    trial.needs_version_3()?;
    trial
        .ask(Close::new(CloseReason::FINISHED, None))
        .await
        .map(drop)
}

/// Reads until the session ends. Before the end, the server may answer up to `answers` searches.
async fn ends(trial: &mut Trial, answers: usize) -> Checked {
    for _ in 0..=answers {
        match trial.receive().await {
            Received::End(_) => return Ok(()),
            Received::Apdu(apdu) => match *apdu {
                Apdu::Close(_) => return Ok(()),
                Apdu::SearchResponse(_) => {}
                other => return Err(Verdict::fail("a close", summary(&other))),
            },
            other => return Err(Verdict::fail("a close", other.to_string())),
        }
    }
    Err(Verdict::fail("a close", "more answers"))
}

async fn during_search(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs_version_3()?;
    let search = encoded(&trial.good_search()?.into())?;
    let close = encoded(&Close::new(CloseReason::FINISHED, None).into())?;
    trial.send_octets([search, close].concat()).await?;
    ends(trial, 1).await
}

async fn request_after(trial: &mut Trial) -> Checked {
    closed(trial, Close::new(CloseReason::FINISHED, None)).await?;
    let search = trial.good_search()?;
    trial.send(&search.into()).await?;
    over(trial, "no answer").await
}

async fn new_session(trial: &mut Trial) -> Checked {
    closed(trial, Close::new(CloseReason::FINISHED, None)).await?;
    begins(trial).await
}

/// Fails unless a session can be opened and used.
async fn begins(trial: &mut Trial) -> Checked {
    let search = trial.good_search()?;
    let init = trial.base_init();
    trial.hang_up();
    let response = trial.opened(init).await?;
    want(response.result, "an accepting answer to Init", || {
        summary(&response.into())
    })?;
    trial.ask(search).await.map(drop)
}

async fn without_close(trial: &mut Trial) -> Checked {
    trial.session().await?;
    begins(trial).await
}

async fn during_answer(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let search = trial.good_search()?;
    trial.send(&search.into()).await?;
    begins(trial).await
}

async fn in_version_2(trial: &mut Trial) -> Checked {
    let mut init = trial.base_init();
    init.protocol_version = ProtocolVersion::UP_TO_2;
    trial.session_with(init).await?;
    if trial.version > 2 {
        return Err(Verdict::not_judged("the server insists on version 3"));
    }
    trial
        .send(&Close::new(CloseReason::FINISHED, None).into())
        .await?;
    ends(trial, 0).await
}
