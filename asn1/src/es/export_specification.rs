//! Export Specification: the form and destination of delivered records, stored for use in other tasks (Z39.50-2003
//! Appendix EXT.6).

use super::Null;
use crate::apdu::CompSpec;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// ExportSpecification: the client's request, or the task package at the server.
    pub enum ExportSpecification {
        [1] EsRequest(Box<EsRequest>),
        [2] TaskPackage(Box<TaskPackage>),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: OriginPartToKeep,
        [2] not_to_keep: Null,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: OriginPartToKeep,
        [2] target_part: Null,
    }

    /// The part of the request that the package keeps, which is the complete request.
    pub struct OriginPartToKeep {
        [1] composition: CompSpec,
        [2] export_destination: Destination,
    }

    /// Destination: the address to which records or documents are sent.
    pub enum Destination {
        [1] PhoneNumber(InternationalString),
        [2] FaxNumber(InternationalString),
        [3] X400address(InternationalString),
        [4] EmailAddress(InternationalString),
        [5] PagerNumber(InternationalString),
        [6] FtpAddress(InternationalString),
        [7] FtamAddress(InternationalString),
        [8] PrinterAddress(InternationalString),
        [100] Other(OtherDestination),
    }

    /// A destination of another kind.
    pub struct OtherDestination {
        [1] vehicle: Option<InternationalString>,
        [2] destination: InternationalString,
    }
}
