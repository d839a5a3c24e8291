//! Rules about access and resource control, reports, and extended services (Z39.50-2003 §3.2.5, §3.2.6, §3.2.9).

use z3950_asn1::apdu::{
    ExtendedServicesFunction, ExtendedServicesRequest, ResourceReportRequest,
    TriggerResourceControlRequest,
};

use super::Judged;
use crate::client::rules::RuleId;

impl Judged<'_> {
    pub(super) fn access(&mut self) {
        let asked = self.known.challenges;
        self.known.challenges = asked.saturating_sub(1);
        self.mark(RuleId::AccessAsked, asked > 0, || {
            "an accessControlResponse that nobody asked for".to_owned()
        });
    }

    pub(super) fn resource(&mut self) {
        let asked = self.known.controls;
        self.known.controls = asked.saturating_sub(1);
        self.mark(RuleId::ResourceAsked, asked > 0, || {
            "a resourceControlResponse that nobody asked for".to_owned()
        });
    }

    pub(super) fn trigger(&mut self, trigger: &TriggerResourceControlRequest) {
        let action = trigger.requested_action.0;
        self.mark(RuleId::TriggerAction, (1..=3).contains(&action), || {
            format!("requestedAction {action}")
        });
        let is_busy = !self.known.pending.is_empty();
        self.mark(RuleId::TriggerBusy, is_busy, || {
            "nothing is in progress".to_owned()
        });
        let format = &trigger.pref_resource_report_format;
        self.of_class(7, "prefResourceReportFormat", format);
    }

    pub(super) fn report(&mut self, report: &ResourceReportRequest) {
        let format = &report.pref_resource_report_format;
        self.of_class(7, "prefResourceReportFormat", format);
    }

    pub(super) fn task(&mut self, task: &ExtendedServicesRequest) {
        let function = task.function.0;
        let wait = task.wait_action.0;
        let is_known = (1..=3).contains(&function) && (1..=4).contains(&wait);
        self.mark(RuleId::ExtendedValues, is_known, || {
            format!("function {function}, waitAction {wait}")
        });
        self.of_class(9, "packageType", [&task.package_type]);
        if task.function == ExtendedServicesFunction::CREATE {
            let has = task.task_specific_parameters.is_some();
            self.mark(RuleId::ExtendedParameters, has, || {
                "no taskSpecificParameters".to_owned()
            });
        }
    }
}
