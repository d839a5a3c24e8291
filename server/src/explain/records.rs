//! The records of IR-Explain-1, and their search terms (Z39.50-2003 Appendices ATR.2 and REC.1). A term list is an index, named
//! after its Use attributes.

use std::collections::{BTreeMap, BTreeSet};

use z3950_asn1::apdu::{DatabaseName, IntUnit, Options, StringOrNumeric, Unit};
use z3950_asn1::bib1::attributes::{USE, type_name};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::explain::*;
use z3950_asn1::types::InternationalString;

use crate::backend::{AttributeInfo, DatabaseInfo};
use crate::extended::{EXTENDED_SERVICES, OwnDatabase, PACKAGES, UPDATES};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::units::count;

/// The name of the database (Z39.50-2003 §3.2.10).
pub const EXPLAIN_DATABASE: &str = "IR-Explain-1";

/// The syntax and attributes of IR-Explain-1.
pub(super) const EXPLAIN: OwnDatabase = OwnDatabase {
    name: EXPLAIN_DATABASE,
    title: "Explain",
    syntax: oid::EXPLAIN,
    attribute_set: oid::EXP_1,
    uses: &[
        (CATEGORY, "ExplainCategory"),
        (LANGUAGE, "HumanStringLanguage"),
        (DATABASE, "DatabaseName"),
        (TARGET, "TargetName"),
        (ATTRIBUTE_SET, "AttributeSetOID"),
        (SYNTAX, "RecordSyntaxOID"),
        (SERVICE, "ExtendedServicesOID"),
        (12, "ElementSetName"),
        (TERM_LIST, "TermListName"),
        (PROPRIETARY, "Proprietary"),
        (USER_FEE, "UserFee"),
    ],
};

/// The Exp-1 Use attributes.
const CATEGORY: i64 = 1;
const LANGUAGE: i64 = 2;
const DATABASE: i64 = 3;
const TARGET: i64 = 4;
const ATTRIBUTE_SET: i64 = 5;
const SYNTAX: i64 = 6;
const SERVICE: i64 = 8;
const TERM_LIST: i64 = 15;
const PROPRIETARY: i64 = 20;
const USER_FEE: i64 = 21;

/// The access restriction of a database that not everybody may update.
const LEAVE: &str = "For clients on the server's host, and users who may update";

/// The language of all text.
const ENGLISH: &str = "eng";

/// The categories, with their descriptions.
const CATEGORIES: [(&str, &str); 10] = [
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
    ("TermListDetails", "The attributes that select a term list"),
    ("SortDetails", "The keys by which records can be sorted"),
    ("ExtendedServicesInfo", "The extended services"),
];

/// A record, and the strings by which it is found: each has an Exp-1 Use attribute, and is in lower case.
pub(super) struct ExplainEntry {
    pub(super) texts: Vec<(i64, String)>,
    pub(super) record: ExplainRecord,
}

impl ExplainEntry {
    fn new(
        category: &str,
        record: ExplainRecord,
        texts: impl IntoIterator<Item = (i64, String)>,
    ) -> Self {
        let common = [(CATEGORY, category), (LANGUAGE, ENGLISH)];
        let common = common.map(|(r#use, text)| (r#use, text.to_owned()));
        let texts = common
            .into_iter()
            .chain(texts)
            .map(|(r#use, text)| (r#use, text.to_lowercase()));
        Self {
            texts: texts.collect(),
            record,
        }
    }

    /// Returns the record without its lists of attributes and keys.
    pub(super) fn brief(&self) -> ExplainRecord {
        let mut record = self.record.clone();
        match &mut record {
            ExplainRecord::AttributeSetInfo(info) => info.attributes = None,
            ExplainRecord::AttributeDetails(details) => details.attributes_by_set = None,
            ExplainRecord::SortDetails(details) => details.sort_keys = None,
            _ => {}
        }
        record
    }
}

/// Returns all records: the list of categories, the record for the server, and the records in the other categories.
pub(super) fn entries(
    mut databases: Vec<DatabaseInfo>,
    offer: &Offer,
    limits: &Limits,
    restricts_updates: bool,
) -> Vec<ExplainEntry> {
    let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
    databases.extend(has_tasks.then(|| PACKAGES.info()));
    databases.push(EXPLAIN.info());
    let syntaxes: BTreeSet<Oid> = databases
        .iter()
        .flat_map(|one| one.syntaxes.clone())
        .collect();
    let sets = attribute_sets(&databases);
    let mut entries = vec![
        category_list(),
        target_info(&sets, &syntaxes, offer, limits),
    ];
    entries.extend(databases.iter().map(|one| database_info(one, &syntaxes)));
    entries.extend(syntaxes.iter().map(|syntax| record_syntax_info(*syntax)));
    entries.extend(sets.iter().map(|(set, of)| attribute_set_info(*set, of)));
    entries.extend(databases.iter().map(attribute_details));
    let scanned = databases.iter().filter(|database| database.scan);
    entries.extend(scanned.clone().map(term_list_info));
    entries.extend(term_list_details(scanned));
    let sorted = databases.iter().filter(|database| database.sort);
    entries.extend(sorted.map(sort_details));
    let services = EXTENDED_SERVICES.iter().filter(|_| has_tasks);
    entries.extend(services.map(|service| extended_services_info(*service, restricts_updates)));
    entries
}

/// The values of each attribute type of an attribute set, with their names.
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

fn common_info() -> Option<CommonInfo> {
    Some(CommonInfo {
        human_string_language: Some(ENGLISH.into()),
        ..CommonInfo::default()
    })
}

fn category_list() -> ExplainEntry {
    let categories = CATEGORIES.map(|(category, description)| CategoryInfo {
        category: category.into(),
        description: Some(description.into()),
        ..CategoryInfo::default()
    });
    let list = CategoryList {
        common_info: common_info(),
        categories: categories.into(),
    };
    ExplainEntry::new("CategoryList", ExplainRecord::CategoryList(list.into()), [])
}

fn target_info(
    sets: &BTreeMap<Oid, Values>,
    syntaxes: &BTreeSet<Oid>,
    offer: &Offer,
    limits: &Limits,
) -> ExplainEntry {
    let name = offer.implementation_name.as_deref().unwrap_or("z3950d");
    let version = offer.implementation_version.as_deref().unwrap_or_default();
    let rpn = || RpnCapabilities {
        operators: None,
        result_set_as_operand_supported: true,
        restriction_operand_supported: false,
        proximity: None,
    };
    let ccl = Iso8777Capabilities {
        search_keys: Vec::new(),
        restrictions: None,
    };
    let access = AccessInfo {
        query_types_supported: Some(vec![
            QueryTypeDetails::Rpn(rpn()),
            QueryTypeDetails::Iso8777(ccl),
            QueryTypeDetails::Erpn(rpn()),
        ]),
        diagnostics_sets: Some(vec![oid::BIB_1_DIAGNOSTICS]),
        attribute_set_ids: Some(sets.keys().copied().collect()),
        record_syntaxes: Some(syntaxes.iter().copied().collect()),
        element_set_names: Some(vec!["F".into(), "B".into()]),
        unit_systems: Some(Vec::new()),
        ..AccessInfo::default()
    };
    let languages = offer.languages.iter();
    let info = TargetInfo {
        common_info: common_info(),
        name: name.into(),
        named_result_sets: offer.options.contains(Options::NAMED_RESULT_SETS),
        multiple_d_bsearch: limits.databases_per_search > 1,
        max_result_sets: Some(count(limits.result_sets)),
        max_result_size: Some(count(limits.hits)),
        timeout_interval: limits.idle_time.map(|time| seconds(time.as_secs())),
        description: Some(format!("{name} {version}").trim_end().into()),
        languages: Some(languages.map(|language| language.as_str().into()).collect()),
        common_access_info: Some(access),
        ..TargetInfo::default()
    };
    let texts = [(TARGET, name.to_owned())];
    ExplainEntry::new("TargetInfo", ExplainRecord::TargetInfo(info.into()), texts)
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
    // A database without a list of syntaxes supports all of the server's syntaxes.
    let syntaxes: Vec<Oid> = if database.syntaxes.is_empty() {
        all.iter().copied().collect()
    } else {
        database.syntaxes.clone()
    };
    let sets = attribute_sets(std::slice::from_ref(database));
    let element_sets = database.element_sets.iter().map(String::as_str);
    let element_sets = ["F", "B"].into_iter().chain(element_sets);
    let access = AccessInfo {
        attribute_set_ids: Some(sets.into_keys().collect()),
        record_syntaxes: Some(syntaxes),
        element_set_names: Some(element_sets.map(Into::into).collect()),
        unit_systems: Some(Vec::new()),
        ..AccessInfo::default()
    };
    let records = database.records.map(count);
    let info = z3950_asn1::record::explain::DatabaseInfo {
        common_info: common_info(),
        name: DatabaseName::from(database.name.as_str()),
        explain_database: (database.name == EXPLAIN_DATABASE).then_some(()),
        available: true,
        title_string: database.title.as_deref().map(Into::into),
        description: database.full_description().map(|text| text.as_str().into()),
        record_count: records.map(RecordCount::ActualNumber),
        access_info: Some(access),
        ..z3950_asn1::record::explain::DatabaseInfo::default()
    };
    let texts = [
        (DATABASE, database.name.clone()),
        (PROPRIETARY, "0".to_owned()),
        (USER_FEE, "0".to_owned()),
    ];
    ExplainEntry::new(
        "DatabaseInfo",
        ExplainRecord::DatabaseInfo(info.into()),
        texts,
    )
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
    let texts = [(SYNTAX, syntax.to_string())];
    ExplainEntry::new(
        "RecordSyntaxInfo",
        ExplainRecord::RecordSyntaxInfo(info.into()),
        texts,
    )
}

fn named(oid: Oid) -> InternationalString {
    oid.name()
        .map_or_else(|| oid.to_string().into(), Into::into)
}

fn attribute_set_info(set: Oid, types: &Values) -> ExplainEntry {
    let description = |(value, name): (&i64, &String)| AttributeDescription {
        name: Some(name.as_str().into()),
        description: None,
        attribute_value: StringOrNumeric::Numeric(*value),
        equivalent_attributes: None,
    };
    let attributes = types.iter().map(|(attribute_type, values)| AttributeType {
        name: type_name(*attribute_type).map(Into::into),
        attribute_type: *attribute_type,
        attribute_values: values.iter().map(description).collect(),
        ..AttributeType::default()
    });
    let info = AttributeSetInfo {
        common_info: common_info(),
        attribute_set: set,
        name: named(set),
        attributes: Some(attributes.collect()),
        description: None,
    };
    let texts = [(ATTRIBUTE_SET, set.to_string())];
    ExplainEntry::new(
        "AttributeSetInfo",
        ExplainRecord::AttributeSetInfo(info.into()),
        texts,
    )
}

fn attribute_details(database: &DatabaseInfo) -> ExplainEntry {
    let sets = attribute_sets(std::slice::from_ref(database));
    let supported = |(value, name): (&i64, &String)| AttributeValue {
        value: StringOrNumeric::Numeric(*value),
        description: Some(name.as_str().into()),
        sub_attributes: None,
        super_attributes: None,
        partial_support: None,
    };
    let of_type = |(attribute_type, values): (&i64, &BTreeMap<i64, String>)| AttributeTypeDetails {
        attribute_type: *attribute_type,
        default_if_omitted: None,
        attribute_values: Some(values.iter().map(supported).collect()),
    };
    let by_set = sets.iter().map(|(set, types)| AttributeSetDetails {
        attribute_set: *set,
        attributes_by_type: types.iter().map(of_type).collect(),
    });
    let details = AttributeDetails {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        attributes_by_set: Some(by_set.collect()),
        ..AttributeDetails::default()
    };
    let texts = sets
        .keys()
        .map(|set| (ATTRIBUTE_SET, set.to_string()))
        .chain([(DATABASE, database.name.clone())]);
    ExplainEntry::new(
        "AttributeDetails",
        ExplainRecord::AttributeDetails(details.into()),
        texts,
    )
}

/// Returns the indexes of a database for which `serves` is true, by name, with their Use attributes.
fn indexes(
    database: &DatabaseInfo,
    serves: fn(&DatabaseInfo, &AttributeInfo) -> bool,
) -> BTreeMap<&str, Vec<&AttributeInfo>> {
    let mut indexes = BTreeMap::<&str, Vec<&AttributeInfo>>::new();
    let all = database.attributes.iter();
    for attribute in all.filter(|one| one.attribute_type == USE && serves(database, one)) {
        indexes.entry(&attribute.name).or_default().push(attribute);
    }
    indexes
}

fn term_list_info(database: &DatabaseInfo) -> ExplainEntry {
    let lists = indexes(database, DatabaseInfo::scans)
        .into_keys()
        .map(|name| TermList {
            name: name.into(),
            search_cost: Some(SearchCost::OPTIMIZED),
            scanable: true,
            ..TermList::default()
        });
    let info = TermListInfo {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        term_lists: lists.collect(),
    };
    let texts = [(DATABASE, database.name.clone())];
    ExplainEntry::new(
        "TermListInfo",
        ExplainRecord::TermListInfo(info.into()),
        texts,
    )
}

/// Returns one record for each term list, even if several databases have the term list.
fn term_list_details<'a>(
    databases: impl Iterator<Item = &'a DatabaseInfo>,
) -> impl Iterator<Item = ExplainEntry> {
    let mut lists = BTreeMap::<&str, (Vec<&AttributeInfo>, Vec<(i64, String)>)>::new();
    for database in databases {
        for (name, attributes) in indexes(database, DatabaseInfo::scans) {
            let (known, texts) = lists.entry(name).or_default();
            texts.push((DATABASE, database.name.clone()));
            for attribute in attributes {
                if !known.contains(&attribute) {
                    known.push(attribute);
                }
            }
        }
    }
    lists.into_iter().map(|(name, (attributes, texts))| {
        let details = TermListDetails {
            common_info: common_info(),
            term_list_name: name.into(),
            attributes: combinations(&attributes),
            scan_info: Some(ScanInfo {
                increasing: Some(true),
                ..ScanInfo::default()
            }),
            ..TermListDetails::default()
        };
        let texts = texts.into_iter().chain([(TERM_LIST, name.to_owned())]);
        ExplainEntry::new(
            "TermListDetails",
            ExplainRecord::TermListDetails(details.into()),
            texts,
        )
    })
}

fn sort_details(database: &DatabaseInfo) -> ExplainEntry {
    let keys = indexes(database, DatabaseInfo::sorts)
        .into_iter()
        .map(|(name, attributes)| SortKeyDetails {
            description: Some(name.into()),
            attribute_specifications: combinations(&attributes),
            ..SortKeyDetails::default()
        });
    let details = SortDetails {
        common_info: common_info(),
        database_name: DatabaseName::from(database.name.as_str()),
        sort_keys: Some(keys.collect()),
    };
    let texts = [(DATABASE, database.name.clone())];
    ExplainEntry::new(
        "SortDetails",
        ExplainRecord::SortDetails(details.into()),
        texts,
    )
}

/// Returns the combinations that allow any one of these attributes; `None` if there are no attributes.
fn combinations(attributes: &[&AttributeInfo]) -> Option<AttributeCombinations> {
    let default_attribute_set: Oid = attributes.first()?.attribute_set;
    let one_of = attributes.iter().map(|attribute| {
        let set = Some(attribute.attribute_set);
        let value = StringOrNumeric::Numeric(attribute.value);
        vec![AttributeOccurrence {
            attribute_set: set.filter(|set| *set != default_attribute_set),
            attribute_type: attribute.attribute_type,
            must_be_supplied: Some(()),
            attribute_values: OccurrenceValues::Specific(vec![value]),
        }]
    });
    Some(AttributeCombinations {
        default_attribute_set,
        legal_combinations: one_of.collect(),
    })
}

fn extended_services_info(service: Oid, restricts_updates: bool) -> ExplainEntry {
    let is_restricted = restricts_updates && UPDATES.contains(&service);
    let info = ExtendedServicesInfo {
        common_info: common_info(),
        r#type: service,
        name: Some(named(service)),
        private_type: service == oid::XML_ES,
        restrictions_apply: is_restricted,
        fee_apply: false,
        available: true,
        retention_supported: false,
        wait_action: match service {
            oid::ITEM_ORDER => WaitSupport::WAIT_NOT_SUPPORTED,
            _ => WaitSupport::WAIT_ALWAYS,
        },
        description: is_restricted.then(|| LEAVE.into()),
        specific_explain: None,
        es_asn: None,
    };
    let texts = [(SERVICE, service.to_string())];
    ExplainEntry::new(
        "ExtendedServicesInfo",
        ExplainRecord::ExtendedServicesInfo(info.into()),
        texts,
    )
}
