//! Facets (OASIS searchRetrieve 1.0, part 3). The facet fields in a Search are sent as `facetLimit`, and the counts in
//! the answer are assigned to these fields.

use z3950_asn1::apdu::{AttributeElement, OtherInformation, SearchRequest, StringOrNumeric, Term};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::facets::{FacetField, FacetList, FacetTerm};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::names::Names;
use z3950_asn1::sru::{FacetLimit, FacetParameters, SruFacet};

use super::Refused;
use super::query::index_of;
use crate::target::profile::SruOptions;

/// The number of terms requested for a field if the search does not state one.
const TERMS: u64 = 10;

/// The facet fields requested in a Search, each with its CQL index.
#[derive(Debug, Default)]
pub(super) struct AskedFacets(Vec<(String, FacetField)>);

impl AskedFacets {
    /// Returns the facets requested in a Search.
    ///
    /// # Errors
    /// Fails if a field does not name an index.
    pub(super) fn of_search(
        request: &SearchRequest,
        options: &SruOptions,
    ) -> Result<Self, Refused> {
        let information = [&request.additional_search_info, &request.other_info];
        let mut information = information.into_iter().flatten();
        let Some(FacetList(fields)) = information.find_map(OtherInformation::value) else {
            return Ok(Self::default());
        };
        let fields = fields.into_iter().map(|field| {
            let index = index(&field, options)?;
            Ok((index, field))
        });
        fields.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the request parameters for the facets.
    pub(super) fn parameters(&self) -> FacetParameters {
        let mut parameters = FacetParameters::default();
        if self.0.is_empty() {
            return parameters;
        }
        let text = |number: fn(&FacetField) -> Option<u64>| {
            let fields = self.0.iter();
            let indexes = fields.filter_map(|(index, field)| Some((index.clone(), number(field)?)));
            let limit = FacetLimit {
                general: None,
                indexes: indexes.collect(),
            };
            Some(limit.to_string()).filter(|text| !text.is_empty())
        };
        parameters.limit = text(|field| {
            let limit = field.limit().and_then(|limit| u64::try_from(limit).ok());
            Some(limit.unwrap_or(TERMS))
        });
        parameters.start = text(|field| field.start().and_then(|start| u64::try_from(start).ok()));
        if self.0.iter().any(|(_, field)| field.by_term()) {
            parameters.sort = Some("alphanumeric".into());
        }
        parameters
    }

    /// Returns the facets in an answer, each with the requested field to which it belongs.
    pub(super) fn found(&self, facets: &[SruFacet]) -> Option<OtherInformation> {
        if self.0.is_empty() || facets.is_empty() {
            return None;
        }
        let fields = facets.iter().map(|facet| {
            let mut asked = self.0.iter();
            let asked = asked.find(|(index, _)| index.eq_ignore_ascii_case(&facet.index));
            let terms = facet.terms.iter().map(|term| FacetTerm {
                term: Term::General(term.term.clone().into_bytes().into()),
                count: i64::try_from(term.count).unwrap_or(i64::MAX),
            });
            let terms: Vec<FacetTerm> = terms.collect();
            let mut field = match asked {
                Some((_, field)) => field.clone(),
                None => {
                    let count = i64::try_from(terms.len()).unwrap_or(i64::MAX);
                    FacetField::request(&facet.index, count)
                }
            };
            field.terms = Some(terms);
            field
        });
        let mut information = OtherInformation::default();
        information.put_value(&FacetList(fields.collect())).ok()?;
        Some(information)
    }
}

/// Returns the CQL index for a field. It is the index for its Use attribute, the index for a known name, or the name
/// itself.
fn index(field: &FacetField, options: &SruOptions) -> Result<String, Refused> {
    let refused = |words: String| Err(Refused::because(Condition::USE, words));
    match field.field() {
        Some(StringOrNumeric::Numeric(number)) => {
            index_of(&[AttributeElement::numeric(USE, number)], BIB_1, options)
        }
        Some(StringOrNumeric::String(name)) => {
            let name = name.to_string_lossy();
            match Names::default().attributes(&name) {
                Ok(attributes) => index_of(&attributes, BIB_1, options),
                Err(_) if name.contains([',', ':']) => {
                    refused(format!("{name}: facets of SRU are counted by an index"))
                }
                Err(_) => Ok(name.into_owned()),
            }
        }
        None => refused("a facet without a field".into()),
    }
}
