//! Diagnostic format diag-1: version 3 diagnostics, in the default form or with structured details (Z39.50-2003
//! Appendix DIAG.2).

use crate::apdu::{
    AttributeList, DatabaseName, DefaultDiagFormat, DiagRec, ExternalValue, SortElement,
    Specification, Term,
};
use crate::describe::{Describe, Value, described};
use crate::oid::Oid;
use crate::types::InternationalString;

described! {
    /// DiagnosticFormat: one diagnostic or several.
    #[derive(Default)]
    pub struct DiagnosticFormat(pub Vec<DiagnosticUnit>)

    /// A diagnostic, a message for people, or both.
    pub struct DiagnosticUnit {
        [1] diagnostic: Option<Diagnostic>,
        [2] message: Option<InternationalString>,
    }

    /// A diagnostic, in the default form or with details.
    pub enum Diagnostic {
        [1] DefaultDiagRec(DefaultDiagFormat),
        [2] ExplicitDiagnostic(Box<DiagFormat>),
    }

    /// DiagFormat: a condition with its details.
    pub enum DiagFormat {
        [1000] TooMany(TooMany),
        [1001] BadSpec(BadSpec),
        [1002] DbUnavail(DbUnavail),
        [1003] UnSupOp(UnsupportedOperator),
        [1004] Attribute(UnsupportedAttribute),
        [1005] AttCombo(AttributeCombination),
        [1006] Term(BadTerm),
        [1007] Proximity(Proximity),
        [1008] Scan(Scan),
        [1009] Sort(Sort),
        [1010] Segmentation(Segmentation),
        [1011] ExtServices(ExtServices),
        [1012] AccessCtrl(AccessCtrl),
        [1013] RecordSyntax(RecordSyntax),
    }

    /// Too many items of some kind: the number of items exceeds a limit.
    pub struct TooMany {
        [1] too_many_what: TooManyWhat,
        [2] max: Option<i64>,
    }

    /// The kind of items whose number exceeds a limit.
    pub integer TooManyWhat {
        ARGUMENT_WORDS = 1 "argumentWords", TRUNCATED_WORDS = 2 "truncatedWords",
        BOOLEAN_OPERATORS = 3 "booleanOperators", INCOMPLETE_SUBFIELDS = 4 "incompleteSubfields",
        CHARACTERS = 5 "characters", RECORDS_RETRIEVED = 6 "recordsRetrieved",
        DATA_BASES_SPECIFIED = 7 "dataBasesSpecified", RESULT_SETS_CREATED = 8 "resultSetsCreated",
        INDEX_TERMS_PROCESSED = 9 "indexTermsProcessed",
    }

    /// An element set name or specification that is not supported, for one database or for all databases.
    pub struct BadSpec {
        [1] spec: Specification,
        [2] db: Option<DatabaseName>,
        [3] good_ones: Option<Vec<Specification>>,
    }

    /// A database that cannot be used.
    pub struct DbUnavail {
        [1] db: DatabaseName,
        [2] why: UnavailableReason,
    }

    /// The reason why a database cannot be used, as a code, a message, or both.
    pub struct UnavailableReason {
        [1] reason_code: Option<UnavailableReasonCode>,
        [2] message: Option<InternationalString>,
    }

    /// The reason why a database cannot be used, as a number.
    pub integer UnavailableReasonCode {
        DOES_NOT_EXIST = 0 "doesNotExist", EXISTS_BUT_UNAVAIL = 1 "existsButUnavail", LOCKED = 2 "locked",
        ACCESS_DENIED = 3 "accessDenied",
    }

    /// An operator that is not supported.
    pub integer UnsupportedOperator { AND = 0 "and", OR = 1 "or", AND_NOT = 2 "and-not", PROX = 3 "prox" }

    /// An attribute set, type or value that is not supported, or a term that does not fit the attribute.
    pub struct UnsupportedAttribute {
        /// The attribute set. If the other elements are absent, the attribute set itself is not supported.
        [1] id: Oid,
        [2] r#type: Option<i64>,
        [3] value: Option<i64>,
        [4] term: Option<Term>,
    }

    /// A combination of attributes that is not supported.
    pub struct AttributeCombination {
        [1] unsupported_combination: AttributeList,
        [2] recommended_alternatives: Option<Vec<AttributeList>>,
    }

    /// A term that is not supported.
    pub struct BadTerm {
        [1] problem: Option<TermProblem>,
        [2] term: Term,
    }

    /// The problem with a term.
    pub integer TermProblem { CODED_VALUE = 1 "codedValue", UNPARSABLE = 2 "unparsable", TOO_SHORT = 3 "tooShort", TYPE = 4 "type" }

    /// The part of a proximity operator that is not supported.
    pub enum Proximity {
        [1] ResultSets,
        [2] BadSet(InternationalString),
        /// The unsupported relation, from 1 to 6.
        [3] Relation(i64),
        [4] Unit(i64),
        [5] Distance(i64),
        [explicit 6] Attributes(AttributeList),
        [7] Ordered,
        [8] Exclusion,
    }

    /// The reason why the terms of a scan cannot be returned as requested.
    pub enum Scan {
        [0] NonZeroStepSize,
        [1] SpecifiedStepSize,
        [3] TermList1,
        [4] TermList2(Vec<AttributeList>),
        [5] PosInResponse(PositionInResponse),
        [6] Resources,
        [7] EndOfList,
    }

    /// The supported positions of the start term in the response to a scan.
    pub integer PositionInResponse {
        MUST_BE_ONE = 1 "mustBeOne", MUST_BE_POSITIVE = 2 "mustBePositive",
        MUST_BE_NON_NEGATIVE = 3 "mustBeNonNegative", OTHER = 4 "other",
    }

    /// The reason why result sets cannot be sorted as requested.
    pub enum Sort {
        [0] Sequence,
        [1] NoRsName,
        /// There are too many input sets; this is the maximum.
        [2] TooMany(i64),
        [3] Incompatible,
        [4] Generic,
        [5] DbSpecific,
        [6] SortElement(Box<SortElement>),
        [7] Key(SortKeyProblem),
        [8] Action,
        [9] Illegal(IllegalSort),
        [10] InputTooLarge(Vec<InternationalString>),
        [11] AggregateTooLarge,
    }

    /// The problem with the keys of a sort.
    pub integer SortKeyProblem { TOO_MANY = 1 "tooMany", DUPLICATE = 2 "duplicate" }

    /// The part of a sort request whose value is not allowed.
    pub integer IllegalSort { RELATION = 1 "relation", CASE = 2 "case", ACTION = 3 "action", SORT = 4 "sort" }

    /// The reason why a record cannot be sent in segments as requested.
    pub enum Segmentation {
        [0] SegmentCount,
        /// The segment size is too small; this is the smallest maxSegmentSize for the record, in octets.
        [1] SegmentSize(i64),
    }

    /// The reason why a task of an extended service is refused.
    pub enum ExtServices {
        [1] Req(BadTask),
        [2] Permission(PermissionDenied),
        [3] Immediate(ImmediateExecution),
    }

    /// The problem with a request for a task.
    pub integer BadTask { NAME_IN_USE = 1 "nameInUse", NO_SUCH_NAME = 2 "noSuchName", QUOTA = 3 "quota", TYPE = 4 "type" }

    /// The reason why the user has no access to the task.
    pub integer PermissionDenied { ID = 1 "id", MODIFY_DELETE = 2 "modifyDelete" }

    /// The reason why a task was not executed immediately.
    pub integer ImmediateExecution { FAILED = 1 "failed", SERVICE = 2 "service", PARAMETERS = 3 "parameters" }

    /// A fault in access control.
    pub enum AccessCtrl {
        [1] NoUser,
        [2] Refused,
        [3] Simple,
        /// The supported formats.
        [4] Oid(Vec<Oid>),
        /// The formats that the peer should use instead.
        [5] Alternative(Vec<Oid>),
        [6] PwdInv,
        [7] PwdExp,
    }

    /// A record that cannot be sent in the requested syntax.
    pub struct RecordSyntax {
        [1] unsupported_syntax: Oid,
        [2] suggested_alternatives: Option<Vec<Oid>>,
    }
}

impl DiagnosticFormat {
    /// Creates a list with one diagnostic in the default form.
    pub fn of(diagnostic: DefaultDiagFormat) -> Self {
        Self(vec![DiagnosticUnit {
            diagnostic: Some(Diagnostic::DefaultDiagRec(diagnostic)),
            message: None,
        }])
    }

    /// Returns whether any of the diagnostics is not in the default form.
    pub fn has_explicit(&self) -> bool {
        let mut units = self.0.iter();
        units.any(|unit| matches!(unit.diagnostic, Some(Diagnostic::ExplicitDiagnostic(_))))
    }

    /// Returns the diagnostics that are in the default form.
    pub fn default_diagnostics(&self) -> impl Iterator<Item = &DefaultDiagFormat> {
        self.0.iter().filter_map(|unit| match &unit.diagnostic {
            Some(Diagnostic::DefaultDiagRec(diagnostic)) => Some(diagnostic),
            _ => None,
        })
    }
}

impl Describe for DiagRec {
    /// Describes a diagnostic in an EXTERNAL of this format, with its details.
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
