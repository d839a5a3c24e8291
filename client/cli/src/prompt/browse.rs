//! The command `scan` and its settings: lists the terms of an index (Z39.50-2003 §3.2.8).

use z3950::service::scan::ScanResult;
use z3950::session::Session;
use z3950_asn1::apdu::Entry;
use z3950_asn1::query::Language;

use super::command::{CommandResult, Refusal, number, unquoted};
use super::query::QueryType;
use super::shared::{Positionals, has_option};
use super::state::Prompt;
use super::waiting::request;
use crate::commands::scan::TermList;
use crate::commands::{query, scan};
use crate::console::exit::Exit;
use crate::console::output::Output;

/// The maximum number of terms per request.
const MAX_TERMS: u64 = 1000;

impl Prompt {
    pub(super) async fn scan(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if has_option(text) {
            return self
                .shared::<scan::Arguments>(Positionals::Text, text, output)
                .await;
        }
        if !text.is_empty() {
            let list = self.start_of_scan(text)?;
            return self.scan_from(list, false, output).await;
        }
        let last = self.opened().and_then(|opened| opened.scanned.clone());
        let none = || Refusal::wrong("there is no scan to continue; use scan TERM");
        self.scan_from(last.ok_or_else(none)?, true, output).await
    }

    pub(super) async fn set_scan(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (set, term) = text.split_once(char::is_whitespace).ok_or(Refusal::Usage)?;
        let mut list = self.start_of_scan(term.trim())?;
        list.options = list.options.in_result_set(set);
        self.scan_from(list, false, output).await
    }

    /// Parses the start term with its attributes, in the current query language.
    fn start_of_scan(&self, text: &str) -> Result<TermList, Refusal> {
        let text = unquoted(text);
        let language = match self.settings.query_type {
            _ if text.starts_with('@') => Language::Pqf,
            // Text without an index name is parsed as PQF, in which a term needs no attributes. The server then chooses
            // the index.
            QueryType::Auto if !text.contains(':') => Language::Pqf,
            other => other.language().unwrap_or(Language::Names),
        };
        let quoted = || format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let text = match language {
            Language::Pqf if !text.starts_with(['@', '"']) => &*quoted(),
            _ => text,
        };
        let read = query::read(&self.dialects, Some(language), text);
        let (mut query, _) = read.map_err(Refusal::wrong)?;
        if let Ok(place) = self.current_target() {
            query = place.adapted(&query)?;
        }
        let mut list = TermList::around(query)
            .map_err(|_| Refusal::wrong("scan takes one term, not a query"))?;
        list.options.other_info = self.settings.other_info();
        Ok(list)
    }

    async fn scan_from(
        &mut self,
        mut list: TermList,
        goes_on: bool,
        output: &mut Output,
    ) -> CommandResult {
        let (settings, options) = (&self.settings, &mut list.options);
        options.databases = self.searched();
        options.step_size = settings.scan_step;
        // To continue, the last term of the previous list is requested again as the first term, but is not shown again.
        options.number_of_terms = settings.scan_size + u64::from(goes_on);
        options.preferred_position = if goes_on {
            Some(1)
        } else {
            settings.scan_position
        };
        let scan = move |session: Session| {
            let (asked, list) = (list.clone(), list.clone());
            let answer = async move { session.scan(asked.start, &asked.options).await };
            request(answer, move |state, result, output| {
                state.scanned(list, goes_on, result, output)
            })
        };
        self.send_anywhere(scan, output).await
    }

    fn scanned(
        &mut self,
        mut list: TermList,
        goes_on: bool,
        mut result: ScanResult,
        output: &mut Output,
    ) -> CommandResult {
        let place = self.current_target()?;
        if goes_on {
            result.position_of_term = None;
            let is_last = |entry: &Entry| matches!(entry, Entry::TermInfo(info) if info.term == list.start.term);
            if result.entries.first().is_some_and(is_last) {
                result.entries.remove(0);
            }
            if result.entries.is_empty() && result.diagnostics.is_empty() {
                output.note("the index ends here");
                return Ok(Exit::Delivered);
            }
        }
        let last = result.entries.iter().rev().find_map(|entry| match entry {
            Entry::TermInfo(info) => Some(info.term.clone()),
            Entry::SurrogateDiagnostic(_) => None,
        });
        if let (Some(term), Some(opened)) = (last, self.opened_mut()) {
            list.start.term = term;
            opened.scanned = Some(list);
        }
        let envelope = scan::envelope(&place, String::new());
        Ok(scan::show(false, &place, &envelope, &result, output)?)
    }

    pub(super) fn scan_size(&mut self, text: &str) -> Result<(), Refusal> {
        let size: u64 = number(text)?;
        if !(1..=MAX_TERMS).contains(&size) {
            return Err(Refusal::wrong(format!("scansize takes 1 to {MAX_TERMS}")));
        }
        self.settings.scan_size = size;
        Ok(())
    }
}
