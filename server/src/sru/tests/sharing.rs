//! Tests of facets, and of result sets that are used in later requests.

use std::time::Duration;

use super::*;

/// Runs a search; returns the name of the shared result set.
async fn shared(session: &mut SruSession, query: &str) -> String {
    let response = search_of(session, &format!("query={query}&resultSetTTL=60")).await;
    assert_eq!(response.result_set_ttl, Some(60));
    response.result_set_id.expect("a name")
}

/// Runs a search; returns the number of hits, and the diagnostics without the name of the set.
async fn found(session: &mut SruSession, parameters: &str) -> (Option<u64>, String) {
    let response = search_of(session, parameters).await;
    let diagnostics = shown(&response.diagnostics);
    let number = diagnostics.split(' ').next().unwrap_or_default();
    (response.number_of_records, number.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_set_is_there_for_other_connections_until_it_expires() {
    let target = Arc::new(target());
    let mut first = SruSession::new(Arc::clone(&target));
    let mut second = SruSession::new(Arc::clone(&target));
    let name = shared(&mut first, "title@war sortby title").await;
    let all = search_of(&mut first, "query=title@war sortby title").await;
    let again = format!("query=cql.resultSetId@{name}");
    let response = search_of(&mut second, &again).await;
    assert_eq!(response.result_set_id.as_deref(), Some(&*name));
    let data = |response: &SearchRetrieveResponse| {
        let records = response.records.iter();
        records
            .map(|record| record.data.clone())
            .collect::<Vec<_>>()
    };
    // The records are in the order in which the set was sorted.
    assert_eq!(data(&response), data(&all));
    let rest = search_of(&mut second, &format!("{again}&startRecord=8")).await;
    assert_eq!(data(&rest).as_slice(), &data(&all)[7..]);
    let part = format!("{again} and peace");
    assert_eq!(found(&mut second, &part).await, (Some(2), String::new()));
    let other = SruRequest::new(
        "serials",
        Request::from_parameters(again.replace('@', "%3D").as_bytes(), &SruLimits::default()),
    );
    let of_other = second.answer(other).await;
    assert_eq!(shown(of_other.response.diagnostics()), format!("51 {name}"));
    assert!(target.shared_sets.find(&name, None, "books").is_some());
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(found(&mut second, &again).await, (None, "51".to_owned()));
    // Neither Z39.50 session has kept the result set under the name `default`.
    for session in [&first, &second] {
        let association = session.session.association().expect("open");
        assert!(association.result_sets().find(b"default").is_err());
    }
}

#[tokio::test]
async fn a_set_is_for_its_user() {
    let user = |name: &str| User {
        name: name.to_owned(),
        ..User::default()
    };
    let access = Access {
        users: vec![user("ann"), user("bob")],
        anonymous: true,
        ..Access::default()
    };
    let mut session = session_of(target().with_access(access));
    let response = search_of(
        &mut session,
        "query=title@war&resultSetTTL=60&x-username=ann",
    )
    .await;
    let again = format!(
        "query=cql.resultSetId@{}",
        response.result_set_id.expect("a name")
    );
    for (login, expected) in [
        ("", (None, "51")),
        ("&x-username=bob", (None, "51")),
        ("&x-username=ann", (Some(9), "")),
    ] {
        let found = found(&mut session, &format!("{again}{login}")).await;
        assert_eq!((found.0, &*found.1), expected, "{login}");
    }
}

#[tokio::test]
async fn a_set_is_kept_only_if_the_client_wants_it() {
    let limits = Limits {
        sru_set_time: Duration::from_secs(10),
        ..Limits::default()
    };
    let target = Target::new(Arc::new(MemoryBackend::demo()), limits);
    let mut session = session_of(target);
    for (time, expected) in [
        ("", None),
        ("0", None),
        ("5", Some(5)),
        ("18446744073709551615", Some(10)),
        ("18446744073709551616", None),
    ] {
        let parameters = format!("query=title@war&resultSetTTL={time}");
        let response = search_of(&mut session, &parameters).await;
        assert_eq!(response.result_set_ttl, expected, "{time}");
        assert_eq!(response.result_set_id.is_some(), expected.is_some());
    }
}

/// Runs a search; returns the facets as `index: term count, …`, separated by semicolons.
async fn facets(session: &mut SruSession, parameters: &str) -> String {
    let response = search_of(session, &format!("query=title@war&{parameters}")).await;
    if !response.diagnostics.is_empty() {
        return shown(&response.diagnostics);
    }
    let facets = response.facets.iter().map(|facet| {
        let terms = facet
            .terms
            .iter()
            .map(|term| format!("{} {}", term.term, term.count));
        format!("{}: {}", facet.index, terms.collect::<Vec<_>>().join(", "))
    });
    facets.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn facets_are_those_of_the_records_found() {
    let session = &mut session();
    for (parameters, expected) in [
        ("", ""),
        ("facetLimit=2:dc.language", "dc.language: eng 7, chi 2"),
        (
            "facetLimit=dc.language:2&facetStart=2",
            "dc.language: chi 2, lat 1",
        ),
        (
            "facetLimit=2:language&facetSort=alphanumeric",
            "language: chi 2, eng 7",
        ),
        (
            "facetLimit=1:dc.language,1:dc.date&facetStart=2:dc.date",
            "dc.language: eng 7; dc.date: 1797 1",
        ),
        (
            "facetLimit=1",
            "dc.creator: Caesar, Julius. 1; dc.subject: Military art and science Early works to 1800. 2; dc.date: 1910 2; dc.language: eng 7",
        ),
        ("facetLimit=1:dc.language&version=1.1", "dc.language: eng 7"),
        ("facetLimit=1:colour", "16 colour"),
        ("facetLimit=1:title sortby title", "16 title sortby title"),
        ("facetLimit=colour", "6 facetLimit"),
        ("facetLimit=1&facetSort=random", "6 facetSort"),
        ("facetLimit=1&facetStart=0", "6 facetStart"),
        ("facetLimit=1&facetCount=1", "8 facetCount"),
    ] {
        assert_eq!(facets(session, parameters).await, expected, "{parameters}");
    }
}

#[tokio::test]
async fn facets_of_older_versions_are_extra_data() {
    let session = &mut session();
    let parameters = "query=title@war&version=1.1&facetLimit=1:dc.language";
    let response = Response::from(search_of(session, parameters).await);
    let xml = String::from_utf8(response.to_xml(None)).expect("UTF-8");
    assert!(
        xml.contains("<zs:extraResponseData><fr:facetedResults xmlns:fr="),
        "{xml}"
    );
}
