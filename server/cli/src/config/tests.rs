//! Tests of reading settings files, and of the errors in them with their lines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use z3950_asn1::apdu::{Options, ProtocolVersion};
use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION, USE};
use z3950_front::engine::IndexUses;
use z3950_front::engine::catalogue::CatalogueOptions;
use z3950_front::engine::opensearch::ClusterOptions;
use z3950_server::memory::UnsupportedPolicy;

use super::*;
use crate::args::Arguments;

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("/etc")).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

/// Returns the template with all commented-out settings enabled. Explanations begin with `#` and a space; settings begin with `#`
/// without a space.
fn uncommented() -> String {
    let template = template();
    let lines = template.lines().map(|line| match line.strip_prefix('#') {
        Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_gateway_is_closed_unless_the_settings_open_it() {
    let gateway = parse("").gateway.expect("a gateway");
    assert_eq!(gateway, GatewayOptions::default());
    assert!(gateway.targets.is_closed());
    assert!(parse("[gateway]\nenabled = false").gateway.is_none());
    let open = parse("[gateway]\nopen = true\ntargets = \"loc\"");
    assert!(open.gateway.expect("a gateway").targets.open);
    for (text, words) in [
        (
            "targets = [\"http://a.example/\"]",
            "targets: http://a.example/ is an address of SRU",
        ),
        ("targets = [\"a b\"]", "targets: a b is not written host"),
        ("targets = [1]", "targets holds a value that is not a text"),
        ("names = [\"a b\"]", "names: "),
        ("time = 0", "time must be at least 1ms"),
        ("octets = 1023", "octets must be at least 1024"),
        ("requests = 0", "requests must be at least 1"),
        (
            "requests-per-address = 0",
            "requests-per-address must be at least 1",
        ),
        ("open = 1", "open is not true or false"),
    ] {
        let text = format!("[gateway]\n{text}");
        let errors = Config::parse(&text, Path::new("/etc")).expect_err(&text);
        let [(2, reason)] = &*errors else {
            panic!("{text}: {errors:?}")
        };
        assert!(reason.contains(words), "{reason}");
    }
}

#[test]
fn the_template_is_valid() {
    let config = parse(&template());
    let places: Vec<_> = config
        .listeners
        .iter()
        .map(|at| at.place.to_string())
        .collect();
    assert_eq!(places, ["127.0.0.1:2100"]);
    assert!(config.demo && config.databases.is_empty() && config.faults.is_empty());
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.offer, Config::default().offer);
    assert_eq!(config.profile, Profile::default());
}

#[test]
fn the_template_is_read_with_every_setting() {
    let config = parse(&uncommented());
    let places: Vec<_> = config
        .listeners
        .iter()
        .map(|listener| (listener.place.to_string(), listener.tls.is_some()))
        .collect();
    let expected = [("127.0.0.1:2100", false), ("0.0.0.0:2101", true)];
    assert_eq!(places, expected.map(|(place, tls)| (place.to_owned(), tls)));
    let tls = config.listeners[1].tls.as_ref().expect("with TLS");
    assert_eq!(tls.key, Path::new("/etc/server.key"));
    assert_eq!(tls.clients, Some(("/etc/clients.pem".into(), false)));
    let [books] = &*config.databases else {
        panic!("{:?}", config.databases)
    };
    assert_eq!(
        books.paths,
        [Path::new("/etc/books.mrc"), Path::new("/etc/more")]
    );
    assert_eq!(books.save.as_deref(), Some(Path::new("/etc/saved.mrc")));
    // The template says that its comments show the defaults, so every option must have its default value, except the
    // targets, which are only an example.
    let gateway = config.gateway.expect("a gateway");
    assert!(!gateway.targets.is_closed() && !gateway.targets.open);
    let mut expected = GatewayOptions::default();
    expected.targets = gateway.targets.clone();
    assert_eq!(gateway, expected);
    let mut limits = Limits::default();
    limits.sessions_per_address = Some(100);
    limits.server_octets = Some(256 << 20);
    assert_eq!(config.limits, limits);
    assert_eq!(config.tasks, TaskLimits::default());
    assert_eq!(config.journal_octets, Some(16 << 20));
    assert_eq!(config.offer.versions, ProtocolVersion::UP_TO_3);
    assert!(config.offer.options.contains(Options::SCAN));
    assert_eq!(config.offer.ask_above, Some(10_000));
    assert!(!config.access.anonymous && !config.access.anyone_may_update);
    assert_eq!(config.access.users.len(), 3);
    assert!(config.access.users[1].password_hash.is_some());
    assert_eq!(config.access.users[0].update, Some(true));
    assert_eq!(
        config.access.users[0].databases,
        Some(vec!["books".to_owned()])
    );
    let expected = Profile::default()
        .only(USE, [4, 1003, 1016, 1032])
        .suppose(USE, 1016)
        .all_but(RELATION, [100, 101])
        .others(POSITION, UnsupportedPolicy::Ignore)
        .suppose(STRUCTURE, 1)
        .all_but(TRUNCATION, [102])
        .others(TRUNCATION, UnsupportedPolicy::Ignore)
        .only(COMPLETENESS, [1]);
    assert_eq!(config.profile, expected);
    let shelf = config.access_points.rows().last().expect("one more row");
    assert_eq!((&*shelf.name, &*shelf.uses), ("shelf", &[20, 53][..]));
    assert!(!config.faults.is_empty() && config.imitate.is_some());
    assert_eq!(config.replay.as_deref(), Some(Path::new("/etc/said.jsonl")));
    assert_eq!(
        config.transcript.as_deref(),
        Some(Path::new("/etc/transcript.jsonl"))
    );
}

/// The keys of each kind of table. All `[profile.…]` tables are of one kind.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// Returns the kind of the table with this header, the kind of the table above it, and the table's key in the table above it.
fn kind(header: &str) -> (String, String, String) {
    let name = header.trim_matches(['[', ']']);
    match name.rsplit_once('.') {
        Some((above, key)) if above == "profile" => {
            ("profile.*".to_owned(), above.to_owned(), key.to_owned())
        }
        Some((above, key)) => (name.to_owned(), above.to_owned(), key.to_owned()),
        None => (name.to_owned(), String::new(), name.to_owned()),
    }
}

#[test]
fn the_template_has_every_setting() {
    let text = uncommented();
    let mut written = Keys::new();
    let mut kinds = vec![String::new()];
    let mut with_stranger = vec!["stranger = 1"];
    for line in text.lines() {
        with_stranger.push(line);
        let current = kinds.last().cloned().unwrap_or_default();
        if line.starts_with('[') {
            let (name, above, key) = kind(line);
            written.entry(above).or_default().insert(key);
            kinds.push(name);
            with_stranger.push("stranger = 1");
        } else if let Some((key, _)) = line.split_once(" = ")
            && !line.starts_with('#')
        {
            written.entry(current).or_default().insert(key.to_owned());
        }
    }
    // The error for an unknown key lists all known keys.
    let errors = Config::parse(&with_stranger.join("\n"), Path::new("")).expect_err("strangers");
    assert_eq!(errors.len(), kinds.len(), "{errors:#?}");
    let mut known = Keys::new();
    for ((_, reason), kind) in errors.iter().zip(&kinds) {
        let (_, keys) = reason.split_once("; known keys: ").expect("the keys");
        let keys = keys.split(", ").map(str::to_owned);
        known.entry(kind.clone()).or_default().extend(keys);
    }
    assert!(
        known.len() >= 10 && known.values().flatten().count() > 90,
        "{known:?}"
    );
    assert_eq!(written, known);
}

/// Checks that the defaults in the template equal the server's defaults; settings that have an example instead of a default are
/// left out.
#[test]
fn the_defaults_of_the_template_are_those_of_the_server() {
    let config = parse(&uncommented());
    let mut access = config.access;
    access.users.clear();
    access.blocked.clear();
    access.challenge = None;
    assert_eq!(access, Access::default());
    let (mut offer, default) = (config.offer, Config::default().offer);
    offer.options = default.options;
    offer.implementation_id = None;
    offer.implementation_version = default.implementation_version.clone();
    offer.ask_above = None;
    assert_eq!(offer, default);
    let [union] = &*config.remotes else {
        panic!("{:?}", config.remotes)
    };
    assert_eq!(*union, RemoteOptions::new("union", &union.targets));
    let [million] = &*config.clusters else {
        panic!("{:?}", config.clusters)
    };
    let expected = ClusterOptions::new("million", million.options.addresses.clone());
    assert_eq!(million.options, expected);
    assert_eq!(million.uses, IndexUses::default());
    let [library] = &*config.catalogues else {
        panic!("{:?}", config.catalogues)
    };
    let expected = CatalogueOptions::new("library", library.options.addresses.clone());
    assert_eq!(library.options, expected);
    let default = Config::default();
    assert_eq!(config.docid, default.docid);
    assert_eq!(config.access_log_format, default.access_log_format);
    assert_eq!((config.page, config.replay_in_order), (true, false));
}

/// Checks that the help of an option equals the comment in the template.
#[test]
fn the_help_of_an_option_is_the_explanation_of_its_key() {
    let command = Arguments::command();
    let template = template();
    let lines: Vec<_> = template.lines().collect();
    let mut options = 0;
    for setting in given::settings() {
        let plain = setting.options.iter().find(|option| option.help.is_empty());
        let Some(option) = plain.map(|option| option.name) else {
            continue;
        };
        options += 1;
        let mut arguments = command.get_arguments();
        let argument = arguments.find(|known| known.get_long() == Some(option));
        let help = argument.and_then(clap::Arg::get_help).expect(option);
        let help = help.to_string();
        let key = format!("{} = ", setting.key);
        let is_explained = lines.iter().enumerate().any(|(place, line)| {
            let above = lines[..place].iter().rev();
            let mut explanation: Vec<_> = above.map_while(|line| line.strip_prefix("# ")).collect();
            explanation.reverse();
            let explanation = explanation.join(" ");
            let expected = match option.strip_prefix("no-") {
                Some(_) => explanation.replacen("Serve", "Do not serve", 1),
                None => explanation,
            };
            let expected = expected.trim_end_matches('.');
            let is_key = line.trim_start_matches('#').starts_with(&key);
            is_key && !expected.is_empty() && help.starts_with(expected)
        });
        assert!(is_explained, "{option}: {help}");
    }
    assert!(options > 20, "{options}");
}

#[test]
fn r_f10_an_option_has_the_name_of_its_key_and_other_names_are_accepted() {
    let mut others = 0;
    for setting in given::settings() {
        let options = setting.options.iter();
        for option in options.filter(|option| option.own.is_none()) {
            let name = option.name.strip_prefix("no-").unwrap_or(option.name);
            assert_eq!(name, setting.key);
        }
        others += setting.aliases.len();
    }
    assert!(others > 5, "{others}");
    for (table, other, key, value) in [
        ("[limits]", "max-sessions", "sessions", "7"),
        (
            "[limits]",
            "max-sessions-per-address",
            "sessions-per-address",
            "3",
        ),
        ("[limits]", "idle-timeout", "idle-time", "\"3s\""),
        ("[limits]", "drain", "drain-time", "2"),
        ("[log]", "access", "access-log", "\"a.log\""),
        ("[log]", "access-format", "access-log-format", "\"json\""),
        ("[log]", "apdus", "apdu-log", "\"b.log\""),
        (
            "[[listener]]\naddress = \"127.0.0.1:1\"\nclients = \"required\"\ncertificate = \"c\"\nkey = \"k\"",
            "authorities",
            "client-authorities",
            "\"ca.pem\"",
        ),
    ] {
        let of = |key| format!("{:?}", parse(&format!("{table}\n{key} = {value}")));
        assert_eq!(of(other), of(key), "{other}");
        assert_ne!(of(key), format!("{:?}", parse("")), "{key} does something");
        assert!(!template().contains(&format!("#{other} = ")), "{other}");
        let both = format!("{table}\n{key} = {value}\n{other} = {value}");
        let refused = Config::parse(&both, Path::new("")).expect_err(&both);
        let words = format!("{other} is another name of {key}, which is given too");
        assert!(refused[0].1.ends_with(&words), "{refused:?}");
    }
    let known = Config::parse("[log]\naccesss = \"x\"", Path::new("")).expect_err("unknown");
    assert!(!known[0].1.contains("apdus"), "{known:?}");
}

/// Checks that options are applied after the file, and that their help shows the values from the file as defaults.
#[test]
fn an_option_takes_precedence_over_its_key() {
    let words = "z3950d --demo --no-page --docid 035$a --upstream-ca ca.pem --upstream a:1 --max-sessions 7 \
                 --max-sessions-per-address 3 --idle-timeout 0 --drain 1.5 --anyone-may-update --access-log - \
                 --access-log-format json --judge a --judge b --status unix:s";
    let arguments = Arguments::try_parse_from(words.split_whitespace()).expect(words);
    let mut config = parse(
        "page = true\ndocid = \"001\"\nupstream = \"b:2\"\nstatus = \"unix:t\"\n[limits]\nsessions = 8\n\
         idle-time = 3\n[log]\naccess = \"-\"\njudge = \"c\"\napdus = \"apdus\"",
    );
    assert_eq!(config.access_log.as_deref(), Some(Path::new("-")));
    assert_eq!(config.status, "unix:/etc/t".parse().ok());
    arguments.given.apply(&mut config);
    assert!(config.demo && !config.page && config.access.anyone_may_update);
    assert_eq!(config.docid, "035$a".parse().expect("a field"));
    assert_eq!(config.upstream_ca.as_deref(), Some(Path::new("ca.pem")));
    assert_eq!(config.upstream.as_deref(), Some("a:1"));
    let limits = &config.limits;
    assert_eq!((limits.sessions, limits.sessions_per_address), (7, Some(3)));
    assert_eq!(limits.idle_time, None);
    assert_eq!(limits.drain_time, Duration::from_millis(1500));
    assert_eq!(config.access_log_format, LogFormat::Json);
    assert_eq!(config.judge, [Path::new("a"), Path::new("b")]);
    assert_eq!(config.apdu_log.as_deref(), Some(Path::new("/etc/apdus")));
    assert_eq!(config.status, "unix:s".parse().ok());
    assert!(arguments.given.has("no-page") && !arguments.given.has("replay"));
    let help = Arguments::command().render_long_help().to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for default in ["1000", "900", "0.5", "001", "text"] {
        assert!(help.contains(&format!("[default: {default}]")), "{help}");
    }
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = parse("");
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.profile, Profile::default());
    assert!(config.listeners.is_empty() && config.faults.is_empty() && !config.demo);
    let never = parse("[limits]\nidle-time = \"never\"\noperation-time = \"never\"").limits;
    assert_eq!((never.idle_time, never.operation_time), (None, None));
    let long = parse("[limits]\nidle-time = 99999999999").limits.idle_time;
    assert!(
        long.is_some_and(|time| time > Duration::from_secs(1 << 33)),
        "{long:?}"
    );
}

#[test]
fn every_limit_has_a_key() {
    let keys: BTreeSet<_> = limits::LIMITS
        .settings
        .iter()
        .map(|setting| setting.key)
        .collect();
    let fields = include_str!("../../../src/limits.rs").lines();
    let fields: Vec<_> = fields
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "))
        .collect();
    assert!(fields.len() > 20, "{fields:?}");
    for (field, _) in fields {
        let key = field.replace('_', "-");
        assert!(keys.contains(&*key), "{key}");
    }
}

#[test]
fn every_error_has_its_line() {
    let check = |text: &str, expected: &[(usize, &str)]| {
        let errors = Config::parse(text, Path::new("")).expect_err(text);
        let found: Vec<_> = errors
            .iter()
            .map(|(line, reason)| (*line, reason.as_str()))
            .collect();
        let all = found.len() == expected.len()
            && found
                .iter()
                .zip(expected)
                .all(|(found, expected)| found.0 == expected.0 && found.1.starts_with(expected.1));
        assert!(all, "{text}\n{found:#?}");
    };
    check("listen = 3", &[(1, "listen: expected an address such as")]);
    check(
        "listen = [\"127.0.0.1:2100\",\n\"nowhere\"]",
        &[(2, "listen: expected an address such as")],
    );
    check(
        "demo = 1\ncolour = 2",
        &[
            (1, "demo is not true or false"),
            (2, "unknown key \"colour\"; known keys: "),
        ],
    );
    check(
        "[limits]\nsessions = \"many\"\nidle-time = \"soon\"\napdu-size = -1\nsesions = 3",
        &[
            (2, "[limits] sessions is not a number"),
            (
                3,
                "[limits] idle-time is not a time such as \"15m\", or never",
            ),
            (4, "[limits] apdu-size is not a number of octets"),
            (5, "[limits] unknown key \"sesions\""),
        ],
    );
    check(
        "[limits]\nsession-octets = \"1MiB\"\napdu-size = \"65537\"\nexceptional-record-size = 524288\npreferred-message-size = 1024",
        &[(
            1,
            "[limits] apdu-size is 65537, which takes up to 16 times as many octets, but",
        )],
    );
    check(
        "[[database]]\nfiles = [\"a\", 2]",
        &[
            (1, "[[database]] name is missing"),
            (2, "[[database]] files holds a value that is not a path"),
        ],
    );
    check(
        "[[database]]\nname = \"a\"\nfiles = [\"x\"]\n[[database]]\nname = \"A\"\nfiles = \"y\"\ndocid = \"9\"",
        &[
            (4, "[[database]] a database of this name already exists"),
            (7, "[[database]] docid: expected a control field"),
        ],
    );
    check(
        "[[listener]]\naddress = \"127.0.0.1:1\"\ncertificate = \"c\"\n[[listener]]\naddress = \"127.0.0.1:1\"\nclients = \"required\"",
        &[
            (1, "[[listener]] TLS takes both"),
            (4, "[[listener]] clients are asked for certificates, but"),
        ],
    );
    check(
        "[offer]\noptions = [\"serch\"]\nversions = 4",
        &[
            (2, "[offer] options holds"),
            (3, "[offer] versions is not 1, 2 or 3"),
        ],
    );
    check(
        "[access]\nblocked = [\"here\"]\n[[access.user]]\nsessions = 1",
        &[
            (2, "[access] blocked holds"),
            (3, "[[access.user]] name is missing"),
        ],
    );
    check(
        "[profile]\nbase = \"voyager\"\nuse = { only = [\"title\"] }",
        &[
            (2, "[profile] base is not bib-1"),
            (3, "[profile.use] only holds a value that is not a number"),
        ],
    );
    check(
        "[profile.use]\nonly = [4]\nall-but = [5]",
        &[(1, "[profile.use] only and all-but cannot both")],
    );
    check(
        "[[index]]\nname = \"x\"\nkind = \"y\"",
        &[
            (1, "[[index]] an index that no field feeds"),
            (3, "[[index]] kind is not a kind of index"),
        ],
    );
    check(
        "faults = [\"on search: delay\"]",
        &[(1, "faults: a time such as 500ms is missing at character 17")],
    );
    check(
        "[[fault]]\non = \"serch\"\nnth = 0\ndo = \"silence\"",
        &[
            (1, "[[fault]] nth: \"0\" where a number from 1"),
            (2, "[[fault]] on: no request \"serch\""),
        ],
    );
    check(
        "[[fault]]\non = \"search\"",
        &[(1, "[[fault]] do is missing")],
    );
    check("imitate = \"aleph\"", &[(1, "imitate: ")]);
    check(
        "[[fault]]\ndo = \"silence\"\ndocid = \"\"\nsyntax = \"\"",
        &[(1, "[[fault]] syntax: no record syntax \"\"")],
    );
    check("limits = 3", &[(1, "limits is not a table")]);
    check("a = \nb = ]", &[(1, ""), (2, "")]);
}

/// Each limit is accepted at its minimum. A smaller value is refused with an error that names the minimum.
#[test]
fn a_limit_that_prevents_all_service_is_refused() {
    for (key, less, least, words) in [
        ("sessions", "0", "1", "1"),
        ("sessions-per-address", "0", "1", "1"),
        ("apdu-size-before-init", "1023", "1024", "1024"),
        ("apdu-size", "0", "1024", "1024"),
        ("preferred-message-size", "1023", "1024", "1024"),
        ("exceptional-record-size", "1023", "1024", "1024"),
        ("server-octets", "1048575", "1048576", "1048576"),
        ("result-set-name", "6", "7", "7"),
        ("records-per-response", "0", "1", "1"),
        ("segments", "0", "1", "1"),
        ("databases-per-search", "0", "1", "1"),
        ("result-sets", "0", "1", "1"),
        ("hits", "0", "1", "1"),
        ("scan-terms", "0", "1", "1"),
        ("sort-keys", "0", "1", "1"),
        ("sorted-records", "0", "1", "1"),
        ("concurrent-operations", "0", "1", "1"),
        ("large-answers", "0", "1", "1"),
        ("sessions-per-request", "0", "1", "1"),
        ("refusals", "0", "1", "1"),
        ("refused-addresses", "0", "1", "1"),
        ("journal-octets", "0", "1", "1"),
        ("init-time", "0", "\"1ms\"", "1ms"),
        ("operation-time", "0", "\"1ms\"", "1ms"),
        ("idle-time", "0", "\"1ms\"", "1ms"),
        ("write-time", "0", "\"1ms\"", "1ms"),
    ] {
        let text = |value: &str| format!("[limits]\nwaiting = 0\n{key} = {value}");
        let refused = Config::parse(&text(less), Path::new("")).expect_err(key);
        let expected = format!("[limits] {key} must be at least {words}");
        assert_eq!(refused, [(3, expected)]);
        let accepted = Config::parse(&text(least), Path::new(""));
        assert!(accepted.is_ok(), "{key}: {accepted:?}");
    }
}

#[test]
fn an_unreadable_file_is_reported() {
    let (config, errors) = Config::read(Path::new("/nonexistent.toml"));
    assert!(config.is_none());
    let errors = errors.join("\n");
    assert!(
        errors.to_string().starts_with("/nonexistent.toml: "),
        "{errors}"
    );
}
