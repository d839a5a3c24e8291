//! The records of IR-Explain-1 and their search terms (Z39.50-2003 Appendices ATR.2 and REC.1).

use std::collections::{BTreeMap, BTreeSet};

use z3950_asn1::apdu::{DatabaseName, IntUnit, Options, StringOrNumeric, Unit};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::explain::*;

use super::entry::*;
use super::lists;
use crate::backend::{AttributeInfo, Backend, DatabaseInfo};
use crate::extended::{EXTEND_DATABASE, EXTENDED_SERVICES};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::units::count;

/// All records: the categories, the server, and the records of each category.
pub(super) fn entries(backend: &dyn Backend, offer: &Offer, limits: &Limits) -> Vec<ExplainEntry> {
    let mut databases = backend.databases();
    let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
    if has_tasks {
        databases.push(own(
            EXTEND_DATABASE,
            "Extended services",
            &[oid::TASK_PACKAGE],
        ));
    }
    databases.push(own(EXPLAIN_DATABASE, "Explain", &[oid::EXPLAIN]));
    let syntaxes: BTreeSet<Oid> = databases
        .iter()
        .flat_map(|one| one.syntaxes.clone())
        .collect();
    let sets = attribute_sets(&databases);
    let mut entries = vec![target_info(&sets, &syntaxes, offer, limits)];
    entries.extend(
        databases
            .iter()
            .map(|database| database_info(database, &syntaxes)),
    );
    entries.extend(syntaxes.iter().map(|syntax| record_syntax_info(*syntax)));
    entries.extend(
        sets.iter()
            .map(|(set, types)| attribute_set_info(*set, types)),
    );
    entries.extend(databases.iter().map(attribute_details));
    entries.extend(lists::entries(&databases));
    if has_tasks {
        entries.extend(
            EXTENDED_SERVICES
                .iter()
                .map(|service| extended_services_info(*service)),
        );
    }
    entries.insert(0, category_list());
    entries
}

/// The values of each attribute type of a set, with their names.
type Values = BTreeMap<i64, BTreeMap<i64, String>>;

fn attribute_sets(databases: &[DatabaseInfo]) -> BTreeMap<Oid, Values> {
    let mut sets = BTreeMap::<Oid, Values>::new();
    for attribute in databases.iter().flat_map(|database| &database.attributes) {
        let types = sets.entry(attribute.attribute_set).or_default();
        let values = types.entry(attribute.attribute_type).or_default();
        values.insert(attribute.value, attribute.name.clone());
    }
    sets
}

/// One of the server's own databases, with its Use attributes.
fn own(name: &str, title: &str, syntaxes: &[Oid]) -> DatabaseInfo {
    let (set, names): (Oid, &[(i64, &str)]) = match name {
        EXPLAIN_DATABASE => (
            oid::EXP_1,
            &[
                (CATEGORY, "ExplainCategory"),
                (LANGUAGE, "HumanStringLanguage"),
                (DATABASE, "DatabaseName"),
                (TARGET, "TargetName"),
                (ATTRIBUTE_SET, "AttributeSetOID"),
                (SYNTAX, "RecordSyntaxOID"),
                (SERVICE, "ExtendedServicesOID"),
                (TERM_LIST, "TermListName"),
                (PROPRIETARY, "Proprietary"),
                (USER_FEE, "UserFee"),
            ],
        ),
        _ => (
            oid::EXT_1,
            &[
                (1, "UserId"),
                (2, "PackageName"),
                (3, "CreationDateTime"),
                (4, "TaskStatus"),
                (5, "PackageType"),
            ],
        ),
    };
    let attributes = names.iter().map(|(value, name)| AttributeInfo {
        attribute_set: set,
        attribute_type: 1,
        value: *value,
        name: (*name).to_owned(),
    });
    DatabaseInfo {
        name: name.to_owned(),
        title: Some(title.to_owned()),
        syntaxes: [syntaxes, &[oid::SUTRS, oid::XML]].concat(),
        attributes: attributes.collect(),
        ..DatabaseInfo::default()
    }
}

fn category_list() -> ExplainEntry {
    let categories = [
        ("CategoryList", "The categories of records in this database"),
        ("TargetInfo", "The server"),
        ("DatabaseInfo", "The databases"),
        (
            "RecordSyntaxInfo",
            "The syntaxes in which records are shown",
        ),
        ("AttributeSetInfo", "The attribute sets of queries"),
        (
            "AttributeDetails",
            "The attributes with which a database is searched",
        ),
        ("TermListInfo", "The term lists that can be scanned"),
        ("TermListDetails", "The attributes that mean a term list"),
        ("SortDetails", "The keys by which records can be sorted"),
        ("ExtendedServicesInfo", "The extended services"),
    ];
    let categories = categories.map(|(category, description)| CategoryInfo {
        category: category.into(),
        original_category: None,
        description: Some(description.into()),
        asn1_module: None,
    });
    let list = CategoryList {
        common_info: common_info(),
        categories: categories.into(),
    };
    ExplainEntry::new(
        "CategoryList",
        Vec::new(),
        ExplainRecord::CategoryList(Box::new(list)),
    )
}

fn target_info(
    sets: &BTreeMap<Oid, Values>,
    syntaxes: &BTreeSet<Oid>,
    offer: &Offer,
    limits: &Limits,
) -> ExplainEntry {
    let name = offer
        .implementation_name
        .clone()
        .unwrap_or_else(|| "z3950d".to_owned());
    let version = offer.implementation_version.clone().unwrap_or_default();
    let rpn = || RpnCapabilities {
        operators: None,
        result_set_as_operand_supported: true,
        restriction_operand_supported: false,
        proximity: None,
    };
    let access = AccessInfo {
        query_types_supported: Some(vec![
            QueryTypeDetails::Rpn(rpn()),
            QueryTypeDetails::Iso8777(Iso8777Capabilities {
                search_keys: Vec::new(),
                restrictions: None,
            }),
            QueryTypeDetails::Erpn(rpn()),
        ]),
        diagnostics_sets: Some(vec![oid::BIB_1_DIAGNOSTICS]),
        attribute_set_ids: Some(sets.keys().copied().collect()),
        record_syntaxes: Some(syntaxes.iter().copied().collect()),
        element_set_names: Some(vec!["F".into(), "B".into()]),
        unit_systems: Some(Vec::new()),
        ..AccessInfo::default()
    };
    let languages = offer
        .languages
        .iter()
        .map(|language| language.as_str().into());
    let info = TargetInfo {
        common_info: common_info(),
        name: name.as_str().into(),
        named_result_sets: offer.options.contains(Options::NAMED_RESULT_SETS),
        multiple_d_bsearch: limits.databases_per_search > 1,
        max_result_sets: Some(count(limits.result_sets)),
        max_result_size: Some(count(limits.hits)),
        timeout_interval: limits.idle_time.map(|time| seconds(time.as_secs())),
        description: Some(format!("{name} {version}").trim_end().into()),
        languages: Some(languages.collect()),
        common_access_info: Some(access),
        ..TargetInfo::default()
    };
    let texts = vec![(TARGET, name)];
    ExplainEntry::new(
        "TargetInfo",
        texts,
        ExplainRecord::TargetInfo(Box::new(info)),
    )
}

fn seconds(value: u64) -> IntUnit {
    IntUnit {
        value: i64::try_from(value).unwrap_or(i64::MAX),
        unit_used: Unit {
            unit_type: Some(StringOrNumeric::String("time".into())),
            unit: Some(StringOrNumeric::String("seconds".into())),
            ..Unit::default()
        },
    }
}

fn database_info(database: &DatabaseInfo, all: &BTreeSet<Oid>) -> ExplainEntry {
    let is_explain = database.name == EXPLAIN_DATABASE;
    // Without a list of its syntaxes, a database has all of them.
    let syntaxes: Vec<Oid> = match database.syntaxes.is_empty() {
        true => all.iter().copied().collect(),
        false => database.syntaxes.clone(),
    };
    let element_sets = ["F", "B"]
        .into_iter()
        .chain(database.element_sets.iter().map(String::as_str));
    let access = AccessInfo {
        attribute_set_ids: Some(sets_of(database).into_iter().collect()),
        record_syntaxes: Some(syntaxes),
        element_set_names: Some(element_sets.map(Into::into).collect()),
        unit_systems: Some(Vec::new()),
        ..AccessInfo::default()
    };
    let info = z3950_asn1::record::explain::DatabaseInfo {
        common_info: common_info(),
        name: DatabaseName::from(database.name.as_str()),
        explain_database: is_explain.then_some(()),
        available: true,
        title_string: database.title.as_deref().map(Into::into),
        description: database.description.as_deref().map(Into::into),
        record_count: database
            .records
            .map(|records| RecordCount::ActualNumber(count(records))),
        access_info: Some(access),
        ..z3950_asn1::record::explain::DatabaseInfo::default()
    };
    let texts = vec![
        (DATABASE, database.name.clone()),
        (PROPRIETARY, "0".to_owned()),
        (USER_FEE, "0".to_owned()),
    ];
    ExplainEntry::new(
        "DatabaseInfo",
        texts,
        ExplainRecord::DatabaseInfo(Box::new(info)),
    )
}

fn sets_of(database: &DatabaseInfo) -> BTreeSet<Oid> {
    database
        .attributes
        .iter()
        .map(|attribute| attribute.attribute_set)
        .collect()
}

fn record_syntax_info(syntax: Oid) -> ExplainEntry {
    let info = RecordSyntaxInfo {
        common_info: common_info(),
        record_syntax: syntax,
        name: named(syntax),
        transfer_syntaxes: None,
        description: None,
        asn1_module: None,
        abstract_structure: None,
    };
    let texts = vec![(SYNTAX, syntax.to_string())];
    ExplainEntry::new(
        "RecordSyntaxInfo",
        texts,
        ExplainRecord::RecordSyntaxInfo(Box::new(info)),
    )
}

fn named(oid: Oid) -> z3950_asn1::types::InternationalString {
    oid.name()
        .map_or_else(|| oid.to_string().into(), Into::into)
}

fn attribute_set_info(set: Oid, types: &Values) -> ExplainEntry {
    let attributes = types.iter().map(|(attribute_type, values)| AttributeType {
        name: type_name(*attribute_type).map(Into::into),
        description: None,
        attribute_type: *attribute_type,
        attribute_values: values
            .iter()
            .map(|(value, name)| AttributeDescription {
                name: Some(name.as_str().into()),
                description: None,
                attribute_value: StringOrNumeric::Numeric(*value),
                equivalent_attributes: None,
            })
            .collect(),
    });
    let info = AttributeSetInfo {
        common_info: common_info(),
        attribute_set: set,
        name: named(set),
        attributes: Some(attributes.collect()),
        description: None,
    };
    let texts = vec![(ATTRIBUTE_SET, set.to_string())];
    ExplainEntry::new(
        "AttributeSetInfo",
        texts,
        ExplainRecord::AttributeSetInfo(Box::new(info)),
    )
}

/// The types of attributes that Bib-1, Exp-1 and Ext-1 share.
fn type_name(attribute_type: i64) -> Option<&'static str> {
    Some(match attribute_type {
        1 => "Use",
        2 => "Relation",
        3 => "Position",
        4 => "Structure",
        5 => "Truncation",
        6 => "Completeness",
        _ => return None,
    })
}

fn attribute_details(database: &DatabaseInfo) -> ExplainEntry {
    let sets = attribute_sets(std::slice::from_ref(database));
    let by_set = sets.iter().map(|(set, types)| AttributeSetDetails {
        attribute_set: *set,
        attributes_by_type: types
            .iter()
            .map(|(attribute_type, values)| AttributeTypeDetails {
                attribute_type: *attribute_type,
                default_if_omitted: None,
                attribute_values: Some(
                    values
                        .iter()
                        .map(|(value, name)| supported(*value, name))
                        .collect(),
                ),
            })
            .collect(),
    });
    let details = AttributeDetails {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        attributes_by_set: Some(by_set.collect()),
        attribute_combinations: None,
    };
    let of_sets = sets.keys().map(|set| (ATTRIBUTE_SET, set.to_string()));
    let texts = [(DATABASE, database.name.clone())]
        .into_iter()
        .chain(of_sets);
    ExplainEntry::new(
        "AttributeDetails",
        texts.collect(),
        ExplainRecord::AttributeDetails(Box::new(details)),
    )
}

fn supported(value: i64, name: &str) -> AttributeValue {
    AttributeValue {
        value: StringOrNumeric::Numeric(value),
        description: Some(name.into()),
        sub_attributes: None,
        super_attributes: None,
        partial_support: None,
    }
}

fn extended_services_info(service: Oid) -> ExplainEntry {
    let info = ExtendedServicesInfo {
        common_info: common_info(),
        r#type: service,
        name: Some(named(service)),
        private_type: service == oid::XML_ES,
        restrictions_apply: false,
        fee_apply: false,
        available: true,
        retention_supported: false,
        wait_action: match service {
            oid::ITEM_ORDER => WaitSupport::WAIT_NOT_SUPPORTED,
            _ => WaitSupport::WAIT_ALWAYS,
        },
        description: None,
        specific_explain: None,
        es_asn: None,
    };
    let texts = vec![(SERVICE, service.to_string())];
    ExplainEntry::new(
        "ExtendedServicesInfo",
        texts,
        ExplainRecord::ExtendedServicesInfo(Box::new(info)),
    )
}
