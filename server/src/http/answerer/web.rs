//! Passes HTTP requests other than SRU to the [`Web`] handler, and returns its answers.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tokio::time::timeout_at;

use super::{Answered, Answerer};
use crate::fault::HttpSubject;
use crate::http::answer::{HttpAnswer, plain};
use crate::http::request::Heading;
use crate::http::sessions::SessionsOfRequest;
use crate::lock::lock;
use crate::metrics::{OperationKind, OperationTimer};
use crate::web::{Web, WebBody, WebClient, WebParts, WebRequest};

impl Answerer<'_> {
    /// Returns the handler's answer to a request other than SRU.
    pub(super) async fn of_web(
        &mut self,
        web: &dyn Web,
        head: Parts,
        heading: Heading,
        body: Bytes,
    ) -> Answered {
        let timer = OperationTimer::begin(OperationKind::Http, &self.context.metrics);
        let context = Arc::clone(self.context);
        let sessions = SessionsOfRequest::new(
            self.peer,
            self.slots.clone(),
            context,
            self.stopping.clone(),
        );
        let client = WebClient::new(
            self.peer,
            heading.login,
            self.is_encrypted,
            heading.authority,
            sessions,
        );
        let answering = web.answer(WebRequest { head, body, client });
        let most = self.context.target.limits.operation_time;
        let since = lock(self.exchange).answered_since();
        let answered = match most.and_then(|most| since.checked_add(most)) {
            Some(deadline) => timeout_at(deadline, answering).await.ok(),
            None => Some(answering.await),
        };
        let (answer, parts) = match answered {
            Some(response) => from_web(response),
            None => {
                let words = "no answer in time\n";
                (plain(StatusCode::SERVICE_UNAVAILABLE, words), None)
            }
        };
        self.tally.http_answered(timer, answer.status.as_u16());
        Answered {
            answer,
            parts,
            striking: self.striking(HttpSubject::default),
        }
    }

    /// Replaces the answer for a database that does not exist, if the handler has a different answer for this
    /// request.
    pub(super) fn or_missing(&self, head: &Parts, database: &str, answered: Answered) -> Answered {
        let is_read = [Method::GET, Method::HEAD].contains(&head.method);
        let web = self.context.web.as_ref().filter(|_| is_read);
        let Some(response) = web.and_then(|web| web.missing(head)) else {
            return answered;
        };
        let is_missing = match answered.answer.status {
            StatusCode::NOT_FOUND => true,
            // SRU refuses a request with unknown parameters before it checks the database, so the database is checked here.
            StatusCode::OK => !self.context.target.has_database(database),
            _ => false,
        };
        if !is_missing {
            return answered;
        }
        let (answer, parts) = from_web(response);
        Answered {
            answer,
            parts,
            ..answered
        }
    }

    /// Collects all parts of a body, so that faults can change it. Stops at the size limit for a single record.
    pub(super) async fn collect(&self, mut parts: WebParts) -> Bytes {
        let most = self.context.target.limits.exceptional_record_size;
        let mut all = BytesMut::new();
        while let Some(part) = parts.next().await {
            let left = most.saturating_sub(all.len());
            all.extend_from_slice(part.get(..left).unwrap_or(&part));
            if all.len() >= most {
                break;
            }
        }
        all.freeze()
    }
}

/// Converts the handler's answer; the further parts of its body are returned separately.
fn from_web(response: Response<WebBody>) -> (HttpAnswer, Option<WebParts>) {
    let (head, body) = response.into_parts();
    let (body, parts) = match body {
        WebBody::Whole(octets) => (octets, None),
        WebBody::Parts(parts) => (Bytes::new(), Some(parts)),
    };
    let answer = HttpAnswer {
        status: head.status,
        kind: None,
        headers: head.headers,
        body,
        is_last: false,
    };
    (answer, parts)
}
