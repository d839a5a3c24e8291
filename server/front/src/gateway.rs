//! The gateway that RFC 1630 describes, which follows `z39.50r`, `z39.50s` and `gopher` URLs on behalf of HTTP clients. URLs that
//! lead to the gateway's own server are answered in a session with that server; other servers are contacted only if the settings
//! allow it.

mod addresses;
mod allowed;
mod answer;
mod content;
mod failure;
mod locator;
mod negotiate;
mod slots;

#[cfg(test)]
mod tests;

use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::info;
use z3950::gopher::{self, GopherOptions};
use z3950::plan::PlanError;
use z3950::profile::Profiles;
use z3950::retrieve::Outcome;
use z3950::target::Endpoint;
use z3950::transport::{Resolve, Routes, SystemResolver};
use z3950::url::{DEFAULT_GOPHER_PORT, DEFAULT_PORT, GopherUrl, Host, Z3950Url};
use z3950::{Client, ClientOptions, Record, Timeouts};
use z3950_server::lock;
use z3950_server::web::http::header::{ACCEPT, CACHE_CONTROL, HeaderValue, VARY};
use z3950_server::web::http::request::Parts;
use z3950_server::web::http::{Method, Response, StatusCode};
use z3950_server::web::{LoginStatus, Web, WebAnswering, WebBody, WebClient, WebRequest};

use self::addresses::PublicResolver;
use self::allowed::{GatewayDestination, OwnAddresses, Permission};
pub use self::allowed::{GatewayTargetError, GatewayTargets};
use self::failure::GatewayFailure;
use self::locator::{GatewayRequest, NamedUrl};
pub(crate) use self::negotiate::Accept;
use self::negotiate::Representation;
use self::slots::RequestSlots;
use crate::choices::{Catalogues, SearchForm};
use crate::layout::{PageLayout, redirect, style};
use crate::own::{admitted, own_client};
use crate::text::{chain, clean, encoded};

/// The database name that stands for all databases on a server, unless a database actually has this name.
const ALL_DATABASES: &str = "Default";

/// The options of a gateway.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// The servers that the gateway may contact. By default, it may contact only its own server.
    pub targets: GatewayTargets,
    /// The maximum time for following one URL; by default, 20 seconds.
    pub time: Duration,
    /// The maximum number of octets in a record or item; by default, 8 MiB.
    pub octets: usize,
    /// The maximum number of URLs that are followed at the same time; by default, 64. Further requests get status 429.
    pub requests: usize,
    /// The maximum number of URLs that are followed at the same time for one client address; by default, 8.
    pub requests_per_address: usize,
    /// Whether there is a search page at `/search`. If there is, `z39.50s` URLs are redirected to it.
    pub has_page: bool,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            targets: GatewayTargets::default(),
            time: Duration::from_secs(20),
            octets: 8 << 20,
            requests: 64,
            requests_per_address: 8,
            has_page: false,
        }
    }
}

/// A gateway, which answers HTTP requests other than SRU.
pub struct Gateway {
    options: GatewayOptions,
    slots: Arc<RequestSlots>,
    /// The client for servers named in the settings. It is shared by all requests, so that the limits and pauses of its profiles
    /// apply to them together.
    named: Client,
    /// The routes to servers named in the settings.
    named_routes: Routes,
    /// The routes to all other servers.
    public: Routes,
    listeners: Mutex<Vec<SocketAddr>>,
    layout: PageLayout,
}

impl Gateway {
    /// Creates a gateway that uses these profiles for the servers they describe.
    pub fn new(options: GatewayOptions, profiles: impl Into<Arc<Profiles>>) -> Self {
        Self::with_resolver(options, profiles, Arc::new(SystemResolver))
    }

    /// Creates a gateway that uses these profiles for the servers they describe, and resolves host names with `resolver`.
    pub fn with_resolver(
        options: GatewayOptions,
        profiles: impl Into<Arc<Profiles>>,
        resolver: Arc<dyn Resolve>,
    ) -> Self {
        let named_routes = Routes::with_resolver(Arc::clone(&resolver));
        let named = Client::with_routes(ClientOptions::default(), named_routes.clone());
        Self {
            slots: RequestSlots::new(options.requests, options.requests_per_address),
            named: named.with_profiles(profiles),
            named_routes,
            public: Routes::with_resolver(PublicResolver(resolver)),
            listeners: Mutex::default(),
            layout: PageLayout::new(options.has_page),
            options,
        }
    }

    /// Returns whether the name is reserved for the gateway. A database cannot have such a name, because the path of its SRU URL
    /// would belong to the gateway.
    pub fn reserves(name: &str) -> bool {
        locator::is_path(name)
    }

    /// Sets the addresses on which the server listens. URLs that lead to one of them are answered in a session with the server
    /// itself.
    pub fn set_listeners(&self, listeners: Vec<SocketAddr>) {
        *lock(&self.listeners) = listeners;
    }

    async fn respond(&self, request: WebRequest) -> Response<WebBody> {
        let accept = request.head.headers.get_all(ACCEPT).iter();
        let accept = Accept::read(accept.filter_map(|value| value.to_str().ok()));
        let mut response = match self.carry_out(&request, &accept).await {
            Ok(response) => response,
            Err(failure) => {
                let url = locator::text(&request.head.uri).unwrap_or_default();
                let form = self
                    .options
                    .has_page
                    .then(|| SearchForm::new(&request.client, &url, &[], None));
                answer::failure_answer(&self.layout, &failure, &accept, form)
            }
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        response
    }

    async fn carry_out(
        &self,
        request: &WebRequest,
        accept: &Accept,
    ) -> Result<Response<WebBody>, GatewayFailure> {
        if request.head.method != Method::GET && request.head.method != Method::HEAD {
            let words = "URLs are carried out by GET";
            return Err(GatewayFailure::new(StatusCode::METHOD_NOT_ALLOWED, words));
        }
        let asked = locator::read(&request.head.uri).map_err(GatewayFailure::bad)?;
        let client = &request.client;
        match &asked.url {
            NamedUrl::Databases(url) => self.search_form(url, &asked, client).await,
            NamedUrl::Record(url) => {
                let forms = forms(url, &asked, accept)?;
                let permission = self.permission(url.host(), url.port(), &asked, client)?;
                let record = self.record(url, permission, client).await?;
                answer::of_record(
                    &self.layout,
                    self.options.octets.saturating_mul(4),
                    url,
                    &record,
                    &forms,
                )
            }
            NamedUrl::Gopher(url) => {
                let permission = self.permission(url.host(), url.port(), &asked, client)?;
                let reply = self.gopher(url, permission, client).await?;
                let is_raw = asked.format.as_deref() == Some("raw");
                let content = content::of_gopher(&reply, is_raw)
                    .ok_or_else(|| GatewayFailure::bad("an unknown item"))?;
                Ok(answer::answer(&content, url.selector().as_bytes()))
            }
        }
    }

    /// Returns a redirect to the search page, on which the databases in the URL are selected.
    async fn search_form(
        &self,
        url: &Z3950Url,
        asked: &GatewayRequest,
        client: &WebClient,
    ) -> Result<Response<WebBody>, GatewayFailure> {
        if !self.options.has_page {
            let words =
                "this server has no page for searches: open the URL with a client of Z39.50";
            return Err(GatewayFailure::new(StatusCode::NOT_FOUND, words));
        }
        let permission = self.permission(url.host(), url.port(), asked, client)?;
        // Some databases are visible only with the correct password, so this answer would reveal whether a password is correct.
        // The password is therefore checked first, as for a session.
        if client.login().is_some() {
            self.admit(client).await?;
        }
        let targets: Vec<String> = match permission {
            Permission::Own => {
                let names: Vec<String> = url.databases().iter().map(ToString::to_string).collect();
                // A client that has not logged in yet, but must, sees no databases, so their names cannot be checked. It has to
                // log in when it uses one of them.
                let is_known = client.login_status() != LoginStatus::Stranger;
                let catalogues = Catalogues::of(client);
                let is_there = |name: &&String| !is_known || catalogues.has(name);
                let (there, others): (Vec<&String>, Vec<&String>) =
                    names.iter().partition(is_there);
                let unknown = others
                    .iter()
                    .find(|name| !name.eq_ignore_ascii_case(ALL_DATABASES));
                if let Some(unknown) = unknown {
                    let words = format!("this server has no database {}", clean(unknown));
                    return Err(GatewayFailure::new(StatusCode::NOT_FOUND, words));
                }
                there.into_iter().cloned().collect()
            }
            _ => {
                let known = Catalogues::of(client).at(&url.to_string()).ok_or_else(|| {
                    let words =
                        "no database of this server is there: open the URL with a client of Z39.50";
                    GatewayFailure::new(StatusCode::NOT_FOUND, words)
                })?;
                vec![known]
            }
        };
        let parameters: Vec<String> = targets
            .iter()
            .map(|target| format!("target={}", encoded(target)))
            .collect();
        let mark = if parameters.is_empty() { "" } else { "?" };
        let place = format!("/search{mark}{}", parameters.join("&"));
        let response = redirect(StatusCode::SEE_OTHER, &place);
        response.ok_or_else(|| GatewayFailure::bad("the URL is no location"))
    }

    fn permission(
        &self,
        host: &Host,
        port: u16,
        asked: &GatewayRequest,
        client: &WebClient,
    ) -> Result<Permission, GatewayFailure> {
        let listeners = lock(&self.listeners);
        let own = OwnAddresses {
            listeners: &listeners,
            authority: (!asked.is_whole_target).then(|| client.authority()),
        };
        let (databases, default_port) = match &asked.url {
            NamedUrl::Record(url) | NamedUrl::Databases(url) => (url.databases(), DEFAULT_PORT),
            NamedUrl::Gopher(_) => (&[][..], DEFAULT_GOPHER_PORT),
        };
        let destination = GatewayDestination {
            host,
            port,
            databases,
            default_port,
        };
        let permission = self.options.targets.permission(&destination, &own);
        permission.ok_or_else(|| {
            GatewayFailure::forbidden(format!(
                "{destination} is not a target of this gateway; its operator can name it in [gateway]"
            ))
        })
    }

    /// Fetches the record that a URL names, within the gateway's limits.
    async fn record(
        &self,
        url: &Z3950Url,
        permission: Permission,
        client: &WebClient,
    ) -> Result<Record, GatewayFailure> {
        let _slot = self.slot(client)?;
        info!(%url, passage = ?permission, "carrying out a URL");
        let is_own = permission == Permission::Own;
        if !is_own {
            self.admit(client).await?;
        }
        let mut options = ClientOptions::default().with_timeouts(self.timeouts());
        // `permission` has already checked that this port is allowed.
        options.plan.allow_reserved_port = true;
        let octets = i64::try_from(self.options.octets).unwrap_or(i64::MAX);
        options.plan.init.exceptional_record_size = octets;
        let asking = match permission {
            Permission::Own => own_client(client, options),
            Permission::Named => self.named.with_options(options),
            Permission::Public => Client::with_routes(options, self.public.clone()),
        };
        refuse_credentials(asking.profiles(), url, client)?;
        let retrieval = timeout(self.options.time, asking.retrieve(url))
            .await
            .map_err(|_| GatewayFailure::late())?;
        let outcome = match retrieval {
            Ok(retrieval) => retrieval.outcome,
            Err(error @ PlanError::Credentials(_)) => {
                return Err(GatewayFailure::new(StatusCode::BAD_GATEWAY, chain(&error)));
            }
            Err(error) => return Err(GatewayFailure::bad(error.to_string())),
        };
        match outcome {
            Outcome::Delivered(delivered) => {
                let charset = asking
                    .profiles()
                    .of_url(url)
                    .and_then(|(_, entry)| entry.profile.record_charset);
                Ok(Record::new(delivered.record, None).with_charset(charset))
            }
            outcome => {
                let own = is_own.then_some(client);
                let failure = GatewayFailure::of_outcome(&outcome, url, own);
                let has_list = is_own && self.options.has_page;
                Err(match failure.status {
                    StatusCode::MULTIPLE_CHOICES if has_list => failure.with_list(url),
                    _ => failure,
                })
            }
        }
    }

    /// Fetches the Gopher item that a URL names, within the gateway's limits. URLs that lead to this server are refused, because
    /// it does not serve Gopher.
    async fn gopher(
        &self,
        url: &GopherUrl,
        permission: Permission,
        client: &WebClient,
    ) -> Result<gopher::Reply, GatewayFailure> {
        let _slot = self.slot(client)?;
        info!(%url, passage = ?permission, "carrying out a URL");
        if permission != Permission::Own {
            self.admit(client).await?;
        }
        let routes = match permission {
            Permission::Own => {
                let words = "this server does not speak Gopher";
                return Err(GatewayFailure::forbidden(words));
            }
            Permission::Named => &self.named_routes,
            Permission::Public => &self.public,
        };
        let endpoint = Endpoint::Tcp(url.host().clone(), url.port());
        let connector = routes
            .to(&endpoint, None)
            .map_err(|error| GatewayFailure::bad(error.to_string()))?;
        let mut options = GopherOptions::default();
        options.timeouts = self.timeouts();
        options.max_octets = self.options.octets;
        options.allow_reserved_port = true;
        let fetched = timeout(
            self.options.time,
            gopher::retrieve(url, &options, &connector),
        );
        let fetched = fetched.await.map_err(|_| GatewayFailure::late())?;
        fetched.map_err(|error| GatewayFailure::of_gopher(&error))
    }

    /// Checks that this server admits the client before another server is contacted for it.
    async fn admit(&self, client: &WebClient) -> Result<(), GatewayFailure> {
        let asked = timeout(self.options.time, admitted(client)).await;
        let admitted = asked.map_err(|_| GatewayFailure::late())?;
        admitted.map_err(|(status, words)| GatewayFailure::new(status, words))
    }

    fn slot(&self, client: &WebClient) -> Result<slots::RequestSlot, GatewayFailure> {
        let slot = self.slots.take(client.peer().ip());
        slot.ok_or_else(|| {
            let words = "as many URLs are being carried out as this gateway allows";
            GatewayFailure::new(StatusCode::TOO_MANY_REQUESTS, words)
        })
    }

    fn timeouts(&self) -> Timeouts {
        let mut timeouts = Timeouts::default();
        timeouts.deadline = Instant::now().checked_add(self.options.time);
        timeouts
    }
}

impl Web for Gateway {
    fn takes(&self, head: &Parts) -> bool {
        locator::is_for_gateway(&head.uri) || head.uri.path() == self.layout.style_path
    }

    fn answer(&self, request: WebRequest) -> WebAnswering<'_> {
        if request.head.uri.path() == self.layout.style_path {
            return Box::pin(ready(style()));
        }
        Box::pin(self.respond(request))
    }
}

/// Checks that the client may use the credentials of the server's profile, which are only for users of this server.
///
/// # Errors
/// Fails if the profile has credentials and the client is not logged in as a user.
fn refuse_credentials(
    profiles: &Profiles,
    url: &Z3950Url,
    client: &WebClient,
) -> Result<(), GatewayFailure> {
    let profile = profiles.of_url(url).map(|(_, entry)| &entry.profile);
    let has_credentials = profile.is_some_and(|profile| profile.credentials.is_some());
    if !has_credentials || client.login_status() == LoginStatus::User {
        return Ok(());
    }
    let status = match client.login() {
        None => StatusCode::UNAUTHORIZED,
        Some(_) => StatusCode::FORBIDDEN,
    };
    let words = "the server is asked with credentials that are for users of this server alone";
    Err(GatewayFailure::new(status, words))
}

/// Returns the acceptable forms of a record for a request, best first.
fn forms(
    url: &Z3950Url,
    asked: &GatewayRequest,
    accept: &Accept,
) -> Result<Vec<Representation>, GatewayFailure> {
    if let Some(name) = &asked.format {
        let form = Representation::by_name(name);
        let words = || format!("the format is {}", Representation::NAMES);
        return Ok(vec![form.ok_or_else(|| GatewayFailure::bad(words()))?]);
    }
    let first = url.record_syntaxes().first();
    let requested =
        first.and_then(|name| z3950_asn1::oid::Oid::record_syntax_by_name(name.as_bytes()));
    let forms = accept.ranked(requested);
    if forms.is_empty() {
        Err(GatewayFailure::new(
            StatusCode::NOT_ACCEPTABLE,
            "records are application/marc, application/marcxml+xml, application/xml, application/json, text/plain or text/html",
        ))
    } else {
        Ok(forms)
    }
}
