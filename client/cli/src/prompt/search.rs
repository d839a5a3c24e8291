//! The commands `find`, `delete` and `sort`, which apply to whole result sets (Z39.50-2003 §3.2.2, §3.2.4, §3.2.7).

use futures_util::StreamExt;
use z3950::SortKey;
use z3950::error::{Diagnostics, Error};
use z3950::service::delete::{Delete, DeleteResult};
use z3950::service::search::{SearchOptions, SearchResult};
use z3950::service::sort::{key_by_attributes, key_by_field};
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::Session;
use z3950_asn1::apdu::{
    AttributeElement, CaseSensitivity, DeleteSetStatus, MissingValueAction, Options, Query,
    SortKeySpec, SortRelation, SortRequest, SortResponse, SortStatus,
};

use super::command::{CommandResult, Refusal, number, parsed, unquoted, words};
use super::query;
use super::state::Prompt;
use super::waiting::{Request, request};
use crate::commands::facets::{say_details, say_facets};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report::unsorted;
use crate::render::{counted, shown};

/// The number of titles to list at a time.
pub(super) const TITLES: u64 = 10;

impl Prompt {
    pub(super) async fn find(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let search = self.search(text, output)?;
        let exit = self.send_anywhere(search, output).await?;
        self.first_titles(output).await?;
        Ok(exit)
    }

    /// Prepares a search with the current settings. Returns a function that creates the request in a session.
    pub(super) fn search(
        &mut self,
        text: &str,
        output: &Output,
    ) -> Result<impl Fn(Session) -> Request + use<>, Refusal> {
        if text.is_empty() {
            return Err(Refusal::Usage);
        }
        if let Some(option) = parsed(text).first().filter(|word| word.is_option()) {
            return Err(Refusal::wrong(format!(
                "find takes no options such as {}; search does",
                option.written
            )));
        }
        let text = unquoted(text);
        let (query, keys) = self.query(text, output)?;
        let lists_titles = self.finds_titles(output);
        let mut options = self.search_options()?;
        let mut form = self.pager_options(Some(DEFAULT_RESULT_SET))?;
        form.takes_refusals = true;
        // Some servers refuse a search because of its record syntax. The only alternative that is tried is to request
        // no syntax.
        form.alternatives.retain(Option::is_none);
        // Sorting changes which records come first, so if the result is to be sorted, no records are requested with the search.
        if keys.is_empty() && lists_titles {
            options = options.with_records(TITLES.min(form.chunk_size));
        } else if keys.is_empty() {
            options.small_set_upper_bound = self.settings.small_set_upper_bound;
            options.large_set_lower_bound = self.settings.large_set_lower_bound;
            options.medium_set_present_number = self.settings.medium_set_present_number;
        }
        if let Some(opened) = self.opened_mut() {
            opened.result_set = None;
        }
        let name = self.next_name();
        Ok(move |session: Session| {
            let is_named = session.server_info().options;
            let mut options = options.clone();
            options.result_set = if is_named.contains(Options::NAMED_RESULT_SETS) {
                name.as_str().into()
            } else {
                DEFAULT_RESULT_SET.into()
            };
            let name = options.result_set.to_string_lossy().into_owned();
            let (query, keys, form) = (query.clone(), keys.clone(), form.clone());
            let asked = query.clone();
            let answer = async move {
                let mut pager = session.pager(query, &options, form).await?;
                let mut warning = None;
                if !keys.is_empty()
                    && pager.found().count().is_none_or(|hits| hits > 1)
                    && let Err(error) = pager.sort(keys).await
                {
                    warning = Some(unsorted(&error).ok_or(error)?);
                }
                let found = pager.found().clone();
                // If a record cannot be read, the stream ends with an error. The error is dropped here, because it occurs again
                // when the next records are requested.
                let records: Vec<ResultRecord> = pager
                    .stream_range(1, pager.received_with_search())
                    .filter_map(async |record| record.ok())
                    .collect()
                    .await;
                Ok((found, records, warning))
            };
            request(answer, move |state, (result, records, warning), output| {
                say_facets(&result, state.settings.facets.as_ref(), output)?;
                say_hits(result.count(), output)?;
                say_details(&result, &asked, output);
                if let Some(words) = warning {
                    output.warning(&words);
                }
                state.searched_into(name, &result, &records, lists_titles, output)
            })
        })
    }

    fn searched_into(
        &mut self,
        name: String,
        result: &SearchResult,
        records: &[ResultRecord],
        lists_titles: bool,
        output: &mut Output,
    ) -> CommandResult {
        self.found(name, result.count());
        let mut exit = match result.count() {
            Some(0) => Error::of_nothing(&result.sources()).code().into(),
            hits => of_hits(hits),
        };
        if lists_titles {
            // The Present that follows repeats the diagnostics in place of records, so they are not shown here.
            self.list_first(result.count(), records, output)?;
            return Ok(exit);
        }
        if !result.diagnostics.is_empty() {
            output.warning(&format!("no records came: {}", result.diagnostics));
            exit = Exit::Refused;
        }
        Ok(exit.and(self.write_all(1, records, false, output)?))
    }

    /// Parses a query and its sort keys. The terms are converted to the character set in the settings.
    fn query(&self, text: &str, output: &Output) -> Result<(Query, Vec<SortKeySpec>), Refusal> {
        let query_type = self.settings.query_type;
        let is_sru = self
            .opened()
            .is_some_and(|opened| opened.way.target.endpoint.is_sru());
        let read = query::read(query_type, &self.dialects, text, is_sru);
        let (mut query, keys, remark) = read.map_err(Refusal::wrong)?;
        remark.inspect(|words| output.note(words));
        if let (Query::Type1(rpn), Ok(place)) = (&mut query, self.current_target()) {
            *rpn = place.adapted(rpn)?;
        }
        Ok((query, keys))
    }

    fn search_options(&self) -> Result<SearchOptions, Refusal> {
        let mut options = self.current_target()?.resolved.search_options(&self.form());
        options.element_set = self.element_set();
        options.other_info = self.settings.other_info();
        options.takes_unknown_count = true;
        match &self.settings.facets {
            None => Ok(options),
            Some(facets) => options.with_facets(facets).map_err(Refusal::wrong),
        }
    }

    /// Returns a name for the next result set.
    pub(super) fn next_name(&mut self) -> String {
        let is_named = self.settings.named_sets.unwrap_or(true);
        match self.opened_mut() {
            Some(opened) if is_named => {
                opened.sets_named = opened.sets_named.saturating_add(1);
                opened.sets_named.to_string()
            }
            _ => DEFAULT_RESULT_SET.to_owned(),
        }
    }

    pub(super) async fn delete(&mut self, names: &str, output: &mut Output) -> CommandResult {
        let names = words(names);
        let sets = match names.as_slice() {
            [] => Delete::All,
            names => Delete::Sets(names.iter().map(|name| name.as_str().into()).collect()),
        };
        let delete = move |session: Session| {
            let answer = async move { session.delete(sets).await };
            request(answer, move |state, result, output| {
                state.deleted(&names, &result, output)
            })
        };
        self.send(delete, output).await
    }

    fn deleted(
        &mut self,
        names: &[String],
        result: &DeleteResult,
        output: &mut Output,
    ) -> CommandResult {
        if let Some(opened) = self.opened_mut() {
            let is_deleted = |name: &str| names.is_empty() || names.iter().any(|own| own == name);
            opened.hits.retain(|name, _| !is_deleted(name));
            opened.result_set.take_if(|set| is_deleted(&set.name));
        }
        output.line(&deletion(result.status))?;
        for set in &result.sets {
            let name = shown(set.id.0.as_bytes());
            output.line(&format!("  {name}: {}", deletion(set.status)))?;
        }
        if let Some(message) = &result.message {
            output.note(message);
        }
        say_diagnostics(&result.diagnostics, output);
        Ok(if result.is_success() {
            Exit::Delivered
        } else {
            Exit::Refused
        })
    }

    pub(super) async fn sort(&mut self, keys: &str, output: &mut Output) -> CommandResult {
        let name = self.result_set()?.name;
        self.sort_to(keys, name, output).await
    }

    pub(super) async fn sort_into(&mut self, keys: &str, output: &mut Output) -> CommandResult {
        let name = self.next_name();
        self.sort_to(keys, name, output).await
    }

    async fn sort_to(&mut self, keys: &str, into: String, output: &mut Output) -> CommandResult {
        let keys = sort_keys(keys)?;
        let set = self.result_set()?;
        let sorting = SortRequest {
            sorted_result_set_name: into.as_str().into(),
            other_info: self.settings.other_info(),
            ..SortRequest::in_place(set.name.as_str(), keys)
        };
        let sort = move |session: Session| {
            let answer = async move { session.sort(sorting).await };
            request(answer, move |state, result: SortResponse, output| {
                let hits = result.result_count;
                let hits = hits.and_then(|hits| u64::try_from(hits).ok());
                state.found(into, hits.or(set.hits));
                output.line(match result.sort_status {
                    SortStatus::SUCCESS => "sorted",
                    SortStatus::PARTIAL_1 => "partly sorted",
                    _ => "not sorted",
                })?;
                let diagnostics = Diagnostics(result.diagnostics.unwrap_or_default());
                say_diagnostics(&diagnostics, output);
                Ok(Exit::Delivered)
            })
        };
        let exit = self.send(sort, output).await?;
        self.first_titles(output).await?;
        Ok(exit)
    }
}

/// Describes the result of deleting a result set (Z39.50-2003 §3.2.4.1.3).
fn deletion(status: DeleteSetStatus) -> String {
    let reason = match status {
        DeleteSetStatus::SUCCESS => return "deleted".to_owned(),
        DeleteSetStatus::RESULT_SET_DID_NOT_EXIST => "no such result set",
        DeleteSetStatus::PREVIOUSLY_DELETED_BY_TARGET => "the server deleted it earlier",
        DeleteSetStatus::SYSTEM_PROBLEM_AT_TARGET => "the server has a problem",
        DeleteSetStatus::ACCESS_NOT_ALLOWED => "access denied",
        DeleteSetStatus::RESOURCE_CONTROL_AT_ORIGIN => "cancelled by this client",
        DeleteSetStatus::RESOURCE_CONTROL_AT_TARGET => "cancelled by the server",
        DeleteSetStatus::BULK_DELETE_NOT_SUPPORTED => {
            "the server cannot delete all result sets at once; name them"
        }
        DeleteSetStatus::NOT_ALL_REQUESTED_RESULT_SETS_DELETED
        | DeleteSetStatus::NOT_ALL_RESULT_SETS_DELETED => "some result sets could not be deleted",
        DeleteSetStatus::RESULT_SET_IN_USE => "the result set is in use",
        other => return format!("not deleted: {other}"),
    };
    format!("not deleted: {reason}")
}

pub(super) fn say_hits(hits: Option<u64>, output: &mut Output) -> Result<(), Failure> {
    if hits.is_none() {
        output.note(
            "the server returned a negative number of hits; show requests records regardless",
        );
    }
    output.line(&hits_in_words(hits))
}

/// Returns the exit code of a search with this many hits.
pub(super) fn of_hits(hits: Option<u64>) -> Exit {
    match hits {
        Some(0) => Exit::NoMatch,
        _ => Exit::Delivered,
    }
}

/// Describes the number of hits, such as `17 hits`.
pub(super) fn hits_in_words(hits: Option<u64>) -> String {
    match hits {
        None => "unknown number of hits".to_owned(),
        Some(hits) => counted(hits, "hit"),
    }
}

/// Parses `KEY FLAGS KEY FLAGS …`, as in yaz-client. A single key needs no flags, and may be followed by `:desc`, as in
/// `--sort`.
fn sort_keys(text: &str) -> Result<Vec<SortKeySpec>, Refusal> {
    let words = words(text);
    match words.as_slice() {
        [] => Err(Refusal::Usage),
        [key] => {
            let key: SortKey = key.parse().map_err(Refusal::wrong)?;
            Ok(vec![key.as_spec().clone()])
        }
        words => words
            .chunks(2)
            .map(|pair| match pair {
                [key, flags] => sort_key(key, flags),
                _ => Err(Refusal::Usage),
            })
            .collect(),
    }
}

fn sort_key(key: &str, flags: &str) -> Result<SortKeySpec, Refusal> {
    let mut relation = SortRelation::ASCENDING;
    let mut case = CaseSensitivity::CASE_INSENSITIVE;
    let mut missing = MissingValueAction::Null;
    let mut characters = flags.chars();
    while let Some(flag) = characters.next() {
        match flag {
            'a' | 'A' | '<' => relation = SortRelation::ASCENDING,
            'd' | 'D' | '>' => relation = SortRelation::DESCENDING,
            'i' | 'I' => case = CaseSensitivity::CASE_INSENSITIVE,
            's' | 'S' => case = CaseSensitivity::CASE_SENSITIVE,
            '!' => missing = MissingValueAction::Abort,
            '=' => {
                missing = MissingValueAction::MissingValueData(characters.as_str().into());
                break;
            }
            other => {
                return Err(Refusal::wrong(format!(
                    "{other} is not a sort flag: use a, d, i, s, ! or =VALUE"
                )));
            }
        }
    }
    let spec = if key.contains('=') {
        let attributes = key.split(',').map(|attribute| {
            let (of_type, value) = attribute.split_once('=').ok_or(Refusal::Usage)?;
            let (of_type, value) = (number(of_type.trim())?, number(value.trim())?);
            Ok(AttributeElement::numeric(of_type, value))
        });
        key_by_attributes(attributes.collect::<Result<_, Refusal>>()?, relation)
    } else {
        key_by_field(key, relation)
    };
    Ok(SortKeySpec {
        case_sensitivity: case,
        missing_value_action: Some(missing),
        ..spec
    })
}

/// Prints the diagnostics in a response as a warning, because the response contains a result too.
pub(super) fn say_diagnostics(diagnostics: &Diagnostics, output: &Output) {
    if !diagnostics.is_empty() {
        output.warning(&diagnostics.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_are_read_as_yaz_client_reads_them() {
        for (text, keys) in [
            ("1=4 a", Ok(1)),
            ("title < 1=31 d!", Ok(2)),
            ("1=4,2=3 ds=none", Ok(1)),
            ("title", Ok(1)),
            ("date:desc", Ok(1)),
            ("title < date", Err(())),
            ("", Err(())),
            ("1=x a", Err(())),
            ("1=4 q", Err(())),
        ] {
            let found = sort_keys(text).map(|keys| keys.len()).map_err(|_| ());
            assert_eq!(found, keys, "{text}");
        }
        let key = sort_key("title", ">s=zz").expect("a key");
        assert_eq!(key.sort_relation, SortRelation::DESCENDING);
        assert_eq!(key.case_sensitivity, CaseSensitivity::CASE_SENSITIVE);
        assert_eq!(
            key.missing_value_action,
            Some(MissingValueAction::MissingValueData("zz".into()))
        );
    }
}
