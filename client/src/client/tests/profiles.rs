//! Tests of what a server's profile adds to the requests for a URL. Also tests that a profile does not change the parts
//! that RFC 2056 prescribes.

use std::time::Duration;

use tokio::time::Instant;
use z3950_asn1::apdu::*;

use super::*;
use crate::TargetLimits;
use crate::protocol::service::init;
use crate::target::Endpoint;
use crate::target::profile::Profiles;

const TARGETS: &str = "
[targets.safe]
host = 'safe.example'
tls = true
sessions = 1
pause = 2.0
databases = ['cat']
record_syntax = 'unimarc'
element_set = 'B'
record_charset = 'marc8'
attributes = ['2=3', '4=2']
docid = ['1=9999', '1=1007']
credentials = { user = 'me', password_command = 'echo secret' }

[targets.broken]
host = 'broken.example'
credentials = { user = 'me', password_command = 'false' }
";

fn knowing(options: ClientOptions) -> Client {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    std::fs::write(&path, TARGETS).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("targets");
    Client::with(options).with_profiles(profiles)
}

fn who(plan: &Plan) -> String {
    match &plan.options.init.id_authentication {
        None => "nobody".to_owned(),
        Some(IdAuthentication::IdPass(id)) => {
            let text = |string: &Option<z3950_asn1::types::InternationalString>| {
                string
                    .as_ref()
                    .map_or_else(String::new, |string| string.to_string_lossy().into_owned())
            };
            format!("{}/{}", text(&id.user_id), text(&id.password))
        }
        Some(other) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_profile_adds_the_parts_that_a_url_leaves_open() {
    let consent = options(|plan| plan.allow_url_credentials = true);
    let somebody = options(|plan| plan.init.id_authentication = Some(IdAuthentication::Anonymous));
    for (text, options, endpoint, name) in [
        (
            "r://SAFE.example/cat?id7",
            options(|_| ()),
            "ssl:safe.example:210",
            "me/secret",
        ),
        (
            "s://safe.example/",
            options(|_| ()),
            "ssl:safe.example:210",
            "me/secret",
        ),
        // The same host on a different port is a different server, so the profile does not apply.
        (
            "r://safe.example:2100/cat?id7",
            options(|_| ()),
            "safe.example:2100",
            "nobody",
        ),
        (
            "r://lib.example/cat?id7",
            options(|_| ()),
            "lib.example:210",
            "nobody",
        ),
        // An identity in the options or the URL overrides the identity in the profile, even if the one in the URL is not sent.
        (
            "r://you:pw@safe.example/cat?id7",
            options(|_| ()),
            "ssl:safe.example:210",
            "nobody",
        ),
        (
            "r://you:pw@safe.example/cat?id7",
            consent,
            "ssl:safe.example:210",
            "you/pw",
        ),
        (
            "r://safe.example/cat?id7",
            somebody,
            "ssl:safe.example:210",
            "Anonymous",
        ),
    ] {
        let plan = knowing(options)
            .plan(&url(&format!("z39.50{text}")))
            .await
            .expect("a plan");
        assert_eq!(plan.endpoint().to_string(), endpoint, "{text}");
        assert_eq!(who(&plan), name, "{text}");
        let is_known = matches!(plan.endpoint(), Endpoint::Tls(..));
        assert_eq!(plan.record_charset().is_some(), is_known, "{text}");
        let limits = TargetLimits {
            sessions: 1,
            pause: Duration::from_secs(2),
        };
        assert_eq!(plan.limits() == limits, is_known, "{text}");
        assert!(!format!("{plan:?}").contains("secret"));
    }
    let error = knowing(options(|_| ()))
        .plan(&url("z39.50r://broken.example/cat?id7"))
        .await;
    assert!(matches!(error, Err(PlanError::Credentials(_))), "{error:?}");
}

#[tokio::test]
async fn the_requests_of_a_retrieval_stay_as_prescribed() {
    let id = url("z39.50r://safe.example/cat?id7");
    let plain = plan::plan(&id, &options(|_| ()).plan).expect("a plan");
    let known = knowing(options(|_| ())).plan(&id).await.expect("a plan");
    assert_eq!(known.search_request(), plain.search_request());
    assert_eq!(known.present_request(1), plain.present_request(1));
    assert_eq!(known.searches(), ["1=1032,4=104"]);
    // The profile's searches for a docid come first, with the profile's attributes, and no search is repeated.
    let allowed = options(|plan| plan.fallback = Fallback::ALL);
    let known = knowing(allowed).plan(&id).await.expect("a plan");
    assert_eq!(
        known.searches(),
        ["1=9999", "1=1007", "1=1032,4=104", "1=1032", "1=12"]
    );
    let Some(Query::Type1(query)) = known.search_request().map(|search| search.query) else {
        panic!("no query");
    };
    assert_eq!(query.to_string(), "@attr 4=2 @attr 2=3 @attr 1=9999 id7");
}

#[tokio::test(start_paused = true)]
async fn retrievals_keep_the_pace_of_the_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    std::fs::write(
        &path,
        "[targets.slow]\nhost='lib.example'\npause=2\nsessions=1\n",
    )
    .expect("written");
    let profiles = Arc::new(Profiles::default().with_file(&path).expect("targets"));
    let script = || vec![accepted(), send(found(1, vec![])), one(marc())];
    let (client, transcript) = client(options(|_| ()), [script(), script()]);
    let client = client.with_profiles(profiles);
    let begun = Instant::now();
    let id = url(ID7);
    let both = futures_util::future::join(client.retrieve(&id), client.retrieve(&id));
    let (first, second) = both.await;
    for retrieval in [first, second] {
        assert_eq!(say(&retrieval.expect("a plan").outcome), "Delivered usmarc");
    }
    // The two retrievals send six requests (Init, Search and Present each). With a pause of 2 s between each request
    // and the next, they take 10 s.
    assert_eq!(begun.elapsed().as_secs(), 10);
    let seen = transcript.finished().await;
    let whole = "connect initRequest search(1/2/0,usmarc) present(1+1,usmarc) close(finished) end";
    assert_eq!(seen, format!("{whole} {whole}"));
}

#[tokio::test]
async fn a_password_is_requested_once_and_again_after_a_refusal() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, asked) = (
        folder.path().join("targets.toml"),
        folder.path().join("asked"),
    );
    let command = format!("echo asked >> {}; echo secret", asked.display());
    let text = format!(
        "[targets.cat]\nhost='lib.example'\ncredentials={{user='me',password_command='{command}'}}\n"
    );
    std::fs::write(&path, text).expect("written");
    let profiles = Profiles::default().with_file(&path).expect("targets");
    let refused = || vec![send(init_response(false, ProtocolVersion::UP_TO_3))];
    let scripts = [refused(), vec![accepted()], vec![accepted()], refused()];
    let (client, _) = client(options(|_| ()), scripts);
    let client = client.with_profiles(profiles);
    for (is_open, times) in [(false, 1), (true, 2), (true, 2), (false, 2)] {
        let target = client.profiles().resolve("cat").expect("a target");
        let options = client.options_at(&target, init::offer()).await;
        let session = client
            .session(&target.endpoint, None, &options.expect("credentials"))
            .await;
        assert_eq!(session.is_ok(), is_open, "{session:?}");
        let asked = std::fs::read_to_string(&asked).expect("asked");
        assert_eq!(asked.lines().count(), times);
    }
}
