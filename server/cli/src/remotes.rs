//! The databases whose records are at other servers, created from their settings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;

use z3950_front::remote::{RemoteDatabase, RemoteOptions};
use z3950_front::z3950::profile::Resolved;
use z3950_front::z3950::target::Endpoint;
use z3950_front::z3950::url::{Host, Kind, Mode, Z3950Url};
use z3950_front::z3950::{Client, target};

use crate::config::{Config, ListenAddress, read_profiles};
use crate::failure::{Failure, chain, note};

/// Opens the databases without connecting to their targets. A database that is already open with the same settings and profiles
/// stays open.
///
/// # Errors
/// The profile file cannot be read, or a target is invalid: it is neither a profile nor an address, is this server itself,
/// contains a docid or credentials, or occurs twice.
pub(crate) fn open(
    config: &Config,
    known: &[Arc<RemoteDatabase>],
) -> Result<Vec<Arc<RemoteDatabase>>, Failure> {
    if config.remotes.is_empty() && config.target_profiles.is_none() {
        return Ok(Vec::new());
    }
    let client = client(config)?;
    let wrong = config.remotes.iter().flat_map(|options| {
        let faults = faults(config, options, &client).into_iter();
        faults.map(|words| format!("database {}: {words}", options.name))
    });
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        return Err(Failure::usage(wrong.join("; ")));
    }
    let remotes = config.remotes.iter().map(|options| {
        if let Some(same) = known.iter().find(|known| known.is_same(&client, options)) {
            return Ok(Arc::clone(same));
        }
        let database = RemoteDatabase::new(&client, options.clone());
        let database = database.map_err(|error| {
            Failure::usage(format!("database {}: {}", options.name, chain(&error)))
        })?;
        Ok(Arc::new(database))
    });
    remotes.collect()
}

/// Creates the client that connects to the targets.
///
/// # Errors
/// The profile file cannot be read.
fn client(config: &Config) -> Result<Client, Failure> {
    let profiles = read_profiles(config.target_profiles.as_deref());
    let profiles = profiles.map_err(|error| Failure::usage(chain(&error)))?;
    Ok(Client::new().with_profiles(profiles))
}

/// Prints the targets of the databases. For a target that is a profile, also prints its server.
pub(crate) fn tell(config: &Config) {
    let Ok(client) = client(config) else {
        // The caller reports this error, so it is ignored here.
        return;
    };
    for RemoteOptions { name, targets, .. } in &config.remotes {
        let targets = targets.iter().map(|text| {
            let shown = target::redacted(text);
            let is_profile = client.profiles().named(before_slash(text)).is_some();
            match client.profiles().resolve(text) {
                Ok(resolved) if is_profile => format!("{shown} ({})", resolved.endpoint),
                _ => shown,
            }
        });
        let targets: Vec<String> = targets.collect();
        note(&format_args!("database {name}: at {}", targets.join(", ")));
    }
}

/// Returns the errors in the targets of a database.
fn faults(config: &Config, options: &RemoteOptions, client: &Client) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known: Vec<(&str, Resolved)> = Vec::new();
    for text in &options.targets {
        let shown = target::redacted(text);
        if let Some(words) = misspelt(text, client) {
            faults.push(words);
            continue;
        }
        let resolved = match client.profiles().resolve(text) {
            Ok(resolved) => resolved,
            Err(error) => {
                faults.push(chain(&error));
                continue;
            }
        };
        if is_own(config, &resolved.endpoint) {
            faults.push(format!("the target {shown} is this server itself"));
        }
        if resolved.userinfo.is_some() {
            faults.push(format!(
                "the target {shown} has a user and password, which belong in a profile: target-profiles names the file"
            ));
        }
        let has_docid = z3950_url(text).is_some_and(|url| url.kind() == Kind::Retrieval);
        if has_docid {
            faults.push(format!(
                "the target {shown} is the URL of a record; that of a database begins with z39.50s:// and has no docid"
            ));
        }
        let mut known_targets = known.iter();
        match known_targets.find(|(_, known)| is_same(known, &resolved)) {
            Some((first, _)) if *first == text => {
                faults.push(format!("the target {shown} is listed twice"));
            }
            Some((first, _)) => {
                let first = target::redacted(first);
                faults.push(format!("the targets {first} and {shown} are the same"));
            }
            None => known.push((text, resolved)),
        }
    }
    faults
}

/// Returns an error message with a suggestion if the text before the first slash neither is the name of a profile nor looks like
/// an address.
fn misspelt(text: &str, client: &Client) -> Option<String> {
    let name = before_slash(text);
    let is_word = !name.is_empty() && !name.contains(['.', ':', '@', '[']);
    if !is_word || name == "localhost" || client.profiles().named(name).is_some() {
        return None;
    }
    let nearest = client.profiles().nearest(name);
    let hint = match nearest {
        Some((near, _)) => format!("; did you mean {near}? "),
        None => "; ".to_owned(),
    };
    Some(format!(
        "no profile is called {name}{hint}a host of that name is written {name}:210"
    ))
}

fn before_slash(text: &str) -> &str {
    text.split('/').next().unwrap_or_default()
}

fn z3950_url(text: &str) -> Option<Z3950Url> {
    Z3950Url::parse(text, Mode::Lenient).ok()
}

/// Returns whether two targets name the same databases at the same server.
fn is_same(one: &Resolved, other: &Resolved) -> bool {
    let names = |target: &Resolved| {
        let names = target.databases();
        let names = names
            .iter()
            .map(|name| name.0.to_string_lossy().to_lowercase());
        names.collect::<Vec<_>>()
    };
    one.endpoint == other.endpoint && one.proxy == other.proxy && names(one) == names(other)
}

/// Returns whether an address is one of this server's listeners.
pub(crate) fn is_own(config: &Config, endpoint: &Endpoint) -> bool {
    let mut listeners = config.listeners.iter();
    listeners.any(|listener| match (&listener.place, endpoint) {
        (ListenAddress::Unix(own), Endpoint::Unix(path)) => own == path,
        (ListenAddress::Unix(_), _) | (_, Endpoint::Unix(_)) => false,
        (ListenAddress::Address(place), _) => is_at(place, &endpoint.host(), endpoint.port()),
    })
}

/// Returns whether a host and port reach the listener at `place`, by any of the names and addresses of this machine.
fn is_at(place: &str, host: &Host, port: u16) -> bool {
    if port == 0 {
        return false;
    }
    if place.eq_ignore_ascii_case(&format!("{host}:{port}")) {
        return true;
    }
    let Ok(listener) = place.to_socket_addrs() else {
        return false;
    };
    let own: Vec<IpAddr> = listener
        .filter(|own| own.port() == port)
        .map(|own| own.ip().to_canonical())
        .collect();
    let addresses = if own.is_empty() {
        Vec::new()
    } else {
        addresses(host)
    };
    addresses.into_iter().any(|address| {
        own.iter().any(|own| match own {
            // A listener at `[::]` also accepts connections to all IPv4 addresses.
            own if own.is_unspecified() => {
                (own.is_ipv6() || address.is_ipv4()) && is_local(address)
            }
            own => *own == address || address.is_unspecified() && own.is_loopback(),
        })
    })
}

/// Returns the addresses of a host without asking a name server about other machines. A name is only resolved if it is a name of
/// this machine.
fn addresses(host: &Host) -> Vec<IpAddr> {
    let name = match host {
        Host::Ipv4(address) => return vec![IpAddr::V4(*address)],
        Host::Ipv6(address) => return vec![IpAddr::V6(*address).to_canonical()],
        Host::Name(name) => name.as_str(),
    };
    if name == "localhost" || name.ends_with(".localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    if !is_name_of(&own_name(), name) {
        return Vec::new();
    }
    let found = (name, 0).to_socket_addrs();
    let found = found.map(|found| found.map(|one| one.ip().to_canonical()).collect());
    found.unwrap_or_default()
}

/// Returns whether `name` is the host name `own` or its first label.
fn is_name_of(own: &str, name: &str) -> bool {
    let first = own.split('.').next().unwrap_or_default();
    !own.is_empty() && (own.eq_ignore_ascii_case(name) || first.eq_ignore_ascii_case(name))
}

/// Returns the name of this machine.
fn own_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Returns whether an address belongs to this machine. To find out, the function tries to bind a socket to the address.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(text: &str, folder: &Path) -> Config {
        Config::parse(text, folder).expect(text)
    }

    #[test]
    fn the_server_itself_is_known_by_each_of_its_addresses() {
        let name = own_name();
        let any = "0.0.0.0:2100";
        for (place, host, expected) in [
            ("127.0.0.1:2100", "127.0.0.1", true),
            ("127.0.0.1:2100", "[::ffff:127.0.0.1]", true),
            ("127.0.0.1:2100", "LocalHost.", true),
            ("127.0.0.1:2100", "cat.localhost", true),
            ("127.0.0.1:2100", "0.0.0.0", true),
            ("127.0.0.1:2100", "[::1]", false),
            ("127.0.0.1:2100", "127.0.0.2", false),
            ("127.0.0.1:2101", "127.0.0.1", false),
            ("127.0.0.1:2101", "localhost", false),
            ("[::1]:2100", "localhost", true),
            ("[::ffff:127.0.0.1]:2100", "127.0.0.1", true),
            ("localhost:2100", "127.0.0.1", true),
            ("localhost:2100", "localhost", true),
            ("lib.example:2100", "LIB.example", true),
            (any, "127.9.9.9", true),
            (any, "[::ffff:127.0.0.1]", true),
            (any, "[::1]", false),
            ("[::]:2100", "[::1]", true),
            ("[::]:2100", "127.0.0.1", true),
            // This address is reserved for documentation, so no machine has it.
            (any, "192.0.2.1", false),
            (any, "lib.example", false),
        ] {
            let parsed = Host::parse(host, Mode::Lenient).expect(host);
            assert_eq!(is_at(place, &parsed, 2100), expected, "{place} {host}");
        }
        // The name of this machine might not resolve, or might not be allowed in a URL. In both cases, it is not checked.
        let parsed = Host::parse(&name, Mode::Lenient).ok();
        let leads = (&*name, 0).to_socket_addrs().is_ok();
        if let Some(host) = parsed.filter(|_| leads) {
            let found = is_at(any, &host, 2100) || is_at("[::]:2100", &host, 2100);
            assert!(found, "{name}");
            assert!(!is_at("0.0.0.0:2101", &host, 2100), "{name}");
        }
        for (own, name, expected) in [
            ("desk", "desk", true),
            ("desk.lib.example", "DESK.lib.example", true),
            ("desk.lib.example", "desk", true),
            ("desk", "desk.lib.example", false),
            ("desk.lib.example", "lib", false),
            ("", "", false),
        ] {
            assert_eq!(is_name_of(own, name), expected, "{own} {name}");
        }
    }

    #[test]
    fn databases_that_lead_to_the_server_itself_are_refused_at_the_start() {
        let folder = tempfile::tempdir().expect("a folder");
        for target in [
            "127.0.0.1:2100/b",
            "[::ffff:127.0.0.1]:2100/b",
            "z39.50s://[::ffff:7f00:1]:2100/b",
            "localhost:2100/b",
            "http://localhost:2100/b",
        ] {
            let text = format!(
                "listen = [\"127.0.0.1:2100\"]\n[[database]]\nname = \"a\"\ntargets = [\"{target}\"]\n"
            );
            let config = config(&text, folder.path());
            let refused = open(&config, &[]).map(drop);
            let words = refused.expect_err(target).words;
            assert!(words.contains("is this server itself"), "{target}: {words}");
        }
    }

    #[test]
    fn targets_that_cannot_be_meant_are_refused_and_all_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let profiles = folder.path().join("targets.toml");
        let text = "[targets.town]\nhost = \"town.example\"\ndatabases = [\"cat\"]\n";
        std::fs::write(profiles, text).expect("written");
        for (targets, expected) in [
            ("\"town\", \"localhost:1/x\", \"host:210\"", &[][..]),
            (
                "\"twon\"",
                &[
                    "no profile is called twon; did you mean town? a host of that name is written twon:210",
                ],
            ),
            ("\"zzzzzzzz/b\"", &["no profile is called zzzzzzzz"]),
            ("\"town\", \"town\"", &["the target town is listed twice"]),
            (
                "\"town\", \"z39.50s://TOWN.example:210/cat\"",
                &["the targets town and z39.50s://TOWN.example:210/cat are the same"],
            ),
            (
                "\"z39.50r://lib.example/cat?x\"",
                &["the target z39.50r://lib.example/cat?x is the URL of a record"],
            ),
            (
                "\"z39.50s://u:secret@lib.example/cat\"",
                &["the target z39.50s://<redacted>@lib.example/cat has a user and password"],
            ),
            (
                "\"127.0.0.1:2100/a\", \"localhost:2100/b\", \"lib example\"",
                &[
                    "database a: the target 127.0.0.1:2100/a is this server itself",
                    "database a: the target localhost:2100/b is this server itself",
                    "lib example",
                ],
            ),
        ] {
            let text = format!(
                "listen = [\"127.0.0.1:2100\"]\ntarget-profiles = \"targets.toml\"\n[[database]]\nname = \"a\"\ntargets = [{targets}]\n"
            );
            let opened = open(&config(&text, folder.path()), &[]);
            let words = opened
                .err()
                .map(|failure| failure.words)
                .unwrap_or_default();
            assert_eq!(words.is_empty(), expected.is_empty(), "{targets}: {words}");
            for part in expected {
                assert!(words.contains(part), "{targets}: {words}");
            }
            assert!(!words.contains("secret"), "{words}");
        }
    }

    #[test]
    fn databases_stay_if_their_settings_and_profiles_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let profiles = folder.path().join("targets.toml");
        let write = |port: u16| {
            let text = format!("[targets.near]\nhost = \"127.0.0.1\"\nport = {port}\n");
            std::fs::write(&profiles, text).expect("written");
        };
        write(2100);
        let databases = |sessions: usize| {
            let text = format!(
                "target-profiles = \"targets.toml\"\n\
                 [[database]]\nname = \"a\"\ntargets = [\"near\"]\n\
                 [[database]]\nname = \"b\"\ntargets = [\"127.0.0.1:1/b\"]\nsessions = {sessions}\n"
            );
            config(&text, folder.path())
        };
        let stay = |known: &[Arc<RemoteDatabase>], config: &Config| -> Vec<bool> {
            let now = open(config, known).expect("usable");
            let pairs = known.iter().zip(&now);
            pairs.map(|(known, now)| Arc::ptr_eq(known, now)).collect()
        };
        let known = open(&databases(2), &[]).expect("usable");
        assert_eq!(stay(&known, &databases(2)), [true, true]);
        assert_eq!(stay(&known, &databases(3)), [true, false]);
        write(2101);
        assert_eq!(stay(&known, &databases(2)), [false, true]);
    }

    #[test]
    fn files_of_profiles_are_checked_without_databases_that_use_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = config("target-profiles = \"targets.toml\"", folder.path());
        let path = folder.path().join("targets.toml");
        let refused = || {
            open(&config, &[])
                .map(drop)
                .map_err(|failure| failure.words)
        };
        let missing = refused().expect_err("missing");
        assert!(missing.contains("targets.toml"), "{missing}");
        std::fs::write(&path, "[targets.near]\nhots = \"x\"\n").expect("written");
        let wrong = refused().expect_err("wrong");
        assert!(wrong.contains("hots"), "{wrong}");
        std::fs::write(&path, "[targets.near]\nhost = \"lib.example\"\n").expect("written");
        assert!(refused().is_ok());
    }
}
