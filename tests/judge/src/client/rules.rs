//! The rules for clients, with their sources.

use crate::{Level, Requirement};

/// Returns all rules, grouped by service.
pub fn rules() -> &'static [Requirement] {
    RULES
}

/// Defines the list of rules, and an enum with a variant for each rule. The value of a variant is the position of its rule in the
/// list.
macro_rules! rules {
    ($($id:ident $name:literal $level:ident $section:literal: $requirement:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum RuleId {
            $($id,)*
        }

        const RULES: &[Requirement] = &[
            $(Requirement {
                name: $name,
                level: Level::$level,
                section: $section,
                text: $requirement,
            },)*
        ];
    };
}

rules! {
    ApduReadable "apdu.readable" Shall "X.690 §8, Z39.50-2003 §4.1":
        "Octets are APDUs in BER: lengths agree, and every element has its type.";
    ApduKnown "apdu.known" Shall "Z39.50-2003 §4.1":
        "The tag of an APDU is one of the standard.";
    ApduOfClient "apdu.of-client" Shall "Z39.50-2003 §4.1":
        "A client sends no APDU that only a server may send.";
    ApduSize "apdu.size" Practice "Z39.50-2003 §3.2.1.1.4":
        "No request is larger than the preferredMessageSize that was agreed on.";
    InitFirst "init.first" Shall "Z39.50-2003 §3.2.1.1":
        "The first APDU of a session is an initRequest.";
    InitAlone "init.alone" Shall "Z39.50-2003 §3.2.1.1":
        "Nothing is sent between the initRequest and its answer.";
    InitAccepted "init.accepted" Shall "Z39.50-2003 §3.2.1.1":
        "After an Init that was rejected, nothing is sent but another Init, or a Close.";
    InitOnce "init.once" Practice "Z39.50-2003 §3.2.1.1":
        "After an Init that was accepted, no other Init is sent.";
    InitVersion "init.version" Shall "Z39.50-2003 §3.2.1.1.1":
        "The protocolVersion of an initRequest names a version from 1 to 3.";
    InitVersionLower "init.version.lower" Should "Z39.50-2003 §3.2.1.1.1":
        "The protocolVersion of an initRequest names all versions below the highest that it names.";
    InitOptionsKnown "init.options.known" Practice "Z39.50-2003 §3.2.1.1.3":
        "In an initRequest, only options that the standard names are proposed.";
    InitBitStrings "init.bit-strings" Shall "X.690 §8.6.2":
        "A bit string of an initRequest begins with the number of unused bits, 0 to 7.";
    InitSizes "init.sizes" Shall "Z39.50-2003 §3.2.1.1.4":
        "In an initRequest, preferredMessageSize and exceptionalRecordSize are not negative.";
    InitSizesOrder "init.sizes.order" Shall "Z39.50-2003 §3.2.1.1.4":
        "In an initRequest, exceptionalRecordSize is not below preferredMessageSize.";
    InitNames "init.names" Practice "Z39.50-2003 §3.2.1.1.6":
        "A client names its implementation.";
    OptionsGranted "options.granted" Shall "Z39.50-2003 §3.2.1.1.3":
        "Only services that Init granted are requested.";
    OptionsNamedSets "options.named-sets" Shall "Z39.50-2003 §3.2.2.1.3":
        "Without the option namedResultSets, every result set has the name default.";
    VersionValues "version.values" Shall "Z39.50-2003 §4.1":
        "What only version 3 has is not sent in version 2.";
    OperationsSerial "operations.serial" Shall "Z39.50-2003 §3.1.2, §3.5":
        "Without concurrent operations, a request waits until the one before it is answered.";
    ReferenceIdNeeded "reference-id.needed" Shall "Z39.50-2003 §3.4, §3.5":
        "Of concurrent operations, at most one has no referenceId.";
    ReferenceIdUnique "reference-id.unique" Shall "Z39.50-2003 §3.4":
        "A referenceId is not used again while its operation is in progress.";
    OidClass "oid.class" Shall "Z39.50-2003 Appendix OID":
        "An object identifier of Z39.50 is of the class that its parameter needs.";
    SearchDatabases "search.databases" Shall "Z39.50-2003 §3.2.2.1.2":
        "A search names at least one database.";
    SearchDatabasesOnce "search.databases.once" Practice "Z39.50-2003 §3.2.2.1.2":
        "A search or scan names no database twice.";
    SearchBounds "search.bounds" Shall "Z39.50-2003 §3.2.2.1.6":
        "In a search, smallSetUpperBound, largeSetLowerBound and mediumSetPresentNumber are not negative.";
    SearchBoundsOrder "search.bounds.order" Shall "Z39.50-2003 §3.2.2.1.6":
        "In a search, largeSetLowerBound is greater than smallSetUpperBound.";
    SearchReplace "search.replace" Practice "Z39.50-2003 §3.2.2.1.3":
        "The replaceIndicator of a search is true if its result set exists.";
    SearchAgain "search.again" Practice "Z39.50-2003 §3.2.2":
        "The same search is not sent again while its result set exists.";
    SearchComposition "search.composition" Practice "Z39.50-2003 §3.2.2.1.4, §3.2.2.1.5":
        "A search that asks for no records names neither element sets nor a record syntax.";
    QueryAttributeType "query.attribute.type" Practice "Bib-1":
        "Attributes of Bib-1 have the types 1 to 6.";
    QueryAttributeOnce "query.attribute.once" Practice "Bib-1":
        "A term has at most one attribute of each type.";
    QueryTerm "query.term" Practice "Z39.50-2003 §3.7.1":
        "A term in a query is not empty.";
    QueryResultSet "query.result-set" Shall "Z39.50-2003 §3.7.1":
        "A result set in a query exists in the session.";
    RecordsSyntax "records.syntax" Practice "Z39.50-2003 §3.2.2.1.5, §3.2.3.1.5":
        "A request for records names a record syntax.";
    PresentSet "present.set" Shall "Z39.50-2003 §3.2.3.1.3":
        "The result set of a Present exists in the session.";
    PresentStart "present.start" Shall "Z39.50-2003 §3.2.3.1.1":
        "The positions that a Present requests begin at 1.";
    PresentNumber "present.number" Practice "Z39.50-2003 §3.2.3.1.1":
        "A Present requests at least one record.";
    PresentWithin "present.within" Should "Z39.50 clarification, Present request out-of-range":
        "A Present requests only records that the result set has.";
    PresentRanges "present.ranges" Shall "Z39.50-2003 §3.2.3.1.2":
        "Each additional range of a Present begins after the end of the one before it.";
    PresentSegments "present.segments" Shall "Z39.50-2003 §3.2.3.1.4":
        "A Present names sizes and counts of segments only if segmentation is in force.";
    PresentAgain "present.again" Practice "Z39.50-2003 §3.2.3":
        "The same records of a result set are not requested in the same form again.";
    ScanDatabases "scan.databases" Shall "Z39.50-2003 §3.2.8.1":
        "A scan names at least one database.";
    ScanNumber "scan.number" Shall "Z39.50-2003 §3.2.8.1":
        "A scan requests at least one term.";
    ScanStep "scan.step" Shall "Z39.50-2003 §3.2.8.1":
        "The stepSize of a scan is not negative.";
    ScanPosition "scan.position" Shall "Z39.50-2003 §3.2.8.1":
        "The preferredPositionInResponse of a scan is from 0 to one past the number of terms.";
    ScanAgain "scan.again" Practice "Z39.50-2003 §3.2.8":
        "The same scan is not sent again.";
    SortInput "sort.input" Shall "Z39.50-2003 §3.2.7.1":
        "A sort names at least one result set, and those that it names exist.";
    SortKeys "sort.keys" Shall "Z39.50-2003 §3.2.7.1":
        "A sort has at least one key, with a relation and a case sensitivity of the standard.";
    DeleteFunction "delete.function" Shall "Z39.50-2003 §3.2.4.1.1":
        "The deleteFunction of a deleteResultSetRequest is list or all.";
    DeleteList "delete.list" Shall "Z39.50-2003 §3.2.4.1.1":
        "A deleteResultSetRequest has a resultSetList with at least one name if its deleteFunction is list, and none if it is all.";
    DeleteKnown "delete.known" Practice "Z39.50-2003 §3.2.4.1":
        "The result sets to delete exist in the session.";
    AccessAsked "access.asked" Shall "Z39.50-2003 §3.2.5":
        "An accessControlResponse answers an accessControlRequest.";
    ResourceAsked "resource.asked" Shall "Z39.50-2003 §3.2.6":
        "A resourceControlResponse answers a resourceControlRequest.";
    TriggerAction "trigger.action" Shall "Z39.50-2003 §3.2.6.2":
        "The requestedAction of a triggerResourceControlRequest is resourceReport, resourceControl or cancel.";
    TriggerBusy "trigger.busy" Practice "Z39.50-2003 §3.2.6.2":
        "A triggerResourceControlRequest is sent while an operation is in progress.";
    ExtendedValues "extended.values" Shall "Z39.50-2003 §3.2.9.1":
        "The function and waitAction of an extendedServicesRequest have values of the standard.";
    ExtendedParameters "extended.parameters" Practice "Z39.50-2003 §3.2.9.1":
        "An extendedServicesRequest that creates a task package has the parameters of the task.";
    CloseReason "close.reason" Shall "Z39.50-2003 §3.2.11.1":
        "The closeReason of a Close is one that the standard has.";
    CloseVersion "close.version" Practice "Z39.50-2003 §3.2.11":
        "In version 2, which has no Close, the connection just ends.";
    CloseLast "close.last" Shall "Z39.50-2003 §3.2.11.1":
        "After its Close, a client sends nothing.";
    CloseAnswered "close.answered" Shall "Z39.50-2003 §3.2.11.1":
        "In version 3, the server's Close is answered by a Close.";
    CloseSent "close.sent" Practice "Z39.50-2003 §3.2.11":
        "In version 3, a session ends with a Close, not just with the connection.";
}

impl RuleId {
    /// Returns the position of the rule in the list, from 0.
    pub(super) fn place(self) -> usize {
        self as usize
    }
}
