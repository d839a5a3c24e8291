//! `z3950 search`: queries at one or several targets at once, each isolated from what becomes of the others
//! (Z39.50-2003 §3.2.2, §3.2.3, §3.2.7).

use std::ffi::OsString;

use clap::Args;
use futures_util::StreamExt;
use z3950::error::{Error, Phase};
use z3950::pager::{Pager, PagerOptions};
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950::service::search::SearchOptions;
use z3950::target::redacted;
use z3950::{SortKey, SortKeyError};
use z3950_asn1::apdu::{Query, RpnQuery};

use crate::answer::{Answer, Ask, Job, Piece, Recipient, Words, Work, refuse};
use crate::args::{Search, Wanted};
use crate::batch::run_all;
use crate::commands::facets;
use crate::commands::query::Reader;
use crate::commands::target::{Borrowed, Made, Place, Reach, Service, Unanswered};
use crate::commands::writing::Writing;
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::Format;

/// How many records to show where nothing says how many.
const SHOWN: u64 = 10;

pub(crate) async fn run(arguments: &Search, output: &mut Output) -> Result<Exit, Failure> {
    let wanted = &arguments.wanted;
    let keys = wanted.keys()?;
    let has_files = !arguments.batch.inputs.is_empty();
    let (targets, query) = match arguments.words.as_slice() {
        targets if has_files => (targets, None),
        [targets @ .., query] if !targets.is_empty() => (targets, Some(query)),
        _ => {
            let words = "what to search for is missing: z3950 search TARGET... QUERY";
            return Err(Failure::Usage(words.into()));
        }
    };
    let reader = Reader::new(&wanted.language)?;
    let query = query.map(|query| query.as_encoded_bytes().to_vec());
    // One that is wrong is wrong at every target.
    if let Some(query) = &query
        && let Err(words) = reader.read(query)
    {
        output.error(&words);
        return Ok(Exit::Usage);
    }
    let reach = Reach::new(&arguments.connection).await?;
    let count = wanted.count.unwrap_or(match arguments.batch.file() {
        Some(_) => u64::MAX,
        None => SHOWN,
    });
    let mut exit = Exit::Delivered;
    let mut places = Vec::new();
    for (index, text) in targets.iter().enumerate() {
        match reach.place(text, &wanted.asked.databases, output) {
            Some(mut place) => {
                place.hint = hint(&reach, &arguments.words, index);
                places.push(Spot::new(wanted, count, place));
            }
            None => exit = exit.and(Exit::Usage),
        }
    }
    if places.is_empty() {
        return Ok(exit);
    }
    let records = &wanted.asked.records;
    let job = Job {
        given: query.into_iter().collect(),
        targets: places.iter().map(|spot| spot.place.text.clone()).collect(),
        format: arguments.batch.format(records.format)?,
        jobs: arguments.batch.jobs(places.len()),
        work: Searcher {
            writing: wanted.writing(arguments.batch.format(records.format)?),
            reach: reach.clone(),
            places,
            reader,
            keys,
            facets: wanted.facets.clone(),
            start: wanted.start,
            count,
            is_written: arguments.batch.file().is_some(),
            names_queries: has_files,
        },
    };
    let ran = match arguments.batch.is_wanted() {
        true => run_all(&arguments.batch, job, output).await,
        false => job.print(output).await,
    };
    // Ctrl-C while the sessions are closed only ends them sooner.
    Interrupt.or_end(reach.close()).await;
    Ok(exit.and(ran?))
}

/// What may have been meant where the word at `index` turns out to be no target: the query was not quoted, or stands before
/// the target.
fn hint(reach: &Reach, words: &[OsString], index: usize) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let words = words?;
    let word = *words.get(index)?;
    if reach.is_target(word) {
        return None;
    }
    let mut later = words.iter().skip(index + 1);
    if let Some(target) = later.find(|word| reach.is_target(word)) {
        let target = redacted(target);
        return Some(format!(
            "targets come before the query: z3950 search {target} '{word}'"
        ));
    }
    let first = index.checked_sub(1).and_then(|_| words.first())?;
    let query = words.get(index..)?.join(" ");
    Some(format!(
        "a query of several words is quoted: z3950 search {} '{query}'",
        redacted(first)
    ))
}

/// A search at the session of the prompt.
#[derive(Debug, Args)]
pub(crate) struct SearchHere {
    /// The query: words with optional index names (ti:war au:tolstoy), or PQF if it begins with @.
    #[arg(value_name = "QUERY")]
    query: OsString,

    #[command(flatten)]
    wanted: Wanted,
}

impl Service for SearchHere {
    const MAKES_SET: bool = true;

    async fn perform(
        &self,
        reach: &Reach,
        place: &Place,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let wanted = &self.wanted;
        let format = wanted.asked.records.format;
        let count = wanted.count.unwrap_or(SHOWN);
        let work = Searcher {
            reach: reach.clone(),
            places: vec![Spot::new(wanted, count, place.clone())],
            reader: Reader::over(reach.dialects(), &wanted.language)?,
            keys: wanted.keys()?,
            facets: wanted.facets.clone(),
            start: wanted.start,
            count,
            is_written: false,
            names_queries: false,
            writing: wanted.writing(format),
        };
        let job = Job {
            work,
            given: vec![self.query.as_encoded_bytes().to_vec()],
            targets: vec![place.text.clone()],
            format,
            jobs: 1,
        };
        job.write(output).await
    }
}

impl Wanted {
    fn keys(&self) -> Result<Vec<SortKey>, Failure> {
        let keys = self.sort.iter().map(|text| text.parse());
        let keys: Result<Vec<_>, SortKeyError> = keys.collect();
        keys.map_err(|error| Failure::Usage(format!("--sort: {error}")))
    }

    fn writing(&self, format: Format) -> Writing {
        Writing {
            json: self.asked.json,
            format,
            charset: self.asked.records.charset,
        }
    }
}

/// A target, and how to search there.
struct Spot {
    place: Place,
    search: SearchOptions,
    options: PagerOptions,
}

impl Spot {
    fn new(wanted: &Wanted, count: u64, place: Place) -> Self {
        let (mut search, mut options) = place.options(&wanted.asked);
        search.takes_unknown_count = true;
        options.chunk_size = options.chunk_size.min(count.max(1));
        Self {
            search,
            options,
            place,
        }
    }
}

/// Searches targets, and shows what each has.
struct Searcher {
    reach: Reach,
    places: Vec<Spot>,
    reader: Reader,
    keys: Vec<SortKey>,
    facets: facets::Arguments,
    start: u64,
    count: u64,
    /// Whether records go to a file, where one does not see how many they are.
    is_written: bool,
    /// Whether words name the query: there may be several.
    names_queries: bool,
    writing: Writing,
}

impl Work for Searcher {
    async fn answer(&self, ask: &Ask, recipient: &mut impl Recipient) -> Result<Answer, Failure> {
        let Some(spot) = self.places.get(ask.target) else {
            return Ok(Answer::default());
        };
        let subject = match self.names_queries {
            true => format!("{}: {ask}", spot.place),
            false => spot.place.to_string(),
        };
        let query = match self.reader.read(&ask.input) {
            Ok((query, remark)) => {
                if let Some(words) = remark.filter(|_| ask.target == 0) {
                    recipient.send(Words::Note(words)).await?;
                }
                query
            }
            Err(words) => return refuse(ask, words, recipient).await,
        };
        let envelope = Envelope::of(&spot.place, &facets::KEYS)
            .with("query", query.to_string())
            .requested(spot.search.record_syntax);
        // The session is lent until the last record has come.
        let (_lease, set) = loop {
            match self.found(spot, &query).await {
                Ok((lease, set)) => {
                    let wanted = self.wanted(set.found().count());
                    if wanted <= recipient.room() {
                        break (lease, set);
                    }
                    // Another ask may wait for the session, so it is given back, and the search made again.
                    drop(set);
                    drop(lease);
                    recipient.ready_for(wanted).await;
                }
                Err(failure) => {
                    let (piece, answer) = self.writing.failed(envelope, &failure, &subject);
                    recipient.send(piece).await?;
                    return Ok(answer);
                }
            }
        };
        self.show(spot, &query, envelope, set, &subject, recipient)
            .await
    }
}

impl Searcher {
    /// Searches; gives the session, and what was found in it.
    async fn found(&self, spot: &Spot, query: &RpnQuery) -> Result<(Borrowed, Pager), Unanswered> {
        let adapted = spot.place.adapted(query)?;
        let mut lease = self.reach.borrow(&spot.place).await?;
        let set = self.search(&mut lease, spot, adapted).await?;
        Ok((lease, set))
    }

    /// How many of the records that match are to be sent.
    fn wanted(&self, hits: Option<u64>) -> u64 {
        let hits = hits.unwrap_or(u64::MAX);
        hits.saturating_sub(self.start - 1).min(self.count)
    }

    /// Searches and sorts.
    async fn search(
        &self,
        lease: &mut Borrowed,
        spot: &Spot,
        query: RpnQuery,
    ) -> Result<Pager, Error> {
        let search = self.facets.asked(spot.search.clone());
        let mut search = search.map_err(|error| Error::fault(Phase::Search, error))?;
        if let Some(name) = self.reach.result_set() {
            search.result_set = name.clone();
        }
        self.reach.note_search();
        let (query, search) = (&Query::Type1(query), &search);
        // A list of records that is broken off goes on where it was.
        let mut options = spot.options.clone();
        options.reconnect = lease.reconnect();
        let options = &options;
        lease
            .read(|session| async move {
                let mut set = session
                    .pager(query.clone(), search, options.clone())
                    .await?;
                if !self.keys.is_empty() && set.found().count().is_none_or(|hits| hits > 1) {
                    let keys = self.keys.iter().map(|key| key.as_spec().clone());
                    set.sort(keys.collect()).await?;
                }
                Ok(set)
            })
            .await
    }

    /// Shows what was found.
    async fn show(
        &self,
        spot: &Spot,
        query: &RpnQuery,
        envelope: Envelope,
        mut set: Pager,
        subject: &str,
        recipient: &mut impl Recipient,
    ) -> Result<Answer, Failure> {
        let hits = set.found().count();
        self.reach.note(Made { hits, next: 1 });
        let envelope = envelope.with("hits", hits);
        let way = (self.writing.json, self.count == 0);
        let pqf = query.to_string();
        recipient
            .send(self.facets.shown(&spot.place, &pqf, set.found(), way))
            .await?;
        let (piece, answer) = match hits {
            Some(0) => self.no_match(envelope, subject),
            _ if self.count == 0 => self.counted(&envelope, hits, subject),
            Some(hits) if self.start > hits => {
                let records = match hits {
                    1 => "record matches",
                    _ => "records match",
                };
                let words = format!("{hits} {records}, fewer than --start says");
                self.writing.end(
                    envelope,
                    Exit::Usage,
                    OutcomeName::OutOfRange,
                    &words,
                    subject,
                )
            }
            _ => {
                return self
                    .records(spot, envelope, &mut set, subject, recipient)
                    .await;
            }
        };
        recipient.send(piece).await?;
        Ok(answer)
    }

    /// The records wanted, each as it comes.
    async fn records(
        &self,
        spot: &Spot,
        envelope: Envelope,
        set: &mut Pager,
        subject: &str,
        recipient: &mut impl Recipient,
    ) -> Result<Answer, Failure> {
        let hits = set.found().count();
        if !self.writing.json {
            let words = match hits {
                None => "the server gave a number of hits below 0, which is none; its records are asked for all the same".into(),
                Some(1) => "1 record matches".to_owned(),
                Some(hits) => format!("{hits} records match"),
            };
            recipient
                .send(Words::Note(format!("{subject}: {words}")))
                .await?;
        }
        let charset = spot.place.charset(self.writing.charset);
        let delivered = envelope
            .clone()
            .with("outcome", OutcomeName::Delivered.as_str());
        let mut answer = Answer::of(&delivered, Exit::Delivered);
        let wanted = self.wanted(hits);
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let mut slots = set.stream(self.start).take(count);
        let mut position = self.start;
        let mut written = 0_u64;
        while let Some(slot) = slots.next().await {
            let envelope = envelope.clone().with("position", position);
            let (piece, one) = match slot {
                Err(error) => self.writing.failed(envelope, &error.into(), subject),
                Ok(ResultRecord::Record { external, .. }) => {
                    let subject = format!("{subject}: record {position}");
                    let written_one = self.writing.record(envelope, &external, charset, &subject);
                    let (mut piece, one) = written_one;
                    if let Err(words) = self.reach.show(&external) {
                        piece.words.push(Words::Error(words));
                    }
                    written += u64::from(one.outcome == OutcomeName::Delivered);
                    (piece, one)
                }
                Ok(ResultRecord::Diagnostic { diagnostic, .. }) => {
                    let words = format!("record {position}: {diagnostic}");
                    let envelope = envelope.diagnosed(std::slice::from_ref(&diagnostic));
                    let name = OutcomeName::RecordRefused;
                    self.writing
                        .end(envelope, Exit::Refused, name, &words, subject)
                }
            };
            recipient.send(piece).await?;
            answer = answer.graver(one);
            position += 1;
            let next = position;
            self.reach.note(Made { hits, next });
        }
        drop(slots);
        if hits.is_none() && position == self.start {
            let (piece, answer) = self.no_match(envelope, subject);
            recipient.send(piece).await?;
            return Ok(answer);
        }
        let (asked, had) = (spot.options.present.record_syntax, set.record_syntax());
        if let Some(asked) = asked.filter(|_| asked != had) {
            let had = had.map_or_else(
                || "the server's own choice".to_owned(),
                |had| format!("{had:?}"),
            );
            let words = format!("{subject}: no records in {asked:?}; asked for them in {had}");
            recipient.send(Words::Note(words)).await?;
        }
        if self.is_written
            && let Some(hits) = hits
            && wanted < hits
            && answer.outcome == OutcomeName::Delivered
        {
            let words = self.part_of(hits, wanted);
            let said = format!("{subject}: {words}");
            recipient.send(Words::Warning(said)).await?;
            answer.message = Some(match answer.message {
                Some(lost) => format!("{words}; {lost}"),
                None => words,
            });
        }
        // Some servers answer each Present in another syntax; what could be written stays.
        if answer.outcome == OutcomeName::NotWritten && written > 0 {
            let asked = position - self.start;
            let reason = answer.message.unwrap_or_default();
            answer.message = Some(format!("{written} of {asked} records written; {reason}"));
        }
        Ok(answer)
    }

    fn no_match(&self, envelope: Envelope, subject: &str) -> (Piece, Answer) {
        let words = "no record matches";
        self.writing.end(
            envelope,
            Exit::NoMatch,
            OutcomeName::NoMatch,
            words,
            subject,
        )
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

    /// How many records match, where nothing else is wanted.
    fn counted(&self, envelope: &Envelope, hits: Option<u64>, subject: &str) -> (Piece, Answer) {
        let envelope = envelope
            .clone()
            .with("outcome", OutcomeName::Found.as_str());
        let octets = match self.writing.json {
            true => envelope.octets(),
            false => {
                let hits = hits.map_or_else(|| "unknown".to_owned(), |hits| hits.to_string());
                format!("{hits} {subject}\n").into_bytes()
            }
        };
        let piece = Piece {
            octets,
            ..Piece::default()
        };
        (piece, Answer::of(&envelope, Exit::Delivered))
    }
}
