//! A table that breaks each rule once. A row contains the change that the proxy makes to requests or answers, and the checks that
//! must fail because of it.

mod services;

pub(super) use self::services::SERVICES;
use super::Rule::{self, Answered, AnsweredTo, Asked};

/// The end of the request line of a search for one record without further parameters.
const PLAIN: &str = "maximumRecords=1 ";
pub(super) const RECORD: &str = "<leader>";
pub(super) const NINE: &str = "numberOfRecords>9<";
pub(super) const EIGHT: &str = "numberOfRecords>8<";

/// Rules about searches. A name without a version means the check in all versions.
pub(super) const SEARCHING: &[(Rule, &[&str])] = &[
    // Rules about the form of answers.
    (
        Answered("zs:version>", "zs:was>"),
        &["version.named", "echo.version"],
    ),
    (
        Answered(
            "<zs:numberOfRecords>",
            "<zs:version>2.0</zs:version><zs:x/><zs:numberOfRecords>",
        ),
        &["search.order", "search.empty.order", "version.absent"],
    ),
    (
        Answered("<zs:recordSchema>", "<zs:x/><zs:recordSchema>"),
        &["search.record.order"],
    ),
    (
        Answered("<zs:query>", "<zs:x/><zs:query>"),
        &["search.echo.order"],
    ),
    (Answered("<zs:terms>", "<zs:x/><zs:terms>"), &["scan.order"]),
    (
        Answered("<zs:record>", "<zs:x/><zs:record>"),
        &["explain.order"],
    ),
    (
        Answered("<diag:uri>", "<diag:x/><diag:uri>"),
        &["failure.order"],
    ),
    (
        Answered("/zing/srw/", "/zing/srw/x/"),
        &[
            "search.namespaces.1-1",
            "search.namespaces.1-2",
            "scan.namespaces.1-1",
            "scan.namespaces.1-2",
            "explain.namespaces.1-1",
            "explain.namespaces.1-2",
            "failure.namespaces.1-1",
            "failure.namespaces.1-2",
        ],
    ),
    (
        Answered("search-ws/", "search-ws/x/"),
        &[
            "search.namespaces.2-0",
            "scan.namespaces.2-0",
            "explain.namespaces.2-0",
            "failure.namespaces.2-0",
            "facets.namespaces.2-0",
        ],
    ),
    (
        Answered("info:srw/diagnostic/1/", "diagnostic-"),
        &[
            "failure.uri",
            "version.unknown.code",
            "operation.unknown.code",
            "search.start.far",
        ],
    ),
    (
        AnsweredTo("maximumRecords=3", "searchRetrieveResponse", "found"),
        &["search.answered"],
    ),
    (
        AnsweredTo("version=1", "scanResponse", "scanned"),
        &["scan.answered.1-1", "scan.answered.1-2"],
    ),
    (
        Answered("explainResponse", "explained"),
        &["explain.answered"],
    ),
    (
        AnsweredTo(
            "maximumRecords=3",
            "<zs:numberOfRecords>",
            "<zs:numberOfRecords>-",
        ),
        &["search.values"],
    ),
    // Rules about versions and operations.
    (
        AnsweredTo(
            "version=1.1",
            "http://www.loc.gov/zing/srw/\"",
            "http://docs.oasis-open.org/ns/search-ws/sruResponse\"",
        ),
        &["version.not-later"],
    ),
    (
        Asked("version=9.9", "version=1.1"),
        &["version.unknown", "version.unknown.code"],
    ),
    (
        Answered("details>2.0<", "details>1.0<"),
        &["version.unknown.details"],
    ),
    (
        Asked(
            "/books?query",
            "/books?version=1.1&operation=searchRetrieve&query",
        ),
        &["version.missing"],
    ),
    (
        Asked("operation=z3950Conformance", "operation=searchRetrieve"),
        &["operation.unknown", "operation.unknown.code"],
    ),
    (
        AnsweredTo("?version=1.1&query", "numberOfRecords", "x"),
        &["operation.missing.1-1"],
    ),
    (
        AnsweredTo("?version=1.2&query", "numberOfRecords", "x"),
        &["operation.missing.1-2"],
    ),
    (
        Asked("/books HTTP", "/books?query=a HTTP"),
        &["operation.base-url"],
    ),
    // Rules about the choice of the returned records.
    (
        Asked("maximumRecords=1 ", "maximumRecords=1&bad=1 "),
        &["search.count", "search.zero", "record.schema.given"],
    ),
    (
        Answered(
            "<zs:numberOfRecords>0</zs:numberOfRecords>",
            "<zs:numberOfRecords>0</zs:numberOfRecords><zs:nextRecordPosition>1</zs:nextRecordPosition>",
        ),
        &["search.zero.records"],
    ),
    (
        Asked("maximumRecords=0", "maximumRecords=2"),
        &["search.maximum.zero"],
    ),
    (Asked(PLAIN, "maximumRecords=3 "), &["search.maximum.one"]),
    (
        Asked("maximumRecords=2 ", "maximumRecords=3 "),
        &["search.maximum.two"],
    ),
    (
        AnsweredTo("maximumRecords=100000", NINE, "numberOfRecords>7<"),
        &["search.maximum.large"],
    ),
    (
        AnsweredTo("query=dc.title%3Dwar ", NINE, "numberOfRecords>7<"),
        &["search.maximum.omitted"],
    ),
    (
        Asked("maximumRecords=-1", PLAIN),
        &["search.maximum.negative", "search.maximum.negative.code"],
    ),
    (
        Asked("maximumRecords=few", PLAIN),
        &["search.maximum.word", "search.maximum.word.code"],
    ),
    (
        AnsweredTo("startRecord=1 ", RECORD, "<leader>x"),
        &["search.start.first", "search.pages"],
    ),
    (
        AnsweredTo("startRecord=2 ", RECORD, "<leader>x"),
        &["search.start.second"],
    ),
    (
        AnsweredTo(
            "startRecord=9 ",
            "</zs:record></zs:records>",
            "</zs:record><zs:record/></zs:records><zs:nextRecordPosition>10</zs:nextRecordPosition>",
        ),
        &["search.start.last", "search.next.end"],
    ),
    (
        Asked("startRecord=0", "startRecord=1"),
        &["search.start.zero", "search.start.zero.code"],
    ),
    (
        Asked("startRecord=-1", "startRecord=1"),
        &["search.start.negative"],
    ),
    (
        Asked("startRecord=first", "startRecord=1"),
        &["search.start.word", "search.start.word.code"],
    ),
    (
        Asked("startRecord=10 ", "startRecord=1 "),
        &["search.start.beyond", "search.start.beyond.code"],
    ),
    (
        Asked("startRecord=100000000000000000000", "startRecord=1"),
        &["search.start.huge"],
    ),
    (
        Answered("<zs:recordPosition>", "<zs:recordPosition>1"),
        &["search.position"],
    ),
    (
        Answered("zs:recordPosition>", "zs:recordPlace>"),
        &["search.position.given"],
    ),
    (
        Answered("<zs:nextRecordPosition>", "<zs:nextRecordPosition>1"),
        &["search.next"],
    ),
    (
        Answered("zs:nextRecordPosition>", "zs:nextPosition>"),
        &["search.next.given"],
    ),
    // Rules about the form of records.
    (
        Answered("info:srw/schema/1/marcxml-v1.1", "marcxml"),
        &["record.schema.identifier"],
    ),
    (
        Asked(
            "recordSchema=http%3A%2F%2Fexample.org%2Fz3950-conformance-none",
            "recordSchema=marcxml",
        ),
        &["record.schema.unknown", "record.schema.unknown.code"],
    ),
    (
        Answered("details>http://example.org", "details>x"),
        &["record.schema.unknown.details"],
    ),
    (Asked("recordXPath", "version"), &["record.xpath"]),
    (
        Answered(
            "info:srw/schema/1/marcxml-v1.1",
            "info:srw/schema/1/diagnostics-v1.1",
        ),
        &["record.surrogate"],
    ),
    (
        Answered("<zs:recordData>", "<zs:recordData>text"),
        &["packing.xml"],
    ),
    (Answered(">xml<", ">XML<"), &["packing.xml.named"]),
    (
        Asked("=string", "=xml"),
        &["packing.string", "explain.record.string"],
    ),
    (Answered(">string<", ">STRING<"), &["packing.string.named"]),
    (
        AnsweredTo("=string", "&lt;leader&gt;", "&lt;leader&gt;x"),
        &["packing.same"],
    ),
    (
        Asked("=z3950conformance", "=xml"),
        &["packing.unknown", "packing.unknown.code"],
    ),
    (
        Answered(" xmlns=\"http://www.loc.gov/MARC21/slim\"", ""),
        &["packing.namespace"],
    ),
    // Rules about parameters and failures.
    (
        Asked("z3950Conformance=1", "x-z=1"),
        &[
            "parameter.unknown",
            "scan.parameter.unknown",
            "explain.unknown-parameter",
        ],
    ),
    (
        Answered("details>z3950Conformance", "details>x"),
        &["parameter.unknown.details"],
    ),
    (
        AnsweredTo(
            "z3950Conformance=1",
            "<zs:diagnostics",
            "<zs:records><zs:record/></zs:records><zs:diagnostics",
        ),
        &["parameter.unknown.search"],
    ),
    (
        Asked("x-z3950-conformance", "colour"),
        &["parameter.extension"],
    ),
    (
        Asked(
            "operation=searchRetrieve&maximumRecords=1 ",
            "operation=searchRetrieve&query=a&maximumRecords=1 ",
        ),
        &["parameter.query.missing", "parameter.query.missing.code"],
    ),
    (Asked("query=&", "query=a&"), &["parameter.query.empty"]),
    (
        Asked("queryType=z3950conformance", "queryType=cql"),
        &[
            "parameter.query-type.unknown",
            "parameter.query-type.unknown.code",
        ],
    ),
    (
        AnsweredTo("stylesheet=", "<?xml-stylesheet", "<?other"),
        &["parameter.stylesheet"],
    ),
    (
        AnsweredTo("?maximumRecords=1&", NINE, EIGHT),
        &["parameter.order"],
    ),
    (
        AnsweredTo(
            "z3950conformance%3Da",
            "<zs:echoedSearchRetrieveRequest>",
            "<zs:numberOfRecords>5</zs:numberOfRecords><zs:echoedSearchRetrieveRequest>",
        ),
        &["failure.records.2-0"],
    ),
    (
        AnsweredTo(
            "z3950conformance%3Da",
            "numberOfRecords>0<",
            "numberOfRecords>5<",
        ),
        &[
            "failure.count",
            "failure.records.1-1",
            "failure.records.1-2",
        ],
    ),
    (
        AnsweredTo(
            "z3950conformance%3Da",
            "</diag:uri>",
            "</diag:uri><diag:details/><diag:message/></diag:diagnostic><diag:diagnostic>",
        ),
        &["failure.message", "query.index.details"],
    ),
    // Rules about CQL.
    (
        AnsweredTo("%28dc.title%3Dwar%29", NINE, EIGHT),
        &["query.parentheses", "query.and", "query.or", "query.case"],
    ),
    (
        AnsweredTo("not%20%28", "numberOfRecords>0<", "numberOfRecords>1<"),
        &["query.not"],
    ),
    (
        AnsweredTo("zqxjkvzzqwv%20or%20", NINE, EIGHT),
        &["query.left-to-right"],
    ),
    (AnsweredTo("query=%20%20", NINE, EIGHT), &["query.blanks"]),
    (AnsweredTo("%22war%22", NINE, EIGHT), &["query.quotes"]),
    (
        AnsweredTo(
            "cql.serverChoice%3Dwar",
            "numberOfRecords>17<",
            "numberOfRecords>16<",
        ),
        &["query.server-choice"],
    ),
    (AnsweredTo("query=%3E", NINE, EIGHT), &["query.prefix"]),
    (
        AnsweredTo("allRecords", "numberOfRecords>281<", "numberOfRecords>1<"),
        &["query.all-records"],
    ),
    (Asked("war%2A", "zqx%2A"), &["query.masking"]),
    (Asked("wa%3F", "zq%3F"), &["query.masking.one"]),
    (
        Asked("any%20%22war%20war", "any%20%22zqx%20zqx"),
        &["query.any"],
    ),
    (
        Asked("all%20%22war%20war", "all%20%22zqx%20zqx"),
        &["query.all"],
    ),
    (
        AnsweredTo("%20prox%20", "numberOfRecords", "x"),
        &["query.proximity"],
    ),
    (
        AnsweredTo("%5C%22b", "numberOfRecords", "x"),
        &["query.escape"],
    ),
    (
        AnsweredTo("query=%E9%BE%9C", "numberOfRecords", "x"),
        &["query.utf-8"],
    ),
    (
        AnsweredTo("%3Ca%3E%26b", "numberOfRecords", "x"),
        &["query.markup"],
    ),
    (
        AnsweredTo(
            "%29%20or%20%28dc.title%3Dwar%29%20or",
            "numberOfRecords",
            "x",
        ),
        &["query.long"],
    ),
    (
        AnsweredTo("query=%22%22", "zs:diagnostics", "zs:d"),
        &["query.empty-term"],
    ),
    (
        Asked("query=%28a&", "query=a&"),
        &["query.syntax.parenthesis", "query.syntax.parenthesis.code"],
    ),
    (
        Asked("query=a%29&", "query=a&"),
        &["query.syntax.parenthesis.extra"],
    ),
    (
        Asked("query=%22a&", "query=a&"),
        &["query.syntax.quote", "query.syntax.quote.code"],
    ),
    (
        Asked("query=a%20and&", "query=a&"),
        &["query.syntax.boolean", "query.syntax.boolean.code"],
    ),
    (
        Asked("query=%3D%20a&", "query=a&"),
        &["query.syntax.relation.first"],
    ),
    (
        Asked("dc.title%20%3D&", "title&"),
        &[
            "query.syntax.relation",
            "query.syntax.relation.code",
            "scan.clause.syntax",
        ],
    ),
    (
        Asked("dc.title%20%3D%2F%20a&", "title&"),
        &["query.syntax.modifier"],
    ),
    (
        Asked("z3950none.title", "dc.title"),
        &["query.context-set", "query.context-set.code"],
    ),
    (
        Asked("dc.z3950conformance%3Da", "dc.title%3Da"),
        &[
            "query.index",
            "query.index.code",
            "scan.index.unknown",
            "scan.index.unknown.code",
        ],
    ),
    (
        Asked("cql.z3950none", "%3D"),
        &["query.relation", "query.relation.code"],
    ),
    (
        Asked("%2Fz3950none", ""),
        &[
            "query.relation-modifier",
            "query.relation-modifier.code",
            "query.boolean-modifier",
            "sort.modifier.unknown",
        ],
    ),
    // Rules about sorting.
    (AnsweredTo("sortby", NINE, EIGHT), &["sort.count"]),
    (AnsweredTo("sortby", RECORD, "<leader>x"), &["sort.records"]),
    (
        Asked("sort.descending", "sort.ascending"),
        &["sort.direction"],
    ),
    (
        Asked("%20sortby%20dc.z3950conformance", ""),
        &["sort.index.unknown"],
    ),
    (AnsweredTo("sortKeys=title", NINE, EIGHT), &["sort.keys"]),
    (
        Asked("sortKeys=z3950conformance", "sortKeys=title"),
        &["sort.keys.unknown"],
    ),
];

/// The checks that none of the changes can cause to fail. They fail only if the server's answers change between requests, or if
/// the server ends when a connection is cut off.
pub(super) const NEVER: &[&str] = &[
    "scan.answered.2-0",
    "sort.repeated",
    "scan.repeated",
    "hostile.cut-body",
    "hostile.hang-up",
];
