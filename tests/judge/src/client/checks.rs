//! The rules for single requests, with one file per group of services.

mod agreed;
mod init;
mod query;
mod records;
mod rest;
mod search;
mod sets;

use z3950_asn1::apdu::{Apdu, Close};
use z3950_asn1::oid::Oid;

use super::knowledge::Knowledge;
use super::rules::RuleId;
use super::sheet::{Message, SessionResults};

/// Judges a request by its contents and by the state of the session.
pub(super) fn check(
    sheet: &mut SessionResults,
    known: &mut Knowledge,
    message: Message<'_>,
    request: &Apdu,
) {
    let mut judged = Judged {
        sheet,
        known,
        message,
        request,
    };
    judged.agreed();
    match request {
        Apdu::InitializeRequest(init) => judged.init(init),
        Apdu::SearchRequest(search) => judged.search(search),
        Apdu::PresentRequest(present) => judged.present(present),
        Apdu::ScanRequest(scan) => judged.scan(scan),
        Apdu::SortRequest(sort) => judged.sort(sort),
        Apdu::DeleteResultSetRequest(delete) => judged.delete(delete),
        Apdu::AccessControlResponse(_) => judged.access(),
        Apdu::ResourceControlResponse(_) => judged.resource(),
        Apdu::TriggerResourceControlRequest(trigger) => judged.trigger(trigger),
        Apdu::ResourceReportRequest(report) => judged.report(report),
        Apdu::ExtendedServicesRequest(task) => judged.task(task),
        Apdu::Close(close) => judged.close(close),
        _ => {}
    }
}

/// A request that is being judged.
struct Judged<'a> {
    sheet: &'a mut SessionResults,
    known: &'a mut Knowledge,
    message: Message<'a>,
    request: &'a Apdu,
}

impl Judged<'_> {
    /// Records whether the request keeps a rule. If it does not, `came` describes what the request contains.
    fn mark(&mut self, rule: RuleId, is_kept: bool, came: impl FnOnce() -> String) {
        self.sheet.mark(self.message, rule, is_kept, came);
    }

    /// Records whether object identifiers of Z39.50 belong to the class that a parameter requires (Appendix OID).
    fn of_class<'b>(
        &mut self,
        class: u32,
        parameter: &str,
        oids: impl IntoIterator<Item = &'b Oid>,
    ) {
        for oid in oids {
            let text = oid.to_string();
            let Some(arcs) = text.strip_prefix("1.2.840.10003.") else {
                continue;
            };
            let is_of_class = arcs.split('.').next() == Some(&*class.to_string());
            self.mark(RuleId::OidClass, is_of_class, || {
                format!("{parameter} {text}, where 1.2.840.10003.{class} is wanted")
            });
        }
    }

    /// Checks closeReason, and whether the version in force defines Close (Z39.50-2003 §3.2.11).
    fn close(&mut self, close: &Close) {
        let reason = close.close_reason.0;
        self.mark(RuleId::CloseReason, (0..=9).contains(&reason), || {
            format!("closeReason {reason}")
        });
        if self.known.version > 0 {
            let version = self.known.version;
            self.mark(RuleId::CloseVersion, version >= 3, || {
                format!("Close in version {version}")
            });
        }
        self.of_class(7, "resourceReportFormat", &close.resource_report_format);
    }
}
