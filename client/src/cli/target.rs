//! From the text of a target to an open session: its profile, its ways and its credentials.

use std::ffi::OsStr;
use std::fmt;

use z3950_asn1::apdu::{DatabaseName, Operand, RpnQuery, RpnStructure, Term};
use z3950_asn1::charset::Charset;
use z3950_asn1::oid::{Oid, UNIMARC, USMARC, XML};

use super::args::{Asked, Connection};
use super::exit::Exit;
use super::output::{Failure, Output};
use super::{client, connection, explain, timeouts};
use crate::TargetLimits;
use crate::client::{Client, ClientOptions, Lease};
use crate::error::{Cause, Error, Phase};
use crate::profile::{CredentialsError, Profiles, Resolved};
use crate::render::shown;
use crate::service::init::InitOptions;
use crate::service::present::PresentOptions;
use crate::service::search::SearchOptions;
use crate::session::{Session, SessionOptions};
use crate::target::{Endpoint, redacted};
use crate::url::Host;

/// What is searched where neither target nor profile names a database.
const DEFAULT_DATABASE: &str = "Default";

/// What it takes to get from a target to a session.
#[derive(Clone)]
pub(super) struct Reach {
    client: Client,
    profiles: Profiles,
    init: InitOptions,
    /// The options given that only TLS uses.
    of_tls: Vec<&'static str>,
}

/// A target of the command line.
pub(super) struct Place {
    /// As it was written, but for user and password.
    pub(super) text: String,
    /// What it means.
    pub(super) resolved: Resolved,
    /// What may be meant by the text where no server has that name.
    pub(super) hint: Option<String>,
}

/// Why there is no answer.
pub(super) enum Unanswered {
    /// The server's character set cannot write the query.
    Query(String),
    /// The credentials of the profile cannot be had.
    Credentials(CredentialsError),
    /// What the server said, or what came in the way.
    Session(Error),
    /// The server's name has no address; and what may have been meant.
    Unresolved(Error, String),
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
            of_tls: connection::of_tls(&connection.network),
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
        if !matches!(resolved.endpoint, Endpoint::Tls(..)) && !self.of_tls.is_empty() {
            output.warning(&format!(
                "{}: the connection is without TLS, so that {} has no effect; ssl: before the host asks for TLS",
                redacted(&text),
                self.of_tls.join(" and ")
            ));
        }
        Some(Place {
            text: redacted(&text),
            resolved,
            hint: None,
        })
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
        session.await.map_err(|error| self.unanswered(place, error))
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
        lease.await.map_err(|error| self.unanswered(place, error))
    }

    fn unanswered(&self, place: &Place, error: Error) -> Unanswered {
        let hint = match is_unresolved(&error) {
            true => place
                .hint
                .clone()
                .or_else(|| did_you_mean(&self.profiles, &place.resolved.endpoint.host())),
            false => None,
        };
        match hint {
            Some(hint) => Unanswered::Unresolved(error, hint),
            None => error.into(),
        }
    }

    /// Whether a word looks like a target: a profile has its name, or it has what sets a host off from a word.
    pub(super) fn is_target(&self, word: &str) -> bool {
        let has_mark = word.contains(['.', '/', ':']) && !word.contains(char::is_whitespace);
        self.profiles.named(word).is_some() || (has_mark && self.profiles.resolve(word).is_ok())
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

/// Whether a server's name has no address.
pub(crate) fn is_unresolved(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable {
            phase: Phase::Resolve,
            cause: Cause::Dns(_)
        }
    )
}

/// Names the profile that may have been meant by the name of a host.
pub(crate) fn did_you_mean(profiles: &Profiles, host: &Host) -> Option<String> {
    let (name, entry) = profiles.nearest(&host.to_string())?;
    Some(match &entry.profile.title {
        Some(title) => format!("did you mean {name} ({title})?"),
        None => format!("did you mean {name}?"),
    })
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

    /// The record syntaxes to ask for in turn where none was given and the server does not have the one asked for: MARC of
    /// either kind, MARC within XML, and what it has else.
    pub(super) fn alternatives(&self, given: Option<Oid>) -> Vec<Option<Oid>> {
        if given.is_some() {
            return Vec::new();
        }
        let first = self.syntax(given);
        let others = [USMARC, UNIMARC, XML].into_iter();
        let others = others.filter(|syntax| *syntax != first);
        others.map(Some).chain([None]).collect()
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
            Self::Unresolved(error, hint) => {
                let words = super::report::chain(error);
                (Exit::Transport, format!("{words}; {hint}"))
            }
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
