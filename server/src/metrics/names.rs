//! What is counted separately, and its names in logs and metrics.

use z3950_asn1::apdu::Apdu;
use z3950_asn1::oid::{DATABASE_UPDATE, DATABASE_UPDATE_1, DATABASE_UPDATE_2, Oid, XML_ES};

/// Defines enumerations whose values have a place in an array and a name.
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

            /// Returns the name in logs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

named! {
    /// The operations that are counted separately.
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
        /// An HTTP request that is not for SRU.
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
        /// The session ended before the answer.
        Abandoned "abandoned",
    }
}

named! {
    /// The way in which a session ended.
    SessionEnd {
        /// The client sent Close.
        Closed "closed",
        /// The client closed the connection without Close.
        Left "left",
        /// The connection failed, or the client did not take an answer.
        Lost "lost",
        /// The client sent something that is not a request.
        ProtocolError "protocol-error",
        /// The client sent no request in time.
        Idle "idle",
        /// The client sent no Init in time.
        NoInit "no-init",
        /// There was no TLS handshake, or none in time.
        NoTls "no-tls",
        /// Authentication failed too often.
        Refused "refused",
        /// The connection was closed to make room for another one.
        GaveWay "gave-way",
        /// A fault ended the session on request.
        Fault "fault",
        /// The recorded server ended the connection, broke it off, or could not be reached.
        Upstream "upstream",
        /// The server stopped.
        Stopped "stopped",
        /// A bug in the server ended the session.
        Bug "bug",
    }
}

named! {
    /// The reason why a connection was closed at once.
    ConnectionRefusal {
        /// The address holds as many sessions as it may hold.
        Address "address",
        /// There is no room, and too many connections are already waiting for room.
        Full "full",
    }
}

named! {
    /// What is refused, in the words of the log.
    LoggedRefusal {
        /// A connection from an address that holds as many sessions as it may hold.
        Address "too many sessions from one address",
        /// A connection for which there is no room.
        Full "no room for a further session",
        /// Init.
        Init "Init",
        /// An update without permission.
        Update "update",
    }
}

/// The packages of the extended service Update.
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
