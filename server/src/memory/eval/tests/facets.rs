//! Facets over the records that a query finds.

use z3950_asn1::apdu::{
    AttributeElement, AttributeList, AttributeValue, ComplexAttribute, StringOrNumeric, Term,
};

use super::{Catalogue, pqf};
use crate::backend::FacetRequest;
use crate::memory::MOST_WORK;
use crate::memory::index::Work;
use crate::memory::scan::facets;

fn named(name: &str) -> AttributeList {
    let list = vec![StringOrNumeric::String(name.into())];
    let value = AttributeValue::Complex(Box::new(ComplexAttribute {
        list,
        semantic_action: None,
    }));
    // In facets, type 3 is the number of terms.
    AttributeList(vec![
        AttributeElement::numeric(3, 10),
        AttributeElement {
            attribute_set: None,
            attribute_type: 1,
            attribute_value: value,
        },
    ])
}

fn numbered(value: i64) -> AttributeList {
    AttributeList(vec![AttributeElement::numeric(1, value)])
}

#[test]
fn terms_are_counted_over_the_hits() {
    let war = "@attr 1=4 war";
    for (query, attributes, (skip, terms, alphabetical), expected) in [
        (
            war,
            numbered(1018),
            (0, 10, false),
            Some("heinemann 1, university 1, w heinemann 1"),
        ),
        (
            war,
            numbered(31),
            (0, 10, false),
            Some("1869 1, 1898 1, 1904 1, 1983 1, 2005 1"),
        ),
        (
            war,
            named("language"),
            (0, 10, false),
            Some("eng 4, fre 1, rus 1"),
        ),
        (
            war,
            named("lang"),
            (0, 10, true),
            Some("eng 4, fre 1, rus 1"),
        ),
        (war, named("language"), (0, 1, false), Some("eng 4")),
        (war, named("language"), (1, 1, false), Some("fre 1")),
        (war, named("language"), (9, 1, false), Some("")),
        (war, named("language"), (0, 0, false), Some("")),
        (war, named("any"), (0, 1, false), Some("war 4")),
        (
            "@attr 1=4 nothing",
            named("language"),
            (0, 10, false),
            Some(""),
        ),
        (war, named("nosuch"), (0, 10, false), None),
        (war, numbered(9999), (0, 10, false), None),
        (war, numbered(1032), (0, 10, false), None),
        (war, AttributeList(vec![]), (0, 10, false), None),
    ] {
        let catalogue = Catalogue::small();
        let hits = catalogue.evaluate(&pqf(query), false).expect("found").hits;
        let request = FacetRequest {
            attributes,
            skip,
            terms,
            alphabetical,
        };
        let found = facets(
            &catalogue.index,
            &catalogue.fields,
            &hits,
            std::slice::from_ref(&request),
            &mut Work::new(MOST_WORK),
        );
        let shown = found.first().map(|facet| {
            assert_eq!(facet.attributes, request.attributes);
            let term = |(term, records): &(Term, usize)| match term {
                Term::General(octets) => format!("{} {records}", String::from_utf8_lossy(octets)),
                other => panic!("{other:?}"),
            };
            facet.terms.iter().map(term).collect::<Vec<_>>().join(", ")
        });
        assert_eq!(shown.as_deref(), expected, "{request:?}");
    }
}
