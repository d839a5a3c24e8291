//! The form in which the terms of an index are compared, for backends that merge the lists from other servers.

use z3950_asn1::apdu::AttributesPlusTerm;
use z3950_asn1::bib1::attributes::USE;

use super::attributes::access_of;
use super::fields::{Kind, OF_BIB_1};
use super::words::words;

/// The order of an index's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermOrder(Kind);

impl TermOrder {
    /// Returns the order for the index of a scan. If the index is not in Bib-1, this is the order of text.
    pub fn of(start: &AttributesPlusTerm) -> Self {
        let mut attributes = start.attributes.iter();
        let field = attributes.find(|attribute| attribute.attribute_type == USE);
        let index = field.and_then(|field| access_of(&OF_BIB_1, field));
        Self(index.map_or(Kind::Text, |index| OF_BIB_1.kind(index)))
    }

    /// Returns the key by which a term is compared. Different forms of the same term at different servers, such as `War` and
    /// `war`, have the same key.
    pub fn key(self, term: &str) -> String {
        let key = self.0.key(term).unwrap_or_else(|| words(term).join(" "));
        if key.is_empty() {
            term.to_lowercase()
        } else {
            key
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::{AttributeElement, Term};

    use super::*;

    #[test]
    fn a_term_is_the_same_in_the_forms_of_different_servers() {
        for (access, terms, key) in [
            (4, &["War", "war", "WAR /"][..], "war"),
            (4, &["Les Misérables", "les miserables"], "les miserables"),
            (7, &["0-306-40615-2", "9780306406157"], "9780306406157"),
            (31, &["c1999", "1999"], "1999"),
            (31, &["19uu"], "19uu"),
            (54, &["ENG", "eng"], "eng"),
            // Bib-1 does not define this Use value.
            (99_999, &["B-2", "b 2"], "b 2"),
            (4, &["***"], "***"),
            (4, &[""], ""),
        ] {
            let start = AttributesPlusTerm {
                attributes: vec![AttributeElement::numeric(1, access)],
                term: Term::General(b"".to_vec().into()),
            };
            let order = TermOrder::of(&start);
            for term in terms {
                assert_eq!(order.key(term), key, "{access} {term}");
            }
        }
    }
}
