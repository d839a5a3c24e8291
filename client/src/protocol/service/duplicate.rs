//! Duplicate detection: makes a result set without duplicates, or with only the duplicates (Z39.50-2003 §3.2.7.2).

use z3950_asn1::apdu::{
    DuplicateDetectionRequest, DuplicateDetectionResponse, DuplicateDetectionStatus, Options,
};

#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

impl Session {
    /// Removes duplicates from result sets; [`DuplicateDetectionRequest::in_place`] is the usual request.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server refused the request, or [`ProtocolFault::NotGranted`] if it does not offer the
    /// service; the session continues after these errors. Other errors end the session.
    pub async fn detect_duplicates(
        &self,
        request: DuplicateDetectionRequest,
    ) -> Result<DuplicateDetectionResponse, Error> {
        let phase = Phase::DuplicateDetection;
        self.require_granted(phase, Options::DUPLICATE_DETECTION)?;
        let response: DuplicateDetectionResponse = self.ask(request).await?;
        match response.status {
            DuplicateDetectionStatus::SUCCESS => Ok(response),
            _ => Err(Error::Refused {
                phase,
                diagnostics: Diagnostics(response.diagnostics.unwrap_or_default()),
            }),
        }
    }
}
