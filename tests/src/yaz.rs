//! Determines the queries that `yaz-client` sends for given texts, by searching on a test server that records the requests.

use std::collections::HashMap;

use z3950_asn1::apdu::{Apdu, Query};
use z3950_server::testing::{Direction, TestServer, record};

use crate::peer;
use crate::program::run;
use crate::surroundings::command;

/// The maximum length of a command that yaz-client reads from a pipe, in octets.
const LONGEST_COMMAND: usize = 10_000;

/// Runs yaz-client with the setup commands, such as `querytype cql2rpn`. Returns the query that it sends for each text, or `None`
/// for a text that it refuses. Returns `None` as a whole if yaz-client is not installed.
///
/// # Panics
/// Panics if a text cannot be passed to yaz-client, because it contains a line break or a `;`, or is too long.
pub fn queries_sent(setup: &[&str], queries: &[&str]) -> Option<Vec<Option<Query>>> {
    let program = peer::find("yaz-client")?;
    let server = TestServer::builder()
        .database("Default", [record("id7", "War")])
        .start();
    let mut input = String::new();
    for command in setup {
        input.push_str(command);
        input.push('\n');
    }
    input.push_str(&format!("open {}\n", server.addr()));
    // yaz-client sends nothing for a query that it refuses. Each search therefore has a referenceId that identifies its query.
    for (number, query) in queries.iter().enumerate() {
        assert!(
            !query.contains(['\n', '\r', '\0', ';']) && query.len() < LONGEST_COMMAND,
            "yaz-client cannot search for {query:?}"
        );
        input.push_str(&format!("refid q{number}\nfind {query}\n"));
    }
    input.push_str("quit\n");
    let ran = run(&mut command(program), &input);
    assert!(
        ran.stdout.contains("Connection accepted by v3 target."),
        "yaz-client: {}{}",
        ran.stdout,
        ran.stderr
    );
    let mut sent: HashMap<Vec<u8>, Query> = HashMap::new();
    for entry in server.wait_for_end() {
        if entry.direction != Direction::Received {
            continue;
        }
        let request = match entry.apdu {
            Some(Apdu::SearchRequest(request)) => request,
            Some(_) => continue,
            None => panic!("yaz-client sent a malformed request: {entry:?}"),
        };
        let reference = request.reference_id.expect("every search has one");
        let reference = reference.0.to_vec();
        assert!(
            sent.insert(reference, request.query).is_none(),
            "one search for each text"
        );
    }
    let answers = (0..queries.len()).map(|number| sent.remove(format!("q{number}").as_bytes()));
    Some(answers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_and_refused_texts_are_distinguished() {
        let texts = [
            "war",
            "@and",
            "@attr 1=4 \"a b\"",
            "@attr nothing 1=4 x",
            "war",
        ];
        let Some(sent) = queries_sent(&["querytype prefix"], &texts) else {
            return;
        };
        let sent: Vec<_> = sent
            .into_iter()
            .map(|query| match query {
                Some(Query::Type1(rpn)) => Some(rpn.to_string()),
                Some(other) => panic!("a query of another type: {other:?}"),
                None => None,
            })
            .collect();
        let expected = [
            Some("war"),
            None,
            Some("@attr 1=4 \"a b\""),
            None,
            Some("war"),
        ];
        assert_eq!(sent, expected.map(|text| text.map(str::to_owned)));
    }
}
