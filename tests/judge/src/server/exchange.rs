//! Associates each type of request with the type of the response that answers it.

use z3950_asn1::apdu::{
    Apdu, Close, DeleteResultSetRequest, DeleteResultSetResponse, DuplicateDetectionRequest,
    DuplicateDetectionResponse, ExtendedServicesRequest, ExtendedServicesResponse,
    InitializeRequest, InitializeResponse, PresentRequest, PresentResponse, ResourceReportRequest,
    ResourceReportResponse, ScanRequest, ScanResponse, SearchRequest, SearchResponse, SortRequest,
    SortResponse,
};

/// A request that is answered by a response of the type [`HasAnswer::Answer`].
pub(super) trait HasAnswer: Into<Apdu> {
    /// The type of the response.
    type Answer: TryFrom<Apdu, Error = Apdu>;
    /// The name of the response with an article, for messages.
    const ANSWER: &'static str;
}

macro_rules! answers {
    ($($request:ty => $answer:ty, $name:literal;)*) => {$(
        impl HasAnswer for $request {
            type Answer = $answer;
            const ANSWER: &'static str = $name;
        }
    )*};
}

answers! {
    InitializeRequest => InitializeResponse, "an initResponse";
    SearchRequest => SearchResponse, "a searchResponse";
    PresentRequest => PresentResponse, "a presentResponse";
    ScanRequest => ScanResponse, "a scanResponse";
    SortRequest => SortResponse, "a sortResponse";
    DeleteResultSetRequest => DeleteResultSetResponse, "a deleteResultSetResponse";
    ResourceReportRequest => ResourceReportResponse, "a resourceReportResponse";
    ExtendedServicesRequest => ExtendedServicesResponse, "an extendedServicesResponse";
    DuplicateDetectionRequest => DuplicateDetectionResponse, "a duplicateDetectionResponse";
    Close => Close, "a close";
}
