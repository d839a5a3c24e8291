//! Export Specification and Export Invocation: how to deliver records, and the delivery itself (Z39.50-2003 Appendix EXT.6,
//! EXT.7).

use z3950_asn1::apdu::CompSpec;
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::export_invocation::{
    self, ExportInvocation, ExportSpec, OriginPartNotToKeep, RecordsWanted,
};
use z3950_asn1::es::export_specification::{
    self, Destination, ExportSpecification, OriginPartToKeep,
};
use z3950_asn1::types::InternationalString;

use super::Task;

/// The form and the destination of a delivery. As a task, it is stored under the name of its package.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The form of the records.
    pub composition: CompSpec,
    /// The destination.
    pub destination: Destination,
}

impl Delivery {
    /// The task that stores it.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        Task::new(&TaskParameters::from(self.request()))
    }

    /// The specification as part of another task.
    pub fn request(&self) -> ExportSpecification {
        ExportSpecification::EsRequest(Box::new(export_specification::EsRequest {
            to_keep: OriginPartToKeep {
                composition: self.composition.clone(),
                export_destination: self.destination.clone(),
            },
            not_to_keep: (),
        }))
    }
}

/// A delivery of records of a result set. By default one copy of each.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// The result set of the session.
    pub result_set: InternationalString,
    /// Which records to deliver.
    pub records: RecordsWanted,
    /// How to deliver them: the package of a [`Delivery`], or an inline one ([`Delivery::request`]).
    pub delivery: ExportSpec,
    /// The number of copies of each.
    pub copies: i64,
}

impl Export {
    /// One copy of all records of a result set.
    pub fn new(result_set: impl Into<InternationalString>, delivery: ExportSpec) -> Self {
        Self {
            result_set: result_set.into(),
            records: RecordsWanted::All,
            delivery,
            copies: 1,
        }
    }

    /// The task that delivers them.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let request = ExportInvocation::EsRequest(Box::new(export_invocation::EsRequest {
            to_keep: export_invocation::OriginPartToKeep {
                export_spec: self.delivery.clone(),
                number_of_copies: self.copies,
            },
            not_to_keep: OriginPartNotToKeep {
                result_set_id: self.result_set.clone(),
                records: self.records.clone(),
            },
        }));
        Task::new(&TaskParameters::from(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::es::export_invocation::RecordRange;
    use z3950_asn1::oid;

    #[test]
    fn deliveries_and_exports_read_back() {
        let delivery = Delivery {
            composition: CompSpec {
                select_alternative_syntax: false,
                generic: None,
                db_specific: None,
                record_syntax: Some(vec![oid::USMARC]),
            },
            destination: Destination::FtpAddress("ftp.lib.example/in".into()),
        };
        let inline = ExportSpec::PackageSpec(Box::new(delivery.request()));
        let range = RecordRange {
            start: 3,
            count: None,
        };
        let export = Export {
            records: RecordsWanted::Ranges(vec![range]),
            ..Export::new("default", inline)
        };
        let named = Export::new("default", ExportSpec::PackageName("paper".into()));
        for (task, package_type) in [
            (delivery.task(), oid::EXPORT_SPECIFICATION),
            (export.task(), oid::EXPORT_INVOCATION),
            (named.task(), oid::EXPORT_INVOCATION),
        ] {
            let task = task.expect("encodes");
            assert_eq!(task.package_type, package_type);
            let parameters = task.parameters.expect("there are some");
            match TaskParameters::from_external(&parameters).expect("reads back") {
                TaskParameters::ExportSpecification(read) => assert_eq!(*read, delivery.request()),
                TaskParameters::ExportInvocation(read) => {
                    let ExportInvocation::EsRequest(request) = *read else {
                        panic!("a request")
                    };
                    assert_eq!(request.to_keep.number_of_copies, 1);
                    let wanted = [&export, &named].map(|export| &export.records);
                    assert!(wanted.contains(&&request.not_to_keep.records));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
