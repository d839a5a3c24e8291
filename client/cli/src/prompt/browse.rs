//! `scan` and its settings: the terms of an index (Z39.50-2003 §3.2.8).

use z3950::service::scan::{ScanOptions, ScanResult};
use z3950::session::Session;
use z3950_asn1::apdu::{Entry, Operand, RpnStructure};
use z3950_asn1::query::Language;

use super::command::{CommandResult, Refusal, number, unquoted};
use super::query::QueryType;
use super::shared::{Positionals, has_option};
use super::state::{Prompt, Scanned};
use super::waiting::request;
use crate::commands::{query, scan};
use crate::console::exit::Exit;
use crate::console::output::Output;

/// The most terms per request.
const MAX_TERMS: u64 = 1000;

impl Prompt {
    pub(super) async fn scan(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if has_option(text) {
            return self
                .shared::<scan::Arguments>(Positionals::Text, text, output)
                .await;
        }
        if !text.is_empty() {
            let scanned = self.start_of_scan(text, None)?;
            return self.scan_from(scanned, false, output).await;
        }
        let scanned = self.place().and_then(|place| place.scanned.clone());
        let none = || Refusal::wrong("there is no scan to continue; use scan TERM");
        self.scan_from(scanned.ok_or_else(none)?, true, output)
            .await
    }

    pub(super) async fn set_scan(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (set, term) = text.split_once(char::is_whitespace).ok_or(Refusal::Usage)?;
        let scanned = self.start_of_scan(term.trim(), Some(set.to_owned()))?;
        self.scan_from(scanned, false, output).await
    }

    /// Reads the term and its attributes in the query language.
    fn start_of_scan(&self, text: &str, in_set: Option<String>) -> Result<Scanned, Refusal> {
        let text = unquoted(text);
        let language = match self.settings.query_type {
            _ if text.starts_with('@') => Language::Pqf,
            // For a plain term, the server chooses the index.
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
        if let Some(place) = self.here() {
            query = place.adapted(&query)?;
        }
        match query.rpn {
            RpnStructure::Op(Operand::AttributesPlusTerm(last)) => Ok(Scanned {
                attribute_set: query.attribute_set,
                last,
                in_set,
            }),
            _ => Err(Refusal::wrong("scan takes one term, not a query")),
        }
    }

    async fn scan_from(
        &mut self,
        scanned: Scanned,
        goes_on: bool,
        output: &mut Output,
    ) -> CommandResult {
        let settings = &self.settings;
        let mut options = ScanOptions::default();
        options.databases = self.searched();
        options.attribute_set = Some(scanned.attribute_set);
        options.step_size = settings.scan_step;
        // The last term comes first now, and is not shown again.
        options.number_of_terms = settings.scan_size + u64::from(goes_on);
        options.preferred_position = match goes_on {
            true => Some(1),
            false => settings.scan_position,
        };
        options.other_info = settings.other_info();
        let options = match &scanned.in_set {
            Some(name) => options.in_result_set(name.as_str()),
            None => options,
        };
        let scan = move |session: Session| {
            let (scanned, options) = (scanned.clone(), options.clone());
            let start = scanned.last.clone();
            let answer = async move { session.scan(start, &options).await };
            request(answer, move |state, result, output| {
                state.scanned(scanned, goes_on, result, output)
            })
        };
        self.send_anywhere(scan, output).await
    }

    fn scanned(
        &mut self,
        mut scanned: Scanned,
        goes_on: bool,
        mut result: ScanResult,
        output: &mut Output,
    ) -> CommandResult {
        let place = self.here().ok_or(Refusal::Usage)?;
        if goes_on {
            result.position_of_term = None;
            let is_last = |entry: &Entry| matches!(entry, Entry::TermInfo(info) if info.term == scanned.last.term);
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
        if let (Some(term), Some(opened)) = (last, self.place_mut()) {
            scanned.last.term = term;
            opened.scanned = Some(scanned);
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
