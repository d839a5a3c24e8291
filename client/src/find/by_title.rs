//! Looks up a publication at one target. The records that a search finds are compared with the publication, and a
//! search counts as successful only if at least one record is similar enough.

use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

use super::at_target::{AtTarget, TargetOutcome, is_record};
use super::course::{Course, Next};
use super::event::{ByTitle, Event, Found};
use super::lending::{FoundSet, LeasedSession};
use crate::error::{Error, Phase};
use crate::lookup::{Likeness, Publication};
use crate::protocol::service::ResultRecord;

/// The records found by a search that are most similar to the publication.
struct Chosen {
    found: Arc<Found>,
    likeness: Likeness,
    records: Vec<(u64, ResultRecord)>,
    /// Whether the search found more records than were compared.
    is_partial: bool,
    failure: Option<Error>,
    record_syntax: Option<Oid>,
}

impl AtTarget<'_> {
    /// Makes the searches in the course until one finds a record that is similar enough, or no search remains. If a
    /// search finds more records than are compared, and none of those compared has the right year, it is repeated with
    /// the year.
    pub(super) async fn search_by_title(
        &self,
        publication: &Publication,
    ) -> Result<(TargetOutcome, Option<Oid>), Error> {
        let mut course = self.place.course(self.wanted, self.round)?;
        let leased = self.lender.lend(self.place).await?;
        let mut sources = SearchSources::default();
        let first = self.first_chosen(publication, &leased, &mut course, &mut sources);
        let mut chosen = first.await?;
        if chosen.may_be_exceeded()
            && course.narrow()
            && let Ok(set) = self.search_once(&leased, &course).await
            && let Some(of_year) = self.chosen(publication, &course, &sources, &set)
            && of_year.likeness < chosen.likeness
        {
            chosen = of_year;
        }
        // All records have been received, so the session is released before the reader gets them.
        drop(leased);
        let Chosen {
            found,
            records,
            failure,
            record_syntax,
            ..
        } = chosen;
        Ok((self.deliver(found, records, failure), record_syntax))
    }

    /// Makes the searches in the course until one finds a record that is similar enough.
    async fn first_chosen(
        &self,
        publication: &Publication,
        leased: &LeasedSession,
        course: &mut Course,
        sources: &mut SearchSources,
    ) -> Result<Chosen, Error> {
        loop {
            let next = match self.search_once(leased, course).await {
                Ok(set) => {
                    sources.join(set.pager.found().sources());
                    if let Some(chosen) = self.chosen(publication, course, sources, &set) {
                        return Ok(chosen);
                    }
                    let unlike = self.unlike(course, &set);
                    let next = after_others(course, &set);
                    drop(set);
                    if let Some(unlike) = unlike {
                        self.send(unlike);
                    }
                    next?
                }
                Err(error) => match course.after_error(&error) {
                    Next::End if matches!(error, Error::Refused { .. }) => {
                        return Err(course.end().unwrap_or(error));
                    }
                    Next::End => return Err(error),
                    next => next,
                },
            };
            if let Next::Again(reason) = next {
                self.send(self.again(course, reason));
            }
        }
    }

    /// Chooses the most similar of the records found by a search. Returns `None` if none of them describes the
    /// publication.
    fn chosen(
        &self,
        publication: &Publication,
        course: &Course,
        sources: &SearchSources,
        set: &FoundSet,
    ) -> Option<Chosen> {
        let charset = self.place.target.profile.record_charset;
        let publications = set.records.iter().map(|record| match record {
            ResultRecord::Record { external, .. } => Publication::of_retrieved(external, charset),
            ResultRecord::Diagnostic { .. } => None,
        });
        let publications: Vec<Option<Publication>> = publications.collect();
        let choice = publication.choose(&publications)?;
        let compared = compared(set);
        let mut found = (*self.found(course, sources.clone(), set)).clone();
        let hits = found.result.hits;
        found.by_title = Some(ByTitle {
            alike: u64::try_from(choice.places.len()).unwrap_or(u64::MAX),
            choice: choice.in_words(hits, compared),
            doubt: choice.doubt.clone(),
            likeness: choice.likeness,
        });
        // All equally similar records are needed to choose the best of them.
        let most = if self.keeps_records {
            u64::MAX
        } else {
            self.wanted.count
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let records = choice.places.iter().take(most).filter_map(|&place| {
            let position = u64::try_from(place).ok()?.checked_add(1)?;
            Some((position, set.records.get(place)?.clone()))
        });
        Some(Chosen {
            found: Arc::new(found),
            likeness: choice.likeness,
            records: records.collect(),
            is_partial: compared < hits,
            failure: set.failure.clone(),
            record_syntax: set.pager.record_syntax(),
        })
    }

    /// Returns the event for a search that found only other publications; `None` if it found nothing or the server
    /// refused its records.
    fn unlike(&self, course: &Course, set: &FoundSet) -> Option<Event> {
        let hits = set.pager.found().hits;
        let (_, attempt) = course.attempt().filter(|_| hits > 0 && !is_refused(set))?;
        Some(Event::Unlike {
            target: self.target,
            hits,
            step_name: attempt.name(),
        })
    }
}

impl Chosen {
    /// Returns whether a search with the year may find a more similar record.
    fn may_be_exceeded(&self) -> bool {
        self.is_partial && self.likeness.may_be_exceeded()
    }
}

/// Moves to the next search after a search that found nothing or only other publications.
fn after_others(course: &mut Course, set: &FoundSet) -> Result<Next, Error> {
    if let Some(diagnostic) = set.first_refused().filter(|_| is_refused(set)) {
        return match course.after_first_refused(diagnostic) {
            Next::End => Err(Error::Refused {
                phase: Phase::Present,
                diagnostics: diagnostic.clone().into(),
            }),
            next => Ok(next),
        };
    }
    if compared(set) < set.pager.found().hits && course.narrow() {
        return Ok(Next::Search);
    }
    match course.after_nothing(set.pager.found()) {
        Next::End => Err(course.end().unwrap_or(Error::NoMatch)),
        next => Ok(next),
    }
}

/// Returns whether the server refused all records that a search requested.
fn is_refused(set: &FoundSet) -> bool {
    !set.records.iter().any(is_record)
}

/// Returns how many of a search's records are compared with the publication.
fn compared(set: &FoundSet) -> u64 {
    u64::try_from(set.records.len()).unwrap_or(u64::MAX)
}
