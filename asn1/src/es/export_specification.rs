//! Export Specification: the form and destination of delivered records, kept for other tasks
//! (Z39.50-2003 Appendix EXT.6).

use rasn::prelude::*;

use super::Null;
use crate::apdu::{CompSpec, ExternalValue};
use crate::describe::{choice, sequence};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

choice! {
    /// ExportSpecification.
    pub enum ExportSpecification {
        #[rasn(tag(1))] EsRequest(Box<EsRequest>),
        #[rasn(tag(2))] TaskPackage(Box<TaskPackage>),
    }
}

impl ExternalValue for ExportSpecification {
    const SYNTAX: Oid = oid::EXPORT_SPECIFICATION;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        #[rasn(tag(explicit(1)))] to_keep: OriginPartToKeep,
        #[rasn(tag(2))] not_to_keep: Null,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        #[rasn(tag(explicit(1)))] origin_part: OriginPartToKeep,
        #[rasn(tag(2))] target_part: Null,
    }
}

sequence! {
    /// The part of the request that the package keeps: all of it.
    pub struct OriginPartToKeep {
        #[rasn(tag(1))] composition: CompSpec,
        #[rasn(tag(2))] export_destination: Destination,
    }
}

choice! {
    /// Destination: where something is sent.
    pub enum Destination {
        #[rasn(tag(1))] PhoneNumber(InternationalString),
        #[rasn(tag(2))] FaxNumber(InternationalString),
        #[rasn(tag(3))] X400address(InternationalString),
        #[rasn(tag(4))] EmailAddress(InternationalString),
        #[rasn(tag(5))] PagerNumber(InternationalString),
        #[rasn(tag(6))] FtpAddress(InternationalString),
        #[rasn(tag(7))] FtamAddress(InternationalString),
        #[rasn(tag(8))] PrinterAddress(InternationalString),
        #[rasn(tag(100))] Other(OtherDestination),
    }
}

sequence! {
    /// A destination of another kind.
    pub struct OtherDestination {
        #[rasn(tag(1))] vehicle: Option<InternationalString>,
        #[rasn(tag(2))] destination: InternationalString,
    }
}
