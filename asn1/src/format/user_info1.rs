//! User information format userInfo-1: OtherInformation in the place of one EXTERNAL, as in the userInformationField of
//! an InitializeResponse (Z39.50-2003 Appendix USR.3; implementors' agreement on Init diagnostics).

use rasn::prelude::*;

use super::diag1::DiagnosticFormat;
use crate::apdu::{DefaultDiagFormat, External, ExternalValue, OtherInformation};
use crate::error::EncodeError;
use crate::record::tree::{Describe, Value};

/// UserInfo-1.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
#[rasn(delegate)]
pub struct UserInfo1(pub OtherInformation);

impl UserInfo1 {
    /// A diagnostic as the answer to Init carries it: userInfo-1 around diag-1 around the default form.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    pub fn diagnostic(diagnostic: DefaultDiagFormat) -> Result<External, EncodeError> {
        let mut information = OtherInformation::default();
        information.put_value(&DiagnosticFormat::of(diagnostic))?;
        Self(information).to_external()
    }
}

impl Describe for UserInfo1 {
    fn describe(&self) -> Value {
        self.0.describe()
    }
}
