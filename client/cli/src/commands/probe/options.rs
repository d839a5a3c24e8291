//! Tries each Init option once, to show whether a granted option works (Z39.50-2003 §3.2.1.1.3).

use std::sync::atomic::Ordering;

use z3950::error::{Error, Phase};
use z3950::service::delete::Delete;
use z3950::service::init;
use z3950::service::present::PresentOptions;
use z3950::service::search::type_104;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::Session;
use z3950_asn1::apdu::{
    CompSpec, DuplicateDetectionRequest, ExtendedServicesFunction, ExtendedServicesRequest,
    Options, RequestedAction, ResourceReportRequest, Schema, Specification,
    TriggerResourceControlRequest,
};
use z3950_asn1::format::charset_negotiation::OriginProposal;
use z3950_asn1::oid::{PERSISTENT_QUERY, XML};

use super::perform::{Attempts, NO_RECORD, NoResult, OTHER_SET, TrialResult, deleted};
use crate::render::counted;

/// The number of records that are requested in segments.
const SEVERAL: u64 = 5;
/// The number of octets in a message with one record that are reserved for data other than the record.
const ROOM: u32 = 300;
/// The name of the MARCXML schema.
const MARCXML: &str = "http://www.loc.gov/MARC21/slim";

impl Attempts<'_> {
    /// Tries out an option by using it once.
    pub(super) async fn use_once(&mut self, session: &Session, option: Options) -> TrialResult {
        let name = option.names().next().unwrap_or_default();
        match option {
            Options::NEGOTIATION_MODEL => return self.negotiation().await,
            Options::ENCAPSULATION | Options::PQES_CORRECTION => {
                return if session.server_info().response.options.contains(option) {
                    Err(NoResult::NotTried("granted, though it was not proposed"))
                } else {
                    Err(NoResult::NotGranted(name))
                };
            }
            _ if !session.server_info().options.contains(option) => {
                return Err(NoResult::NotGranted(name));
            }
            _ => {}
        }
        match option {
            Options::SEARCH => {
                let hits = self.search(session, &self.good(), None).await?;
                Ok(counted(hits, "hit"))
            }
            Options::PRESENT => {
                let options = PresentOptions::default();
                self.first_record(session, &options).await
            }
            Options::DELETE => deleted(session, Delete::All).await,
            Options::RESOURCE_REPORT => {
                let request = ResourceReportRequest::default();
                let report = session.resource_report(request).await?;
                Ok(format!("status {}", report.resource_report_status))
            }
            Options::TRIGGER_RESOURCE_CONTROL => {
                self.trigger(session, RequestedAction::RESOURCE_REPORT)
                    .await
            }
            Options::RESOURCE_CONTROL => self.resource_control(session).await,
            Options::ACCESS_CONTROL => {
                self.search(session, &self.good(), None).await?;
                let challenges = self.server_requests.challenges.load(Ordering::Relaxed);
                Ok(format!("{} so far", counted(challenges, "challenge")))
            }
            Options::SCAN => self.scan(session, 1).await,
            Options::SORT => Ok(self.sort(session).await?.sort_status.to_string()),
            Options::EXTENDED_SERVICES => unknown_task(session).await,
            Options::SEGMENTATION_1 => self.segments(SEVERAL).await,
            Options::SEGMENTATION_2 => self.segments(1).await,
            Options::CONCURRENT_OPERATIONS => {
                let query = self.good();
                let one = self.search(session, &query, None);
                let two = self.search(session, &query, Some(OTHER_SET));
                let (one, two) = futures_util::future::join(one, two).await;
                Ok(format!(
                    "{} and {}",
                    counted(one?, "hit"),
                    counted(two?, "hit")
                ))
            }
            Options::NAMED_RESULT_SETS => {
                let hits = self.search(session, &self.good(), Some(OTHER_SET)).await?;
                Ok(counted(hits, "hit"))
            }
            Options::RESULT_COUNT => match self.sort(session).await?.result_count {
                Some(hits) => Ok(format!("the sorted set has {}", counted(hits, "record"))),
                None => Ok("granted, but the response to Sort has no number".to_owned()),
            },
            Options::DUPLICATE_DETECTION => {
                self.search(session, &self.good(), None).await?;
                self.pause().await;
                let request = DuplicateDetectionRequest::in_place(DEFAULT_RESULT_SET);
                let result = session.detect_duplicates(request).await?;
                Ok(match result.result_set_count {
                    Some(hits) => format!("{hits} records are left"),
                    None => "done".to_owned(),
                })
            }
            Options::QUERY_TYPE_104 => {
                let word = self
                    .arguments
                    .word()
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"");
                let query = type_104(&format!("\"{word}\""));
                let hits = session.search(query, &self.search_options(None)).await?;
                Ok(format!("{} by CQL", counted(hits.hits, "hit")))
            }
            Options::STRING_SCHEMA => {
                let specification = Specification {
                    schema: Some(Schema::Uri(MARCXML.into())).into(),
                    element_spec: None,
                };
                let mut options = PresentOptions::default();
                options.composition = Some(CompSpec {
                    select_alternative_syntax: false,
                    generic: Some(specification),
                    db_specific: None,
                    record_syntax: Some(vec![XML]),
                });
                options.record_syntax = Some(XML);
                self.first_record(session, &options).await
            }
            _ => Err(NoResult::NotTried("unknown here")),
        }
    }

    /// Triggers resource control during a search. The search may end before the server receives the trigger.
    async fn trigger(&self, session: &Session, action: RequestedAction) -> TrialResult {
        let before = self.server_requests.reports.load(Ordering::Relaxed);
        let request = TriggerResourceControlRequest {
            requested_action: action,
            result_set_wanted: None,
            ..TriggerResourceControlRequest::cancel()
        };
        let query = self.good();
        let search = self.search(session, &query, None);
        let trigger = session.trigger_resource_control(request);
        let (hits, asked) = futures_util::future::join(search, trigger).await;
        let (hits, asked) = (hits?, asked?);
        let after = self.server_requests.reports.load(Ordering::Relaxed);
        let came = counted(after.saturating_sub(before), "report");
        Ok(match asked {
            0 => format!(
                "{} before resource control was triggered",
                counted(hits, "hit")
            ),
            _ => format!("{}, {came}", counted(hits, "hit")),
        })
    }

    async fn resource_control(&self, session: &Session) -> TrialResult {
        let is_triggered = session
            .server_info()
            .options
            .contains(Options::TRIGGER_RESOURCE_CONTROL);
        if is_triggered {
            self.trigger(session, RequestedAction::RESOURCE_CONTROL)
                .await
        } else {
            self.search(session, &self.good(), None).await?;
            let reports = self.server_requests.reports.load(Ordering::Relaxed);
            Ok(format!("{} so far", counted(reports, "report")))
        }
    }

    /// Presents records with a small message size, in a separate session: several records that each fit into a message,
    /// or one record that does not fit.
    async fn segments(&self, records: u64) -> TrialResult {
        let Some((query, hits)) = &self.found else {
            return Err(NoResult::NotTried(NO_RECORD));
        };
        let records = records.min(*hits);
        let size = u32::try_from(self.record_size).unwrap_or(u32::MAX);
        let size = match records {
            1 => (size / 3).max(64),
            _ => size.saturating_add(ROOM),
        };
        let session = self
            .reach
            .session_with(self.place, |options| {
                options.init.preferred_message_size = size.into();
            })
            .await?;
        let result = async {
            self.search(&session, query, None).await?;
            self.pause().await;
            let options = PresentOptions::default();
            session.present(1, records, &options).await
        };
        let result = result.await;
        // An error only means that the session has already ended.
        let _ = session.close().await;
        let result = result?;
        let came = result
            .records
            .iter()
            .filter(|one| matches!(one, ResultRecord::Record { .. }));
        Ok(format!(
            "{} of {records} records in messages of {size} octets, {}",
            came.count(),
            result.status
        ))
    }

    /// Opens another session in which a character set is proposed.
    async fn negotiation(&self) -> TrialResult {
        let proposal = OriginProposal::named(&["utf-8"], &[], true);
        let init = init::negotiating(self.reach.init(self.place), proposal)
            .map_err(|error| Error::fault(Phase::Init, error))?;
        let session = self
            .reach
            .session_with(self.place, |options| {
                options.init.other_info = init.other_info;
                options.init.options = init.options;
            })
            .await?;
        let server = session.server_info().clone();
        // An error only means that the session has already ended.
        let _ = session.close().await;
        let selected = server
            .negotiated()
            .and_then(|response| response.selected_char_sets);
        match (selected, server.options) {
            (Some(_), _) => Ok("the server accepted the proposed character set".to_owned()),
            (None, options) if options.contains(Options::NEGOTIATION_MODEL) => {
                Ok("granted, but no character set was selected".to_owned())
            }
            _ => Err(NoResult::NotGranted("negotiationModel")),
        }
    }
}

/// Tries to delete a task that does not exist. The server must refuse this, so nothing is changed.
async fn unknown_task(session: &Session) -> TrialResult {
    let task = ExtendedServicesRequest {
        function: ExtendedServicesFunction::DELETE,
        package_name: Some("z3950-probe".into()),
        ..ExtendedServicesRequest::create(PERSISTENT_QUERY, None)
    };
    let result = session.task_outcome(task).await?;
    Ok(if result.diagnostics.is_empty() {
        format!("a task that does not exist: {}", result.status)
    } else {
        format!("a task that does not exist: {}", result.diagnostics)
    })
}
