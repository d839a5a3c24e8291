//! Sends notifications about the state of the server to the service manager, as systemd's sd_notify(3) does: as datagrams to
//! the socket named by `NOTIFY_SOCKET`. If the variable is not set, nothing is sent.

#[cfg(unix)]
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The socket of the service manager; `None` if there is no service manager.
pub(crate) struct ServiceManager(#[cfg(unix)] Option<(UnixDatagram, SocketAddr)>);

/// The environment variable with the path of the socket; a leading `@` marks an abstract socket.
#[cfg(unix)]
const VARIABLE: &str = "NOTIFY_SOCKET";

impl ServiceManager {
    /// Returns the service manager named by the environment.
    #[cfg(unix)]
    pub(crate) fn of_environment() -> Self {
        let name = std::env::var_os(VARIABLE);
        Self(name.and_then(|name| {
            use std::os::unix::ffi::OsStrExt;
            let address = address(name.as_bytes())?;
            Some((UnixDatagram::unbound().ok()?, address))
        }))
    }

    #[cfg(not(unix))]
    pub(crate) fn of_environment() -> Self {
        Self()
    }

    /// Notifies the service manager that the server is ready, for the first time or after a reload.
    pub(crate) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }

    /// Notifies the service manager that a reload has begun. [`ServiceManager::ready`] reports its end.
    pub(crate) fn reloading(&self) {
        let microseconds = monotonic_microseconds();
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    /// Notifies the service manager that the server is stopping.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=stopping");
    }

    fn send(&self, state: &str) {
        #[cfg(unix)]
        if let Some((socket, address)) = &self.0 {
            // An error is ignored, because the server also works without a service manager.
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
        #[cfg(not(unix))]
        let _ = state;
    }
}

/// Returns the address of a socket from its name in the environment; `None` for unsupported kinds, such as `vsock:`.
#[cfg(unix)]
fn address(name: &[u8]) -> Option<SocketAddr> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    match name {
        [b'/', ..] => SocketAddr::from_pathname(OsStr::from_bytes(name)).ok(),
        #[cfg(target_os = "linux")]
        [b'@', name @ ..] => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(name).ok()
        }
        _ => None,
    }
}

/// Returns the time of the system's monotonic clock, in microseconds.
#[cfg(unix)]
fn monotonic_microseconds() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

#[cfg(not(unix))]
fn monotonic_microseconds() -> i64 {
    0
}
