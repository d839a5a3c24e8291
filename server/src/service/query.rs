//! The query of a Search, by its type (Z39.50-2003 §3.7): type-1 and type-101 as they are, CCL (type-2) and CQL
//! (type-104, 1.2.840.10003.16.2) translated into them.

use std::borrow::Cow;
use std::sync::LazyLock;

use z3950_asn1::apdu::{External, ExternalEncoding, Options, Query, RpnQuery};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::CQL;
use z3950_asn1::query::{Dialects, Language};
use z3950_asn1::types::InternationalString;

use crate::diagnostic::{Diagnostic, diagnostic};

/// What the qualifiers of CCL and the indexes of CQL mean to this server.
static DIALECTS: LazyLock<Dialects> = LazyLock::new(Dialects::built_in);

/// The query to evaluate, of a type that is offered.
///
/// # Errors
/// 107 for a query type that the server does not evaluate, 108 for a text that cannot be understood.
pub(super) fn rpn(query: &Query, offered: Options) -> Result<Cow<'_, RpnQuery>, Diagnostic> {
    let type_104 = offered.contains(Options::QUERY_TYPE_104);
    match query {
        Query::Type1(rpn) | Query::Type101(rpn) => Ok(Cow::Borrowed(rpn)),
        Query::Type2(text) => read(Language::Ccl, text),
        Query::Type104(external) if type_104 && external.direct_reference == Some(CQL) => {
            cql(external)
        }
        Query::Type104(External {
            direct_reference: Some(syntax),
            ..
        }) => Err(diagnostic(
            Condition::QUERY_TYPE,
            format!("type-104 of {syntax}"),
        )),
        other => {
            let query_type = format!("type-{}", other.type_number());
            Err(diagnostic(Condition::QUERY_TYPE, query_type))
        }
    }
}

/// CQL is one InternationalString, or its octets.
fn cql(external: &External) -> Result<Cow<'static, RpnQuery>, Diagnostic> {
    match &external.encoding {
        ExternalEncoding::SingleAsn1Type(value) => {
            let text = decode_value::<InternationalString>(value.as_bytes()).map_err(|_| {
                diagnostic(
                    Condition::MALFORMED_QUERY,
                    "the CQL is not an InternationalString",
                )
            })?;
            read(Language::Cql, text.as_bytes())
        }
        ExternalEncoding::OctetAligned(text) => read(Language::Cql, text),
        ExternalEncoding::Arbitrary(_) => Err(diagnostic(
            Condition::MALFORMED_QUERY,
            "the CQL is a bit string",
        )),
    }
}

fn read(language: Language, text: &[u8]) -> Result<Cow<'static, RpnQuery>, Diagnostic> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let at = error.valid_up_to();
        let message = format!("octet {at} of the query is not UTF-8");
        diagnostic(Condition::MALFORMED_QUERY, message)
    })?;
    let rpn = DIALECTS.read(language, text);
    rpn.map(Cow::Owned)
        .map_err(|error| diagnostic(Condition::MALFORMED_QUERY, error.to_string()))
}
