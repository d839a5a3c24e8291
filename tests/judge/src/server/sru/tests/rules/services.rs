//! A table that breaks each rule about scan, explain, result sets, the echo and HTTP once.

use super::super::Rule::{self, Answered, AnsweredTo, Asked, Dies};
use super::{EIGHT, NINE, RECORD};

/// Rules about services. A name without a version means the check in all versions.
pub(in super::super) const SERVICES: &[(Rule, &[&str])] = &[
    // Rules about Scan.
    (Answered("zs:value>", "zs:word>"), &["scan.terms"]),
    (
        AnsweredTo(
            "maximumTerms=10",
            "</zs:terms>",
            "<zs:term><zs:value>war</zs:value></zs:term></zs:terms>",
        ),
        &["scan.different", "scan.ascending"],
    ),
    (
        AnsweredTo(
            "scanClause=dc.title%3D%22",
            "<zs:terms>",
            "<zs:terms><zs:term><zs:value>a</zs:value></zs:term>",
        ),
        &[
            "scan.next",
            "scan.position.two",
            "scan.position.last",
            "scan.position.zero",
            "scan.position.after",
        ],
    ),
    (
        Asked("maximumTerms=1 ", "maximumTerms=4 "),
        &["scan.maximum.one"],
    ),
    (
        Asked("maximumTerms=3 ", "maximumTerms=4 "),
        &["scan.maximum.three"],
    ),
    (
        AnsweredTo("scanClause=dc.title%3Dwar ", "zs:terms", "zs:none"),
        &["scan.maximum.omitted"],
    ),
    (
        Asked("maximumTerms=-1", "maximumTerms=1"),
        &["scan.maximum.negative"],
    ),
    (
        Asked("maximumTerms=few", "maximumTerms=1"),
        &["scan.maximum.word"],
    ),
    (
        AnsweredTo("responsePosition=1 ", "<zs:value>", "<zs:value>x"),
        &["scan.position.one"],
    ),
    (
        AnsweredTo("responsePosition=1000", "zs:diagnostics", "zs:d"),
        &["scan.position.far"],
    ),
    (
        Asked("responsePosition=first", "responsePosition=1"),
        &["scan.position.word"],
    ),
    (
        AnsweredTo(
            "query=dc.title%3D%22",
            "<zs:numberOfRecords>",
            "<zs:numberOfRecords>1",
        ),
        &["scan.records"],
    ),
    (
        Answered("<zs:whereInList>", "<zs:whereInList>x"),
        &["scan.where"],
    ),
    (Answered(">inner<", ">first<"), &["scan.where.first"]),
    (
        Asked(
            "operation=scan&maximumTerms",
            "operation=scan&scanClause=a&maximumTerms",
        ),
        &["scan.clause.missing"],
    ),
    (
        Asked("scanClause=a%20and%20b", "scanClause=a"),
        &["scan.clause.boolean"],
    ),
    // Rules about Explain.
    (Answered("zs:record>", "zs:recorded>"), &["explain.record"]),
    (
        Answered(
            "http://explain.z3950.org/dtd/2.0/</zs:recordSchema>",
            "x</zs:recordSchema>",
        ),
        &["explain.record.schema"],
    ),
    (
        Answered(
            "xmlns=\"http://explain.z3950.org/dtd/2.0/\"",
            "xmlns=\"urn:x\"",
        ),
        &["explain.record.root"],
    ),
    (Answered("port>", "door>"), &["explain.server"]),
    (
        Answered(">books</database>", ">other</database>"),
        &["explain.server.database"],
    ),
    (
        Answered("version=\"2.0\"", "version=\"3.0\""),
        &["explain.server.version"],
    ),
    (Answered("databaseInfo>", "x>"), &["explain.title"]),
    (Answered("indexInfo>", "x>"), &["explain.indexes"]),
    (
        Answered("identifier=\"info:srw/cql-context-set/1/dc-v1.1\"", ""),
        &["explain.indexes.sets"],
    ),
    (
        Asked("%3D1234&maximumRecords", "%3D1234%29&maximumRecords"),
        &["explain.indexes.searched"],
    ),
    (
        Asked("%3D1234&maximumTerms", "%3D1234%29&maximumTerms"),
        &["explain.indexes.scanned"],
    ),
    (
        Asked("sortby%20dc.title", "sortby%20dc.nothing"),
        &["explain.indexes.sorted"],
    ),
    (Answered("schemaInfo>", "x>"), &["explain.schemas"]),
    (
        Asked("recordSchema=dc ", "recordSchema=nothing "),
        &["explain.schemas.retrieved"],
    ),
    (
        Asked(
            "recordSchema=info%3Asrw%2Fschema%2F1%2Fdc-v1.1 ",
            "recordSchema=nothing ",
        ),
        &["explain.schemas.identifiers"],
    ),
    (
        Answered(
            "type=\"numberOfRecords\">10<",
            "type=\"numberOfRecords\">3<",
        ),
        &["explain.default.records"],
    ),
    (
        Answered(
            "type=\"maximumRecords\">1000<",
            "type=\"maximumRecords\">0<",
        ),
        &["explain.setting.records"],
    ),
    (
        Answered(
            "<supports type=\"relation\">",
            "<supports type=\"relation\">cql.z",
        ),
        &["explain.relations"],
    ),
    (
        Answered(
            "<supports type=\"queryType\">",
            "<supports type=\"queryType\">x",
        ),
        &["explain.query-types"],
    ),
    // Rules about result sets and facets.
    (
        Answered("resultSetIdleTime>", "x>"),
        &["set.time.1-1", "set.time.1-2"],
    ),
    (Answered("resultSetTTL>", "x>"), &["set.time.2-0"]),
    (
        AnsweredTo("cql.resultSetId", NINE, EIGHT),
        &["set.searched", "set.combined"],
    ),
    (
        AnsweredTo("cql.resultSetId", RECORD, "<leader>x"),
        &["set.records"],
    ),
    (
        Asked("cql.resultSetId%20%3D%20%22z3950-conformance-none%22", "a"),
        &["set.unknown", "set.unknown.code"],
    ),
    (
        Asked("resultSetTTL=-1", "resultSetTTL=1"),
        &["set.ttl.negative"],
    ),
    (
        Asked("resultSetTTL=long", "resultSetTTL=1"),
        &["set.ttl.word"],
    ),
    (Answered("<fr:count>", "<fr:count>9999"), &["facets.counts"]),
    // Rules about the echo of the request.
    (
        Answered("<zs:query>", "<zs:query>x"),
        &["echo.query", "echo.failure", "echo.markup"],
    ),
    (
        Answered("<zs:maximumRecords>", "<zs:maximumRecords>1"),
        &["echo.parameters"],
    ),
    (
        Answered("<zs:scanClause>", "<zs:scanClause>x"),
        &["echo.scan"],
    ),
    (
        Answered("<zs:query>", "<!-- z3950conformancesecret --><zs:query>"),
        &["echo.secret"],
    ),
    // Rules about HTTP.
    (
        Answered("HTTP/1.1 200 OK", "HTTP/1.1 500 Oops"),
        &["http.status", "http.status.diagnostic", "http.head"],
    ),
    (
        Answered(
            "content-type: application/sru+xml",
            "content-type: text/plain",
        ),
        &["http.type", "http.accept"],
    ),
    (
        Answered("<zs:numberOfRecords>", "<!-- ¤ --><zs:numberOfRecords>"),
        &["http.charset"],
    ),
    (
        Answered(
            "content-type: application/sru+xml",
            "content-type: text/xml; charset=iso-8859-1",
        ),
        &["http.charset.agree"],
    ),
    (
        Answered(
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n",
        ),
        &["http.encoding"],
    ),
    (
        Answered(
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nconnection: close\r\n",
        ),
        &["http.keep-alive"],
    ),
    (
        AnsweredTo("POST ", NINE, EIGHT),
        &["http.post", "http.soap"],
    ),
    (
        AnsweredTo("POST ", "\u{fc} \u{9f9c}", "?"),
        &["http.post.utf-8"],
    ),
    (
        Answered(
            "schemas.xmlsoap.org/soap/envelope",
            "schemas.xmlsoap.org/soap/x",
        ),
        &["http.soap.envelope"],
    ),
    (AnsweredTo("+and+", NINE, EIGHT), &["http.plus"]),
    (AnsweredTo("title%3dwar", NINE, EIGHT), &["http.case"]),
    (
        AnsweredTo("recordSchema= ", "zs:records", "zs:none"),
        &["http.empty-parameter"],
    ),
    (Asked("DELETE ", "GET "), &["http.method"]),
    (
        Asked("application/json", "application/x-www-form-urlencoded"),
        &["http.type.unknown"],
    ),
    (
        Asked("/z3950-conformance-none?", "/books?"),
        &["http.path.unknown"],
    ),
    // Requests after which the server must still run.
    (Dies("garbage"), &["hostile.garbage"]),
    (Dies("GET /books HTTP/1.1\r\n\r\n"), &["hostile.no-host"]),
    (Dies("HTTP/9.9"), &["hostile.version"]),
    (Dies("Host : a"), &["hostile.header"]),
    (Dies("Content-Length: 2"), &["hostile.two-lengths"]),
    (Dies("X-Long"), &["hostile.long-header"]),
    (Dies("query=aaaaaaaa"), &["hostile.long-query"]),
    (Dies("query=%28%28%28"), &["hostile.deep-query"]),
    (Dies("a%20or%20a%20or%20a"), &["hostile.many-booleans"]),
    (Dies("%FF%FE"), &["hostile.utf-8"]),
    (Dies("a%00b"), &["hostile.nul"]),
    (Dies("a%ZZ"), &["hostile.percent"]),
    (Dies("a%01%1B"), &["hostile.control"]),
    (Dies("x-1999=1"), &["hostile.many-parameters"]),
    (Dies("query=b"), &["hostile.repeated"]),
    (Dies("<a><b></a>"), &["hostile.soap.malformed"]),
    (Dies("DOCTYPE"), &["hostile.soap.entities"]),
    (Dies("<a><a><a>"), &["hostile.soap.deep"]),
];
