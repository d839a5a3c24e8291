//! The databases at other servers, made of their settings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;

use z3950_front::remote::{RemoteDatabase, RemoteOptions};
use z3950_front::z3950::target::Endpoint;
use z3950_front::z3950::url::Host;
use z3950_front::z3950::{Client, target};

use crate::config::{Config, ListenAddress};
use crate::failure::{Failure, chain, complain};
use crate::profiles;

/// The databases. Nothing is sent yet. Of the known ones, those stay whose settings and profiles are the same.
///
/// # Errors
/// A file of profiles that cannot be read, or a target that is neither a profile nor an address, or this server itself.
pub(crate) fn open(
    config: &Config,
    known: &[Arc<RemoteDatabase>],
) -> Result<Vec<Arc<RemoteDatabase>>, Failure> {
    if config.remotes.is_empty() && config.target_profiles.is_none() {
        return Ok(Vec::new());
    }
    let profiles = profiles::read(config.target_profiles.as_deref());
    let profiles = profiles.map_err(|error| Failure::usage(chain(&error)))?;
    let client = Client::new().with_profiles(profiles);
    let remotes = config.remotes.iter().map(|options| {
        refuse_itself(config, options, &client)?;
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

/// Says where the records of the databases are.
pub(crate) fn tell(config: &Config) {
    for RemoteOptions { name, targets, .. } in &config.remotes {
        let targets: Vec<String> = targets.iter().map(|one| target::redacted(one)).collect();
        complain(&format_args!("database {name}: at {}", targets.join(", ")));
    }
}

/// # Errors
/// A target that is one of this server's listeners.
fn refuse_itself(config: &Config, options: &RemoteOptions, client: &Client) -> Result<(), Failure> {
    for text in &options.targets {
        // A target that cannot be resolved is reported later.
        let Ok(resolved) = client.profiles().resolve(text) else {
            continue;
        };
        if is_own(config, &resolved.endpoint) {
            let (name, target) = (&options.name, target::redacted(text));
            let words = format!("database {name}: the target {target} is this server itself");
            return Err(Failure::usage(words));
        }
    }
    Ok(())
}

/// Whether an address is one of this server's listeners.
pub(crate) fn is_own(config: &Config, endpoint: &Endpoint) -> bool {
    let mut listeners = config.listeners.iter();
    listeners.any(|listener| match (&listener.place, endpoint) {
        (ListenAddress::Unix(own), Endpoint::Unix(path)) => own == path,
        (ListenAddress::Unix(_), _) | (_, Endpoint::Unix(_)) => false,
        (ListenAddress::Address(place), _) => is_at(place, &endpoint.host(), endpoint.port()),
    })
}

/// Whether a host and port lead to the listener at `place`, by whichever of its names and addresses.
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
    let addresses = match own.is_empty() {
        true => Vec::new(),
        false => addresses(host),
    };
    addresses.into_iter().any(|address| {
        own.iter().any(|own| match own {
            // A listener at `[::]` also has the addresses of IPv4.
            own if own.is_unspecified() => {
                (own.is_ipv6() || address.is_ipv4()) && is_local(address)
            }
            own => *own == address || address.is_unspecified() && own.is_loopback(),
        })
    })
}

/// The addresses of a host without asking a name server about others: those of a name are only known if it is this machine's.
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

/// Whether a name is that of this machine, or its first label.
fn is_name_of(own: &str, name: &str) -> bool {
    let first = own.split('.').next().unwrap_or_default();
    !own.is_empty() && (own.eq_ignore_ascii_case(name) || first.eq_ignore_ascii_case(name))
}

/// The name of this machine.
fn own_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Whether an address is one of this machine's: only these can be bound to.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use z3950_front::z3950::url::Mode;

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
            // Documentation, at no machine.
            (any, "192.0.2.1", false),
            (any, "lib.example", false),
        ] {
            let parsed = Host::parse(host, Mode::Lenient).expect(host);
            assert_eq!(is_at(place, &parsed, 2100), expected, "{place} {host}");
        }
        // A machine may have a name that leads nowhere, or that no URL has.
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
