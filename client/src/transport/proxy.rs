//! Proxies: HTTP CONNECT (RFC 9110 §9.3.6) and SOCKS5 (RFC 1928), which resolve the server's name themselves. The
//! environment variables are the same as for curl: `ALL_PROXY`, or `HTTPS_PROXY` if `ALL_PROXY` is not set, and
//! `NO_PROXY`.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper_util::rt::TokioIo;
use tokio_socks::tcp::Socks5Stream;

use super::connect::{BoxStream, Connect, Connecting};
use super::timeouts::Timeouts;
use crate::error::{Cause, Error, Phase, ProxyError, ProxyRefusal};
use crate::url::{Host, Mode, Octets, Userinfo, host_and_port, userinfo};

/// A proxy, given as `http://[user:password@]host[:port]` or `socks5://…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: Kind,
    host: Host,
    port: u16,
    credentials: Option<Userinfo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

impl FromStr for Proxy {
    type Err = ProxyError;

    /// Parses a proxy. The default scheme is HTTP. The default port is 80, or 1080 for SOCKS5.
    fn from_str(text: &str) -> Result<Self, ProxyError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (credentials, place) = match rest.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, rest),
        };
        let error = |reason| ProxyError {
            text: format!("{scheme}://{place}"),
            reason,
        };
        let (kind, default_port) = match &*scheme.to_ascii_lowercase() {
            "http" => (Kind::Http, 80),
            "socks5" | "socks5h" | "socks" => (Kind::Socks5, 1080),
            _ => return Err(error("only http and socks5 are supported")),
        };
        let (host, port) = host_and_port(place, Mode::Lenient)
            .map_err(|_| error("its host or port is malformed"))?;
        let credentials = credentials
            .map(userinfo)
            .transpose()
            .map_err(|_| error("its credentials are malformed"))?;
        Ok(Self {
            kind,
            host,
            port: port.unwrap_or(default_port),
            credentials,
        })
    }
}

impl Proxy {
    /// Returns the proxy set in the environment variables, and the hosts that are reached without it.
    ///
    /// # Errors
    /// Fails if a variable contains a malformed proxy.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(Option<Self>, NoProxy), ProxyError> {
        let either = |name: &str| {
            let lower = name.to_ascii_lowercase();
            [variable(&lower), variable(name)]
                .into_iter()
                .flatten()
                .find(|value| !value.trim().is_empty())
        };
        let chosen = either("ALL_PROXY").or_else(|| either("HTTPS_PROXY"));
        let proxy = chosen.map(|text| text.trim().parse()).transpose()?;
        let exempt = either("NO_PROXY").unwrap_or_default();
        Ok((proxy, NoProxy::new(&exempt)))
    }
}

impl fmt::Display for Proxy {
    /// Writes the proxy without its credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            Kind::Http => "http",
            Kind::Socks5 => "socks5",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hosts that are reached without a proxy: localhost, and the hosts in a list such as `lib.example, .intra,
/// 10.1.2.3`. In the list, a name includes its subdomains, and `*` means every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoProxy {
    names: Vec<String>,
    /// Whether localhost is included.
    loopback: bool,
}

impl NoProxy {
    /// Returns an empty list, which does not even include localhost.
    pub fn none() -> Self {
        Self {
            names: Vec::new(),
            loopback: false,
        }
    }

    /// Parses a list of hosts separated by commas.
    pub fn new(list: &str) -> Self {
        let names = list.split(',').map(|name| {
            let name = name.trim().to_ascii_lowercase();
            name.strip_prefix('.').map(str::to_owned).unwrap_or(name)
        });
        Self {
            names: names.filter(|name| !name.is_empty()).collect(),
            loopback: true,
        }
    }

    /// Returns whether the host is reached without the proxy.
    pub fn has(&self, host: &Host) -> bool {
        let name = host.for_connecting();
        (self.loopback && host.is_loopback())
            || self.names.iter().any(|exempt| {
                let below = name.strip_suffix(exempt.as_str());
                exempt == "*" || below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
    }
}

impl Default for NoProxy {
    /// Returns a list that includes only localhost.
    fn default() -> Self {
        Self::new("")
    }
}

/// A connector that connects through a proxy. Another connector makes the connection to the proxy.
#[derive(Clone)]
pub struct Proxied {
    inner: Arc<dyn Connect>,
    proxy: Proxy,
    exempt: NoProxy,
}

impl Proxied {
    /// Creates a connector through `proxy`. `inner` makes the connections to the proxy, and the direct connections to
    /// the hosts in `exempt`.
    pub fn new(inner: impl Connect + 'static, proxy: Proxy, exempt: NoProxy) -> Self {
        Self {
            inner: Arc::new(inner),
            proxy,
            exempt,
        }
    }

    /// Returns the error for a failed connection to the proxy.
    fn out_of_reach(&self, error: Error) -> Error {
        let Error::Unavailable { cause, .. } = error else {
            return error;
        };
        let named = |error: &io::Error| {
            let words = format!("{}: {error}", self.proxy);
            Arc::new(io::Error::new(error.kind(), words))
        };
        let cause = match cause {
            Cause::Dns(error) => Cause::Dns(named(&error)),
            Cause::Refused(error) => Cause::Refused(named(&error)),
            Cause::Other(error) => Cause::Other(named(&error)),
            cause => cause,
        };
        Error::Unavailable {
            phase: Phase::Proxy,
            cause,
        }
    }

    async fn through(&self, stream: BoxStream, host: &Host, port: u16) -> Result<BoxStream, Error> {
        let connected = match self.proxy.kind {
            Kind::Http => self.http(stream, host, port).await,
            Kind::Socks5 => self.socks5(stream, host, port).await,
        };
        let cause = match connected {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(refusal)) => Cause::Proxy(refusal),
            // The proxy has closed the connection or speaks a different protocol.
            Err(error) => {
                let words = format!("{}: {error}", self.proxy);
                Cause::Other(Arc::new(io::Error::other(words)))
            }
        };
        Err(Error::Unavailable {
            phase: Phase::Proxy,
            cause,
        })
    }

    async fn http(&self, stream: BoxStream, host: &Host, port: u16) -> Tunnel {
        let authority = format!("{host}:{port}");
        let mut request = Request::connect(&authority).header(HOST, &authority);
        if let Some(userinfo) = &self.proxy.credentials {
            let (user, password) = user_and_password(userinfo);
            let credentials = STANDARD.encode([user, b":", password].concat());
            let mut value = HeaderValue::try_from(format!("Basic {credentials}"))?;
            value.set_sensitive(true);
            request = request.header(PROXY_AUTHORIZATION, value);
        }
        let request = request.body(Empty::<Bytes>::new())?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends when the request has failed or the stream has been upgraded.
        tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await?;
        let status = response.status();
        if !status.is_success() {
            let code = status.as_u16();
            return Ok(Err(ProxyRefusal::of_status(&self.proxy, code, &status)));
        }
        let stream = hyper::upgrade::on(response).await?;
        Ok(Ok(Box::new(TokioIo::new(stream))))
    }

    async fn socks5(&self, stream: BoxStream, host: &Host, port: u16) -> Tunnel {
        let name = host.for_connecting();
        let target = (&*name, port);
        let connected = match &self.proxy.credentials {
            None => Socks5Stream::connect_with_socket(stream, target).await,
            Some(userinfo) => {
                let (user, password) = user_and_password(userinfo);
                let (user, password) = (
                    String::from_utf8_lossy(user),
                    String::from_utf8_lossy(password),
                );
                Socks5Stream::connect_with_password_and_socket(stream, target, &user, &password)
                    .await
            }
        };
        match connected {
            Ok(stream) => Ok(Ok(Box::new(stream.into_inner()))),
            Err(tokio_socks::Error::Io(error)) => Err(error.into()),
            Err(error) => Ok(Err(ProxyRefusal::of_socks(&self.proxy, &error))),
        }
    }
}

/// The result of a proxy's handshake: a stream through the proxy, the proxy's refusal, or the error if the connection
/// failed.
type Tunnel = Result<Result<BoxStream, ProxyRefusal>, Box<dyn std::error::Error + Send + Sync>>;

impl Connect for Proxied {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            if self.exempt.has(host) {
                return self.inner.connect(host, port, timeouts).await;
            }
            let proxy = &self.proxy;
            tracing::info!(%proxy, "connecting through a proxy");
            let stream = self
                .inner
                .connect(&proxy.host, proxy.port, timeouts)
                .await
                .map_err(|error| self.out_of_reach(error))?;
            let limit = timeouts.to_connect();
            limit
                .hold(Phase::Proxy, self.through(stream, host, port))
                .await?
        })
    }
}

fn user_and_password(userinfo: &Userinfo) -> (&[u8], &[u8]) {
    let password = userinfo.password().map_or(&[][..], Octets::as_bytes);
    (userinfo.user().as_bytes(), password)
}

#[cfg(test)]
mod tests;
