//! Rules about the values of Init (Z39.50-2003 §3.2.1.1).

use z3950_asn1::apdu::InitializeRequest;
use z3950_asn1::codec::frame::{CONSTRUCTED, Header, Length};
use z3950_files::hex;

use super::Judged;
use crate::client::rules::RuleId;

/// The positions of the options defined by the standard; 9 is reserved.
const OPTIONS: std::ops::RangeInclusive<u8> = 0..=21;
const RESERVED: u8 = 9;
/// The tags of the bit strings in Init: protocolVersion and options.
const BIT_STRINGS: [u32; 2] = [3, 4];

impl Judged<'_> {
    pub(super) fn init(&mut self, init: &InitializeRequest) {
        let versions: Vec<u8> = init
            .protocol_version
            .0
            .positions()
            .map(|position| position + 1)
            .collect();
        let highest = init.protocol_version.highest();
        self.mark(RuleId::InitVersion, highest.is_some(), || {
            format!("the versions {versions:?}")
        });
        if let Some(highest) = highest {
            let has_all = (1..=highest).all(|version| versions.contains(&version));
            self.mark(RuleId::InitVersionLower, has_all, || {
                format!("only the versions {versions:?}")
            });
        }
        let mut unknown = init.options.0.positions();
        let unknown = unknown.find(|bit| !OPTIONS.contains(bit) || *bit == RESERVED);
        self.mark(RuleId::InitOptionsKnown, unknown.is_none(), || {
            format!("option {}", unknown.unwrap_or_default())
        });
        let bad = bad_bit_strings(self.message.octets);
        self.mark(RuleId::InitBitStrings, bad.is_empty(), || {
            let first = bad.first().copied().unwrap_or_default();
            if first.is_empty() {
                "a bit string without contents".to_owned()
            } else {
                format!("the bit string {}", hex::digits(first))
            }
        });
        let (message, record) = (init.preferred_message_size, init.exceptional_record_size);
        let came = || format!("preferredMessageSize {message}, exceptionalRecordSize {record}");
        self.mark(RuleId::InitSizes, message >= 0 && record >= 0, came);
        self.mark(RuleId::InitSizesOrder, record >= message, came);
        let is_named = init.implementation_name.is_some() || init.implementation_id.is_some();
        self.mark(RuleId::InitNames, is_named, || {
            "neither implementationName nor implementationId".to_owned()
        });
    }
}

/// Returns the bit strings in an initRequest whose first octet is not a valid number of unused bits (X.690 §8.6.2). A decoded
/// request does not show this, so the octets are examined.
fn bad_bit_strings(octets: &[u8]) -> Vec<&[u8]> {
    let mut bad = Vec::new();
    let mut rest = contents(octets);
    while let Ok(Some(header)) = Header::read(rest) {
        let Length::Definite(length) = header.length else {
            break;
        };
        let end = header.octets.saturating_add(length);
        let Some(value) = rest.get(header.octets..end) else {
            break;
        };
        let is_primitive = header.class & CONSTRUCTED == 0;
        if is_primitive
            && BIT_STRINGS.contains(&header.tag)
            && value.first().is_none_or(|unused| *unused > 7)
        {
            bad.push(value);
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    bad
}

fn contents(octets: &[u8]) -> &[u8] {
    let header = Header::read(octets).ok().flatten();
    header.map_or(&[], |header| {
        octets.get(header.octets..).unwrap_or_default()
    })
}
