//! Tests of queries from well-known Z39.50 and SRU clients. They are answered in the same way as by the memory backend, or
//! refused with the diagnostic in the table.

use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::cql::{self, Properties};
use z3950_asn1::query::parse_pqf;
use z3950_server::MemoryBackend;
use z3950_server::backend::{Backend, DatabaseName, Search};
use z3950_tests::solr::SolrShape;

use super::Filled;
use super::catalogue::SolrCatalogue;

/// A query, and the conditions of the diagnostics with VuFind's and Blacklight's indexes. `None` means that the query is answered
/// as by the memory backend.
struct Sent(&'static str, Option<Condition>, Option<Condition>);

const USE: Option<Condition> = Some(Condition::USE);
const POSITION: Option<Condition> = Some(Condition::POSITION);
const COMPLETENESS: Option<Condition> = Some(Condition::COMPLETENESS);

const PQF: [Sent; 25] = [
    // The import form of Koha joins the fields that are filled in.
    Sent("@attr 1=7 9780001000070", None, None),
    Sent("@attr 1=8 \"1234-0000\"", None, USE),
    Sent(
        "@and @attr 1=4 \"war peace\" @attr 1=1003 \"tolstoy\"",
        None,
        None,
    ),
    Sent(
        "@and @attr 1=1003 tolstoy @and @attr 1=21 war @attr 1=1016 peace",
        None,
        None,
    ),
    Sent(
        "@or @attr 1=13 \"507.1/3\" @attr 1=16 @attr 5=1 QA7",
        None,
        USE,
    ),
    Sent("@attr 1=1007 9780001000070", USE, USE),
    // Evergreen adds the structure (its "format") and truncation attributes that are configured for each source.
    Sent(
        "@and @attr 1=1003 @attr 4=6 \"tolstoy leo\" @attr 1=4 @attr 4=6 @attr 5=1 war",
        None,
        None,
    ),
    Sent("@attr 1=9 @attr 4=6 71000004", None, USE),
    Sent("@attr 1=7 @attr 4=6 @attr 5=1 978", None, None),
    Sent("@attr 1=31 @attr 4=6 1930", None, None),
    // MarcEdit and other programs search everything.
    Sent("@attr 1=1016 \"war peace\"", None, None),
    Sent("@attr 1=1016 @attr 4=1 \"war peace\"", None, None),
    Sent("@attr 1=1035 @attr 4=6 \"history war\"", None, None),
    // EndNote sends an attribute of each type.
    Sent(
        "@attr 1=1003 @attr 2=3 @attr 3=3 @attr 4=2 @attr 5=1 @attr 6=1 tolstoy",
        None,
        None,
    ),
    Sent(
        "@and @attr 1=4 @attr 2=3 @attr 3=3 @attr 4=2 @attr 5=100 @attr 6=1 history @attr 1=31 @attr 2=3 @attr 3=3 @attr 4=4 @attr 5=100 @attr 6=1 1930",
        None,
        None,
    ),
    Sent(
        "@attr 1=1003 @attr 2=3 @attr 3=1 @attr 4=1 @attr 5=1 @attr 6=1 Tolstoy",
        POSITION,
        POSITION,
    ),
    Sent(
        "@attr 1=21 @attr 2=3 @attr 3=1 @attr 4=101 @attr 5=1 @attr 6=1 war",
        POSITION,
        POSITION,
    ),
    // These queries result from rules for CCL and CQL that libraries use with YAZ.
    Sent(
        "@and @attr 1=31 @attr 2=4 1920 @attr 1=31 @attr 2=2 1939",
        None,
        None,
    ),
    Sent(
        "@attr 1=4 @attr 3=1 @attr 4=1 @attr 5=1 @attr 6=1 \"the war\"",
        POSITION,
        POSITION,
    ),
    Sent(
        "@attr 1=4 @attr 4=1 @attr 6=2 war",
        COMPLETENESS,
        COMPLETENESS,
    ),
    Sent(
        "@prox 0 2 0 2 k 2 @attr 1=4 war @attr 1=4 peace",
        None,
        None,
    ),
    Sent("@attr 5=104 @attr 1=4 \"w?r\"", None, None),
    Sent("@attr 5=101 @attr 1=4 \"w#r\"", None, None),
    Sent("@attr 1=54 eng", None, None),
    Sent("war", None, None),
];

const CQL: [Sent; 10] = [
    // Zotero's translators and other SRU clients send these queries.
    Sent("isbn=9780001000070", None, None),
    Sent("bath.isbn=978-0001000070", None, None),
    Sent("dc.title=history and dc.creator=tolstoy", None, None),
    Sent(
        "dc.title all \"history world\" and dc.date>1920",
        None,
        None,
    ),
    Sent("title any \"war peace\" not author=wells", None, None),
    Sent("cql.anywhere all \"history war\"", None, None),
    Sent("dc.subject=\"war\"", None, None),
    Sent("title adj \"war peace\"", None, None),
    Sent("title==\"war\"", None, None),
    Sent("title=pea*", None, None),
];

fn pqf(text: &str) -> RpnQuery {
    parse_pqf(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn of_cql(text: &str) -> RpnQuery {
    let parsed = cql::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let query = cql::to_rpn(&parsed, &Properties::default());
    query.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the number of records that a query finds, or the condition of its diagnostic.
async fn count(backend: &dyn Backend, query: &RpnQuery) -> Result<usize, i64> {
    let names = [DatabaseName::from("town")];
    let found = backend.search(Search::new(&names, query)).await;
    found
        .map(|found| found.hits.len())
        .map_err(|why| why.condition)
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_well_known_clients_are_answered() {
    for shape in [SolrShape::VuFind, SolrShape::Blacklight] {
        let Some(filled) = Filled::new(shape, "clients", 400) else {
            return;
        };
        let catalogue = SolrCatalogue::open(&filled, shape);

        let memory = MemoryBackend::builder().add_records("town", filled.records.clone());
        let memory = memory.expect("records").build();
        let of_pqf = PQF.iter().map(|sent| (sent, pqf(sent.0)));
        let of_cql = CQL.iter().map(|sent| (sent, of_cql(sent.0)));
        let (mut wrong, mut finding) = (Vec::new(), 0);
        for (Sent(text, of_vufind, of_blacklight), query) in of_pqf.chain(of_cql) {
            let found = count(&catalogue.database, &query).await;
            let in_memory = count(&memory, &query).await;
            let refused = match shape {
                SolrShape::VuFind => of_vufind,
                SolrShape::Blacklight => of_blacklight,
            };
            let is_right = match refused {
                Some(condition) => found == Err(condition.0),
                None => found.map(|found| found == 0) == in_memory.map(|found| found == 0),
            };
            finding += usize::from(found.is_ok_and(|found| found > 0));
            if !is_right {
                wrong.push(format!("{text}: {found:?}, in memory {in_memory:?}"));
            }
        }
        assert!(wrong.is_empty(), "{shape:?} {wrong:#?}");
        assert!(finding > 20, "{finding}");
    }
}
