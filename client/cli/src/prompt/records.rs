//! Parses ranges of positions in a result set, and requests the records in them (Z39.50-2003 §3.2.3).

use futures_util::StreamExt;
use z3950::RecordForm;
use z3950::error::Diagnostics;
use z3950::pager::{Pager, PagerOptions};
use z3950::profile::Profile;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::{CompSpec, DatabaseName, ElementSpec, External, Specification};
use z3950_asn1::oid::{Oid, USMARC};
use z3950_asn1::types::InternationalString;

use super::command::{CommandResult, Refusal};
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::render::counted;

/// A range of records in a result set; positions are 1-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordRange {
    pub(super) start: u64,
    pub(super) count: u64,
    /// The name of the result set; `None` for the current set.
    pub(super) set: Option<String>,
}

impl RecordRange {
    /// Creates a range in the current set.
    pub(super) fn new(start: u64, count: u64) -> Self {
        let set = None;
        Self { start, count, set }
    }
}

impl Prompt {
    /// Parses the position of a record. If `text` is empty, it is the position of the record shown last, or 1 if no
    /// record has been shown.
    pub(super) fn position(&self, text: &str) -> Result<u64, Refusal> {
        let set = self.result_set()?;
        if text.is_empty() {
            return Ok(set.next.saturating_sub(1).max(1));
        }
        let range = range(text)
            .filter(|range| range.count == 1 && range.set.is_none())
            .ok_or(Refusal::Usage)?;
        self.check(&range)?;
        Ok(range.start)
    }

    /// Parses a range: `all`, `N`, `N-LAST`, `N+M[+SET]`, or nothing for the next record.
    pub(super) fn range(&self, text: &str) -> Result<RecordRange, Refusal> {
        match text {
            "" => {
                let set = self.result_set()?;
                if let Some(hits) = set.hits.filter(|hits| set.next > *hits) {
                    return Err(Refusal::wrong(match hits {
                        0 => "the result set is empty".to_owned(),
                        1 => "the only record has been shown".to_owned(),
                        hits => format!("all {hits} records have been shown"),
                    }));
                }
                Ok(RecordRange::new(set.next, 1))
            }
            "all" => {
                let hits = self.result_set()?.hits;
                Ok(RecordRange::new(1, hits.unwrap_or(u64::MAX)))
            }
            text => {
                let range = range(text).ok_or(Refusal::Usage)?;
                if range.set.is_none() {
                    self.result_set()?;
                }
                self.check(&range)?;
                let left = self.hits(&range).map(|hits| hits - range.start + 1);
                let count = left.map_or(range.count, |left| range.count.min(left));
                Ok(RecordRange { count, ..range })
            }
        }
    }

    /// Returns an error if a range begins after the last record.
    fn check(&self, range: &RecordRange) -> Result<(), Refusal> {
        match self.hits(range) {
            Some(0) => Err(Refusal::wrong("the result set is empty")),
            Some(hits) if range.start > hits => Err(Refusal::wrong(format!(
                "there is no record {}: the result set has {}",
                range.start,
                counted(hits, "record")
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the number of records in the result set that a range refers to, if it is known.
    pub(super) fn hits(&self, range: &RecordRange) -> Option<u64> {
        let opened = self.opened()?;
        match &range.set {
            Some(name) => opened.hits.get(name).copied().flatten(),
            None => opened.result_set.as_ref()?.hits,
        }
    }

    /// Requests the records in a range, and passes each record with its position to `take`, which returns the exit code
    /// for the record, and whether to continue.
    pub(super) async fn each_record(
        &mut self,
        range: &RecordRange,
        mut take: impl AsyncFnMut(&mut Self, u64, ResultRecord) -> Result<(Exit, bool), Refusal>,
    ) -> CommandResult {
        let mut pager = self.pager(range)?;
        let mut records = pager.stream_range(range.start, range.count);
        let (mut exit, mut position) = (Exit::Delivered, range.start);
        while let Some(record) = records.next().await {
            let (of_record, goes_on) = take(self, position, record?).await?;
            exit = exit.and(of_record);
            if !goes_on {
                break;
            }
            position = position.saturating_add(1);
        }
        Ok(exit)
    }

    /// Returns a pager for the records in a range.
    fn pager(&self, range: &RecordRange) -> Result<Pager, Refusal> {
        // If the size of the set is unknown, all records in a range that has an end are assumed to exist.
        let end = range.start.saturating_add(range.count);
        let last = (end < u64::MAX).then(|| end.saturating_sub(1));
        let hits = self.hits(range).or(last);
        let options = self.pager_options(range.set.as_deref())?;
        Ok(self.session()?.pager_of(hits, options))
    }

    /// Returns the record at a 1-based position, and the name of its database if the server sends it.
    pub(super) async fn record_by(
        &self,
        options: PagerOptions,
        position: u64,
    ) -> Result<(Option<DatabaseName>, External), Refusal> {
        let mut pager = self.session()?.pager_of(Some(position), options);
        match pager.record(position).await? {
            ResultRecord::Record {
                database, external, ..
            } => Ok((database.map(DatabaseName), external)),
            ResultRecord::Diagnostic { diagnostic, .. } => {
                let reason = Diagnostics(vec![diagnostic]).to_string();
                Err(Refusal::Because(Exit::Refused, reason))
            }
        }
    }

    /// Returns the options for requesting the records of the named result set or, if `set` is `None`, of the current
    /// one.
    pub(super) fn pager_options(&self, set: Option<&str>) -> Result<PagerOptions, Refusal> {
        let settings = &self.settings;
        let mut options = self.current_target()?.resolved.pager_options(&self.form());
        options.takes_refusals = false;
        // No other element sets are tried: records are shown in the element set from the settings, or not at all.
        options.element_sets.clear();
        let (syntaxes, element_set) = (self.record_syntaxes(), self.element_set());
        let is_choice = syntaxes.len() > 1;
        let present = &mut options.present;
        present.result_set = match set {
            Some(name) => name.into(),
            None => self.result_set()?.name.as_str().into(),
        };
        present.record_syntax.take_if(|_| is_choice);
        present.composition = (settings.schema.is_some() || is_choice).then(|| CompSpec {
            select_alternative_syntax: is_choice,
            generic: Some(Specification {
                schema: settings.schema.clone().into(),
                element_spec: element_set.clone().map(ElementSpec::ElementSetName),
            }),
            db_specific: None,
            record_syntax: is_choice.then_some(syntaxes),
        });
        present.element_set = element_set;
        present.other_info = settings.other_info();
        Ok(options)
    }

    /// Returns the form in which to request records: the first record syntax in the settings or, if they contain none,
    /// the form in the profile.
    pub(super) fn form(&self) -> RecordForm {
        RecordForm::new(self.settings.record_syntaxes.first().copied(), None)
    }

    /// Returns the record syntaxes to request, most preferred first: the syntaxes in the settings, or else the syntax
    /// in the profile, or else MARC 21. The default is needed because servers such as Zebra send XML to a client that
    /// requests no syntax.
    pub(super) fn record_syntaxes(&self) -> Vec<Oid> {
        let known = |profile: &Profile| profile.record_syntax;
        match self.settings.record_syntaxes.as_slice() {
            [] => vec![self.profile().and_then(known).unwrap_or(USMARC)],
            named => named.to_vec(),
        }
    }

    /// Returns the element set to request: the element set in the settings, or else the one in the profile.
    pub(super) fn element_set(&self) -> Option<InternationalString> {
        let known = |profile: &Profile| profile.element_set.as_deref().map(Into::into);
        let named = self.settings.element_set.clone();
        named.or_else(|| self.profile().and_then(known))
    }
}

/// Parses `N`, `N-LAST`, `N+M` or `N+M+SET`; numbers are 1-based.
fn range(text: &str) -> Option<RecordRange> {
    let number = |text: &str| text.trim().parse().ok().filter(|&number: &u64| number > 0);
    if let Some((first, last)) = text.split_once('-')
        && let (Some(start), Some(last)) = (number(first), number(last))
    {
        let count = last.checked_sub(start)?.saturating_add(1);
        return Some(RecordRange::new(start, count));
    }
    let mut parts = text.splitn(3, '+').map(str::trim);
    Some(RecordRange {
        start: number(parts.next()?)?,
        count: parts.next().map_or(Some(1), number)?,
        set: parts.next().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_1() {
        let of = |start, count, set: Option<&str>| {
            Some(RecordRange {
                start,
                count,
                set: set.map(str::to_owned),
            })
        };
        for (text, expected) in [
            ("3", of(3, 1, None)),
            ("3+10", of(3, 10, None)),
            ("3 + 10", of(3, 10, None)),
            ("1+1+2", of(1, 1, Some("2"))),
            ("1-3", of(1, 3, None)),
            ("2 - 2", of(2, 1, None)),
            ("3-1", None),
            ("0-3", None),
            ("0", None),
            ("1+0", None),
            ("-1", None),
            ("x", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }
}
