//! Tests of Koha's index behind TLS and passwords, with correct and wrong credentials and with untrusted certificates.

use std::fs;

use z3950_tests::koha::{Edition, KohaIndex, made_up, shared_node};
use z3950_tests::opensearch::gate::{Gate, certified};
use z3950_tests::program::{Ran, z3950};

use super::brute::shown;
use super::served::Home;
use crate::interop::opensearch::secure::{BASIC, only};

/// Writes settings for a gate with TLS, and the files that they name.
fn set(home: &Home, index: &str, gate: &Gate, ca: &str, credentials: Option<&str>) -> String {
    let url = format!("https://127.0.0.1:{}/{index}", gate.port);
    let mut text = format!(
        "[[database]]\nname = \"town\"\nengine = \"{url}\"\ncatalogue = \"koha\"\nca = \"ca.pem\"\n"
    );
    let file = |name: &str| home.folder.path().join(name);
    fs::write(file("ca.pem"), ca).expect("written");
    fs::write(file("engine.password"), credentials.unwrap_or_default()).expect("written");
    if credentials.is_some() {
        text.push_str("credentials = \"engine.password\"\n");
    }
    fs::write(file("z3950d.toml"), text).expect("written");
    url
}

/// Examines the index in the same way as a user who has these files.
fn tried(home: &Home, url: &str, has_credentials: bool) -> Ran {
    let mut arguments = vec!["try-catalogue", url, "--ca", "ca.pem"];
    if has_credentials {
        arguments.extend(["--credentials", "engine.password"]);
    }
    home.run(&arguments)
}

#[test]
fn an_index_behind_tls_and_passwords_is_looked_at_and_searched() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "secure", Edition::Current, &made_up(20));
    let home = Home::new(&index, "catalogue = \"koha\"");
    let (tls, ca) = certified("127.0.0.1", 4000);
    let gate = Gate::open_tls(cluster.ports()[0], tls, only(BASIC));
    let url = set(&home, &index.name, &gate, &ca, Some("user:pass word\n"));
    let seen = tried(&home, &url, true);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let daemon = home.serve();
    let target = format!("{}/town", daemon.address());
    let found = z3950(["search", &target, "@attr 2=103 x", "--count", "0"]);
    assert_eq!(
        found.stdout,
        format!("{} {target}\n", shown(&index).count()),
        "{found:?}"
    );
    for wrong in [Some("user:wrong\n"), Some("ApiKey d3Jvbmc=\n"), None] {
        let url = set(&home, &index.name, &gate, &ca, wrong);
        let checked = home.run(&["--config", "z3950d.toml", "--check"]);
        for ran in [tried(&home, &url, wrong.is_some()), checked] {
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(
                ran.stderr.contains("the search engine denies access"),
                "{ran:?}"
            );
            let secrets = ["wrong", "d3Jvbmc", "pass word", "dXNlcj"];
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                !secrets.iter().any(|secret| all.contains(secret)),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn untrusted_certificates_are_reported() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "untrusted", Edition::Current, &made_up(1));
    let home = Home::new(&index, "catalogue = \"koha\"");
    for (host, year, is_trusted, words) in [
        ("127.0.0.1", 2001, true, "expired"),
        ("other.example", 4000, true, "not valid for"),
        ("127.0.0.1", 4000, false, "not signed by an authority"),
    ] {
        let (tls, own) = certified(host, year);
        let (_, other) = certified(host, year);
        let gate = Gate::open_tls(cluster.ports()[0], tls, |_| panic!("no request is sent"));
        let ca = if is_trusted { own } else { other };
        let url = set(&home, &index.name, &gate, &ca, Some("user:pass word\n"));
        let seen = tried(&home, &url, true);
        assert_eq!(seen.code, Some(2), "{seen:?}");
        let checked = home.run(&["--config", "z3950d.toml", "--check"]);
        assert_eq!(checked.code, Some(2), "{checked:?}");
        for ran in [seen, checked] {
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        }
    }
}
