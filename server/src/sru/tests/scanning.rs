//! Tests of scan.

use z3950_asn1::sru::WhereInList;

use super::*;

#[tokio::test]
async fn terms_are_those_around_the_start() {
    let session = &mut session();
    for (parameters, expected) in [
        (
            "scanClause=title@war&maximumTerms=2",
            "war 9 inner, wars 1 inner",
        ),
        (
            "scanClause=title@war&maximumTerms=2&responsePosition=0",
            "wars 1, watchman 1 inner",
        ),
        (
            "scanClause=title@war&maximumTerms=2&responsePosition=2",
            "wanderjahre 1 inner, war 9 inner",
        ),
        (
            "scanClause=title@war&maximumTerms=2&responsePosition=3",
            "walden 1 inner, wanderjahre 1 inner",
        ),
        (
            "scanClause=title@0&maximumTerms=2&responsePosition=2",
            "1 1 first",
        ),
        (
            "scanClause=title exact war&maximumTerms=1",
            "war and peace 1 inner",
        ),
        (
            "x-pScanClause=%40attr+1@4+war&maximumTerms=1&version=1.1",
            "war 9 inner",
        ),
    ] {
        assert_eq!(terms(session, parameters).await, expected, "{parameters}");
    }
}

#[tokio::test]
async fn whole_entries_have_the_form_in_which_they_are_printed() {
    let session = &mut session();
    for (parameters, expected) in [
        (
            "scanClause=dc.creator exact tolstoy&maximumTerms=1",
            [(
                "tolstoy leo graf 1828 1910",
                Some("Tolstoy, Leo, graf, 1828-1910."),
            )],
        ),
        ("scanClause=title@war&maximumTerms=1", [("war", None)]),
        ("scanClause=title@1&maximumTerms=1", [("1", None)]),
        ("scanClause=dc.language@eng&maximumTerms=1", [("eng", None)]),
    ] {
        let Response::Scan(response) = reply_of(session, "", parameters).await.response else {
            panic!("{parameters}: no scanResponse");
        };
        let found = response.terms.iter();
        let found = found.map(|term| (&*term.value, term.display_term.as_deref()));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{parameters}");
    }
}

async fn terms(session: &mut SruSession, parameters: &str) -> String {
    let Response::Scan(response) = reply_of(session, "", parameters).await.response else {
        panic!("{parameters}: no scanResponse");
    };
    if !response.diagnostics.is_empty() {
        return shown(&response.diagnostics);
    }
    let terms = response.terms.iter().map(|term| {
        let place = term.where_in_list.map_or("", WhereInList::as_str);
        let records = term.number_of_records.unwrap_or(0);
        format!("{} {records} {place}", term.value)
            .trim_end()
            .to_owned()
    });
    terms.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn what_is_wrong_is_a_diagnostic() {
    let session = &mut session();
    for (parameters, expected) in [
        ("scanClause=title@war&responsePosition=12", "120 12"),
        (
            "scanClause=title@war&responsePosition=5&maximumTerms=3",
            "120 5",
        ),
        ("scanClause=title@war&maximumTerms=0", "6 maximumTerms"),
        ("scanClause=colour@war", "16 colour"),
        ("scanClause=a and b", "37 a and b"),
        ("scanClause=title all \"a b\"", "48 title all \"a b\""),
    ] {
        assert_eq!(terms(session, parameters).await, expected, "{parameters}");
    }
}

#[tokio::test]
async fn an_echo_in_2_0_has_no_extra_parameters_which_its_schema_does_not_allow() {
    let session = &mut session();
    for (version, expected) in [("1.2", true), ("2.0", false)] {
        let parameters = format!("scanClause=war&version={version}&x-colour=red");
        let reply = reply_of(session, "", &parameters).await;
        let xml = String::from_utf8(reply.response.to_xml(None)).expect("UTF-8");
        assert_eq!(xml.contains("red</zs:colour>"), expected, "{xml}");
    }
}
