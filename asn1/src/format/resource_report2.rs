//! Resource report format resource-2: like resource-1, but with estimates of any kind and unit (Z39.50-2003 Appendix
//! RSC.2).

use crate::apdu::{IntUnit, StringOrNumeric};
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// ResourceReport: estimates, and a message for people.
    #[derive(Default)]
    pub struct ResourceReport {
        [1] estimates: Option<Vec<Estimate>>,
        [2] message: Option<InternationalString>,
    }

    /// Estimate: one estimated number.
    pub struct Estimate {
        /// The type of the estimate; the numbers 1 to 16 have the same meaning as in resource-1.
        [1] r#type: StringOrNumeric,
        [2] value: IntUnit,
    }
}
