//! Tests of nodes behind TLS and passwords, with correct and wrong credentials and with untrusted certificates.

use std::fs;

use z3950_tests::opensearch::Cluster;
use z3950_tests::opensearch::gate::{Gate, Passage, certified};
use z3950_tests::program::{Daemon, z3950};

use super::{Home, assert_ran};

/// Returns a function that accepts only requests whose Authorization field has this value.
pub(in crate::interop) fn only(value: &'static str) -> impl Fn(&str) -> Passage {
    move |head| {
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let mut values = fields.filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        match values.next() {
            Some((_, given)) if given == value => Passage::Through,
            Some(_) => Passage::Refused(403),
            None => Passage::Refused(401),
        }
    }
}

/// The value of Authorization for the user `user` with the password `pass word`.
pub(in crate::interop) const BASIC: &str = "Basic dXNlcjpwYXNzIHdvcmQ=";

/// Writes settings for a gate with TLS, and the files that the settings name.
fn set(home: &Home<'_>, gate: &Gate, ca: &str, credentials: Option<&str>) {
    let mut text = format!(
        "[[database]]\nname = \"books\"\nengine = \"https://127.0.0.1:{}/{}\"\nca = \"ca.pem\"\n",
        gate.port, home.index
    );
    fs::write(home.file("ca.pem"), ca).expect("written");
    if let Some(credentials) = credentials {
        fs::write(home.file("engine.password"), credentials).expect("written");
        text.push_str("credentials = \"engine.password\"\n");
    }
    fs::write(home.settings(), text).expect("written");
}

#[test]
fn audit_r_l1_nodes_with_tls_and_passwords_are_loaded_and_searched() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    for (header, credentials) in [
        (BASIC, "user:pass word\n"),
        ("ApiKey a2V5OnNlY3JldA==", "ApiKey a2V5OnNlY3JldA==\n"),
    ] {
        let home = Home::new(cluster, "secure");
        let (tls, ca) = certified("127.0.0.1", 4000);
        let gate = Gate::open_tls(cluster.ports()[0], tls, only(header));
        set(&home, &gate, &ca, Some(credentials));
        home.write("all.mrc", "war", 1..=20);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
        assert_ran(&home.run(&["--check"]), 0, &[]);
        let settings = home.settings();
        let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
        let target = format!("{}/books", daemon.address());
        let found = z3950(["search", &target, "ti:war", "--count", "0"]);
        assert_eq!(found.stdout, format!("20 {target}\n"), "{found:?}");
        drop(daemon);
        for wrong in [Some("user:wrong\n"), Some("ApiKey d3Jvbmc=\n"), None] {
            set(&home, &gate, &ca, wrong);
            for arguments in [&["--check"][..], &["load", "all.mrc"]] {
                let refused = home.run(arguments);
                assert_ran(&refused, 2, &["the search engine denies access"]);
                let secrets = ["wrong", "d3Jvbmc", "pass word", "dXNlcj"];
                assert!(
                    !secrets.iter().any(|secret| refused.stderr.contains(secret)),
                    "{refused:?}"
                );
            }
        }
    }
}

#[test]
fn audit_r_l1_untrusted_certificates_are_reported() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "untrusted");
    home.write("all.mrc", "war", 1..=20);
    for (host, year, is_trusted, words) in [
        ("127.0.0.1", 2001, true, "expired"),
        ("other.example", 4000, true, "not valid for"),
        ("127.0.0.1", 4000, false, "not signed by an authority"),
    ] {
        let (tls, own) = certified(host, year);
        let (_, other) = certified(host, year);
        let gate = Gate::open_tls(cluster.ports()[0], tls, |_| panic!("no request is sent"));
        let ca = if is_trusted { own } else { other };
        set(&home, &gate, &ca, Some("user:pass word\n"));
        // The server would start, because the node may be replaced later, but the check fails.
        let checked = home.run(&["--check"]);
        assert_ran(&checked, 2, &[words]);
        let loaded = home.run(&["load", "all.mrc"]);
        assert_ran(&loaded, 1, &[words]);
    }
    assert_eq!(cluster.ask("GET", &format!("/{}", home.index), "").0, 404);
}

/// Anybody who can read the traffic learns the credentials, so a warning is printed, except for connections within one machine.
#[test]
fn audit_r_l1_credentials_that_others_can_read_are_warned_of() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "exposed");
    home.write("all.mrc", "war", 1..=20);
    fs::write(home.file("engine.password"), "user:pass word\n").expect("written");
    let gate = Gate::open(cluster.ports()[0], only(BASIC));
    // A connection to 0.0.0.0 reaches this machine, but 0.0.0.0 is not a loopback address.
    for (host, is_exposed) in [("127.0.0.1", false), ("0.0.0.0", true)] {
        let url = format!("http://{host}:{}/{}", gate.port, home.index);
        let text = format!(
            "[[database]]\nname = \"books\"\nengine = {url:?}\ncredentials = \"engine.password\"\n"
        );
        fs::write(home.settings(), text).expect("written");
        for arguments in [&["load", "all.mrc"][..], &["--check"]] {
            let ran = home.run(arguments);
            assert_ran(&ran, 0, &["20 records"]);
            let is_warned = ran.stderr.contains("without encryption");
            assert_eq!(is_warned, is_exposed, "{ran:?}");
        }
    }
}
