//! Distinguishes public addresses from special-purpose addresses (as listed in the RFC 6890 registries). [`PublicResolver`]
//! returns only public addresses, so that connections are made to exactly the address that was checked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use z3950::transport::{Resolve, Resolving};
use z3950::url::Host;

/// A resolver that returns only the public addresses found by another resolver.
pub(super) struct PublicResolver(pub(super) Arc<dyn Resolve>);

impl Resolve for PublicResolver {
    /// Fails with [`io::ErrorKind::PermissionDenied`] if the name only has addresses that are not public.
    fn resolve<'a>(&'a self, host: &'a Host, port: u16) -> Resolving<'a> {
        Box::pin(async move {
            let mut addresses = self.0.resolve(host, port).await?;
            let found = addresses.len();
            addresses.retain(|address: &SocketAddr| is_public(address.ip()));
            match (addresses.is_empty(), found) {
                (true, 1..) => Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "the name leads to addresses that are not public",
                )),
                _ => Ok(addresses),
            }
        })
    }
}

/// Returns whether an address is reachable over the internet and is not a special-purpose address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !match (a, b, c) {
        // These are the blocks for "this network", private use, loopback, multicast, reserved and broadcast addresses.
        (0 | 10 | 127 | 224.., ..) => true,
        // This block is shared between carriers and their customers.
        (100, 64..=127, _) => true,
        // This block is for link-local addresses.
        (169, 254, _) => true,
        (172, 16..=31, _) | (192, 168, _) => true,
        // These blocks are for protocol assignments, documentation and 6to4 relays.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        // This block is for benchmarks.
        (198, 18 | 19, _) => true,
        _ => false,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = || {
        let [high, low] = [g, h].map(u16::to_be_bytes);
        Ipv4Addr::new(high[0], high[1], low[0], low[1])
    };
    match (a, b) {
        // Mapped addresses, and addresses behind translators, are as public as the IPv4 address inside them.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => is_public_v4(embedded()),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => is_public_v4(embedded()),
        // These blocks are for protocol assignments (including Teredo), documentation and 6to4.
        (0x2001, ..=0x01ff | 0x0db8) | (0x2002, _) => false,
        (0x3fff, ..=0x0fff) => false,
        // This is the only block of global unicast addresses.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for (text, expected) in [
            ("8.8.8.8", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.63.0.1", true),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("100.128.0.1", true),
            ("127.0.0.1", false),
            ("127.255.0.1", false),
            ("169.254.169.254", false),
            ("172.15.0.1", true),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.51.100.1", false),
            ("203.0.113.9", false),
            ("223.255.255.255", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b:1::8.8.8.8", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:20::1", false),
            ("2001:200::1", true),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("2606:4700::1111", true),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd12::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(is_public(address), expected, "{text}");
        }
    }

    struct Fixed(Vec<SocketAddr>);

    impl Resolve for Fixed {
        fn resolve<'a>(&'a self, _: &'a Host, _: u16) -> Resolving<'a> {
            Box::pin(async move { Ok(self.0.clone()) })
        }
    }

    #[tokio::test]
    async fn names_that_lead_to_other_addresses_are_refused() {
        for (addresses, expected) in [
            (&["8.8.8.8:210", "10.0.0.1:210"][..], Ok(1)),
            (
                &["10.0.0.1:210", "[::1]:210"],
                Err(io::ErrorKind::PermissionDenied),
            ),
            (&[], Ok(0)),
        ] {
            let addresses = addresses
                .iter()
                .map(|text| text.parse().expect("an address"));
            let resolver = PublicResolver(Arc::new(Fixed(addresses.collect())));
            let host: Host = "lib.example".parse().expect("a host");
            let found = resolver.resolve(&host, 210).await;
            let found = found.map(|found| found.len()).map_err(|error| error.kind());
            assert_eq!(found, expected);
        }
    }
}
