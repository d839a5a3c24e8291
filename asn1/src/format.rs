//! Values in an EXTERNAL that are neither records nor tasks: diagnostics, reports, challenges, negotiation and element
//! specifications (Z39.50-2003 Appendices DIAG, RSC, ACC, USR, ESP, NEG), and Index Data's formats.
//!
//! Each type is encoded and decoded by [`ExternalValue`](crate::apdu::ExternalValue), and described by
//! [`Describe`](crate::describe::Describe).
//!
//! | file | contents |
//! |---|---|
//! | [`diag1`] | diagnosticFormat diag-1: diagnostics with structured details |
//! | [`search_result1`] | userInfo format SearchResult-1: counts for the parts of a query |
//! | [`sources`] | the results of a search at each of its sources, in diag-1 and SearchResult-1 |
//! | [`user_info1`] | userInfo-1: OtherInformation in places where only an EXTERNAL is allowed |
//! | [`charset_negotiation`] | negotiation of character set and language, versions 2 and 3 |
//! | [`espec1`] | element specification eSpec-1 |
//! | [`resource_report1`], [`resource_report2`] | the cost of an operation |
//! | [`prompt1`] | access control: prompts and answers |
//! | [`facets`] | Index Data's facets |
//! | [`conventions`] | Index Data's other units of OtherInformation: cookie, client's address, proxy, scan set |
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

pub mod charset_negotiation;
pub mod conventions;
pub mod diag1;
pub mod espec1;
pub mod facets;
pub mod prompt1;
pub mod resource_report1;
pub mod resource_report2;
pub mod search_result1;
pub mod sources;
pub mod user_info1;

use crate::apdu::external::external_values;

external_values! {
    diag1::DiagnosticFormat: DIAG_1;
    search_result1::SearchInfoReport: SEARCH_RESULT_1;
    user_info1::UserInfo1: USER_INFO_1;
    charset_negotiation::CharSetandLanguageNegotiation: CHARSET_NEGOTIATION;
    espec1::Espec1: ESPEC_1;
    resource_report1::ResourceReport: RESOURCE_1;
    resource_report2::ResourceReport: RESOURCE_2;
    prompt1::PromptObject: PROMPT_1;
    facets::FacetList: FACET_1;
}

#[cfg(test)]
mod tests;
