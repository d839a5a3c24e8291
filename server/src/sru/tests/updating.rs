//! Tests of Record Update.

use std::net::Ipv4Addr;

use z3950_asn1::sru::{SruRecord, UpdateAction, UpdateRequest};

use super::*;
use crate::offer::Offer;

fn record(id: &str, title: &str) -> String {
    format!(
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000 a 4500</leader>{}\
         <datafield tag=\"245\" ind1=\"0\" ind2=\"0\"><subfield code=\"a\">{title}</subfield></datafield></record>",
        match id {
            "" => String::new(),
            id => format!("<controlfield tag=\"001\">{id}</controlfield>"),
        }
    )
}

fn request(action: UpdateAction, id: &str, record: &str) -> UpdateRequest {
    let mut update = UpdateRequest::new(action);
    update.record_identifier = Some(id.to_owned()).filter(|id| !id.is_empty());
    let record = Some(record.to_owned()).filter(|record| !record.is_empty());
    update.record = record.map(|record| SruRecord::new("marcxml", record));
    update
}

async fn answer(
    session: &mut SruSession,
    database: &str,
    update: UpdateRequest,
) -> (SruStatus, UpdateResponse) {
    let request = Request::new(Version::V1_1, update);
    let reply = session.answer(SruRequest::new(database, Ok(request))).await;
    match reply.response {
        Response::Update(response) => (reply.status, response),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn records_are_created_replaced_and_deleted() {
    use UpdateAction::{Create, Delete, Replace};
    let session = &mut session();
    let (one, padded, two, none) = (
        record("new1", "Zyx one"),
        record("  new1 ", "Zyx one"),
        record("new1", "Zyx two"),
        record("", "Zyx"),
    );
    for (action, id, record, expected, hits) in [
        (Delete, "new1", "", "50 no such record: new1", 0),
        (Replace, "new1", &*one, "50 no such record: new1", 0),
        (Create, "new1", &*one, "new1", 1),
        (
            Create,
            "new1",
            &*one,
            "58 the record already exists: new1",
            1,
        ),
        (Create, "", &*one, "58 the record already exists: new1", 1),
        (
            Create,
            "",
            &*padded,
            "58 the record already exists: new1",
            1,
        ),
        (
            Create,
            "new1",
            &*padded,
            "58 the record already exists: new1",
            1,
        ),
        (Replace, "new1", &*two, "new1", 1),
        (
            Replace,
            "other",
            &*two,
            "22 the record has another identifier: new1",
            1,
        ),
        (Replace, "new1", "<record/>", "12 no record element", 1),
        (Replace, "new1", "no XML", "12", 1),
        (Replace, "new1", "", "9 record", 1),
        (Delete, "", "", "22 recordIdentifier", 1),
        (Delete, "new1", &*one, "new1", 0),
        (Create, "", &*none, "282", 1),
    ] {
        let (status, response) = answer(session, "books", request(action, id, record)).await;
        let found = if response.success {
            response.record_identifier.unwrap_or_default()
        } else {
            shown(&response.diagnostics)
        };
        assert!(
            found.starts_with(expected),
            "{action:?} {id} {record}: {found}"
        );
        assert_eq!(status, SruStatus::Answered);
        let found = search_of(session, "query=title@zyx").await;
        assert_eq!(
            found.number_of_records,
            Some(hits),
            "{action:?} {id} {record}"
        );
    }
}

#[tokio::test]
async fn records_that_would_lose_data_are_refused() {
    let session = &mut session();
    let one = record("new1", "One");
    let field = "<datafield tag=\"245\"";
    for (text, expected) in [
        (
            format!("{one}{}", record("new2", "Two")),
            "12 a single record is expected, and there is something else next to it",
        ),
        (
            format!("<collection>{one}{}</collection>", record("new2", "Two")),
            "12 a single record is expected",
        ),
        (format!("stray {one}"), "12 a single record is expected"),
        (
            one.replace("245", "2450"),
            "12 field 2450 left out, a tag has three octets",
        ),
        (one.replace("245", "24"), "12 field 24 left out"),
        (one.replace("245", ""), "12 field  left out"),
        (one.replace("245", "24 5"), "12 field 24 5 left out"),
        (one.replace("245", "2é5"), "12 field 2é5 left out"),
        (
            one.replace("datafield", "datafeild"),
            "12 element datafeild ignored",
        ),
        (
            one.replace("subfield", "subfeild"),
            "12 element subfeild ignored; text in an ignored element of a field left out",
        ),
        (
            one.replace(field, &format!("stray{field}")),
            "12 text outside of fields and subfields ignored",
        ),
        (
            one.replace("ind1=\"0\"", "ind1=\"ab\""),
            "12 ind1 ab has 2 characters instead of 1",
        ),
        (one.replace("ind1=\"0\"", ""), "12 ind1 missing"),
        (
            one.replace("00000nam a2200000 a 4500", "x"),
            "12 the leader has 1 octets instead of 24",
        ),
        (one.replace("One", "&e;"), "12 entity e is none of the five"),
    ] {
        let request = request(UpdateAction::Create, "", &text);
        let (_, response) = answer(session, "books", request).await;
        let shown = shown(&response.diagnostics);
        assert!(
            !response.success && shown.starts_with(expected),
            "{text}: {shown}"
        );
    }
    let found = search_of(session, "query=rec.id=new1").await;
    assert_eq!(found.number_of_records, Some(0));
    let collection = format!("<collection>{one}</collection>");
    let (_, response) = answer(
        session,
        "books",
        request(UpdateAction::Create, "", &collection),
    )
    .await;
    assert!(response.success, "{response:?}");
}

#[tokio::test]
async fn unsupported_updates_are_refused() {
    let session = &mut session();
    let one = record("new1", "One");
    let mut with_version = request(UpdateAction::Create, "new1", &one);
    with_version.record_versions = vec![("number".to_owned(), "1".to_owned())];
    let mut in_dc = request(UpdateAction::Create, "new1", &one);
    if let Some(record) = &mut in_dc.record {
        record.schema = "dc".to_owned();
    }
    for (database, update, status, expected) in [
        ("books", with_version, SruStatus::Answered, "55"),
        ("books", in_dc, SruStatus::Answered, "30 dc"),
        (
            "nothing",
            request(UpdateAction::Create, "new1", &one),
            SruStatus::UnknownDatabase,
            "235 nothing",
        ),
        (
            "IR-Explain-1",
            request(UpdateAction::Create, "new1", &one),
            SruStatus::Answered,
            "4 update",
        ),
    ] {
        let (found, response) = answer(session, database, update).await;
        assert_eq!((found, &*shown(&response.diagnostics)), (status, expected));
        assert!(!response.success);
    }
}

#[tokio::test]
async fn updates_from_other_hosts_need_an_authorized_user() {
    let user = |name: &str, update| User {
        name: name.to_owned(),
        update,
        ..User::default()
    };
    let access = Access {
        users: vec![user("ann", Some(true)), user("bob", None)],
        anonymous: true,
        ..Access::default()
    };
    for (address, login, expected) in [
        (1, None, (SruStatus::Unauthorized, false)),
        (1, Some("bob"), (SruStatus::Answered, false)),
        (1, Some("ann"), (SruStatus::Answered, true)),
        (127, None, (SruStatus::Answered, true)),
    ] {
        let session = session_of(target().with_access(access.clone()));
        let session = &mut session.with_peer(Ipv4Addr::new(address, 0, 0, 1).into());
        let update = request(UpdateAction::Create, "new1", &record("new1", "One"));
        let request = Request::new(Version::V1_1, update);
        let mut asked = SruRequest::new("books", Ok(request));
        asked.login = login.map(|user| SruLogin {
            user: user.to_owned(),
            password: String::new(),
        });
        let reply = session.answer(asked).await;
        let Response::Update(response) = reply.response else {
            panic!("no updateResponse");
        };
        assert_eq!((reply.status, response.success), expected, "{login:?}");
        if !response.success {
            assert!(shown(&response.diagnostics).starts_with("3 "));
            let words = match login {
                None => "give a user and a password",
                Some(_) => "the client may not do this",
            };
            let found = response.diagnostics.iter().map(SruDiagnostic::words);
            assert_eq!(found.collect::<Vec<_>>(), [words]);
        }
    }
}

#[tokio::test]
async fn an_update_needs_the_option_of_extended_services() {
    let offer = Offer {
        options: Options::SEARCH | Options::PRESENT,
        ..Offer::default()
    };
    let session = &mut session_of(target().with_offer(offer));
    let update = request(UpdateAction::Create, "new1", &record("new1", "One"));
    let (_, response) = answer(session, "books", update).await;
    assert_eq!(shown(&response.diagnostics), "4 extendedServices");
}
