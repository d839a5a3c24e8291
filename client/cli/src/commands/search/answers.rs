//! Answers a query at one target, and shows the progress of the search and the records.

use z3950::error::Error;
use z3950::find::{Ending, Event, Found, Subject, Wanted};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::SortKeySpec;
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::oid::Oid;

use super::repeated::RepeatedReasons;
use crate::answer::{Answer, Ask, Envelope, Piece, Recipient, SourceNotes, Writing, refuse};
use crate::commands::facets;
use crate::commands::fallback::again_as;
use crate::commands::query::{AskedQuery, QueryReader, SortedQuery};
use crate::commands::target::{NamedTarget, NewResultSet, TargetClient, Unanswered, heading};
use crate::console::output::{Failure, Words};
use crate::console::report::unsorted;
use crate::render::{Style, matching};

/// The implementation of `search`, which answers queries at targets.
pub(super) struct QueryAnswers {
    reach: TargetClient,
    pub(super) places: Vec<NamedTarget>,
    reader: QueryReader,
    /// The sort keys given on the command line, which replace those in queries.
    keys: Vec<SortKeySpec>,
    facets: facets::Arguments,
    /// The search options that are the same for all queries.
    wanted: Wanted,
    /// Whether records are written to a file, in which case the user does not see how many there are.
    pub(super) is_written: bool,
    /// Whether the number of hits is printed after the records, so that it is still visible at the end.
    pub(super) counts_last: bool,
    /// Whether the number of records to show is the default, and was not chosen by the user.
    is_usual_count: bool,
    /// Whether messages contain the query, because there are several queries.
    pub(super) names_queries: bool,
    writing: Writing,
    notes: SourceNotes,
}

/// The state of a query at one target.
struct QueryAt<'a> {
    place: &'a NamedTarget,
    query: AskedQuery,
    /// The text with which messages begin.
    subject: String,
    /// The record syntax in which records are requested.
    record_syntax: Oid,
}

impl QueryAt<'_> {
    fn envelope(&self) -> Envelope {
        Envelope::of(self.place, &facets::KEYS)
            .with("query", self.query.to_string())
            .requested(Some(self.record_syntax))
    }
}

/// The records of a query that have been shown so far.
struct ShownRecords {
    /// The answer as it was before the first record.
    found: Answer,
    is_estimate: bool,
    /// The answer, including the records shown so far.
    answer: Answer,
    position: u64,
    written: u64,
    repeated: RepeatedReasons,
}

impl QueryAnswers {
    pub(super) async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let Some(place) = self.places.get(ask.target) else {
            return Answer::default();
        };
        let read = match self.reader.read_sorted(&ask.input) {
            Ok(read) => read,
            Err(words) => return refuse(ask, words, recipient).await,
        };
        let SortedQuery {
            query,
            cql,
            mut keys,
            remark,
        } = read;
        let is_sru = place.resolved.endpoint.is_sru();
        let query = match (cql.filter(|_| is_sru), query) {
            (Some(cql), _) => {
                // The query is sent as typed, with its sort keys, so the keys are not sent again.
                keys.clear();
                AskedQuery::Cql(cql)
            }
            (None, Ok(query)) => AskedQuery::Rpn(query),
            (None, Err(words)) => return refuse(ask, words, recipient).await,
        };
        if let Some(words) = remark.filter(|_| ask.target == 0) {
            recipient.send(Words::Note(words)).await;
        }
        let mut wanted = self.wanted.clone();
        wanted.subject = match &query {
            AskedQuery::Rpn(query) => Subject::Query(query.clone()),
            AskedQuery::Cql(text) => Subject::Cql(text.clone()),
        };
        wanted.sort = if self.keys.is_empty() {
            keys
        } else {
            self.keys.clone()
        };
        let query = QueryAt {
            place,
            query,
            subject: if self.names_queries {
                format!("{place}: {ask}")
            } else {
                place.to_string()
            },
            record_syntax: place.resolved.syntax(&wanted.form),
        };
        self.print(&query, wanted, recipient).await
    }
}

impl QueryAnswers {
    pub(super) fn new(
        wanted: &super::Wanted,
        reader: QueryReader,
        reach: &TargetClient,
        places: Vec<NamedTarget>,
        style: &Style,
        count: u64,
    ) -> Result<Self, Failure> {
        let mut of_query = Wanted::new(Subject::Identifiers(Vec::new()));
        of_query.form = wanted.asked.form();
        of_query.fallback = wanted.fallbacks.allowed();
        of_query.start = wanted.first.position();
        of_query.count = count;
        of_query.facets = FacetList(wanted.facets.facets.clone());
        Ok(Self {
            reach: reach.clone(),
            places,
            reader,
            keys: wanted.keys()?,
            facets: wanted.facets.clone(),
            wanted: of_query,
            is_written: false,
            counts_last: false,
            is_usual_count: wanted.count.is_none(),
            names_queries: false,
            writing: wanted.asked.writing(style.clone()),
            notes: SourceNotes::default(),
        })
    }

    /// Shows the events of the search.
    async fn print(
        &self,
        query: &QueryAt<'_>,
        wanted: Wanted,
        recipient: &mut Recipient,
    ) -> Answer {
        let subject = &query.subject;
        let mut events = self
            .reach
            .find([query.place], wanted, self.reach.result_set());
        let mut order = None;
        let mut shown = None;
        let mut ended = Answer::default();
        while let Some(event) = events.next().await {
            match event {
                Event::Asked { .. } => self.reach.note_search(),
                Event::Again { reason, step, .. } => {
                    let words = again_as(subject, &reason, &step);
                    recipient.send(Words::Note(words)).await;
                }
                Event::Unsorted { error, .. } => order = unsorted(&error),
                Event::Found(found) => {
                    let count = self.wanted.wanted_of(found.result.count());
                    if count > recipient.room() {
                        // Release the session while waiting, because another `Ask` may need it.
                        events.let_go(found.target);
                        recipient.ready_for(count).await;
                        continue;
                    }
                    if let Some(words) = order.take() {
                        let words = format!("{subject}: {words}");
                        recipient.send(Words::Warning(words)).await;
                    }
                    match self.found(query, &found, recipient).await {
                        Ok(begun) => shown = Some((begun, found)),
                        Err(answer) => {
                            // No records are shown unless another event reports the result after it has changed.
                            shown = None;
                            ended = *answer;
                        }
                    }
                }
                Event::Record { record, .. } => {
                    if let Some((shown, _)) = &mut shown {
                        self.record(query, shown, Ok(record), recipient).await;
                    }
                }
                Event::Done {
                    error,
                    record_syntax,
                    ..
                } => match (shown.take(), error) {
                    (Some((mut shown, found)), error) => {
                        if let Some(error) = error {
                            self.record(query, &mut shown, Err(error), recipient).await;
                        }
                        let last = self.last(query, shown, record_syntax, recipient).await;
                        ended = last.with_source_messages(&found.sources);
                    }
                    (None, Some(error)) => {
                        let failure = self.reach.unanswered(query.place, error);
                        let envelope = || query.envelope();
                        let failed = self.writing.end(failure.answer(), envelope, subject);
                        ended = recipient.last(failed).await;
                    }
                    (None, None) => {}
                },
                _ => {}
            }
        }
        ended
    }

    /// Shows the result of the search. If no records follow, returns the final answer as an error.
    async fn found(
        &self,
        query: &QueryAt<'_>,
        found: &Found,
        recipient: &mut Recipient,
    ) -> Result<ShownRecords, Box<Answer>> {
        let hits = found.result.count();
        self.reach.note(NewResultSet { hits, next: 1 });
        let (place, subject) = (query.place, &query.subject);
        let (json, is_counted) = (self.writing.json, self.wanted.count == 0);
        let facets = self
            .facets
            .shown(place, &query.query, &found.result, json, is_counted);
        recipient.send(facets).await;
        if hits != Some(0) {
            for words in self.notes.of(subject, &found.sources, json) {
                recipient.send(words).await;
            }
        }
        let answer = Answer::from(Ending::from(found));
        let envelope = || query.envelope();
        let start = self.wanted.start;
        let ended = match hits {
            Some(0) => {
                let nothing = match Error::of_nothing(&found.sources) {
                    Error::NoMatch => no_match(answer),
                    incomplete => Unanswered::from(incomplete).of(answer),
                };
                self.writing.end(nothing, envelope, subject)
            }
            _ if is_counted => {
                let answer = answer
                    .ended(OutcomeName::Found)
                    .with_source_messages(&found.sources);
                let piece = if json {
                    envelope().answered(&answer).piece()
                } else {
                    let hits = hits.map_or("unknown".to_owned(), |hits| hits.to_string());
                    Piece::line(format!("{hits} {subject}\n").into_bytes())
                };
                (piece, answer)
            }
            Some(hits) if start > hits => {
                let words = format!("{}, fewer than --start says", matching(hits));
                let answer = answer.ended(OutcomeName::OutOfRange).saying(words);
                self.writing.end(answer, envelope, subject)
            }
            _ => {
                let is_estimate = found.result.is_estimate();
                if !json && !self.counts_last {
                    let words = self.count_in_words(hits, is_estimate, self.wanted.wanted_of(hits));
                    let words = format!("{subject}: {words}");
                    recipient.send(Words::Note(words)).await;
                }
                return Ok(ShownRecords {
                    is_estimate,
                    answer: answer.clone(),
                    found: answer,
                    position: start,
                    written: 0,
                    repeated: RepeatedReasons::default(),
                });
            }
        };
        Err(Box::new(recipient.last(ended).await))
    }

    /// Shows the next record, or the reason why there are no more records.
    async fn record(
        &self,
        query: &QueryAt<'_>,
        shown: &mut ShownRecords,
        record: Result<ResultRecord, Error>,
        recipient: &mut Recipient,
    ) {
        let (place, subject) = (query.place, &query.subject);
        let (position, hits) = (shown.position, shown.found.ending.hits);
        let mut writing = self.writing.clone();
        writing.charset = place.charset(writing.charset);
        let envelope = || query.envelope().with("position", position);
        let part = record.as_ref().ok().and_then(|slot| place.part(slot));
        let (mut piece, one) = match record {
            Err(error) => {
                let failed = Unanswered::from(error).answer().with_hits(hits);
                writing.end(failed, envelope, subject)
            }
            Ok(slot) => {
                let which = format!("record {position}");
                let found = shown.found.clone();
                self.reach
                    .write(&writing, found, envelope, &slot, subject, &which)
            }
        };
        let names_query = self.names_queries || self.places.len() > 1;
        let named = names_query.then_some(subject.as_str());
        piece.heading = heading(named, position, hits, part.as_deref());
        if self.places.len() > 1 || part.is_some() {
            writing.head(&mut piece, self.is_written);
        }
        shown.written += u64::from(one.ending.outcome == OutcomeName::Delivered);
        if !writing.json && shown.repeated.has(&one, position) {
            piece
                .words
                .retain(|words| !matches!(words, Words::Error(_)));
        }
        recipient.send(piece).await;
        shown.answer = std::mem::take(&mut shown.answer).graver(one);
        shown.position += 1;
        let next = shown.position;
        self.reach.note(NewResultSet { hits, next });
    }

    /// Prints the messages that follow the last record.
    async fn last(
        &self,
        query: &QueryAt<'_>,
        shown: ShownRecords,
        had: Option<Oid>,
        recipient: &mut Recipient,
    ) -> Answer {
        let subject = &query.subject;
        let ShownRecords {
            found,
            is_estimate,
            mut answer,
            position,
            written,
            repeated,
        } = shown;
        for words in repeated.words(subject) {
            recipient.send(words).await;
        }
        let hits = found.ending.hits;
        let start = self.wanted.start;
        if hits.is_none() && position == start {
            let envelope = || query.envelope();
            let ended = self.writing.end(no_match(found), envelope, subject);
            return recipient.last(ended).await;
        }
        let asked = query.record_syntax;
        if had != Some(asked) {
            let had = had.map_or_else(
                || "the server's own choice".to_owned(),
                |had| format!("{had:?}"),
            );
            let words = format!("{subject}: no records in {asked:?}; requested them in {had}");
            recipient.send(Words::Note(words)).await;
        }
        let wanted = self.wanted.wanted_of(hits);
        if self.is_written
            && let Some(hits) = hits
            && wanted < hits
            && answer.ending.outcome == OutcomeName::Delivered
        {
            let words = self.part_of(hits, wanted);
            recipient
                .send(Words::Warning(format!("{subject}: {words}")))
                .await;
            answer.message = Some(match answer.message {
                Some(lost) => format!("{words}; {lost}"),
                None => words,
            });
        }
        if self.counts_last && !self.writing.json {
            let words = self.count_in_words(hits, is_estimate, written);
            recipient
                .send(Words::Note(format!("{subject}: {words}")))
                .await;
        }
        // Some servers change the syntax from one Present to the next; the records written before the change are kept.
        if answer.ending.outcome == OutcomeName::NotWritten && written > 0 {
            let asked = position - start;
            let reason = answer.message.unwrap_or_default();
            answer.message = Some(format!("{written} of {asked} records written; {reason}"));
        }
        answer
    }

    /// Returns a message with the number of hits and, if only some of them are shown, the number of records shown, such
    /// as `17 records match; showing 10 of 17 (--count all shows all)`.
    fn count_in_words(&self, hits: Option<u64>, is_estimate: bool, count: u64) -> String {
        let words = in_words(hits, is_estimate);
        let Some(hits) = hits.filter(|hits| count < *hits) else {
            return words;
        };
        let start = self.wanted.start;
        let which = match start {
            1 => format!("{count} of {hits}"),
            _ => format!("{count} of {hits}, from {start} on"),
        };
        let hint = if self.is_usual_count && count == self.wanted.count {
            " (--count all shows all)"
        } else {
            ""
        };
        format!("{words}; showing {which}{hint}")
    }

    /// Describes how many records were written, such as `10 of 17 written (--count 10)`.
    fn part_of(&self, hits: u64, wanted: u64) -> String {
        let Wanted { start, count, .. } = self.wanted;
        let mut options = Vec::new();
        if start > 1 {
            options.push(format!("--start {start}"));
        }
        if count < hits.saturating_sub(start - 1) {
            options.push(format!("--count {count}"));
        }
        format!("{wanted} of {hits} written ({})", options.join(", "))
    }
}

fn in_words(hits: Option<u64>, is_estimate: bool) -> String {
    match hits {
        None => {
            "the server returned a negative number of hits; its records are requested regardless"
                .to_owned()
        }
        Some(hits) if is_estimate => format!("about {}", matching(hits)),
        Some(hits) => matching(hits),
    }
}

fn no_match(answer: Answer) -> Answer {
    answer
        .ended(OutcomeName::NoMatch)
        .saying("no record matches")
}
