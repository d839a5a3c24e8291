//! User information format userInfo-1: OtherInformation in an EXTERNAL, for use in the userInformationField of an
//! InitializeResponse (Z39.50-2003 Appendix USR.3; implementors' agreement on Init diagnostics).

use super::diag1::DiagnosticFormat;
use crate::apdu::{DefaultDiagFormat, External, ExternalValue, OtherInformation};
use crate::describe::described;
use crate::error::EncodeError;

described! {
    /// UserInfo-1: OtherInformation in an EXTERNAL.
    #[derive(Default)]
    pub struct UserInfo1(pub OtherInformation)
}

impl UserInfo1 {
    /// Returns a diagnostic in the form used in an InitializeResponse: a userInfo-1 with a diag-1 that contains the
    /// diagnostic in its default form.
    ///
    /// # Errors
    /// Fails if BER cannot encode the value.
    pub fn diagnostic(diagnostic: DefaultDiagFormat) -> Result<External, EncodeError> {
        let mut information = OtherInformation::default();
        information.put_value(&DiagnosticFormat::of(diagnostic))?;
        Self(information).to_external()
    }

    /// Returns the first diagnostic in the userInformationField of an InitializeResponse, in the form written by
    /// [`UserInfo1::diagnostic`].
    pub fn diagnostic_of(external: &External) -> Option<DefaultDiagFormat> {
        let Self(information) = Self::from_external(external).ok()?;
        let format: DiagnosticFormat = information.value()?;
        format.default_diagnostics().next().cloned()
    }
}
