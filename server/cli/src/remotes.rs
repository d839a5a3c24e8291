//! The databases at other servers, made of their settings.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use z3950_front::remote::{RemoteDatabase, RemoteOptions};
use z3950_front::z3950::target::Endpoint;
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
    let (host, port) = (endpoint.host().to_string(), endpoint.port());
    let mut listeners = config.listeners.iter();
    listeners.any(|listener| match (&listener.place, endpoint) {
        (ListenAddress::Unix(own), Endpoint::Unix(path)) => own == path,
        (ListenAddress::Unix(_), _) | (_, Endpoint::Unix(_)) => false,
        (ListenAddress::Address(place), _) => match place.parse::<SocketAddr>() {
            Ok(own) => own.port() == port && port != 0 && is_same_host(own, &host),
            Err(_) => *place == format!("{host}:{port}"),
        },
    })
}

fn is_same_host(own: SocketAddr, host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    match address {
        Ok(address) => own.ip() == address || (own.ip().is_unspecified() && address.is_loopback()),
        Err(_) => host == "localhost" && (own.ip().is_loopback() || own.ip().is_unspecified()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(text: &str, folder: &Path) -> Config {
        Config::parse(text, folder).expect(text)
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
