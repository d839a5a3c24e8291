//! Tests of lists of profiles: the built-in list, and user files with faults.

use super::*;

fn of(text: &str) -> Result<Profiles, ProfileError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("targets.toml");
    std::fs::write(&path, text).expect("written");
    Profiles::default().with_file(&path)
}

#[test]
fn at_least_thirty_targets_come_with_the_program() {
    let File { targets } = toml::from_str(BUILT_IN).expect("a list of targets");
    assert!(targets.len() >= 30, "{}", targets.len());
    for (name, profile) in targets {
        assert!(
            profile.title.is_some() && profile.source.is_some(),
            "{name}"
        );
        assert!(!profile.databases.is_empty(), "{name}");
        // Each profile is found by its name, in any letter case, and by its address.
        let known = Profiles::built_in();
        let found = |text: &str| known.resolve(text).expect("a profile").name;
        assert_eq!(found(&name.to_uppercase()), Some(name.clone()));
        let place = format!("{}/{}", profile.endpoint(), profile.databases.join("+"));
        assert!(found(&place).is_some(), "{place}");
    }
}

#[test]
fn servers_of_sru_come_with_the_program() {
    let known = Profiles::built_in();
    let sru = known
        .iter()
        .filter(|(_, entry)| entry.profile.sru.is_some());
    assert!(sru.count() >= 10);
    for (text, name, endpoint) in [
        (
            "https://services.dnb.de/sru/zdb",
            "zdb",
            "https://services.dnb.de",
        ),
        (
            "http://lx2.loc.gov:210/LCDB",
            "loc-sru",
            "http://lx2.loc.gov:210",
        ),
        ("lx2.loc.gov/LCDB", "loc", "lx2.loc.gov:210"),
        ("kb", "kb", "http://jsru.kb.nl"),
    ] {
        let resolved = known.resolve(text).expect(text);
        assert_eq!(resolved.name.as_deref(), Some(name));
        assert_eq!(resolved.endpoint.to_string(), endpoint);
    }
}

#[test]
fn targets_are_found_by_name_and_by_host() {
    let profiles = of(
        "[targets.Lib]\nhost='lib.example'\nport=2100\ndatabases=['books','maps']\n\
         [targets.lib-serials]\nhost='LIB.example'\nport=2100\ndatabases=['serials']\n\
         [targets.safe]\nhost='safe.example'\ntls=true\n",
    )
    .expect("profiles");
    for (text, found) in [
        ("lib", "Lib lib.example:2100 books+maps"),
        ("LIB/maps", "Lib lib.example:2100 maps"),
        ("lib.example:2100", "Lib lib.example:2100 books+maps"),
        (
            "lib.example:2100/Serials",
            "lib-serials lib.example:2100 Serials",
        ),
        ("lib.example:2100/other", "Lib lib.example:2100 other"),
        (
            "z39.50s://lib.example:2100/maps",
            "Lib lib.example:2100 maps",
        ),
        ("lib.example", "- lib.example:210 "),
        ("safe", "safe ssl:safe.example:210 "),
        ("ssl:safe.example", "safe ssl:safe.example:210 "),
        ("safe.example", "- safe.example:210 "),
        // A URL cannot request TLS, so the profile decides.
        ("z39.50s://safe.example/", "safe ssl:safe.example:210 "),
        (
            "z39.50r://safe.example:2100/cat?id7",
            "- safe.example:2100 cat",
        ),
        ("nosuch", "- nosuch:210 "),
        ("a b", "a b is not a target"),
    ] {
        let shown = match profiles.resolve(text) {
            Ok(resolved) => {
                let names = resolved.databases.iter();
                let names: Vec<_> = names.map(|name| name.0.to_string_lossy()).collect();
                let name = resolved.name.as_deref().unwrap_or("-");
                format!("{name} {} {}", resolved.endpoint, names.join("+"))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, found, "{text}");
    }
}

#[test]
fn audit_d15_an_unknown_name_has_a_suggestion() {
    let profiles = Profiles::built_in();
    for (name, found) in [
        ("congres", Some("loc")),
        ("locs", Some("loc")),
        ("sudok", Some("sudoc")),
        ("x", None),
        ("nowhere.example", None),
    ] {
        let nearest = profiles.nearest(name).map(|(name, _)| name);
        assert_eq!(nearest, found, "{name}");
    }
}

#[test]
fn an_hour_is_the_longest_pause() {
    let profiles = of("[targets.a]\nhost='a'\npause=3600.0\nsessions=1\nchunk=1\n");
    let profiles = profiles.expect("profiles");
    let (_, entry) = profiles.named("a").expect("a target");
    assert_eq!(entry.profile.pause, Some(super::super::MAX_PAUSE));
}

#[test]
fn faults_of_a_file_have_a_line() {
    for (text, line, words) in [
        ("[targets.a]\nport=1\n", "line 1", "host"),
        ("[targets.a]\nhost='a b'\n", "line 2", "not a host"),
        (
            "[targets.a]\nhost='a'\nrecord_syntax='nosuch'\n",
            "line 3",
            "not the name of a known record syntax",
        ),
        (
            "[targets.a]\nhost='a'\nrecord_charset='nosuch'\n",
            "line 3",
            "character set",
        ),
        (
            "[targets.a]\nhost='a'\nattributes=['x']\n",
            "line 3",
            "not an attribute",
        ),
        ("[targets.a]\nhost='a'\npause=-1.0\n", "line 3", "seconds"),
        (
            "[targets.a]\nhost='a'\npause=3600.5\n",
            "line 3",
            "0 to 3600 seconds",
        ),
        (
            "[targets.a]\nhost='a'\nsessions=0\n",
            "line 3",
            "at least 1",
        ),
        ("[targets.a]\nhost='a'\nchunk=0\n", "line 3", "at least 1"),
        (
            "[targets.a]\nhost='a'\nattributes=['1=99999999999999999999']\n",
            "line 3",
            "the number is too large",
        ),
        ("[targets.a]\nhost='a'\nhots='b'\n", "line 3", "hots"),
        (
            "[targets.a]\nhost='a'\npassword='secret'\n",
            "line 3",
            "password",
        ),
        ("[targets.a\n", "line 1", ""),
    ] {
        let error = of(text).expect_err(text).to_string();
        assert!(error.contains(line) && error.contains(words), "{error}");
    }
}
