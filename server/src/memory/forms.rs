//! Converts records to the supported record syntaxes: the MARC syntax in which a record is stored, SUTRS, XML, OPAC and GRS-1
//! (Z39.50-2003 Appendix REC). Also reduces records to element set B, which consists of the fields that identify a record in a
//! list (§3.6.2 leaves their choice to the server).

use std::borrow::Cow;

use bytes::Bytes;
use z3950_asn1::apdu::{External, ExternalValue as _, Schema};
use z3950_asn1::oid::{GRS_1, OPAC, Oid, SUTRS, UNIMARC, USMARC, XML};
use z3950_asn1::record::grs1::GenericRecord;
use z3950_asn1::record::opac::OpacRecord;
use z3950_asn1::record::{marc_syntax, sutrs_external};
use z3950_marc::crosswalk::sutrs::sutrs_text;
use z3950_marc::crosswalk::{dublin_core, mods};
use z3950_marc::{MarcRecord, charset, iso2709, marcxml};

use super::fields::effective_tag;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The syntaxes to which any MARC record can be converted, in addition to its own syntax (MARC 21 or UNIMARC).
pub const SYNTAXES: [Oid; 4] = [SUTRS, XML, OPAC, GRS_1];

/// The XML element set for MARCXML, which is the same as F.
const MARCXML: &str = "marcxml";
/// The XML element set for Dublin Core.
const DUBLIN_CORE: &str = "dc";
/// The XML element set for MODS 3.
const MODS: &str = "mods";

/// The element sets for records in XML, in addition to F and B; other syntaxes have only F and B.
pub(super) const XML_ELEMENT_SETS: [&str; 3] = [MARCXML, DUBLIN_CORE, MODS];

/// Returns whether [`of_marc`] supports the syntax: MARC 21, UNIMARC, or one of [`SYNTAXES`].
pub fn has_syntax(syntax: &Oid) -> bool {
    [USMARC, UNIMARC].contains(syntax) || SYNTAXES.contains(syntax)
}

/// Returns whether the element set is supported for records in the syntax. Case is ignored.
pub fn has_element_set(name: &str, syntax: Option<&Oid>) -> bool {
    let of_xml = XML_ELEMENT_SETS.iter();
    let mut known = ["F", "B"]
        .iter()
        .chain(of_xml.filter(|_| syntax == Some(&XML)));
    known.any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the element set that corresponds to a schema for records in the syntax; `None` if the schema is not supported.
pub fn element_set_of_schema(schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
    let Schema::Uri(address) = schema else {
        return None;
    };
    let known = of_schema(address.to_str().ok()?);
    known.filter(|_| syntax == Some(&XML)).map(str::to_owned)
}

/// Returns the XML element set for a schema, given by its identifier or by its name in SRU; `None` for an unknown schema.
fn of_schema(address: &str) -> Option<&'static str> {
    Some(match address.to_ascii_lowercase().as_str() {
        "http://www.loc.gov/marc21/slim" | "info:srw/schema/1/marcxml-v1.1" | MARCXML => MARCXML,
        "http://purl.org/dc/elements/1.1/"
        | "http://www.openarchives.org/oai/2.0/oai_dc/"
        | "info:srw/schema/1/dc-v1.1"
        | DUBLIN_CORE => DUBLIN_CORE,
        "http://www.loc.gov/mods/v3" | "info:srw/schema/1/mods-v3.7" | MODS => MODS,
        _ => return None,
    })
}

/// Converts a record from the syntax `stored` to `syntax`, with its text in UTF-8. If the two syntaxes are the same, the record
/// is not changed, unless it is reduced to element set B.
///
/// # Errors
/// Condition 238 if the syntax is neither the record's own nor one of [`SYNTAXES`], 14 if the record cannot be converted to it.
pub fn record(
    octets: &Bytes,
    stored: Oid,
    syntax: &Oid,
    element_set: &str,
) -> Result<External, Diagnostic> {
    if is_full(element_set) && *syntax == stored {
        return Ok(External::octet_aligned(stored, octets.clone()));
    }
    check(stored, syntax)?;
    let whole = iso2709::parse(octets).map_err(|_| lost(""))?.record;
    let conversion = Conversion {
        stored,
        syntax,
        element_set,
    };
    conversion.of(&whole, || Ok(octets.clone()))
}

/// Converts a MARC record to `syntax`, as [`record`] does for a stored record. ISO 2709's limits (99,999 octets, and 9,999 octets
/// for a field) apply only to the MARC syntaxes and OPAC.
///
/// # Errors
/// Condition 238 if the syntax is neither the record's own nor one of [`SYNTAXES`], 14 if the record cannot be converted to it.
pub fn of_marc(
    record: &MarcRecord,
    syntax: &Oid,
    element_set: &str,
) -> Result<External, Diagnostic> {
    let stored = marc_syntax(record);
    check(stored, syntax)?;
    let conversion = Conversion {
        stored,
        syntax,
        element_set,
    };
    conversion.of(record, || encoded(record))
}

/// Checks that records stored in the syntax `stored` are available in `syntax`.
///
/// # Errors
/// Condition 238 if the syntax is neither the record's own nor one of [`SYNTAXES`].
fn check(stored: Oid, syntax: &Oid) -> Result<(), Diagnostic> {
    if *syntax == stored || SYNTAXES.contains(syntax) {
        Ok(())
    } else {
        let words = syntax.to_string();
        Err(diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, words))
    }
}

fn is_full(element_set: &str) -> bool {
    !element_set.eq_ignore_ascii_case("B")
}

fn lost(why: &str) -> Diagnostic {
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, why)
}

/// Encodes a record in ISO 2709.
///
/// # Errors
/// The record exceeds an ISO 2709 limit.
fn encoded(record: &MarcRecord) -> Result<Bytes, Diagnostic> {
    let octets = iso2709::encode(record).map_err(|error| lost(&error.to_string()))?;
    Ok(octets.into())
}

/// A conversion of records from one syntax to another.
struct Conversion<'a> {
    /// The MARC syntax of the record.
    stored: Oid,
    /// The syntax to convert the record to.
    syntax: &'a Oid,
    element_set: &'a str,
}

impl Conversion<'_> {
    /// Converts the record; `octets` returns the complete record in ISO 2709.
    ///
    /// # Errors
    /// Condition 14 if the syntax cannot represent the record.
    fn of(
        &self,
        whole: &MarcRecord,
        octets: impl FnOnce() -> Result<Bytes, Diagnostic>,
    ) -> Result<External, Diagnostic> {
        let full = is_full(self.element_set);
        let wanted = if full {
            Cow::Borrowed(whole)
        } else {
            Cow::Owned(brief(whole))
        };
        let own = || {
            let octets = if full { octets() } else { encoded(&wanted) };
            octets.map(|octets| External::octet_aligned(self.stored, octets))
        };
        let external = match *self.syntax {
            SUTRS => sutrs_external(&sutrs_text(&readable(&wanted))),
            XML if self.element_set.eq_ignore_ascii_case(DUBLIN_CORE) => {
                Some(xml(dublin_core::to_dublin_core(&readable(&wanted))))
            }
            XML if self.element_set.eq_ignore_ascii_case(MODS) => {
                Some(xml(mods::to_mods(&readable(&wanted))))
            }
            XML => Some(xml(marcxml::to_xml(&readable(&wanted)).text)),
            GRS_1 => GenericRecord::of_marc(&readable(&wanted))
                .to_external()
                .ok(),
            // A brief OPAC record has holdings too: they are the purpose of OPAC.
            OPAC => OpacRecord::of_marc(own()?, &readable(whole))
                .to_external()
                .ok(),
            _ => Some(own()?),
        };
        external.ok_or_else(|| lost(""))
    }
}

/// Returns a copy of the record converted to UTF-8.
fn readable(record: &MarcRecord) -> MarcRecord {
    charset::to_utf8(record, &charset::Options::default()).record
}

fn xml(element: String) -> External {
    External::octet_aligned(XML, element.into_bytes())
}

/// The MARC 21 fields of element set B: control number and date, fixed data, identifiers, main entry, title, edition, publication
/// and extent.
const BRIEF: &[&str] = &[
    "001", "003", "005", "008", "020", "022", "100", "110", "111", "130", "245", "250", "260",
    "264", "300",
];
/// The UNIMARC fields of element set B. Field 100 is included because it gives the character set.
const BRIEF_UNIMARC: &[&str] = &[
    "001", "003", "005", "010", "011", "100", "101", "200", "205", "210", "214", "215", "700",
    "710", "720",
];

/// Reduces a record to the fields of element set B, including the fields that have the same contents in other scripts.
fn brief(record: &MarcRecord) -> MarcRecord {
    let brief = if marc_syntax(record) == UNIMARC {
        BRIEF_UNIMARC
    } else {
        BRIEF
    };
    let wanted = |tag: &[u8]| brief.iter().any(|known| known.as_bytes() == tag);
    let fields = record.fields.iter();
    MarcRecord {
        leader: record.leader,
        fields: fields
            .filter(|field| wanted(effective_tag(field).as_ref()))
            .cloned()
            .collect(),
    }
}

#[cfg(test)]
mod tests;
