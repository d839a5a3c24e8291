//! The addresses of the engine's servers. Each server has two ports: that of its address, for SphinxQL, and the next one, for its peers.

use super::link::{host_and_port, is_same_machine};

/// The address of a server of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    pub(super) host: String,
    /// The port of SphinxQL.
    pub(super) port: u16,
}

/// Why a server of the engine cannot have an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeAddressError {
    /// It is no host and port.
    #[error("expected the address of a node such as 127.0.0.1:9401, not {0}")]
    Malformed(String),
    /// It is one of IPv6.
    #[error("{0}: Sphinx Search 2.2 has no IPv6; give an address of IPv4, or a name")]
    Ipv6(String),
    /// There is no next port.
    #[error("{0}: a server of the engine uses the next port too, and 65535 is the last one")]
    LastPort(String),
    /// Another server has it.
    #[error("{0} is listed twice")]
    Twice(String),
    /// Another server has the next port, or the one before.
    #[error("{0} and {1} are one port apart, but a server of the engine uses the next port too")]
    Adjacent(String, String),
}

/// The addresses of servers that belong together, each with what is wrong with it.
pub fn read_addresses(addresses: &[String]) -> Vec<Result<NodeAddress, NodeAddressError>> {
    let mut before: Vec<(&str, NodeAddress)> = Vec::new();
    let addresses = addresses.iter();
    let read = addresses.map(|text| {
        let address = NodeAddress::read(text)?;
        let fault = before.iter().find_map(|(other, known)| {
            let is_same_host = is_same_machine(&known.host, &address.host);
            match known.port.abs_diff(address.port) {
                0 if is_same_host => Some(NodeAddressError::Twice(text.clone())),
                1 if is_same_host => Some(NodeAddressError::Adjacent(
                    (*other).to_owned(),
                    text.clone(),
                )),
                _ => None,
            }
        });
        before.push((text, address.clone()));
        fault.map_or(Ok(address), Err)
    });
    read.collect()
}

impl NodeAddress {
    fn read(text: &str) -> Result<Self, NodeAddressError> {
        let read = host_and_port(text);
        let (host, port) = read.ok_or_else(|| NodeAddressError::Malformed(text.to_owned()))?;
        if host.contains(':') {
            return Err(NodeAddressError::Ipv6(text.to_owned()));
        }
        match port {
            u16::MAX => Err(NodeAddressError::LastPort(text.to_owned())),
            _ => Ok(Self { host, port }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NodeAddressError::{Adjacent, Ipv6, LastPort, Malformed, Twice};
    use super::*;

    #[test]
    fn servers_that_cannot_run_side_by_side_are_named() {
        let text = str::to_owned;
        for (addresses, expected) in [
            (&["a:1", "a:3", "b:2", "c:65534"][..], vec![]),
            (&["a"], vec![Malformed(text("a"))]),
            (&["a:1", "[::1]:9401"], vec![Ipv6(text("[::1]:9401"))]),
            (&["a:65535"], vec![LastPort(text("a:65535"))]),
            (&["a:1", "b:1", "A:1"], vec![Twice(text("A:1"))]),
            (
                &["127.0.0.1:5", "Localhost:5"],
                vec![Twice(text("Localhost:5"))],
            ),
            (
                &["a:2", "a:3", "b:9", "a:1"],
                vec![
                    Adjacent(text("a:2"), text("a:3")),
                    Adjacent(text("a:2"), text("a:1")),
                ],
            ),
        ] {
            let addresses: Vec<String> = addresses.iter().map(|&address| text(address)).collect();
            let read = read_addresses(&addresses).into_iter();
            let faults: Vec<_> = read.filter_map(Result::err).collect();
            assert_eq!(faults, expected, "{addresses:?}");
        }
    }
}
