//! Shows facets: the most frequent subjects, authors and years of the records found in a database, as links that narrow the
//! search. The facets have the form defined by Index Data (1.2.840.10003.10.1000.81.5).

use std::slice;

use askama::Template;
use z3950::find::Event;
use z3950_asn1::apdu::{StringOrNumeric, Term};
use z3950_asn1::format::facets::{FacetField, FacetList};

use super::hits::PageSearch;
use super::parameters::{FIELDS, Narrowing, Parameters};
use super::sources;
use crate::layout::rendered;
use crate::text::clean;

/// The number of terms requested for each field.
const TERMS: i64 = 6;

/// Returns, as HTML, the facets of the records found in the database with this index in the search; `None` if there are no
/// facets.
pub(super) async fn facets(search: &PageSearch, index: usize) -> Option<String> {
    let target = search.targets.get(index)?;
    let mut wanted = search.wanted(1, 0);
    let fields = FIELDS.map(|field| FacetField::request(field.name, TERMS));
    wanted.facets = FacetList(fields.into());
    wanted.sort.clear();
    let mut events = search.find(slice::from_ref(target), wanted);
    let found = loop {
        if let Event::Found(found) = events.next().await? {
            break found.result.clone();
        }
    };
    let (parameters, catalogues) = (&search.parameters, &search.catalogues);
    let groups: Vec<FacetGroup> = found
        .facets()?
        .0
        .iter()
        .filter_map(|field| FacetGroup::of(field, parameters, target))
        .collect();
    let shown = ShownFacets {
        name: catalogues.title(target),
        groups,
        is_sum: !sources::hits(&found, parameters, catalogues).is_empty(),
        uncounted: sources::uncounted(&found, catalogues),
    };
    if shown.groups.is_empty() {
        return None;
    }
    Some(rendered(&shown))
}

/// The most frequent terms in a field.
struct FacetGroup {
    title: &'static str,
    terms: Vec<FacetLink>,
}

/// A term, with a link to the search narrowed to this term.
struct FacetLink {
    term: String,
    count: i64,
    link: String,
}

impl FacetGroup {
    /// Creates the group for a field; `None` if the field has no terms, or was not requested.
    fn of(found: &FacetField, parameters: &Parameters, target: &str) -> Option<Self> {
        let StringOrNumeric::String(name) = found.field()? else {
            return None;
        };
        let name = name.to_string_lossy();
        let field = *FIELDS.iter().find(|field| field.name == name)?;
        let terms = found.terms.iter().flatten().filter_map(|found| {
            let term = match &found.term {
                Term::General(octets) => String::from_utf8(octets.to_vec()).ok()?,
                Term::CharacterString(text) => text.to_string_lossy().into_owned(),
                Term::Numeric(number) => number.to_string(),
                _ => return None,
            };
            let narrowing = Narrowing { field, term };
            let is_new = !parameters.narrowings.contains(&narrowing);
            is_new.then(|| FacetLink {
                link: parameters.narrowed_link(target, &narrowing),
                term: clean(&narrowing.term),
                count: found.count,
            })
        });
        let limit = usize::try_from(TERMS).unwrap_or(0);
        let terms: Vec<_> = terms.take(limit).collect();
        (!terms.is_empty()).then_some(Self {
            title: field.title,
            terms,
        })
    }
}

#[derive(Template)]
#[template(path = "facets.html")]
struct ShownFacets {
    name: String,
    groups: Vec<FacetGroup>,
    /// Whether the counts are sums over several databases.
    is_sum: bool,
    /// The names of databases whose records are not counted.
    uncounted: Vec<String>,
}
