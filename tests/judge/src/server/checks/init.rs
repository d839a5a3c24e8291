//! Checks of the versions, credentials and other values that a client may put into Init (Z39.50-2003 §3.2.1).

use z3950_asn1::apdu::{
    Apdu, ExtendedServicesRequest, External, IdAuthentication, IdPass, Information,
    InitializeRequest, InitializeResponse, OperationStatus, OtherInformation, OtherInformationUnit,
    ProtocolVersion,
};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::Bits;

use crate::server::answers::WithRecords;
use crate::server::check::{Check, checks};
use crate::server::trial::{Received, Trial, contents, encoded, replaced, summary, tagged};
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[Check] = checks! {
    "init.answered" Shall "Z39.50-2003 §3.2.1.1":
        "An initRequest is answered by an initResponse."
        => answered;
    "init.version.common" Shall "Z39.50-2003 §3.2.1.1.1":
        "A server that accepts names one of the versions that the client named."
        => versions(&[0, 1, 2]);
    "init.version.2" Should "Z39.50-2003 §3.2.1.1.1":
        "A client of versions 1 and 2 is accepted with one of them."
        => versions(&[0, 1]);
    "init.version.1" Should "Z39.50-2003 §3.2.1.1.1":
        "A client of version 1 alone is accepted, since versions 1 and 2 are the same protocol."
        => versions(&[0]);
    "init.version.only-2" Should "Z39.50-2003 §3.2.1.1.1":
        "A client that names version 2 alone is accepted."
        => versions(&[1]);
    "init.version.1-beside-2" Should "Z39.50-2003 §3.2.1.1.1":
        "A server that names version 2 names version 1 beside it."
        => version_1_beside_2;
    "init.version.later" Should "Z39.50-2003 §3.2.1.1.1":
        "Versions after the highest known one are ignored."
        => versions(&[0, 1, 2, 3, 4, 9]);
    "init.version.none-in-common" Should "Z39.50-2003 §3.2.1.1.1":
        "Without a common version, Init is rejected."
        => rejected_versions(&[8, 9]);
    "init.version.none" Should "Z39.50-2003 §3.2.1.1.1":
        "A client without any version is rejected."
        => rejected_versions(&[]);
    "init.version.long" Practice "X.690 §8.6":
        "A version of 64 bits, most of them zero, is read like a short one."
        => long_bits;
    "init.names" Should "Z39.50-2003 §3.2.1.1.6":
        "The server names its implementation."
        => names;
    "init.names.long" Practice "Z39.50-2003 §3.2.1.1.6":
        "Names of a client of 2000 octets are taken."
        => long_names;
    "init.names.utf-8" Practice "Z39.50-2003 §3.2.1.1.6":
        "Names of a client beyond ASCII are taken."
        => odd_names;
    "init.names.empty" Practice "Z39.50-2003 §3.2.1.1.6":
        "Names of a client may be missing or empty."
        => empty_names;
    "init.id.open" Shall "Z39.50-2003 §3.2.1.1.2":
        "An unknown user in the open form is accepted or rejected by an initResponse."
        => unknown_user(open_id());
    "init.id.group" Shall "Z39.50-2003 §3.2.1.1.2":
        "An unknown user with group and password is accepted or rejected by an initResponse."
        => unknown_user(id_pass());
    "init.id.anonymous" Shall "Z39.50-2003 §3.2.1.1.2":
        "An anonymous client is accepted or rejected by an initResponse."
        => unknown_user(IdAuthentication::Anonymous);
    "init.id.diagnostic" Should "Z39.50 agreement 5, Returning diagnostics in an Init response":
        "A rejected user is told why by a diagnostic in userInformationField."
        => rejection_says_why;
    "init.user-information" Practice "Z39.50-2003 §3.2.1.1.7":
        "userInformationField in an unknown format is ignored."
        => user_information;
    "init.other-information" Practice "Z39.50-2003 §3.2.1.1.8":
        "otherInfo in an unknown format is ignored."
        => other_information;
    "init.unknown-element" Shall "Z39.50-2003 §4.3":
        "Unknown elements of an initRequest are ignored."
        => unknown_element;
    "init.long-lengths" Shall "X.690 §8.1.3.5":
        "Lengths of more octets than needed are read."
        => long_lengths;
    "init.indefinite-lengths" Shall "X.690 §8.1.3.6":
        "Values of indefinite length are read."
        => indefinite_lengths;
    "init.octet-by-octet" Practice "practice: TCP has no message boundaries":
        "A request that arrives one octet at a time is read."
        => octet_by_octet;
    "init.first" Shall "Z39.50-2003 §3.2.1.1":
        "Nothing is searched before Init."
        => search_before_init;
    "init.first.present" Shall "Z39.50-2003 §3.2.1.1":
        "No records are sent before Init."
        => present_before_init;
    "init.first.task" Shall "Z39.50-2003 §3.2.1.1":
        "No task is done before Init."
        => task_before_init;
    "init.again" Practice "practice: clients send Init again to log in":
        "A second Init in a session is answered, or ends the session."
        => again;
    "init.after-rejection" Should "Z39.50-2003 §3.2.1.1":
        "After a rejected Init, a client may try again."
        => after_rejection;
    "init.silence-of-the-server" Practice "Z39.50-2003 §3.2.1.1":
        "The server says nothing before Init."
        => server_waits;
};

async fn answered(trial: &mut Trial) -> Checked {
    let init = trial.base_init();
    trial.opened(init).await.map(drop)
}

/// Sends an Init with these versions.
async fn init_with(trial: &mut Trial, bits: &[u8]) -> Checked<InitializeResponse> {
    let mut init = trial.base_init();
    init.protocol_version = ProtocolVersion(Bits::of(bits));
    trial.opened(init).await
}

async fn versions(trial: &mut Trial, bits: &[u8]) -> Checked {
    trial.session().await?;
    let response = init_with(trial, bits).await?;
    let proposed = ProtocolVersion(Bits::of(bits));
    let common = response.protocol_version.intersection(proposed).highest();
    // Versions 1 and 2 are the same protocol, so the server may answer with either of them.
    let is_1_or_2 = proposed.highest().is_some_and(|version| version < 3)
        && response.protocol_version.highest().is_some();
    let names: Vec<String> = bits.iter().map(|bit| (bit + 1).to_string()).collect();
    let wanted = format!(
        "an accepting answer with one of the versions {}",
        names.join(", ")
    );
    let holds = response.result && (common.is_some() || is_1_or_2);
    want(holds, wanted, || summary(&response.into()))
}

async fn version_1_beside_2(trial: &mut Trial) -> Checked {
    let response = trial.session().await?;
    let named = response.protocol_version.0;
    if !named.contains(1) {
        return Err(Verdict::not_offered("the server does not name version 2"));
    }
    want(named.contains(0), "version 1 beside 2", || {
        summary(&response.into())
    })
}

async fn rejected_versions(trial: &mut Trial, bits: &[u8]) -> Checked {
    trial.session().await?;
    trial.connect().await?;
    let mut init = trial.base_init();
    init.protocol_version = ProtocolVersion(Bits::of(bits));
    match trial.ask_or_end(init).await? {
        // A server may also reject the version by ending the connection.
        None => Ok(()),
        Some(response) => want(
            !response.result,
            "an initResponse with result false",
            || summary(&response.into()),
        ),
    }
}

/// Sends an Init whose version bit string is 64 bits long.
async fn long_bits(trial: &mut Trial) -> Checked {
    let octets = encoded(&trial.base_init().into())?;
    let long = replaced(&octets, 0x83, &[0, 0xe0, 0, 0, 0, 0, 0, 0, 0]);
    accepted_octets(trial, long).await
}

async fn names(trial: &mut Trial) -> Checked {
    let response = trial.session().await?;
    let has_name = response.implementation_name.is_some();
    want(has_name, "implementationName", || summary(&response.into()))
}

async fn long_names(trial: &mut Trial) -> Checked {
    named(trial, Some("n".repeat(2000).as_str())).await
}

async fn odd_names(trial: &mut Trial) -> Checked {
    named(trial, Some("prüfung – проверка \u{1f4da}")).await
}

async fn empty_names(trial: &mut Trial) -> Checked {
    named(trial, Some("")).await?;
    named(trial, None).await
}

async fn named(trial: &mut Trial, name: Option<&str>) -> Checked {
    let mut init = trial.base_init();
    init.implementation_id = name.map(Into::into);
    init.implementation_name = name.map(Into::into);
    init.implementation_version = name.map(Into::into);
    accepted(trial, init).await
}

/// Fails unless the server accepts this Init. Ends the check if the server does not accept an Init without the unusual value.
async fn accepted(trial: &mut Trial, init: InitializeRequest) -> Checked {
    trial.session().await?;
    let response = trial.opened(init).await?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}

async fn accepted_octets(trial: &mut Trial, octets: Vec<u8>) -> Checked {
    trial.session().await?;
    trial.connect().await?;
    trial.send_octets(octets).await?;
    let response = trial.answer_to::<InitializeRequest>().await?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}

/// Returns the credentials of a user who does not exist.
fn open_id() -> IdAuthentication {
    IdAuthentication::Open("z3950-conformance/none".into())
}

fn id_pass() -> IdAuthentication {
    IdAuthentication::IdPass(IdPass {
        group_id: Some("none".into()),
        user_id: Some("z3950-conformance".into()),
        password: Some("none".into()),
    })
}

async fn unknown_user(trial: &mut Trial, identity: IdAuthentication) -> Checked {
    let mut init = trial.base_init();
    init.id_authentication = Some(identity);
    trial.opened(init).await.map(drop)
}

async fn rejection_says_why(trial: &mut Trial) -> Checked {
    let mut init = trial.base_init();
    init.id_authentication = Some(id_pass());
    let response = trial.opened(init).await.given()?;
    if response.result {
        return Err(Verdict::not_offered("unknown users are accepted"));
    }
    let says_why = response.user_information_field.is_some() || response.other_info.is_some();
    want(says_why, "userInformationField with a diagnostic", || {
        summary(&response.into())
    })
}

/// Returns an object identifier that is not registered.
fn unregistered() -> Oid {
    Oid::z3950(&[10, 1000, 9999, 1])
}

async fn user_information(trial: &mut Trial) -> Checked {
    let mut init = trial.base_init();
    init.user_information_field = Some(External::octet_aligned(unregistered(), "odd"));
    accepted(trial, init).await
}

async fn other_information(trial: &mut Trial) -> Checked {
    let mut init = trial.base_init();
    let units = [
        Information::CharacterInfo("odd".into()),
        Information::BinaryInfo("odd".into()),
        Information::Oid(unregistered()),
        Information::ExternallyDefinedInfo(External::octet_aligned(unregistered(), "odd")),
    ];
    let units = units.map(|information| OtherInformationUnit {
        category: None,
        information,
    });
    init.other_info = Some(OtherInformation(units.into()));
    accepted(trial, init).await
}

async fn unknown_element(trial: &mut Trial) -> Checked {
    let octets = encoded(&trial.base_init().into())?;
    let mut contents = contents(&octets).to_vec();
    // The unknown element is primitive, with the tag [9999] and three octets of contents.
    contents.extend([0x9f, 0xce, 0x0f, 3, b'o', b'd', b'd']);
    accepted_octets(trial, tagged(0xb4, &contents)).await
}

async fn long_lengths(trial: &mut Trial) -> Checked {
    let octets = encoded(&trial.base_init().into())?;
    let contents = contents(&octets);
    let length = u32::try_from(contents.len()).unwrap_or(0).to_be_bytes();
    let long = [&[0xb4, 0x84][..], &length, contents].concat();
    accepted_octets(trial, long).await
}

async fn indefinite_lengths(trial: &mut Trial) -> Checked {
    let octets = encoded(&trial.base_init().into())?;
    let long = [&[0xb4, 0x80][..], contents(&octets), &[0, 0]].concat();
    accepted_octets(trial, long).await
}

async fn octet_by_octet(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.connect().await?;
    let octets = encoded(&trial.base_init().into())?;
    trial.send_slowly(octets).await?;
    let response = trial.answer_to::<InitializeRequest>().await?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}

async fn search_before_init(trial: &mut Trial) -> Checked {
    let search = trial.good_search()?;
    before_init(trial, search.into()).await
}

async fn present_before_init(trial: &mut Trial) -> Checked {
    before_init(trial, trial.present(1, 1).into()).await
}

async fn task_before_init(trial: &mut Trial) -> Checked {
    let task = ExtendedServicesRequest::create(unregistered(), None);
    before_init(trial, task.into()).await
}

/// Fails if a request that is sent before Init has an effect. The server must end the connection, send Close, or refuse the
/// request.
async fn before_init(trial: &mut Trial, request: Apdu) -> Checked {
    trial.session().await?;
    trial.connect().await?;
    trial.send(&request).await?;
    let received = trial.receive().await;
    let is_refused = match &received {
        Received::Apdu(apdu) => match &**apdu {
            Apdu::SearchResponse(response) => !response.search_status,
            Apdu::PresentResponse(response) => response.records().is_empty(),
            Apdu::ExtendedServicesResponse(response) => {
                response.operation_status == OperationStatus::FAILURE
            }
            _ => false,
        },
        _ => false,
    };
    let holds = is_refused || received.is_over();
    let wanted = "a refusal, a close or the end of the connection";
    want(holds, wanted, || received.to_string())
}

async fn again(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let init = trial.base_init();
    trial.ask_or_end(init).await.map(drop)
}

async fn after_rejection(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let mut wrong = trial.base_init();
    wrong.protocol_version = ProtocolVersion(Bits::of(&[9]));
    trial.connect().await?;
    let over = || Verdict::not_offered("the server ends the connection");
    let rejected = trial.ask_or_end(wrong).await.given()?;
    if rejected.ok_or_else(over)?.result {
        return Err(Verdict::not_judged(
            "the server does not reject unknown versions",
        ));
    }
    let init = trial.base_init();
    let response = trial.ask_or_end(init).await?.ok_or_else(over)?;
    want(response.result, "an accepting answer", || {
        summary(&response.into())
    })
}

async fn server_waits(trial: &mut Trial) -> Checked {
    trial.connect().await?;
    trial.silence().await
}
