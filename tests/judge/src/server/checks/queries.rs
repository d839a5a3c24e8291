//! Checks of queries: their types, operators, operands and attributes (Z39.50-2003 §3.7, Appendix ATR, Bib-1).

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, ComplexAttribute, External, KnownProximityUnit, Operand,
    Operator, Options, ProximityOperator, ProximityUnitCode, Query, RelationType, RpnQuery,
    RpnStructure, SearchResponse, StringOrNumeric,
};
use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION, USE};
use z3950_asn1::oid::{BIB_1, CQL, Oid, USMARC};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::types::Any;

use crate::server::answers::{Reaction, Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::NOWHERE;
use crate::server::trial::Trial;
use crate::server::verdict::{CHANGING, Checked, Preparation, Verdict, counted, want};

const BOOLEAN: &str = "Z39.50-2003 §3.7.1";
const ATTRIBUTES: &str = "Bib-1 diagnostics 113 to 123";

pub(super) const CHECKS: &[Check] = checks! {
    "query.and.same" Shall BOOLEAN:
        "A and A finds what A finds."
        => combined(Operator::And, Side::Good, Side::Good, Share::All);
    "query.or.same" Shall BOOLEAN:
        "A or A finds what A finds."
        => combined(Operator::Or, Side::Good, Side::Good, Share::All);
    "query.and-not.same" Shall BOOLEAN:
        "A and-not A finds nothing."
        => combined(Operator::AndNot, Side::Good, Side::Good, Share::None);
    "query.and.nothing" Shall BOOLEAN:
        "A and nothing finds nothing."
        => combined(Operator::And, Side::Good, Side::Nothing, Share::None);
    "query.or.nothing" Shall BOOLEAN:
        "A or nothing finds what A finds."
        => combined(Operator::Or, Side::Good, Side::Nothing, Share::All);
    "query.and-not.nothing" Shall BOOLEAN:
        "A and-not nothing finds what A finds."
        => combined(Operator::AndNot, Side::Good, Side::Nothing, Share::All);
    "query.nothing.and-not" Shall BOOLEAN:
        "Nothing and-not A finds nothing: the order of operands counts."
        => combined(Operator::AndNot, Side::Nothing, Side::Good, Share::None);
    "query.nothing.or" Shall BOOLEAN:
        "Nothing or A finds what A finds."
        => combined(Operator::Or, Side::Nothing, Side::Good, Share::All);
    "query.nested.left" Shall BOOLEAN:
        "Operators nested on the left are evaluated from the inside."
        => nested(true);
    "query.nested.right" Shall BOOLEAN:
        "Operators nested on the right are evaluated from the inside."
        => nested(false);
    "query.deep" Practice BOOLEAN:
        "Twenty operators are evaluated, or refused with a diagnostic."
        => deep;
    "query.proximity" Practice "Z39.50-2003 §3.7.2":
        "Proximity is evaluated, or refused with a diagnostic."
        => proximity;
    "query.result-set" Shall BOOLEAN:
        "A result set as an operand stands for its records."
        => result_set_operand;
    "query.result-set.alone" Shall BOOLEAN:
        "A query that is only a result set finds its records."
        => result_set_alone;
    "query.result-set.unknown" Should "Bib-1 diagnostics 30, 27, 128":
        "An unknown result set as an operand is refused with 30, 27 or 128, or with 18 to 20 if operands of this kind are not supported."
        => unknown_result_set;
    "query.type-0" Practice "Bib-1 diagnostic 107":
        "A private query that the server does not know is refused with 107."
        => private_query;
    "query.type-2" Should "Bib-1 diagnostic 107":
        "A query of type 2 (CCL) is evaluated, or refused with 107 or 108."
        => query_type(Query::Type2("zqxjkvzzqwv".into()));
    "query.type-100" Should "Bib-1 diagnostic 107":
        "A query of type 100 is evaluated, or refused with 107 or 108."
        => query_type(Query::Type100("zqxjkvzzqwv".into()));
    "query.type-102" Should "Bib-1 diagnostic 107":
        "A query of type 102 is evaluated, or refused with 107 or 108."
        => query_type(Query::Type102("zqxjkvzzqwv".into()));
    "query.type-101" Should "Z39.50-2003 §3.7":
        "A query of type 101 finds what the same one of type 1 finds."
        => type_101;
    "query.type-104" Should "Z39.50-2003 §3.2.1.1.3":
        "A query of type 104 is evaluated or refused with a diagnostic, if the option was granted."
        => type_104;
    "query.attributes.none" Practice "Z39.50-2003 §3.7":
        "A term without attributes is searched somehow, or refused with a diagnostic."
        => without_attributes;
    "query.attributes.set-each" Shall "Z39.50-2003 §3.7":
        "An attribute that names the attribute set of the query is like one that names none."
        => set_of_each;
    "query.attributes.complex" Should "Z39.50-2003 §3.7":
        "A complex attribute value of one number is like that number, or refused with 246."
        => complex_attribute;
    "query.attribute-set.unknown" Should "Bib-1 diagnostic 121":
        "An unknown attribute set is refused with 121."
        => unknown_attribute_set;
    "query.use.unknown" Should "Bib-1 diagnostic 114":
        "An unknown Use attribute is refused with 114."
        => unknown_attribute(USE, 9999, &[114]);
    "query.use.zero" Should "Bib-1 diagnostic 114":
        "Use attribute 0 is refused with 114."
        => unknown_attribute(USE, 0, &[114]);
    "query.use.negative" Practice "Bib-1 diagnostic 114":
        "A negative Use attribute is refused with 114."
        => unknown_attribute(USE, -4, &[114, 113, 123, 108]);
    "query.use.beyond-32-bits" Practice "Bib-1 diagnostic 114":
        "A Use attribute beyond 32 bits, which cut short would be 4, is refused."
        => unknown_attribute(USE, (1 << 32) + 4, &[114, 113, 123, 108]);
    "query.relation.unknown" Should ATTRIBUTES:
        "An unknown Relation attribute is refused with 117."
        => unknown_attribute(RELATION, 99, &[117, 123]);
    "query.position.unknown" Should ATTRIBUTES:
        "An unknown Position attribute is refused with 119."
        => unknown_attribute(POSITION, 99, &[119, 123]);
    "query.structure.unknown" Should ATTRIBUTES:
        "An unknown Structure attribute is refused with 118."
        => unknown_attribute(STRUCTURE, 999, &[118, 123]);
    "query.truncation.unknown" Should ATTRIBUTES:
        "An unknown Truncation attribute is refused with 120."
        => unknown_attribute(TRUNCATION, 99, &[120, 123]);
    "query.completeness.unknown" Should ATTRIBUTES:
        "An unknown Completeness attribute is refused with 122."
        => unknown_attribute(COMPLETENESS, 99, &[122, 123]);
    "query.type.unknown" Should ATTRIBUTES:
        "An unknown type of attribute is refused with 113."
        => unknown_attribute(99, 1, &[113, 123]);
    "query.docid.unknown" Should "RFC 2056 §4":
        "A docid that no record has finds nothing, or Use 1032 is refused with 114."
        => unknown_docid;
    "query.docid.record" Practice "RFC 2056 §4":
        "The record number of a MARC record, as docid, finds that record."
        => docid_of_record;
};

/// An operand in the checks of Boolean operators.
#[derive(Clone, Copy)]
enum Side {
    /// The query that has hits.
    Good,
    /// A term that does not occur in any record.
    Nothing,
}

/// The expected result, as a share of the hits of [`Side::Good`].
#[derive(Clone, Copy)]
enum Share {
    All,
    None,
}

fn side(trial: &Trial, side: Side) -> Checked<RpnStructure> {
    Ok(match side {
        Side::Good => trial.query()?.rpn,
        Side::Nothing => trial.query_without_hits()?.rpn,
    })
}

/// Searches with this query tree.
async fn searched(trial: &mut Trial, rpn: RpnStructure) -> Checked<SearchResponse> {
    let set = trial.query()?.attribute_set;
    let search = trial.search(RpnQuery {
        attribute_set: set,
        rpn,
    });
    trial.ask(search).await
}

/// Checks that the server finds no records for the term that should not occur in any record. Ends the check if it does find some.
async fn nothing_is_found(trial: &mut Trial) -> Checked {
    let query = trial.query_without_hits()?;
    let search = trial.search(query);
    let response = trial.ask(search).await.given()?;
    if response.search_status && response.result_count == 0 {
        Ok(())
    } else {
        Err(Verdict::not_judged(
            "a term that no record should have finds records",
        ))
    }
}

async fn combined(
    trial: &mut Trial,
    operator: Operator,
    left: Side,
    right: Side,
    share: Share,
) -> Checked {
    let hits = stable_hits(trial).await?;
    nothing_is_found(trial).await?;
    let rpn = RpnStructure::combined(side(trial, left)?, operator, side(trial, right)?);
    let response = searched(trial, rpn).await?;
    response.not_offered_if(&[3, 110])?;
    let wanted = match share {
        Share::All => hits,
        Share::None => 0,
    };
    has_hits(&response, wanted)
}

/// Opens a session, runs the query, and returns its number of hits. Ends the check if the number differs from the earlier one.
async fn stable_hits(trial: &mut Trial) -> Checked<i64> {
    let hits = trial.hits(1).await?;
    if hits == trial.offer.hits {
        Ok(hits)
    } else {
        Err(Verdict::not_judged(CHANGING))
    }
}

fn has_hits(response: &SearchResponse, hits: i64) -> Checked {
    let holds = response.search_status && response.result_count == hits;
    want(holds, counted(hits, "hit"), || response.summary())
}

/// Checks one of two nested queries. The query (A and-not A) or A must find A, and the query A and-not (nothing or A) must find
/// nothing. If the server grouped the operands differently, each query would have the result of the other one.
async fn nested(trial: &mut Trial, is_left: bool) -> Checked {
    let hits = stable_hits(trial).await?;
    nothing_is_found(trial).await?;
    let (good, nothing) = (side(trial, Side::Good)?, side(trial, Side::Nothing)?);
    let (rpn, wanted) = if is_left {
        // The query is (A and-not A) or A. If it were evaluated as A and-not (A or A), it would find nothing.
        let inner = RpnStructure::combined(good.clone(), Operator::AndNot, good.clone());
        (RpnStructure::combined(inner, Operator::Or, good), hits)
    } else {
        // The query is A and-not (nothing or A). If it were evaluated as (A and-not nothing) or A, it would find A.
        let inner = RpnStructure::combined(nothing, Operator::Or, good.clone());
        (RpnStructure::combined(good, Operator::AndNot, inner), 0)
    };
    let response = searched(trial, rpn).await?;
    response.not_offered_if(&[3, 6, 110])?;
    has_hits(&response, wanted)
}

async fn deep(trial: &mut Trial) -> Checked {
    let hits = stable_hits(trial).await?;
    let good = side(trial, Side::Good)?;
    let rpn = (0..20).fold(good.clone(), |tree, _| {
        RpnStructure::combined(tree, Operator::Or, good.clone())
    });
    let response = searched(trial, rpn).await?;
    evaluated(&response, hits)
}

/// Fails unless a search was refused with a diagnostic or has this number of hits.
fn evaluated(response: &SearchResponse, hits: i64) -> Checked {
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => has_hits(response, hits),
    }
}

async fn proximity(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let near = Operator::Prox(Box::new(ProximityOperator {
        exclusion: Some(false),
        distance: 2,
        ordered: false,
        relation_type: RelationType::LESS_THAN_OR_EQUAL,
        proximity_unit_code: ProximityUnitCode::Known(KnownProximityUnit::WORD),
    }));
    let nothing = side(trial, Side::Nothing)?;
    let rpn = RpnStructure::combined(side(trial, Side::Good)?, near, nothing);
    let response = searched(trial, rpn).await?;
    response.not_offered_if(&[3, 110, 129, 130, 131, 132])?;
    evaluated(&response, 0)
}

/// The conditions that mean that result sets are not supported as operands in general or in this combination.
const NO_OPERANDS: [i64; 4] = [3, 18, 19, 20];

/// Creates a named result set with the query that has hits. Returns the number of hits, and an operand that names the set.
async fn named_set(trial: &mut Trial) -> Checked<(i64, RpnStructure)> {
    let hits = stable_hits(trial).await?;
    trial.needs(Options::NAMED_RESULT_SETS)?;
    let mut search = trial.good_search()?;
    search.result_set_name = "judge-operand".into();
    trial.found(search, 1).await?;
    Ok((
        hits,
        RpnStructure::Op(Operand::ResultSet("judge-operand".into())),
    ))
}

async fn result_set_operand(trial: &mut Trial) -> Checked {
    let (hits, set) = named_set(trial).await?;
    let rpn = RpnStructure::combined(set, Operator::And, side(trial, Side::Good)?);
    let response = searched(trial, rpn).await?;
    response.not_offered_if(&NO_OPERANDS)?;
    has_hits(&response, hits)
}

async fn result_set_alone(trial: &mut Trial) -> Checked {
    let (hits, set) = named_set(trial).await?;
    let response = searched(trial, set).await?;
    response.not_offered_if(&NO_OPERANDS)?;
    has_hits(&response, hits)
}

async fn unknown_result_set(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let rpn = RpnStructure::Op(Operand::ResultSet("z3950-conformance-none".into()));
    let response = searched(trial, rpn).await?;
    response.refused_with(&[30, 27, 128, 3, 18, 19, 20])
}

/// Sends a query of type 0 (private) whose content is NULL.
async fn private_query(trial: &mut Trial) -> Checked {
    let null = Any::new(vec![5, 0]).ok_or_else(|| Verdict::not_judged("NULL has no octets"))?;
    query_type(trial, Query::Type0(null)).await
}

async fn query_type(trial: &mut Trial, query: Query) -> Checked {
    trial.session().await?;
    let mut search = trial.good_search()?;
    search.query = query;
    let response = trial.ask(search).await?;
    match response.reaction()? {
        // The words of the query do not occur in any record, so an accepted query must not find anything.
        Reaction::Accepted => has_hits(&response, 0),
        Reaction::Refused(_) => response.refused_with(&[107, 108, 3]),
    }
}

async fn type_101(trial: &mut Trial) -> Checked {
    let hits = stable_hits(trial).await?;
    let mut search = trial.good_search()?;
    search.query = Query::Type101(trial.query()?);
    let response = trial.ask(search).await?;
    response.not_offered_if(&[107])?;
    has_hits(&response, hits)
}

async fn type_104(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::QUERY_TYPE_104)?;
    let mut search = trial.good_search()?;
    let cql = External::octet_aligned(CQL, NOWHERE);
    search.query = Query::Type104(cql);
    let response = trial.ask(search).await?;
    evaluated(&response, 0)
}

async fn without_attributes(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let query = RpnQuery::bib1(RpnStructure::term(Vec::new(), NOWHERE));
    let search = trial.search(query);
    let response = trial.ask(search).await?;
    evaluated(&response, 0)
}

async fn set_of_each(trial: &mut Trial) -> Checked {
    let hits = stable_hits(trial).await?;
    trial.needs_version_3()?;
    let mut attributes = trial.attributes()?;
    if attributes.is_empty() {
        return Err(Verdict::not_judged(
            "the query that has hits has no attributes",
        ));
    }
    for attribute in &mut attributes {
        attribute.attribute_set = Some(BIB_1);
    }
    if trial.query()?.rpn.terms().count() > 1 {
        return Err(Verdict::not_judged(
            "the query that has hits has several terms",
        ));
    }
    let search = trial.search(trial.query_by(attributes)?);
    let response = trial.ask(search).await?;
    has_hits(&response, hits)
}

async fn complex_attribute(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs_version_3()?;
    let numeric = trial.query_with_attribute(USE, 4)?;
    let search = trial.search(numeric);
    let response = trial.ask(search).await.given()?;
    if !response.search_status {
        return Err(Verdict::not_judged("Use attribute 4 is refused"));
    }
    let hits = response.result_count;
    let mut attributes = trial.attributes()?;
    attributes.retain(|attribute| attribute.attribute_type != USE);
    attributes.push(AttributeElement {
        attribute_set: None,
        attribute_type: USE,
        attribute_value: AttributeValue::Complex(Box::new(ComplexAttribute {
            list: vec![StringOrNumeric::Numeric(4)],
            semantic_action: None,
        })),
    });
    let search = trial.search(trial.query_by(attributes)?);
    let response = trial.ask(search).await?;
    response.not_offered_if(&[246, 114, 123])?;
    has_hits(&response, hits)
}

async fn unknown_attribute_set(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let mut query = trial.query()?;
    query.attribute_set = Oid::z3950(&[3, 9999]);
    let search = trial.search(query);
    let response = trial.ask(search).await?;
    response.refused_with(&[121])
}

async fn unknown_attribute(trial: &mut Trial, kind: i64, value: i64, codes: &[i64]) -> Checked {
    trial.session().await?;
    let search = trial.search(trial.query_with_attribute(kind, value)?);
    let response = trial.ask(search).await?;
    response.refused_with(codes)
}

/// Returns a query for a docid as defined in RFC 2056 §4, with Use 1032 and Structure 104.
fn docid(docid: &[u8]) -> RpnQuery {
    let attributes = [(USE, 1032), (STRUCTURE, 104)];
    let attributes = attributes.map(|(kind, value)| AttributeElement::numeric(kind, value));
    RpnQuery::bib1(RpnStructure::term(attributes.into(), docid))
}

/// The conditions that mean that docids are not supported.
const NO_DOCIDS: [i64; 5] = [114, 118, 123, 116, 3];

async fn unknown_docid(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let search = trial.search(docid(NOWHERE.as_bytes()));
    let response = trial.ask(search).await?;
    response.not_offered_if(&NO_DOCIDS)?;
    has_hits(&response, 0)
}

async fn docid_of_record(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let mut request = trial.present(1, 1);
    request.preferred_record_syntax = Some(USMARC);
    let first = trial.ask(request).await.given()?;
    let external = first.first_record().given()?;
    let octets = RetrievedRecord::octets_of(external);
    let number = z3950_marc::iso2709::parse(&octets)
        .ok()
        .and_then(|parsed| parsed.record.control_number().map(<[u8]>::to_vec));
    let number = number.ok_or_else(|| Verdict::not_judged("the first record has no field 001"))?;
    let search = trial.search(docid(number.trim_ascii()));
    let response = trial.ask(search).await?;
    response.not_offered_if(&NO_DOCIDS)?;
    if response.search_status && response.result_count == 0 {
        return Err(Verdict::not_judged("field 001 is not the docid"));
    }
    has_hits(&response, 1)
}
