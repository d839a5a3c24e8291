//! `z3950 search`: a query at one or several targets at once, each isolated from what becomes of the others
//! (Z39.50-2003 §3.2.2, §3.2.3, §3.2.7).

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use z3950_asn1::apdu::{Query, RpnQuery, SortKeySpec, SortRelation};
use z3950_asn1::query::names::Names;

use super::args::{Global, Search};
use super::envelope::Envelope;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::target::{Place, Reach, Unanswered};
use super::{Interrupt, query};
use crate::profile::Attributes;
use crate::render::Document;
use crate::result_set::{ResultSet, ResultSetOptions};
use crate::service::present::PresentOptions;
use crate::service::records::ResultRecord;
use crate::service::search::SearchOptions;
use crate::service::sort::key_by_attributes;

/// How many records to ask for at once where the profile does not say.
const CHUNK: u64 = 20;

pub(super) async fn run(
    arguments: &Search,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let keys: Result<Vec<_>, _> = arguments.sort.iter().map(|text| sort_key(text)).collect();
    let keys = keys.map_err(Failure::Usage)?;
    let Some(query) = query::asked(&arguments.query, &arguments.language, output)? else {
        return Ok(Exit::Usage);
    };
    let reach = Reach::new(global).await?;
    let mut exit = Exit::Delivered;
    let mut places = Vec::new();
    for text in &arguments.targets {
        match reach.place(text, &arguments.asked.databases, output) {
            Some(place) => places.push(place),
            None => exit = exit.and(Exit::Usage),
        }
    }
    let records = &arguments.asked.records;
    let mut command = Command {
        arguments,
        query: query.to_string(),
        document: Document::new(records.format, records.charset),
        output,
    };
    let shown = command.show_all(&places, |place| {
        find(arguments, &reach, place, &query, &keys)
    });
    let shown = Interrupt.or(shown).await;
    command.output.end(&mut command.document)?;
    match shown {
        Ok(shown) => Ok(exit.and(shown?)),
        Err(_) => Ok(Exit::Interrupted),
    }
}

/// Searches and sorts at one target.
async fn find(
    arguments: &Search,
    reach: &Reach,
    place: &Place,
    query: &RpnQuery,
    keys: &[SortKeySpec],
) -> Result<ResultSet, Unanswered> {
    let query = place.adapted(query)?;
    let session = reach.session(place).await?;
    let asked = &arguments.asked;
    let profile = &place.resolved.profile;
    let element_set = asked.element_set.as_ref().or(profile.element_set.as_ref());
    let present = PresentOptions {
        element_set: element_set.map(|name| name.as_str().into()),
        record_syntax: Some(place.syntax(asked.syntax)),
        ..PresentOptions::default()
    };
    let search = SearchOptions {
        databases: place.resolved.databases.clone(),
        element_set: present.element_set.clone(),
        record_syntax: present.record_syntax,
        ..SearchOptions::default()
    };
    let options = ResultSetOptions {
        present,
        chunk_size: profile
            .chunk
            .map_or(CHUNK, u64::from)
            .clamp(1, arguments.count.max(1)),
        ..ResultSetOptions::default()
    };
    let mut set = session
        .result_set(Query::Type1(query), &search, options)
        .await?;
    if !keys.is_empty() && set.count() > 1 {
        set.sort(keys.to_vec()).await?;
    }
    Ok(set)
}

struct Command<'a> {
    arguments: &'a Search,
    /// In PQF.
    query: String,
    /// What the records written make together.
    document: Document,
    output: &'a mut Output,
}

impl Command<'_> {
    /// Shows what is found at each place, in their order, while all are searched at once.
    async fn show_all<'a, F>(
        &mut self,
        places: &'a [Place],
        find: impl Fn(&'a Place) -> F,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<ResultSet, Unanswered>>,
    {
        let mut found: FuturesOrdered<F> = places.iter().map(find).collect();
        let mut exit = Exit::Delivered;
        for place in places {
            if let Some(found) = found.next().await {
                exit = exit.and(self.show(place, found).await?);
            }
        }
        Ok(exit)
    }

    async fn show(
        &mut self,
        place: &Place,
        found: Result<ResultSet, Unanswered>,
    ) -> Result<Exit, Failure> {
        let envelope = Envelope::of(place, &["query", "position"])
            .with("query", self.query.as_str())
            .with(
                "requested_syntax",
                place.syntax(self.arguments.asked.syntax).to_string(),
            );
        let mut set = match found {
            Ok(set) => set,
            Err(failure) => return self.fail(place, envelope, &failure),
        };
        let hits = set.count();
        let envelope = envelope.with("hits", hits);
        let exit = match hits {
            0 => self.end(
                place,
                envelope,
                Exit::NoMatch,
                "NoMatch",
                "no record matches",
            )?,
            _ if self.arguments.count == 0 => self.counted(place, envelope, hits)?,
            _ if self.arguments.start > hits => {
                let words = format!("{hits} records match, fewer than --start says");
                self.end(place, envelope, Exit::Usage, "OutOfRange", &words)?
            }
            _ => self.records(place, envelope, &mut set).await?,
        };
        // What ended otherwise need not be closed.
        let _ = set.session().close().await;
        Ok(exit)
    }

    /// The records wanted, each as it comes.
    async fn records(
        &mut self,
        place: &Place,
        envelope: Envelope,
        set: &mut ResultSet,
    ) -> Result<Exit, Failure> {
        if !self.arguments.asked.json {
            let hits = set.count();
            let verb = if hits == 1 {
                "record matches"
            } else {
                "records match"
            };
            self.output.note(&format!("{place}: {hits} {verb}"));
        }
        let charset = place.charset(self.arguments.asked.records.charset);
        self.document.set_charset(charset);
        let mut exit = Exit::Delivered;
        let count = usize::try_from(self.arguments.count).unwrap_or(usize::MAX);
        let mut records = set.stream(self.arguments.start).take(count);
        let mut position = self.arguments.start;
        while let Some(record) = records.next().await {
            let envelope = envelope.clone().with("position", position);
            let one = match record {
                Err(error) => self.fail(place, envelope, &error.into())?,
                Ok(ResultRecord::Record { external, .. }) if self.arguments.asked.json => {
                    let (envelope, notes) = envelope.record(&external, charset);
                    notes.iter().for_each(|note| self.output.note(note));
                    envelope.write(self.output)?;
                    Exit::Delivered
                }
                Ok(ResultRecord::Record { external, .. }) => {
                    self.output.record(&external, &mut self.document)?
                }
                Ok(ResultRecord::Diagnostic { diagnostic, .. }) => {
                    let words = format!("record {position}: {diagnostic}");
                    let diagnostics = std::slice::from_ref(&diagnostic);
                    let envelope = envelope.diagnosed(diagnostics);
                    self.end(place, envelope, Exit::Refused, "RecordDiagnostic", &words)?
                }
            };
            exit = exit.and(one);
            position += 1;
        }
        Ok(exit)
    }

    /// How many records match, where nothing else is wanted.
    fn counted(&mut self, place: &Place, envelope: Envelope, hits: u64) -> Result<Exit, Failure> {
        match self.arguments.asked.json {
            true => envelope.with("outcome", "Found").write(self.output)?,
            false => self.output.line(&format!("{hits} {place}"))?,
        }
        Ok(Exit::Delivered)
    }

    fn fail(
        &mut self,
        place: &Place,
        envelope: Envelope,
        failure: &Unanswered,
    ) -> Result<Exit, Failure> {
        let (exit, words) = failure.explain();
        match self.arguments.asked.json {
            true => envelope.failed(failure).write(self.output)?,
            false => self.output.error(&format!("{place}: {words}")),
        }
        Ok(exit)
    }

    fn end(
        &mut self,
        place: &Place,
        envelope: Envelope,
        exit: Exit,
        name: &str,
        words: &str,
    ) -> Result<Exit, Failure> {
        match self.arguments.asked.json {
            true => envelope.outcome(name, words).write(self.output)?,
            false => self.output.error(&format!("{place}: {words}")),
        }
        Ok(exit)
    }
}

/// A key such as `title`, `date:desc` or `1=31:desc`.
fn sort_key(text: &str) -> Result<SortKeySpec, String> {
    let (key, relation) = match text.rsplit_once(':') {
        Some((key, "asc")) => (key, SortRelation::ASCENDING),
        Some((key, "desc")) => (key, SortRelation::DESCENDING),
        Some((_, order)) => return Err(format!("--sort: {order} is no order; write asc or desc")),
        None => (text, SortRelation::ASCENDING),
    };
    let attributes = match key.contains('=') {
        true => key
            .parse::<Attributes>()
            .map(|attributes| {
                attributes
                    .0
                    .into_iter()
                    .map(|attribute| attribute.0)
                    .collect()
            })
            .map_err(|error| format!("--sort: {error}")),
        false => Names::default().attributes(key).map_err(|nearest| {
            let hint = nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            format!("--sort: no index is called {key}{hint}")
        }),
    };
    Ok(key_by_attributes(attributes?, relation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::{SortElement, SortKey};

    #[test]
    fn sort_keys_are_names_or_attributes() {
        for (text, attributes, relation) in [
            ("title", 1, SortRelation::ASCENDING),
            ("date:desc", 1, SortRelation::DESCENDING),
            ("1=31,4=4:asc", 2, SortRelation::ASCENDING),
        ] {
            let key = sort_key(text).expect(text);
            let SortElement::Generic(SortKey::SortAttributes(found)) = &key.sort_element else {
                panic!("{key:?}");
            };
            assert_eq!(
                (found.list.0.len(), key.sort_relation),
                (attributes, relation)
            );
        }
        for (text, words) in [
            ("titel", "no index is called titel; did you mean title?"),
            ("title:up", "up is no order"),
            ("1=", "no attribute"),
        ] {
            let error = sort_key(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
