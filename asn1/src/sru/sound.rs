//! Checks XML from other sources before it is embedded in a document of this project: an SRU response, a Z39.50
//! record, or a web page.

use bytes::Bytes;

use super::SruLimits;
use super::xml::{XmlError, check_well_formed, declared_encoding, root};
use crate::apdu::{External, ExternalEncoding, ExternalValue as _};
use crate::oid;
use crate::record::opac::{HoldingsRecord, OpacRecord};

/// An element that can be inserted into any UTF-8 document without changing its meaning.
///
/// It is well-formed, declares all prefixes that it uses, and has no XML declaration, no document type, and nothing before or after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlElement {
    octets: Bytes,
    namespace: String,
    name: String,
}

/// The maximum size of an element in octets.
const MAX_OCTETS: usize = 16 << 20;
/// The maximum depth of nested elements. It is lower than the limits of XML readers, because other elements enclose
/// the embedded element.
const MAX_DEPTH: usize = 100;

impl XmlElement {
    /// Returns the outermost element of a document, without the XML declaration and without the comments and
    /// processing instructions around the element.
    ///
    /// # Errors
    /// [`XmlError`] for a document that is not well-formed (XML 1.0 §2.1, Namespaces in XML 1.0 §7), is in an
    /// encoding other than UTF-8, has a document type, is nested more than 100 levels deep, or is longer than 16 MiB.
    pub fn read(octets: impl Into<Bytes>) -> Result<Self, XmlError> {
        let octets = octets.into();
        if octets.len() > MAX_OCTETS {
            return Err(XmlError::TooLong { limit: MAX_OCTETS });
        }
        if let Err(error) = std::str::from_utf8(&octets) {
            return Err(not_utf8(error.valid_up_to()));
        }
        let mark = usize::from(octets.starts_with(b"\xEF\xBB\xBF")) * 3;
        let octets = octets.slice(mark..);
        let encoding = declared_encoding(&octets);
        // If the whole document is ASCII, the declaration of another encoding has no effect.
        if encoding.is_some_and(|name| !name.eq_ignore_ascii_case("utf-8")) && !octets.is_ascii() {
            return Err(not_utf8(0));
        }
        let limits = SruLimits {
            depth: MAX_DEPTH,
            ..SruLimits::default()
        };
        let checked = check_well_formed(&octets, &limits)?;
        Ok(Self {
            octets: octets.slice(checked.element),
            namespace: checked.namespace,
            name: checked.name,
        })
    }

    /// Returns the octets of the element as written.
    pub fn octets(&self) -> &Bytes {
        &self.octets
    }

    /// Returns the namespace of the element; empty if it has none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name of the element without its prefix.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn not_utf8(offset: usize) -> XmlError {
    XmlError::Syntax {
        offset: offset as u64,
        fault: "not UTF-8".to_owned(),
    }
}

/// Returns the namespace and the name, without a prefix, of the element at the start of the octets; `None` if no
/// element begins there. The octets after its start tag are ignored.
pub fn root_of(element: &[u8]) -> Option<(String, String)> {
    root(element)
}

/// Returns a record in which all XML is safe to embed: a record in XML must be an [`XmlElement`], and so must the records in an
/// OPAC record. Records in other syntaxes are returned unchanged.
///
/// # Errors
/// The same errors as [`XmlElement::read`].
pub fn with_sound_xml(external: External) -> Result<External, XmlError> {
    match external.direct_reference {
        Some(oid::XML | oid::APPLICATION_XML) => sound_element(external),
        Some(oid::OPAC) => sound_opac(external),
        _ => Ok(external),
    }
}

fn sound_element(external: External) -> Result<External, XmlError> {
    let ExternalEncoding::OctetAligned(octets) = &external.encoding else {
        return Err(XmlError::NoElement);
    };
    let element = XmlElement::read(octets.to_bytes())?;
    if element.octets.len() == octets.as_bytes().len() {
        return Ok(external);
    }
    Ok(External {
        encoding: ExternalEncoding::OctetAligned(element.octets.into()),
        ..external
    })
}

/// Checks an OPAC record. A record that cannot be decoded is not an OPAC record, and so cannot contain XML.
fn sound_opac(external: External) -> Result<External, XmlError> {
    let Ok(mut record) = OpacRecord::from_external(&external) else {
        return Ok(external);
    };
    let mut is_changed = false;
    let mut check = |one: &mut External| {
        let sound = sound_inside(one.clone())?;
        is_changed |= sound != *one;
        *one = sound;
        Ok(())
    };
    record
        .bibliographic_record
        .iter_mut()
        .try_for_each(&mut check)?;
    for holdings in record.holdings_data.iter_mut().flatten() {
        if let HoldingsRecord::MarcHoldingsRecord(inside) = holdings {
            check(inside)?;
        }
    }
    if is_changed {
        record.to_external().map_err(|_| XmlError::NoElement)
    } else {
        Ok(external)
    }
}

/// Checks a record within an OPAC record. If it is itself an OPAC record, it is not checked, because no program reads
/// it.
fn sound_inside(external: External) -> Result<External, XmlError> {
    match external.direct_reference {
        Some(oid::XML | oid::APPLICATION_XML) => sound_element(external),
        _ => Ok(external),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RetrievedRecord;

    #[test]
    fn audit_r_x1_only_one_well_formed_element_is_embedded() {
        let deep = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let (deepest, deeper) = (deep(MAX_DEPTH), deep(MAX_DEPTH + 1));
        for (document, expected) in [
            (&b"<a/>"[..], Ok("<a/>")),
            (
                b" \n<?xml-stylesheet href='a'?><!-- b --><a>\xC3\xA9</a>\n<!-- c -->",
                Ok("<a>é</a>"),
            ),
            (
                b"\xEF\xBB\xBF<?xml version='1.0' encoding='utf-8'?>\n<a/>\n",
                Ok("<a/>"),
            ),
            (
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>e</a>",
                Ok("<a>e</a>"),
            ),
            (
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xC3\xA9</a>",
                Err("not UTF-8"),
            ),
            (
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>",
                Err("not UTF-8 (octet 46)"),
            ),
            (b"<a>\xED\xA0\x80</a>", Err("not UTF-8")),
            (b"\xFF\xFE<\0a\0/\0>\0", Err("not UTF-8")),
            (b"<a></recordData><recordData></a>", Err("octet 3")),
            (deepest.as_bytes(), Ok(&*deepest)),
            (deeper.as_bytes(), Err("levels deep")),
            (b"text", Err("text outside")),
            (b"", Err("no element")),
        ] {
            let read = XmlElement::read(document.to_vec()).map_err(|error| error.to_string());
            let octets = read.as_ref().map(|element| element.octets());
            let words = document.escape_ascii();
            match (octets, expected) {
                (Ok(octets), Ok(expected)) => assert_eq!(octets, expected, "{words}"),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{words}: {why}"),
                (read, _) => panic!("{words}: {read:?}"),
            }
        }
        let long = format!("<a>{}</a>", "x".repeat(MAX_OCTETS));
        let limit = MAX_OCTETS;
        assert_eq!(XmlElement::read(long), Err(XmlError::TooLong { limit }));
    }

    #[test]
    fn an_element_has_a_name_and_a_namespace() {
        assert_eq!(root_of(b"text <a/>"), None);
        for (document, namespace, name) in [
            ("<a/>", "", "a"),
            ("<a xmlns='urn:a'><b xmlns='urn:b'/></a>", "urn:a", "a"),
            ("<p:a xmlns:p='urn:&#97;' xmlns='urn:b'/>", "urn:a", "a"),
        ] {
            let element = XmlElement::read(document).expect("valid");
            assert_eq!((element.namespace(), element.name()), (namespace, name));
            let root = root_of(element.octets());
            assert_eq!(root, Some((namespace.to_owned(), name.to_owned())));
        }
    }

    #[test]
    fn audit_r_x1_xml_in_records_is_well_formed() {
        let xml = |text: &str| External::octet_aligned(oid::XML, text.as_bytes().to_vec());
        let opac = |bibliographic: External, holdings: External| {
            let record = OpacRecord {
                bibliographic_record: Some(bibliographic),
                holdings_data: Some(vec![HoldingsRecord::MarcHoldingsRecord(holdings.into())]),
            };
            record.to_external().expect("encodes")
        };
        let (sound, odd) = (xml("<a/>"), xml("<a/><b/>"));
        let marc = External::octet_aligned(oid::USMARC, b"<a/><b/>".to_vec());
        let text = External::of_value(oid::XML, &crate::types::InternationalString::from("<a/>"))
            .expect("encodes");
        for (record, expected) in [
            (sound.clone(), Some(sound.clone())),
            (xml("<?xml version='1.0'?>\n<a/>\n"), Some(sound.clone())),
            (odd.clone(), None),
            (text, None),
            (marc.clone(), Some(marc.clone())),
            (
                opac(marc.clone(), sound.clone()),
                Some(opac(marc.clone(), sound.clone())),
            ),
            (
                opac(xml("<a/> "), sound.clone()),
                Some(opac(sound.clone(), sound.clone())),
            ),
            (opac(odd.clone(), sound.clone()), None),
            (opac(sound.clone(), odd.clone()), None),
        ] {
            let shown = format!("{:?}", RetrievedRecord::of(&record));
            assert_eq!(with_sound_xml(record).ok(), expected, "{shown}");
        }
    }
}
