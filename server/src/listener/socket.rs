//! The sockets a server listens on: TCP, TCP with TLS, and Unix sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};

use tokio::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, lookup_host};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use crate::observer::Peer;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// An endpoint that a server listens on. Endpoints are written as `127.0.0.1:2100`, `tls:127.0.0.1:2100` or `unix:/run/z3950d`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A TCP address, with TLS.
    #[cfg(feature = "tls")]
    Tls(SocketAddr),
    /// The path of a Unix socket.
    #[cfg(unix)]
    Unix(PathBuf),
}

impl Endpoint {
    /// Returns the TCP address; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            #[cfg(feature = "tls")]
            Self::Tls(address) => Some(*address),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            #[cfg(feature = "tls")]
            Self::Tls(address) => write!(f, "tls:{address}"),
            #[cfg(unix)]
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listening socket.
pub(super) enum Socket {
    Tcp(TcpListener),
    #[cfg(feature = "tls")]
    Tls(TcpListener, Tls),
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
}

/// A listening socket and its settings.
pub(super) struct Listening {
    pub(super) socket: Socket,
    /// Whether connections to the socket may use HTTP.
    #[cfg(feature = "sru")]
    pub(super) speaks_http: bool,
}

/// An accepted connection and its origin.
pub(super) struct Arrival {
    pub(super) stream: Accepted,
    pub(super) peer: Peer,
    #[cfg(feature = "sru")]
    pub(super) speaks_http: bool,
}

/// The stream of an accepted connection.
pub(super) enum Accepted {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(TcpStream, Tls),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// The number of connections that the system queues until they are accepted.
const BACKLOG: u32 = 1024;

/// Listens on the first of the addresses that can be bound.
///
/// # Errors
///
/// Fails if none of the addresses can be bound, with the error for the last address.
pub(super) async fn listen(addresses: impl ToSocketAddrs) -> io::Result<TcpListener> {
    let mut refused = io::Error::new(io::ErrorKind::InvalidInput, "no address to listen on");
    for address in lookup_host(addresses).await? {
        match listen_on(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // On other systems, this option would let another program take over the address.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listening {
    pub(super) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Arrival>> {
        let accepted = ready!(self.socket.poll_accept(context));
        Poll::Ready(accepted.map(|(stream, peer)| Arrival {
            stream,
            peer,
            #[cfg(feature = "sru")]
            speaks_http: self.speaks_http,
        }))
    }
}

impl From<Socket> for Listening {
    fn from(socket: Socket) -> Self {
        Self {
            socket,
            #[cfg(feature = "sru")]
            speaks_http: true,
        }
    }
}

impl Socket {
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(Endpoint::Tcp),
            #[cfg(feature = "tls")]
            Self::Tls(listener, _) => listener.local_addr().ok().map(Endpoint::Tls),
            #[cfg(unix)]
            Self::Unix(_, SocketFile(path)) => Some(Endpoint::Unix(path.clone())),
        }
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Accepted, Peer)>> {
        Poll::Ready(match self {
            Self::Tcp(listener) => {
                let accepted = ready!(listener.poll_accept(context));
                accepted.map(|(stream, peer)| (Accepted::Tcp(stream), Peer::Ip(peer)))
            }
            #[cfg(feature = "tls")]
            Self::Tls(listener, tls) => {
                let accepted = ready!(listener.poll_accept(context));
                accepted.map(|(stream, peer)| (Accepted::Tls(stream, tls.clone()), Peer::Ip(peer)))
            }
            #[cfg(unix)]
            Self::Unix(listener, _) => {
                let accepted = ready!(listener.poll_accept(context));
                accepted.map(|(stream, _)| (Accepted::Unix(stream), Peer::Unix))
            }
        })
    }

    #[cfg(unix)]
    pub(super) async fn unix(path: &Path) -> io::Result<Self> {
        let (listener, file) = listen_unix(path).await?;
        Ok(Self::Unix(listener, file))
    }
}

/// Listens on a Unix socket. A socket file left over from a previous server is replaced.
///
/// # Errors
/// Fails if the socket cannot be bound.
#[cfg(unix)]
pub async fn listen_unix(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path).await => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    Ok((listener, SocketFile(path.to_owned())))
}

/// Returns whether the path is a socket file on which no server listens.
#[cfg(unix)]
async fn is_left_over(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = UnixStream::connect(path).await.err();
    is_socket && refused.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The file of a Unix socket, which is removed when the value is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub struct SocketFile(PathBuf);

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        // An error only means that the file has already been removed.
        let _ = std::fs::remove_file(&self.0);
    }
}
