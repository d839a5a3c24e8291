//! Facets (OASIS searchRetrieve 1.0, part 3), converted to and from the fields for facets in Z39.50.

use z3950_asn1::apdu::{AttributeList, OtherInformation, Term};
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_asn1::sru::{
    FacetLimit, FacetParameters, SruCondition, SruDiagnostic, SruFacet, SruFacetTerm,
};

use super::query;

/// The requested facets, as pairs of the index name and the Z39.50 field.
#[derive(Debug, Default)]
pub(super) struct WantedFacets(Vec<(String, FacetField)>);

/// The indexes whose terms are counted if the request names no indexes.
const CHOICE: [&str; 4] = ["dc.creator", "dc.subject", "dc.date", "dc.language"];

impl WantedFacets {
    /// Converts the parameters.
    ///
    /// # Errors
    /// Diagnostic 8 for range parameters, 6 for invalid values, 16 for unknown indexes.
    pub(super) fn read(parameters: &FacetParameters) -> Result<Self, SruDiagnostic> {
        let unsupported = [
            ("facetRangeField", &parameters.range_field),
            ("facetLowValue", &parameters.low_value),
            ("facetHighValue", &parameters.high_value),
            ("facetCount", &parameters.count),
        ];
        if let Some((name, _)) = unsupported.iter().find(|(_, value)| value.is_some()) {
            return Err(SruDiagnostic::new(SruCondition::PARAMETER, *name));
        }
        let by_term = by_term(parameters.sort.as_deref())?;
        let starts = starts(parameters.start.as_deref())?;
        let Some(limit) = &parameters.limit else {
            return Ok(Self::default());
        };
        let limit = FacetLimit::parse(limit)?;
        let chosen = limit
            .general
            .map(|number| CHOICE.map(|index| (index, number)));
        let named = limit
            .indexes
            .iter()
            .map(|(index, number)| (&**index, *number));
        let field = |(index, number): (&str, u64)| {
            let start = starts.indexes.iter().find(|(known, _)| known == index);
            let start = start.map(|(_, start)| *start).or(starts.general);
            let use_value = query::use_of(index)?;
            let (number, start) = (integer(number), integer(start.unwrap_or(1)));
            let field = FacetField::of_use(use_value, number, start, by_term);
            Ok((index.to_owned(), field))
        };
        let fields = chosen.into_iter().flatten().chain(named).map(field);
        fields.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the information that requests the facets in a Search; `None` if there are no facets.
    pub(super) fn information(&self) -> Option<OtherInformation> {
        if self.0.is_empty() {
            return None;
        }
        let fields = self.0.iter().map(|(_, field)| field.clone());
        let mut information = OtherInformation::default();
        information.put_value(&FacetList(fields.collect())).ok()?;
        Some(information)
    }

    /// Returns the facets in the answer to a Search. Indexes without terms are left out.
    pub(super) fn found(&self, information: Option<&OtherInformation>) -> Vec<SruFacet> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let list = information.and_then(OtherInformation::value::<FacetList>);
        let fields = list.into_iter().flat_map(|list| list.0);
        fields.filter_map(|field| self.facet(field)).collect()
    }

    fn facet(&self, field: FacetField) -> Option<SruFacet> {
        let index = self.name(&field.attributes)?;
        let terms = field.terms.into_iter().flatten().map(|one| {
            let term = match &one.term {
                Term::General(octets) => String::from_utf8_lossy(octets).into_owned(),
                _ => String::new(),
            };
            SruFacetTerm::new(term, u64::try_from(one.count).unwrap_or(0))
        });
        Some(SruFacet {
            index,
            terms: terms.collect(),
        })
    }

    fn name(&self, attributes: &AttributeList) -> Option<String> {
        let mut fields = self.0.iter();
        let (name, _) = fields.find(|(_, field)| field.attributes == *attributes)?;
        Some(name.clone())
    }
}

/// Returns whether terms are sorted alphabetically. This depends on the first part of `facetSort`, which may be a name from the
/// standard or a name that YAZ uses.
fn by_term(sort: Option<&str>) -> Result<bool, SruDiagnostic> {
    let parts: Vec<&str> = sort
        .unwrap_or("recordCount")
        .split(',')
        .map(str::trim)
        .collect();
    let (kind, rest) = parts.split_first().unwrap_or((&"", &[]));
    let is = |word: &str| kind.eq_ignore_ascii_case(word);
    let is_by_term = is("alphanumeric") || is("index") || is("term");
    let order = if is_by_term {
        "ascending"
    } else {
        "descending"
    };
    // Neither the opposite direction nor case sensitivity is supported.
    let is_known = is_by_term || is("recordCount") || is("count");
    if is_known && rest.iter().all(|part| part.eq_ignore_ascii_case(order)) {
        Ok(is_by_term)
    } else {
        Err(SruDiagnostic::new(
            SruCondition::PARAMETER_VALUE,
            "facetSort",
        ))
    }
}

/// Parses the position of the first term of each facet, from 1: a single number for all facets, or numbers with the names of
/// their indexes.
fn starts(start: Option<&str>) -> Result<FacetLimit, SruDiagnostic> {
    let refused = || SruDiagnostic::new(SruCondition::PARAMETER_VALUE, "facetStart");
    let starts = FacetLimit::parse(start.unwrap_or_default()).map_err(|_| refused())?;
    let mut numbers = starts
        .general
        .iter()
        .chain(starts.indexes.iter().map(|(_, start)| start));
    if numbers.any(|start| *start == 0) {
        Err(refused())
    } else {
        Ok(starts)
    }
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
