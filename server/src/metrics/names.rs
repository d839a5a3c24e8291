//! The kinds of events that are counted separately, and their names in logs and metrics.

use z3950_asn1::apdu::Apdu;
use z3950_asn1::oid::{DATABASE_UPDATE, DATABASE_UPDATE_1, DATABASE_UPDATE_2, Oid, XML_ES};

/// Defines enumerations whose values have names and can be used as array indexes.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($(#[$meaning:meta])* $variant:ident $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $type {
            $($(#[$meaning])* $variant,)+
        }

        impl $type {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used in logs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

named! {
    /// The kind of an operation.
    OperationKind {
        /// Init.
        Init "init",
        /// Search.
        Search "search",
        /// Present.
        Present "present",
        /// Scan.
        Scan "scan",
        /// Sort.
        Sort "sort",
        /// Delete of result sets.
        Delete "delete",
        /// The extended service Update.
        Update "update",
        /// Any other extended service.
        Extended "extended",
        /// Resource reports and duplicate detection.
        Other "other",
        /// SRU: searchRetrieve.
        SruSearch "sru-search",
        /// SRU: scan.
        SruScan "sru-scan",
        /// SRU: explain.
        SruExplain "sru-explain",
        /// SRU: update.
        SruUpdate "sru-update",
        /// An HTTP request other than SRU.
        Http "http",
    }
}

named! {
    /// The outcome of an operation.
    OperationOutcome {
        /// The operation succeeded, at least in part.
        Ok "ok",
        /// The operation was answered with a diagnostic.
        Failed "failed",
        /// The session ended before the operation was answered.
        Abandoned "abandoned",
    }
}

named! {
    /// The reason for the end of a session.
    SessionEnd {
        /// The client sent Close.
        Closed "closed",
        /// The client closed the connection without Close.
        Left "left",
        /// The connection failed, or the client did not read an answer in time.
        Lost "lost",
        /// The client sent something that is not a request.
        ProtocolError "protocol-error",
        /// The client did not send a request in time.
        Idle "idle",
        /// The client did not send Init in time.
        NoInit "no-init",
        /// The TLS handshake failed, or was not completed in time.
        NoTls "no-tls",
        /// The maximum number of failed attempts to authenticate was reached.
        Refused "refused",
        /// The connection was closed to make room for another one.
        GaveWay "gave-way",
        /// A scripted fault ended the session.
        Fault "fault",
        /// The upstream server of a recorder closed or broke off the connection, or could not be reached.
        Upstream "upstream",
        /// The server stopped.
        Stopped "stopped",
        /// A bug in the server ended the session.
        Bug "bug",
    }
}

named! {
    /// The reason for refusing a connection.
    ConnectionRefusal {
        /// The address already has the maximum number of sessions.
        Address "address",
        /// All connection slots are taken, and the maximum number of connections is already waiting for a slot.
        Full "full",
    }
}

named! {
    /// The kind of a refusal that is logged, with its description in the log.
    LoggedRefusal {
        /// A connection from an address that already has the maximum number of sessions.
        Address "too many sessions from one address",
        /// A connection for which the server had no free slot.
        Full "no room for a further session",
        /// A refused Init.
        Init "Init",
        /// An update that the client is not permitted to make.
        Update "update",
    }
}

/// The package types of the extended service Update.
const UPDATES: [Oid; 4] = [
    DATABASE_UPDATE,
    DATABASE_UPDATE_1,
    DATABASE_UPDATE_2,
    XML_ES,
];

impl OperationKind {
    /// Returns the kind of a request; `None` for a request that is not an operation.
    pub(crate) fn of(request: &Apdu) -> Option<Self> {
        Some(match request {
            Apdu::InitializeRequest(_) => Self::Init,
            Apdu::SearchRequest(_) => Self::Search,
            Apdu::PresentRequest(_) => Self::Present,
            Apdu::ScanRequest(_) => Self::Scan,
            Apdu::SortRequest(_) => Self::Sort,
            Apdu::DeleteResultSetRequest(_) => Self::Delete,
            Apdu::ExtendedServicesRequest(request) if UPDATES.contains(&request.package_type) => {
                Self::Update
            }
            Apdu::ExtendedServicesRequest(_) => Self::Extended,
            Apdu::ResourceReportRequest(_) | Apdu::DuplicateDetectionRequest(_) => Self::Other,
            _ => return None,
        })
    }
}
