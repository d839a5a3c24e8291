//! Which indexes can be scanned and sorted by, as records of IR-Explain-1: TermListInfo, TermListDetails and SortDetails
//! (Z39.50-2003 Appendix REC.1). A term list is an index, named after its Use attributes.

use std::collections::BTreeMap;

use z3950_asn1::apdu::{DatabaseName, StringOrNumeric};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::oid::Oid;
use z3950_asn1::record::explain::*;

use super::entry::{DATABASE, ExplainEntry, TERM_LIST, common_info};
use crate::backend::{AttributeInfo, DatabaseInfo};

/// The records about these databases.
pub(super) fn entries(databases: &[DatabaseInfo]) -> Vec<ExplainEntry> {
    let scanned = databases.iter().filter(|database| database.scan);
    let sorted = databases.iter().filter(|database| database.sort);
    let mut details = BTreeMap::<&str, Details<'_>>::new();
    for database in scanned.clone() {
        for (name, attributes) in indexes(database) {
            let list = details.entry(name).or_default();
            list.databases.push(&database.name);
            for attribute in attributes {
                if !list.attributes.contains(&attribute) {
                    list.attributes.push(attribute);
                }
            }
        }
    }
    let details = details.into_iter();
    scanned
        .map(term_list_info)
        .chain(details.map(|(name, list)| term_list_details(name, &list)))
        .chain(sorted.map(sort_details))
        .collect()
}

/// A term list over all databases that have it.
#[derive(Default)]
struct Details<'a> {
    databases: Vec<&'a str>,
    attributes: Vec<&'a AttributeInfo>,
}

/// The indexes of a database, each with its Use attributes.
fn indexes(database: &DatabaseInfo) -> BTreeMap<&str, Vec<&AttributeInfo>> {
    let mut indexes = BTreeMap::<&str, Vec<&AttributeInfo>>::new();
    let all = database.attributes.iter();
    for attribute in all.filter(|attribute| attribute.attribute_type == USE) {
        indexes.entry(&attribute.name).or_default().push(attribute);
    }
    indexes
}

fn term_list_info(database: &DatabaseInfo) -> ExplainEntry {
    let lists = indexes(database).into_keys().map(|name| TermList {
        name: name.into(),
        title: None,
        search_cost: Some(SearchCost::OPTIMIZED),
        scanable: true,
        broader: None,
        narrower: None,
    });
    let info = TermListInfo {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        term_lists: lists.collect(),
    };
    let texts = vec![(DATABASE, database.name.clone())];
    ExplainEntry::new(
        "TermListInfo",
        texts,
        ExplainRecord::TermListInfo(Box::new(info)),
    )
}

fn term_list_details(name: &str, list: &Details<'_>) -> ExplainEntry {
    let details = TermListDetails {
        common_info: common_info(),
        term_list_name: name.into(),
        description: None,
        attributes: combinations(&list.attributes),
        scan_info: Some(ScanInfo {
            max_step_size: None,
            collating_sequence: None,
            increasing: Some(true),
        }),
        est_number_terms: None,
        sample_terms: None,
    };
    let databases = list.databases.iter();
    let databases = databases.map(|database| (DATABASE, (*database).to_owned()));
    let texts = [(TERM_LIST, name.to_owned())].into_iter().chain(databases);
    ExplainEntry::new(
        "TermListDetails",
        texts.collect(),
        ExplainRecord::TermListDetails(Box::new(details)),
    )
}

fn sort_details(database: &DatabaseInfo) -> ExplainEntry {
    let keys = indexes(database)
        .into_iter()
        .map(|(name, attributes)| SortKeyDetails {
            description: Some(name.into()),
            element_specifications: None,
            attribute_specifications: combinations(&attributes),
            sort_type: None,
            case_sensitivity: None,
        });
    let details = SortDetails {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        sort_keys: Some(keys.collect()),
    };
    let texts = vec![(DATABASE, database.name.clone())];
    ExplainEntry::new(
        "SortDetails",
        texts,
        ExplainRecord::SortDetails(Box::new(details)),
    )
}

/// Any one of these attributes.
fn combinations(attributes: &[&AttributeInfo]) -> Option<AttributeCombinations> {
    let default_attribute_set: Oid = attributes.first()?.attribute_set;
    let one_of = attributes.iter().map(|attribute| {
        let occurrence = AttributeOccurrence {
            attribute_set: (attribute.attribute_set != default_attribute_set)
                .then_some(attribute.attribute_set),
            attribute_type: attribute.attribute_type,
            must_be_supplied: Some(()),
            attribute_values: OccurrenceValues::Specific(vec![StringOrNumeric::Numeric(
                attribute.value,
            )]),
        };
        vec![occurrence]
    });
    Some(AttributeCombinations {
        default_attribute_set,
        legal_combinations: one_of.collect(),
    })
}
