//! From the text of a target to an open session: its profile, its ways and its credentials.

use std::ffi::OsStr;
use std::fmt;

use z3950_asn1::apdu::{DatabaseName, Operand, RpnQuery, RpnStructure, Term};
use z3950_asn1::charset::Charset;
use z3950_asn1::oid::{Oid, USMARC};

use super::args::{Asked, Connection};
use super::exit::Exit;
use super::output::{Failure, Output};
use super::{client, connection, explain, timeouts};
use crate::TargetLimits;
use crate::client::{Client, ClientOptions, Lease};
use crate::error::Error;
use crate::profile::{CredentialsError, Profiles, Resolved};
use crate::render::shown;
use crate::service::init::InitOptions;
use crate::service::present::PresentOptions;
use crate::service::search::SearchOptions;
use crate::session::{Session, SessionOptions};

/// What is searched where neither target nor profile names a database.
const DEFAULT_DATABASE: &str = "Default";

/// What it takes to get from a target to a session.
#[derive(Clone)]
pub(super) struct Reach {
    client: Client,
    profiles: Profiles,
    init: InitOptions,
}

/// A target of the command line.
pub(super) struct Place {
    /// As it was written.
    pub(super) text: String,
    /// What it means.
    pub(super) resolved: Resolved,
}

/// Why there is no answer.
pub(super) enum Unanswered {
    /// The server's character set cannot write the query.
    Query(String),
    /// The credentials of the profile cannot be had.
    Credentials(CredentialsError),
    /// What the server said, or what came in the way.
    Session(Error),
}

impl Reach {
    /// Reads the options, the profiles and the environment.
    pub(super) async fn new(connection: &Connection) -> Result<Self, Failure> {
        let options = ClientOptions {
            timeouts: timeouts(&connection.network),
            ..ClientOptions::default()
        };
        Ok(Self {
            client: client(&connection.network, options).await?,
            profiles: connection::profiles(&connection.known)?,
            init: connection::init(&connection.identity)?,
        })
    }

    /// What a target means; says why if it is none. `databases` replace those it names.
    pub(super) fn place(
        &self,
        text: &OsStr,
        databases: &[String],
        output: &Output,
    ) -> Option<Place> {
        let text = shown(text.as_encoded_bytes());
        let mut resolved = match self.profiles.resolve(&text) {
            Ok(resolved) => resolved,
            Err(error) => {
                output.error(&super::report::chain(&error));
                return None;
            }
        };
        if !databases.is_empty() {
            let names = databases.iter().map(String::as_str);
            resolved.databases = names.map(DatabaseName::from).collect();
        }
        if resolved.databases.is_empty() {
            resolved.databases = vec![DEFAULT_DATABASE.into()];
        }
        Some(Place { text, resolved })
    }

    /// What is said at Init, but for what profiles add.
    pub(super) fn init(&self) -> &InitOptions {
        &self.init
    }

    /// Opens a session there.
    pub(super) async fn session(&self, place: &Place) -> Result<Session, Unanswered> {
        self.session_with(place, |_| {}).await
    }

    /// The same with options changed.
    pub(super) async fn session_with(
        &self,
        place: &Place,
        change: impl FnOnce(&mut SessionOptions),
    ) -> Result<Session, Unanswered> {
        let mut options = self.session_options(place)?;
        change(&mut options);
        let Resolved {
            endpoint, proxy, ..
        } = &place.resolved;
        let session = self.client.connect(endpoint, proxy.as_deref(), &options);
        Ok(session.await?)
    }

    /// Borrows a session there, within what the profile says that the server bears.
    pub(super) async fn lease(&self, place: &Place) -> Result<Lease, Unanswered> {
        let options = self.session_options(place)?;
        let Resolved {
            endpoint,
            proxy,
            profile,
            ..
        } = &place.resolved;
        let limits = TargetLimits::from(profile);
        let lease = self
            .client
            .lease(endpoint, proxy.as_deref(), &options, &limits);
        Ok(lease.await?)
    }

    /// Closes the sessions that nobody uses any more.
    pub(super) async fn close(&self) {
        self.client.close_all().await;
    }

    /// How to open sessions there. Who to be is what the options of the command say, else the profile.
    fn session_options(&self, place: &Place) -> Result<SessionOptions, CredentialsError> {
        let mut options = SessionOptions {
            init: self.init.clone(),
            timeouts: self.client.options().timeouts,
            ..SessionOptions::default()
        };
        let credentials = &place.resolved.profile.credentials;
        if let (None, Some(credentials)) = (&options.init.authentication, credentials) {
            options.init.authentication = Some(self.client.authentication(credentials)?);
        }
        Ok(options)
    }
}

impl Place {
    /// Its databases as they are shown, joined by `+`.
    pub(super) fn databases(&self) -> Vec<String> {
        let names = self.resolved.databases.iter();
        names.map(|name| shown(name.0.as_bytes())).collect()
    }

    /// The record syntax to ask for: the one given, else the profile's, else USMARC.
    pub(super) fn syntax(&self, given: Option<Oid>) -> Oid {
        given
            .or(self.resolved.profile.record_syntax)
            .unwrap_or(USMARC)
    }

    /// How to search there for such records as are asked for, and how to have them presented.
    pub(super) fn options(&self, asked: &Asked) -> (SearchOptions, PresentOptions) {
        let of_profile = self.resolved.profile.element_set.as_ref();
        let element_set = asked.element_set.as_ref().or(of_profile);
        let present = PresentOptions {
            element_set: element_set.map(|name| name.as_str().into()),
            record_syntax: Some(self.syntax(asked.syntax)),
            ..PresentOptions::default()
        };
        let search = SearchOptions {
            databases: self.resolved.databases.clone(),
            element_set: present.element_set.clone(),
            record_syntax: present.record_syntax,
            ..SearchOptions::default()
        };
        (search, present)
    }

    /// The character set its records are in, if the command line or the profile knows.
    pub(super) fn charset(&self, given: Option<Charset>) -> Option<Charset> {
        given.or(self.resolved.profile.record_charset)
    }

    /// The query as this server wants it: with the attributes of its profile, in its character set.
    ///
    /// # Errors
    /// A term that the character set cannot write.
    pub(super) fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, Unanswered> {
        let mut query = query.clone();
        self.resolved.profile.attributes.lay_under(&mut query);
        let Some(charset) = self.resolved.profile.query_charset else {
            return Ok(query);
        };
        let mut waiting = vec![&mut query.rpn];
        while let Some(structure) = waiting.pop() {
            match structure {
                RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => {
                    encode(&mut operand.term, charset)?;
                }
                RpnStructure::Op(_) => {}
                RpnStructure::RpnRpnOp(operation) => {
                    waiting.extend([&mut operation.rpn1, &mut operation.rpn2]);
                }
            }
        }
        Ok(query)
    }
}

/// A term that is no text in UTF-8 stays as it is.
fn encode(term: &mut Term, charset: Charset) -> Result<(), Unanswered> {
    if let Term::General(octets) = term
        && let Ok(text) = std::str::from_utf8(octets.as_bytes())
    {
        let unwritable = |error| Unanswered::Query(super::report::chain(&error));
        *octets = charset.encode(text).map_err(unwritable)?.into();
    }
    Ok(())
}

impl fmt::Display for Place {
    /// As it was written, and its server where that says more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resolved.name {
            Some(_) => write!(f, "{} ({})", self.text, self.resolved.endpoint),
            None => f.write_str(&self.text),
        }
    }
}

impl Unanswered {
    /// What it is in words, and the exit code for it.
    pub(super) fn explain(&self) -> (Exit, String) {
        match self {
            Self::Query(reason) => (Exit::Usage, reason.clone()),
            Self::Credentials(error) => (Exit::Usage, super::report::chain(error)),
            Self::Session(error) => explain(error),
        }
    }
}

impl From<CredentialsError> for Unanswered {
    fn from(error: CredentialsError) -> Self {
        Self::Credentials(error)
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self::Session(error)
    }
}
