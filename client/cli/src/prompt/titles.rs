//! Lists numbered titles: the command `titles`, and the list that follows `find` on a terminal.

use z3950::Record;
use z3950::service::ResultRecord;

use super::command::{CommandResult, Refusal};
use super::records::RecordRange;
use super::search::TITLES;
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{counted, cut_to, numbered, shown};

impl Prompt {
    /// Returns whether `find` lists titles. It does so only if a user types the command at a terminal and sees its
    /// output, `set_titles` is on, and `ssub`, `lslb` and `mspn` have their default values, with which a search returns
    /// no records.
    pub(super) fn finds_titles(&self, output: &Output) -> bool {
        let settings = &self.settings;
        let is_seen = self.context.asker.is_some() && output.is_terminal();
        is_seen && settings.lists_titles && self.depth == 0 && settings.has_default_bounds()
    }

    /// Lists the titles that have not been listed yet after `find` or `sort`, if the settings ask for this. Errors are
    /// shown only as notes, because the command itself has succeeded.
    pub(super) async fn first_titles(&mut self, output: &mut Output) -> Result<(), Failure> {
        let Ok(set) = self.result_set() else {
            return Ok(());
        };
        if !self.finds_titles(output) || !self.settings.auto_wait {
            return Ok(());
        }
        let left = (set.hits.unwrap_or(TITLES).min(TITLES) + 1).saturating_sub(set.next_title);
        let range = RecordRange::new(set.next_title, left);
        if left > 0 {
            match self.list(&range, output).await {
                Err(Refusal::Machine(failure)) => return Err(failure),
                Err(Refusal::Because(_, reason)) => output.note(&format!("no titles: {reason}")),
                Ok(_) | Err(Refusal::Usage) => {}
            }
        }
        self.say_how_to_go_on(output);
        Ok(())
    }

    pub(super) async fn titles(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let range = match text {
            "" => RecordRange::new(self.result_set()?.next_title, TITLES),
            text if text.contains(['+', '-']) || text == "all" => self.range(text)?,
            text => RecordRange {
                count: TITLES,
                ..self.range(text)?
            },
        };
        let count = match self.hits(&range) {
            Some(0) => return Err(Refusal::wrong("the result set is empty")),
            Some(hits) if range.start > hits && text.is_empty() => {
                output.note("there are no more titles");
                return Ok(Exit::Delivered);
            }
            Some(hits) if range.start > hits => {
                let titles = counted(hits, "title");
                return Err(Refusal::wrong(format!("the result set has {titles}")));
            }
            Some(hits) => range.count.min(hits - range.start + 1),
            None => range.count,
        };
        let exit = self.list(&RecordRange { count, ..range }, output).await?;
        if self.context.asker.is_some() && text.is_empty() {
            self.say_how_to_go_on(output);
        }
        Ok(exit)
    }

    /// Lists the titles in a range, one screen at a time.
    async fn list(&mut self, range: &RecordRange, output: &mut Output) -> CommandResult {
        let hits = self.hits(range);
        let mut pages = self.pages(output);
        let take = async |state: &mut Self, position, record: ResultRecord| {
            let line = state.title_line(position, hits, &record, output);
            let which = numbered(position, hits);
            let goes_on = pages.lines(&format!("{line}\n"), &which, output).await?;
            if goes_on && range.set.is_none() {
                state.listed(position);
            }
            Ok((
                match record {
                    ResultRecord::Record { .. } => Exit::Delivered,
                    ResultRecord::Diagnostic { .. } => Exit::Refused,
                },
                goes_on,
            ))
        };
        self.each_record(range, take).await
    }

    /// Lists the titles of the records in a search response.
    pub(super) fn list_first(
        &mut self,
        hits: Option<u64>,
        records: &[ResultRecord],
        output: &mut Output,
    ) -> Result<(), Failure> {
        for (position, record) in (1..).zip(records) {
            let line = self.title_line(position, hits, record, output);
            output.line(&line)?;
            self.listed(position);
        }
        Ok(())
    }

    /// Records that the title at a position in the current set has been listed.
    fn listed(&mut self, position: u64) {
        if let Some(set) = self
            .opened_mut()
            .and_then(|opened| opened.result_set.as_mut())
        {
            set.next_title = position.saturating_add(1);
        }
    }

    /// If there are further titles, prints a note on how to list them, such as `10 of 17; …`.
    fn say_how_to_go_on(&self, output: &Output) {
        if let Ok(set) = self.result_set()
            && set.next_title > 1
            && set.hits.is_none_or(|hits| hits >= set.next_title)
        {
            let at = numbered(set.next_title - 1, set.hits);
            output.note(&format!(
                "{at}; Enter lists more, show N shows record N in full"
            ));
        }
    }

    /// Returns the line for a record, shortened to the width of the terminal.
    fn title_line(
        &self,
        position: u64,
        hits: Option<u64>,
        record: &ResultRecord,
        output: &Output,
    ) -> String {
        let width = hits.unwrap_or(position).max(TITLES).to_string().len();
        let text = match record {
            ResultRecord::Record { external, .. } => {
                let record = Record::new(external.clone(), Some(position));
                title(&record.with_charset(self.record_charset()))
            }
            ResultRecord::Diagnostic { diagnostic, .. } => diagnostic.to_string(),
        };
        let line = format!("{position:>width$}  {}", shown(text.as_bytes()));
        match output.screen() {
            Some((columns, _)) => cut_to(&line, columns),
            None => line,
        }
    }
}

/// Returns a line such as `1869  War and peace – Tolstoy, Leo`; missing parts are left out. For a record without a
/// title, returns its first line.
fn title(record: &Record) -> String {
    let citation = record.citation();
    let year = citation
        .year
        .map_or_else(String::new, |year| year.to_string());
    let title = citation.title.or_else(|| {
        let text = record.text();
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    });
    let title = title.unwrap_or_else(|| "(no title)".to_owned());
    let author = citation
        .author
        .map_or_else(String::new, |author| format!(" – {author}"));
    format!("{year:<4}  {title}{author}")
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::External;
    use z3950_asn1::oid::USMARC;
    use z3950_asn1::record::sutrs_external;
    use z3950_marc::{iso2709, mrk};

    use super::*;

    fn check(external: External, expected: &str) {
        assert_eq!(title(&Record::new(external, None)), expected);
    }

    #[test]
    fn a_title_line_has_year_title_and_author() {
        for (fields, expected) in [
            (
                "=100  1\\$aTolstoy, Leo.\n=245  10$aWar and peace /$cby Leo Tolstoy.\n=260  \\\\$bNelson,$c[c1912]\n",
                "1912  War and peace – Tolstoy, Leo",
            ),
            ("=245  00$aProceedings\n", "      Proceedings"),
            ("=260  \\\\$c19--\n=245  00$aA\n", "      A"),
            (
                "=500  \\\\$aOnly a note\n",
                "      00000nam a2200000 a 4500",
            ),
        ] {
            let text = format!("=LDR  00000nam a2200000 a 4500\n{fields}");
            let record = mrk::parse_all(&text).expect("a record").remove(0);
            let octets = iso2709::encode(&record).expect("fits");
            let line = title(&Record::new(External::octet_aligned(USMARC, octets), None));
            if expected.contains("nam a22") {
                assert!(line.contains("nam a22"), "{line}")
            } else {
                assert_eq!(line, expected)
            }
        }
        let text = sutrs_external("\n Title: Emma\nAuthor: x\n").expect("fits");
        check(text, "      Title: Emma");
    }
}
