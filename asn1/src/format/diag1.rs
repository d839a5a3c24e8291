//! Diagnostic format diag-1: diagnostics of version 3, in the default form or with structured details
//! (Z39.50-2003 Appendix DIAG.2).

use rasn::prelude::*;

use crate::apdu::{
    AttributeList, DatabaseName, DefaultDiagFormat, DiagRec, ExternalValue, SortElement,
    Specification, Term,
};
use crate::describe::{Describe, Value, choice, describe, described_by_name, sequence};
use crate::oid::Oid;
use crate::types::{InternationalString, named_integer};

/// DiagnosticFormat: one diagnostic or several.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
#[rasn(delegate)]
pub struct DiagnosticFormat(pub Vec<DiagnosticUnit>);

describe!(DiagnosticFormat: diagnostics => diagnostics.0.describe());

impl DiagnosticFormat {
    /// One diagnostic in the default form.
    pub fn of(diagnostic: DefaultDiagFormat) -> Self {
        Self(vec![DiagnosticUnit {
            diagnostic: Some(Diagnostic::DefaultDiagRec(diagnostic)),
            message: None,
        }])
    }

    /// The diagnostics that are in the default form.
    pub fn default_diagnostics(&self) -> impl Iterator<Item = &DefaultDiagFormat> {
        self.0.iter().filter_map(|unit| match &unit.diagnostic {
            Some(Diagnostic::DefaultDiagRec(diagnostic)) => Some(diagnostic),
            _ => None,
        })
    }
}

impl Describe for DiagRec {
    /// A diagnostic in this format is described with its details.
    fn describe(&self) -> Value {
        match self {
            Self::DefaultFormat(diagnostic) => diagnostic.describe(),
            Self::ExternallyDefined(external) => match DiagnosticFormat::from_external(external) {
                Ok(diagnostics) => diagnostics.describe(),
                Err(_) => external.describe(),
            },
        }
    }
}

sequence! {
    /// A diagnostic, a message for people, or both.
    pub struct DiagnosticUnit {
        #[rasn(tag(1))] diagnostic: Option<Diagnostic>,
        #[rasn(tag(2))] message: Option<InternationalString>,
    }
}

choice! {
    /// A diagnostic, in the default form or with details.
    pub enum Diagnostic {
        #[rasn(tag(1))] DefaultDiagRec(DefaultDiagFormat),
        #[rasn(tag(2))] ExplicitDiagnostic(Box<DiagFormat>),
    }
}

choice! {
    /// DiagFormat: a condition with its details.
    pub enum DiagFormat {
        #[rasn(tag(1000))] TooMany(TooMany),
        #[rasn(tag(1001))] BadSpec(BadSpec),
        #[rasn(tag(1002))] DbUnavail(DbUnavail),
        #[rasn(tag(1003))] UnSupOp(UnsupportedOperator),
        #[rasn(tag(1004))] Attribute(UnsupportedAttribute),
        #[rasn(tag(1005))] AttCombo(AttributeCombination),
        #[rasn(tag(1006))] Term(BadTerm),
        #[rasn(tag(1007))] Proximity(Proximity),
        #[rasn(tag(1008))] Scan(Scan),
        #[rasn(tag(1009))] Sort(Sort),
        #[rasn(tag(1010))] Segmentation(Segmentation),
        #[rasn(tag(1011))] ExtServices(ExtServices),
        #[rasn(tag(1012))] AccessCtrl(AccessCtrl),
        #[rasn(tag(1013))] RecordSyntax(RecordSyntax),
    }
}

sequence! {
    /// There are too many of something.
    pub struct TooMany {
        #[rasn(tag(1))] too_many_what: TooManyWhat,
        #[rasn(tag(2))] max: Option<i64>,
    }
}

named_integer!(
    /// What there are too many of.
    TooManyWhat {
        ARGUMENT_WORDS = 1 "argumentWords", TRUNCATED_WORDS = 2 "truncatedWords",
        BOOLEAN_OPERATORS = 3 "booleanOperators", INCOMPLETE_SUBFIELDS = 4 "incompleteSubfields",
        CHARACTERS = 5 "characters", RECORDS_RETRIEVED = 6 "recordsRetrieved",
        DATA_BASES_SPECIFIED = 7 "dataBasesSpecified", RESULT_SETS_CREATED = 8 "resultSetsCreated",
        INDEX_TERMS_PROCESSED = 9 "indexTermsProcessed",
    }
);
described_by_name!(TooManyWhat);

sequence! {
    /// An element set name or specification that is not supported, for one database or for all.
    pub struct BadSpec {
        #[rasn(tag(1))] spec: Specification,
        #[rasn(tag(2))] db: Option<DatabaseName>,
        #[rasn(tag(3))] good_ones: Option<Vec<Specification>>,
    }
}

sequence! {
    /// A database that cannot be used.
    pub struct DbUnavail {
        #[rasn(tag(1))] db: DatabaseName,
        #[rasn(tag(2))] why: UnavailableReason,
    }
}

sequence! {
    /// Why a database cannot be used.
    pub struct UnavailableReason {
        #[rasn(tag(1))] reason_code: Option<UnavailableReasonCode>,
        #[rasn(tag(2))] message: Option<InternationalString>,
    }
}

named_integer!(
    /// Why a database cannot be used, by number.
    UnavailableReasonCode {
        DOES_NOT_EXIST = 0 "doesNotExist", EXISTS_BUT_UNAVAIL = 1 "existsButUnavail", LOCKED = 2 "locked",
        ACCESS_DENIED = 3 "accessDenied",
    }
);
described_by_name!(UnavailableReasonCode);

named_integer!(
    /// An operator that is not supported.
    UnsupportedOperator { AND = 0 "and", OR = 1 "or", AND_NOT = 2 "and-not", PROX = 3 "prox" }
);
described_by_name!(UnsupportedOperator);

sequence! {
    /// An attribute set, type or value that is not supported, or a term that does not go with it.
    pub struct UnsupportedAttribute {
        /// Alone: the attribute set is not supported.
        #[rasn(tag(1))] id: Oid,
        #[rasn(tag(2))] r#type: Option<i64>,
        #[rasn(tag(3))] value: Option<i64>,
        #[rasn(tag(4))] term: Option<Term>,
    }
}

sequence! {
    /// Attributes that do not go together.
    pub struct AttributeCombination {
        #[rasn(tag(1))] unsupported_combination: AttributeList,
        #[rasn(tag(2))] recommended_alternatives: Option<Vec<AttributeList>>,
    }
}

sequence! {
    /// A term that is not supported.
    pub struct BadTerm {
        #[rasn(tag(1))] problem: Option<TermProblem>,
        #[rasn(tag(2))] term: Term,
    }
}

named_integer!(
    /// What is wrong with a term.
    TermProblem { CODED_VALUE = 1 "codedValue", UNPARSABLE = 2 "unparsable", TOO_SHORT = 3 "tooShort", TYPE = 4 "type" }
);
described_by_name!(TermProblem);

choice! {
    /// What is not supported in proximity.
    pub enum Proximity {
        #[rasn(tag(1))] ResultSets,
        #[rasn(tag(2))] BadSet(InternationalString),
        /// 1 to 6.
        #[rasn(tag(3))] Relation(i64),
        #[rasn(tag(4))] Unit(i64),
        #[rasn(tag(5))] Distance(i64),
        #[rasn(tag(explicit(6)))] Attributes(AttributeList),
        #[rasn(tag(7))] Ordered,
        #[rasn(tag(8))] Exclusion,
    }
}

choice! {
    /// Why a list of terms cannot be given as requested.
    pub enum Scan {
        #[rasn(tag(0))] NonZeroStepSize,
        #[rasn(tag(1))] SpecifiedStepSize,
        #[rasn(tag(3))] TermList1,
        #[rasn(tag(4))] TermList2(Vec<AttributeList>),
        #[rasn(tag(5))] PosInResponse(PositionInResponse),
        #[rasn(tag(6))] Resources,
        #[rasn(tag(7))] EndOfList,
    }
}

named_integer!(
    /// Which positions of the term in the response are supported.
    PositionInResponse {
        MUST_BE_ONE = 1 "mustBeOne", MUST_BE_POSITIVE = 2 "mustBePositive",
        MUST_BE_NON_NEGATIVE = 3 "mustBeNonNegative", OTHER = 4 "other",
    }
);
described_by_name!(PositionInResponse);

choice! {
    /// Why result sets cannot be sorted as requested.
    pub enum Sort {
        #[rasn(tag(0))] Sequence,
        #[rasn(tag(1))] NoRsName,
        /// The most input sets allowed.
        #[rasn(tag(2))] TooMany(i64),
        #[rasn(tag(3))] Incompatible,
        #[rasn(tag(4))] Generic,
        #[rasn(tag(5))] DbSpecific,
        #[rasn(tag(6))] SortElement(Box<SortElement>),
        #[rasn(tag(7))] Key(SortKeyProblem),
        #[rasn(tag(8))] Action,
        #[rasn(tag(9))] Illegal(IllegalSort),
        #[rasn(tag(10))] InputTooLarge(Vec<InternationalString>),
        #[rasn(tag(11))] AggregateTooLarge,
    }
}

named_integer!(
    /// What is wrong with the keys of a sort.
    SortKeyProblem { TOO_MANY = 1 "tooMany", DUPLICATE = 2 "duplicate" }
);
described_by_name!(SortKeyProblem);

named_integer!(
    /// The part of a sort that has no legal value.
    IllegalSort { RELATION = 1 "relation", CASE = 2 "case", ACTION = 3 "action", SORT = 4 "sort" }
);
described_by_name!(IllegalSort);

choice! {
    /// Why a record cannot be sent in segments as requested.
    pub enum Segmentation {
        #[rasn(tag(0))] SegmentCount,
        /// The smallest maxSegmentSize with which the record can be sent, in octets.
        #[rasn(tag(1))] SegmentSize(i64),
    }
}

choice! {
    /// Why a task is refused.
    pub enum ExtServices {
        #[rasn(tag(1))] Req(BadTask),
        #[rasn(tag(2))] Permission(PermissionDenied),
        #[rasn(tag(3))] Immediate(ImmediateExecution),
    }
}

named_integer!(
    /// What is wrong with a request for a task.
    BadTask { NAME_IN_USE = 1 "nameInUse", NO_SUCH_NAME = 2 "noSuchName", QUOTA = 3 "quota", TYPE = 4 "type" }
);
described_by_name!(BadTask);

named_integer!(
    /// Why the user has no access to the task.
    PermissionDenied { ID = 1 "id", MODIFY_DELETE = 2 "modifyDelete" }
);
described_by_name!(PermissionDenied);

named_integer!(
    /// Why a task was not executed immediately.
    ImmediateExecution { FAILED = 1 "failed", SERVICE = 2 "service", PARAMETERS = 3 "parameters" }
);
described_by_name!(ImmediateExecution);

choice! {
    /// What is wrong with access control.
    pub enum AccessCtrl {
        #[rasn(tag(1))] NoUser,
        #[rasn(tag(2))] Refused,
        #[rasn(tag(3))] Simple,
        /// Formats that are supported.
        #[rasn(tag(4))] Oid(Vec<Oid>),
        /// Formats that the peer is to use.
        #[rasn(tag(5))] Alternative(Vec<Oid>),
        #[rasn(tag(6))] PwdInv,
        #[rasn(tag(7))] PwdExp,
    }
}

sequence! {
    /// A record that cannot be sent in the requested syntax.
    pub struct RecordSyntax {
        #[rasn(tag(1))] unsupported_syntax: Oid,
        #[rasn(tag(2))] suggested_alternatives: Option<Vec<Oid>>,
    }
}
