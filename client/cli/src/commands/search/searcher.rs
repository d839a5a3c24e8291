//! A query at one target: the search, with fallbacks, and the records that are shown.

use futures_util::StreamExt;
use z3950::error::{Error, Phase};
use z3950::pager::Pager;
use z3950::plan::{Fallback, SearchCourse};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::{Query, SortKeySpec};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;

use super::Wanted;
use super::repeated::RepeatedReasons;
use super::spot::Spot;
use crate::answer::{
    Answer, Ask, Envelope, Job, Piece, Recipient, SourceNotes, Work, Writing, refuse,
};
use crate::commands::facets;
use crate::commands::fallback::again_as;
use crate::commands::query::{AskedQuery, QueryReader, SortedQuery, type_104};
use crate::commands::target::{Borrowed, Made, TargetClient, Unanswered};
use crate::console::output::{Failure, Words};
use crate::console::report::unsorted;
use crate::render::{Style, matching, numbered};

/// Searches targets and shows what each has.
pub(super) struct Searcher {
    reach: TargetClient,
    spots: Vec<Spot>,
    reader: QueryReader,
    /// The keys of the command line, which replace those of queries.
    keys: Vec<SortKeySpec>,
    fallback: Fallback,
    facets: facets::Arguments,
    start: u64,
    count: u64,
    /// Whether records go to a file, so that their number is not seen.
    pub(super) is_written: bool,
    /// Whether messages name the query, because there may be several.
    pub(super) names_queries: bool,
    writing: Writing,
    notes: SourceNotes,
}

/// A query at one target.
struct Searched<'a> {
    spot: &'a Spot,
    query: AskedQuery,
    keys: Vec<SortKeySpec>,
    /// The beginning of messages.
    subject: String,
}

/// A result set, and the way in which it was found unless that is the query as given.
struct FoundSet {
    set: Pager,
    step: Option<String>,
    /// The sources of the records. One has failed if all searches failed there.
    sources: SearchSources,
}

impl Searched<'_> {
    fn envelope(&self) -> Envelope {
        Envelope::of(&self.spot.place, &facets::KEYS)
            .with("query", self.query.to_string())
            .requested(self.spot.search.record_syntax)
    }
}

impl Work for Searcher {
    async fn answer(&self, ask: &Ask, recipient: &mut Recipient) -> Answer {
        let Some(spot) = self.spots.get(ask.target) else {
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
        let query = match (cql.filter(|_| spot.is_sru()), query) {
            (Some(cql), _) => {
                // As typed, with its sort keys.
                keys.clear();
                AskedQuery::Cql(cql)
            }
            (None, Ok(query)) => AskedQuery::Rpn(query),
            (None, Err(words)) => return refuse(ask, words, recipient).await,
        };
        if let Some(words) = remark.filter(|_| ask.target == 0) {
            recipient.send(Words::Note(words)).await;
        }
        let searched = Searched {
            spot,
            query,
            keys: match self.keys.as_slice() {
                [] => keys,
                own => own.to_vec(),
            },
            subject: match self.names_queries {
                true => format!("{}: {ask}", spot.place),
                false => spot.place.to_string(),
            },
        };
        // The session is lent until the last record has come.
        let (_lease, found) = loop {
            let mut notes = Vec::new();
            let result = self.found(&searched, &mut notes).await;
            if let Ok((_, FoundSet { set, .. })) = &result
                && self.wanted(set.found().count()) > recipient.room()
            {
                notes.clear();
            }
            for words in notes {
                recipient.send(words).await;
            }
            match result {
                Ok((lease, found)) => {
                    let wanted = self.wanted(found.set.found().count());
                    if wanted <= recipient.room() {
                        break (lease, found);
                    }
                    // Another ask may wait for the session, so it is given back, and the search repeated later.
                    drop(found);
                    drop(lease);
                    recipient.ready_for(wanted).await;
                }
                Err(failure) => {
                    let envelope = || searched.envelope();
                    let subject = &searched.subject;
                    let ended = self.writing.end(failure.answer(), envelope, subject);
                    return recipient.last(ended).await;
                }
            }
        };
        self.show(&searched, found, recipient).await
    }
}

impl Searcher {
    /// A job without inputs.
    pub(super) fn job(
        wanted: &Wanted,
        reader: QueryReader,
        reach: &TargetClient,
        spots: Vec<Spot>,
        style: Style,
        count: u64,
    ) -> Result<Job<Self>, Failure> {
        Ok(Job {
            given: Vec::new(),
            targets: spots.iter().map(|spot| spot.place.text.clone()).collect(),
            style: style.clone(),
            jobs: 1,
            names_records: None,
            work: Self {
                reach: reach.clone(),
                spots,
                reader,
                keys: wanted.keys()?,
                fallback: wanted.fallbacks.allowed(),
                facets: wanted.facets.clone(),
                start: wanted.start,
                count,
                is_written: false,
                names_queries: false,
                writing: wanted.asked.writing(style),
                notes: SourceNotes::default(),
            },
        })
    }

    /// Searches; returns the session and what was found in it.
    async fn found(
        &self,
        searched: &Searched<'_>,
        notes: &mut Vec<Words>,
    ) -> Result<(Borrowed, FoundSet), Unanswered> {
        let spot = searched.spot;
        let adapted = match &searched.query {
            AskedQuery::Rpn(query) => AskedQuery::Rpn(spot.place.adapted(query)?),
            typed @ AskedQuery::Cql(_) => typed.clone(),
        };
        let mut lease = self.reach.borrow(&spot.place).await?;
        let (search, records) = (spot.search.clone(), spot.options.clone());
        let mut course = SearchCourse::new(adapted.as_rpn(), search, records, self.fallback);
        let mut empty = None;
        let mut sources = SearchSources::default();
        loop {
            let query = match (course.query(), &adapted) {
                (Some(query), _) | (None, AskedQuery::Rpn(query)) => Query::Type1(query.clone()),
                (None, AskedQuery::Cql(text)) => type_104(text),
            };
            let result = self.search(&mut lease, &query, &course, searched).await;
            let result = result.map(|(set, warning)| {
                let warning = warning.map(|words| format!("{}: {words}", searched.subject));
                notes.extend(warning.map(Words::Warning));
                set
            });
            if let Ok(set) = &result {
                sources.join(set.found().sources());
            }
            let step = course.form();
            let (reason, has_next) = match &result {
                Ok(set) if set.found().count() == Some(0) => {
                    ("no record matches".to_owned(), course.after_nothing())
                }
                Err(Error::Refused {
                    phase: Phase::Search | Phase::Present,
                    diagnostics,
                }) => {
                    let next = course.after_refusal(&diagnostics.0);
                    (diagnostics.to_string(), next)
                }
                _ => (String::new(), false),
            };
            match result {
                _ if has_next => {
                    let words = again_as(&searched.subject, &reason, &course);
                    notes.push(Words::Note(words));
                    empty = empty.or(result.ok());
                }
                Ok(set) => {
                    let found = FoundSet { set, step, sources };
                    return Ok((lease, found));
                }
                Err(error) => {
                    let found = FoundSet {
                        set: empty.ok_or(error)?,
                        step: None,
                        sources,
                    };
                    return Ok((lease, found));
                }
            }
        }
    }

    /// How many of the matching records to send.
    fn wanted(&self, hits: Option<u64>) -> u64 {
        let hits = hits.unwrap_or(u64::MAX);
        hits.saturating_sub(self.start - 1).min(self.count)
    }

    /// Searches and sorts; also returns why the result is not sorted.
    async fn search(
        &self,
        lease: &mut Borrowed,
        query: &Query,
        course: &SearchCourse,
        searched: &Searched<'_>,
    ) -> Result<(Pager, Option<String>), Error> {
        let search = self.facets.asked(course.search());
        let mut search = search.map_err(|error| Error::fault(Phase::Search, error))?;
        let keys = &*searched.keys;
        let is_sru = searched.spot.is_sru();
        if is_sru {
            search.sort = keys.to_vec();
        } else if !keys.is_empty() {
            // The first records are others after the sort.
            search.small_set_upper_bound = 0;
            search.large_set_lower_bound = 1;
            search.medium_set_present_number = 0;
        }
        search.result_set = match self.reach.result_set() {
            Some(name) => name.into(),
            None => lease.own_set(),
        };
        self.reach.note_search();
        let search = &search;
        // If the connection is lost between records, a new session continues after them.
        let mut options = course.records();
        options.reconnect = lease.reconnect();
        let options = &options;
        lease
            .read(|session| async move {
                let mut set = session
                    .pager(query.clone(), search, options.clone())
                    .await?;
                let mut warning = None;
                if !is_sru
                    && !keys.is_empty()
                    && set.found().count().is_none_or(|hits| hits > 1)
                    && let Err(error) = set.sort(keys.to_vec()).await
                {
                    warning = Some(unsorted(&error).ok_or(error)?);
                }
                if course.minds_records()
                    && set.found().count() != Some(0)
                    && let Some(refusal) = of_element_set(set.record(self.start).await)
                {
                    return Err(refusal);
                }
                Ok((set, warning))
            })
            .await
    }

    /// Shows what was found.
    async fn show(
        &self,
        searched: &Searched<'_>,
        found: FoundSet,
        recipient: &mut Recipient,
    ) -> Answer {
        let FoundSet {
            mut set,
            step,
            sources,
        } = found;
        let hits = set.found().count();
        self.reach.note(Made { hits, next: 1 });
        let (spot, subject) = (searched.spot, &searched.subject);
        let (json, is_counted) = (self.writing.json, self.count == 0);
        let facets = self
            .facets
            .shown(&spot.place, &searched.query, set.found(), json, is_counted);
        recipient.send(facets).await;
        if hits != Some(0) && !json {
            for words in self.notes.of(subject, &sources) {
                recipient.send(words).await;
            }
        }
        let answer = Answer {
            hits,
            step,
            ..Answer::default()
        };
        let answer = answer.with_sources(&sources);
        let envelope = || searched.envelope();
        let ended = match hits {
            Some(0) => {
                let nothing = match Error::of_nothing(&sources) {
                    Error::NoMatch => no_match(answer),
                    incomplete => Answer {
                        step: answer.step,
                        ..Unanswered::from(incomplete).answer()
                    },
                };
                self.writing.end(nothing, envelope, subject)
            }
            _ if is_counted => {
                let answer = answer.ended(OutcomeName::Found).without_failed(&sources);
                let piece = match json {
                    true => envelope().answered(&answer).piece(),
                    false => {
                        let hits = hits.map_or("unknown".to_owned(), |hits| hits.to_string());
                        Piece::line(format!("{hits} {subject}\n").into_bytes())
                    }
                };
                (piece, answer)
            }
            Some(hits) if self.start > hits => {
                let words = format!("{}, fewer than --start says", matching(hits));
                let answer = answer.ended(OutcomeName::OutOfRange).saying(words);
                self.writing.end(answer, envelope, subject)
            }
            _ => {
                let answer = self.records(searched, answer, &mut set, recipient).await;
                return answer.without_failed(&sources);
            }
        };
        recipient.last(ended).await
    }

    /// Sends the wanted records as they come. `found` is the answer with the number of hits.
    async fn records(
        &self,
        searched: &Searched<'_>,
        found: Answer,
        set: &mut Pager,
        recipient: &mut Recipient,
    ) -> Answer {
        let Searched { spot, subject, .. } = searched;
        let hits = found.hits;
        if !self.writing.json {
            let is_estimate = set.found().is_estimate();
            let words = match hits {
                None => "the server returned a negative number of hits; its records are requested regardless".to_owned(),
                Some(hits) if is_estimate => format!("about {}", matching(hits)),
                Some(hits) => matching(hits),
            };
            recipient
                .send(Words::Note(format!("{subject}: {words}")))
                .await;
        }
        let mut writing = self.writing.clone();
        writing.charset = spot.place.charset(writing.charset);
        let mut answer = found.clone();
        let wanted = self.wanted(hits);
        let mut slots = set.stream_range(self.start, wanted);
        let mut position = self.start;
        let mut written = 0_u64;
        let mut repeated = RepeatedReasons::default();
        while let Some(slot) = slots.next().await {
            let envelope = || searched.envelope().with("position", position);
            let part = slot.as_ref().ok().and_then(|slot| spot.place.part(slot));
            let (mut piece, one) = match slot {
                Err(error) => {
                    let mut failed = Unanswered::from(error).answer();
                    failed.hits = hits;
                    writing.end(failed, envelope, subject)
                }
                Ok(slot) => {
                    let which = format!("record {position}");
                    self.reach
                        .write(&writing, found.clone(), envelope, &slot, subject, &which)
                }
            };
            piece.heading = self.heading(searched, position, hits, part.as_deref());
            let is_of_several = self.spots.len() > 1 || part.is_some();
            if let Some(heading) = piece.heading.clone().filter(|_| is_of_several) {
                writing.head(&mut piece, &heading, self.is_written);
            }
            written += u64::from(one.outcome == OutcomeName::Delivered);
            if !writing.json && repeated.has(&one, position) {
                piece
                    .words
                    .retain(|words| !matches!(words, Words::Error(_)));
            }
            recipient.send(piece).await;
            answer = answer.graver(one);
            position += 1;
            let next = position;
            self.reach.note(Made { hits, next });
        }
        drop(slots);
        for words in repeated.words(subject) {
            recipient.send(words).await;
        }
        if hits.is_none() && position == self.start {
            let envelope = || searched.envelope();
            let ended = writing.end(no_match(found), envelope, subject);
            return recipient.last(ended).await;
        }
        let (asked, had) = (spot.options.present.record_syntax, set.record_syntax());
        if let Some(asked) = asked.filter(|_| asked != had) {
            let had = had.map_or_else(
                || "the server's own choice".to_owned(),
                |had| format!("{had:?}"),
            );
            let words = format!("{subject}: no records in {asked:?}; requested them in {had}");
            recipient.send(Words::Note(words)).await;
        }
        if self.is_written
            && let Some(hits) = hits
            && wanted < hits
            && answer.outcome == OutcomeName::Delivered
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
        // Some servers answer each Present in another syntax; the records that could be written stay.
        if answer.outcome == OutcomeName::NotWritten && written > 0 {
            let asked = position - self.start;
            let reason = answer.message.unwrap_or_default();
            answer.message = Some(format!("{written} of {asked} records written; {reason}"));
        }
        answer
    }

    /// `3 of 17`, after the target if there are several, and before the part of the database; `None` for a record that is the only
    /// one.
    fn heading(
        &self,
        searched: &Searched<'_>,
        position: u64,
        hits: Option<u64>,
        part: Option<&str>,
    ) -> Option<String> {
        let numbered = numbered(position, hits);
        let is_only = hits == Some(1) && part.is_none();
        let numbered = match part {
            Some(part) => format!("{numbered}, {part}"),
            None => numbered,
        };
        match self.names_queries || self.spots.len() > 1 {
            true => Some(format!("{}: {numbered}", searched.subject)),
            false => (!is_only).then_some(numbered),
        }
    }

    /// `10 of 17 written (--count 10)`
    fn part_of(&self, hits: u64, wanted: u64) -> String {
        let mut options = Vec::new();
        if self.start > 1 {
            options.push(format!("--start {}", self.start));
        }
        if self.count < hits.saturating_sub(self.start - 1) {
            options.push(format!("--count {}", self.count));
        }
        format!("{wanted} of {hits} written ({})", options.join(", "))
    }
}

/// The refusal of a record because of its element set.
fn of_element_set(first: Result<ResultRecord, Error>) -> Option<Error> {
    let diagnostics = match first {
        Ok(ResultRecord::Diagnostic { diagnostic, .. }) => diagnostic.into(),
        Err(Error::Refused { diagnostics, .. }) => diagnostics,
        _ => return None,
    };
    let phase = Phase::Present;
    let conditions = [
        Condition::ELEMENT_SET_NAME,
        Condition::GENERIC_ELEMENT_SET_NAME_ONLY,
    ];
    let is_it = conditions
        .iter()
        .any(|condition| diagnostics.has(condition.0));
    is_it.then_some(Error::Refused { phase, diagnostics })
}

fn no_match(answer: Answer) -> Answer {
    answer
        .ended(OutcomeName::NoMatch)
        .saying("no record matches")
}
