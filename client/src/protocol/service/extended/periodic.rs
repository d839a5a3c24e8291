//! Periodic Query Schedule: a query that the server runs periodically (Z39.50-2003 Appendix EXT.3).

use z3950_asn1::apdu::Query;
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::export_specification::Destination;
use z3950_asn1::es::periodic_query::{
    EsRequest, ExportParameters, OriginPartNotToKeep, OriginPartToKeep, Period,
    PeriodicQuerySchedule, QuerySpec, ResultSetDisposition,
};
use z3950_asn1::types::{GeneralizedTime, InternationalString};

use super::Task;

/// A query and when to run it. By default it is active, and its results are not kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PeriodicQuery {
    /// Whether the schedule is active.
    pub is_active: bool,
    /// The query, or the package of a persistent one; `None` to keep that of an existing package.
    pub query: Option<QuerySpec>,
    /// The databases to search.
    pub databases: Vec<InternationalString>,
    /// The suggested period; `None` to keep that of an existing package.
    pub period: Option<Period>,
    /// When the schedule ends; `None` for never.
    pub expiration: Option<GeneralizedTime>,
    /// The package of the persistent result set for the results.
    pub result_set_package: Option<InternationalString>,
    /// What to do with earlier results.
    pub disposition: Option<ResultSetDisposition>,
    /// Where to send an alert about new results.
    pub alert: Option<Destination>,
    /// How to deliver the results.
    pub export: Option<ExportParameters>,
}

impl PeriodicQuery {
    /// A query to run in these databases with this period.
    pub fn new(query: Query, databases: Vec<InternationalString>, period: Period) -> Self {
        Self {
            is_active: true,
            query: Some(QuerySpec::ActualQuery(Box::new(query))),
            databases,
            period: Some(period),
            expiration: None,
            result_set_package: None,
            disposition: None,
            alert: None,
            export: None,
        }
    }

    /// The task that schedules it.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let databases = Some(&self.databases).filter(|databases| !databases.is_empty());
        let request = PeriodicQuerySchedule::EsRequest(Box::new(EsRequest {
            to_keep: OriginPartToKeep {
                active_flag: self.is_active,
                database_names: databases.cloned(),
                result_set_disposition: self.disposition,
                alert_destination: self.alert.clone(),
                export_parameters: self.export.clone(),
            },
            not_to_keep: OriginPartNotToKeep {
                query_spec: self.query.clone(),
                origin_suggested_period: self.period.clone(),
                expiration: self.expiration.clone(),
                result_set_package: self.result_set_package.clone(),
            },
        }));
        Task::new(&TaskParameters::from(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::query;
    use z3950_asn1::oid;

    #[test]
    fn a_schedule_reads_back() {
        let weekly = Period::Other("every Monday".into());
        let asked = PeriodicQuery {
            alert: Some(Destination::EmailAddress("me@lib.example".into())),
            disposition: Some(ResultSetDisposition::APPEND),
            result_set_package: Some("new books".into()),
            ..PeriodicQuery::new(query(), vec!["cat".into()], weekly.clone())
        };
        let task = asked.task().expect("encodes");
        assert_eq!(task.package_type, oid::PERIODIC_QUERY_SCHEDULE);
        let parameters = task.parameters.expect("there are some");
        let read = TaskParameters::from_external(&parameters).expect("reads back");
        let TaskParameters::PeriodicQuerySchedule(read) = read else {
            panic!("{read:?}")
        };
        let PeriodicQuerySchedule::EsRequest(request) = *read else {
            panic!("a request")
        };
        assert!(request.to_keep.active_flag);
        assert_eq!(request.to_keep.alert_destination, asked.alert);
        assert_eq!(request.not_to_keep.query_spec, asked.query);
        assert_eq!(request.not_to_keep.origin_suggested_period, Some(weekly));
    }
}
