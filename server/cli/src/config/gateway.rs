//! The `[gateway]` table.

use z3950_front::GatewayOptions;
use z3950_front::z3950::profile::Profiles;

use super::section::Value;
use super::setting::settings;

/// The options of the gateway, and whether the gateway is enabled.
pub(super) struct GatewayTable {
    is_enabled: bool,
    options: GatewayOptions,
}

settings! {
    /// The gateway, which retrieves records (z39.50r) and Gopher items by their URLs over HTTP, at /get?url=URL or with the URL
    /// as the path. URLs of this server's own databases are always accepted.
    GATEWAY "[gateway]": GatewayTable = GatewayTable { is_enabled: true, options: GatewayOptions::default() } => {
        /// Whether the gateway is enabled.
        "enabled": Flag(|gateway| &mut gateway.is_enabled);
        /// Other servers whose URLs are accepted: host (at the default port of the scheme), host:port, host:port/database, or the
        /// name of a profile that comes with z3950 or is in target-profiles. Their addresses may be private.
        ///targets = ["lib.example", "127.0.0.1:9903/cat", "loc"]
        "targets": Other(|gateway, value| {
            // Reading the profiles takes a moment, so they are read once for all targets.
            let profiles = Profiles::built_in();
            value.each(|text| gateway.options.targets.allow(text, &profiles));
        });
        /// Names of this server in URLs, in addition to localhost and to the names by which requests reach the server.
        ///names = ["gw.example"]
        "names": Other(|gateway, value| value.each(|name| gateway.options.targets.add_own_name(name)));
        /// Accept the URLs of all servers at public addresses, at the default ports of their schemes.
        "open": Flag(|gateway| &mut gateway.options.targets.open);
        /// The maximum time for a URL, the maximum size of a record in octets, and the maximum number of URLs that are retrieved
        /// at once, in total and for one client address.
        "time": Number(Time, MILLISECOND, |gateway| &mut gateway.options.time);
        "octets": Number(Octets, 1024, |gateway| &mut gateway.options.octets);
        "requests": Number(Count, 1, |gateway| &mut gateway.options.requests);
        "requests-per-address": Number(Count, 1, |gateway| &mut gateway.options.requests_per_address);
    }
}

/// Returns the options of the gateway; `None` if it is disabled.
pub(super) fn read(value: &Value<'_>) -> Option<GatewayOptions> {
    let mut gateway = (GATEWAY.default)();
    value.fill(&GATEWAY, &mut gateway);
    gateway.is_enabled.then_some(gateway.options)
}
