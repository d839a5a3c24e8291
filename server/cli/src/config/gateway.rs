//! The gateway: `[gateway]`.

use z3950_front::GatewayOptions;
use z3950_front::z3950::profile::Profiles;

use super::section::{Section, duration, number, octets, string};

/// The options of the gateway; `None` if it is off.
pub(super) fn read(top: &Section<'_>) -> Option<GatewayOptions> {
    let read = top.section("gateway", |section| {
        let mut options = GatewayOptions::default();
        let is_enabled = section.flag("enabled").unwrap_or(true);
        targets(section, &mut options);
        section.set(
            "time",
            "a time such as \"20s\"",
            duration,
            &mut options.time,
        );
        section.set(
            "octets",
            "a number of octets such as \"8MiB\"",
            octets,
            &mut options.octets,
        );
        let count = |key, field: &mut usize| section.set(key, "a number", number, field);
        count("requests", &mut options.requests);
        count("requests-per-address", &mut options.requests_per_address);
        for (key, value, least) in [
            ("octets", options.octets, 1024),
            ("requests", options.requests, 1),
            ("requests-per-address", options.requests_per_address, 1),
        ] {
            if value < least {
                section.note_less(key, least);
            }
        }
        if options.time.is_zero() {
            section.note_less("time", "1ms");
        }
        is_enabled.then_some(options)
    });
    read.unwrap_or_else(|| Some(GatewayOptions::default()))
}

/// Whose servers are asked.
fn targets(section: &Section<'_>, options: &mut GatewayOptions) {
    let targets = &mut options.targets;
    targets.open = section.flag("open").unwrap_or(false);
    let named = section.values("targets");
    // They take a moment to read.
    let profiles = match named.is_empty() {
        true => Profiles::default(),
        false => Profiles::built_in(),
    };
    for value in named {
        match string(value.get_ref()).map(|text| targets.allow(text, &profiles)) {
            Some(Ok(())) => {}
            Some(Err(error)) => section.note(value, format!("targets: {error}")),
            None => section.note(value, "targets holds a value that is not a text"),
        }
    }
    for value in section.values("names") {
        match string(value.get_ref()).map(|name| targets.add_own_name(name)) {
            Some(Ok(())) => {}
            Some(Err(error)) => section.note(value, format!("names: {error}")),
            None => section.note(value, "names holds a value that is not a text"),
        }
    }
}
