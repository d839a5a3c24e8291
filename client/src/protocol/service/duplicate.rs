//! Duplicate detection: creates a result set without duplicates, or with only the duplicates (Z39.50-2003 §3.2.7.2).

use z3950_asn1::apdu::{
    DuplicateDetectionRequest, DuplicateDetectionResponse, DuplicateDetectionStatus, Options,
};

use super::diagnostics::with_information;
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

impl Session {
    /// Removes duplicates from result sets; [`DuplicateDetectionRequest::in_place`] is the usual request.
    ///
    /// # Errors
    /// [`Error::Refused`] if the request failed or the response contains a diagnostic, or [`ProtocolFault::NotGranted`]
    /// if the server does not offer the service. The session continues after these errors. Other errors end the
    /// session.
    pub async fn detect_duplicates(
        &self,
        request: DuplicateDetectionRequest,
    ) -> Result<DuplicateDetectionResponse, Error> {
        let phase = Phase::DuplicateDetection;
        self.require_granted(phase, Options::DUPLICATE_DETECTION)?;
        let response: DuplicateDetectionResponse = self.ask(request).await?;
        let diagnostics = Diagnostics(response.diagnostics.clone().unwrap_or_default());
        let diagnostics = with_information(diagnostics, response.other_info.as_ref());
        if response.status == DuplicateDetectionStatus::SUCCESS && diagnostics.is_empty() {
            Ok(response)
        } else {
            Err(Error::Refused { phase, diagnostics })
        }
    }
}
