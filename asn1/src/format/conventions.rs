//! Units of OtherInformation defined by Index Data. Each unit is text whose category has an identifier from
//! 1.2.840.10003.10.1000.81.1 to .4 and the value 1.

use crate::apdu::{InfoCategory, Information, OtherInformation, OtherInformationUnit};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

/// The kind of a unit of OtherInformation that Index Data defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// In Init, to a proxy: the server to connect to, as `tcp:host:port/database`.
    Proxy,
    /// In any APDU to or from a proxy: the identifier of the proxy's session.
    Cookie,
    /// In Init from a gateway: the address of the gateway's user.
    ClientIp,
    /// In Scan: the result set whose records are counted.
    ScanSet,
}

/// The value of the category, which is the same for all kinds.
const CATEGORY_VALUE: i64 = 1;

impl Convention {
    /// Returns the identifier of the category.
    pub fn oid(self) -> Oid {
        match self {
            Self::Proxy => oid::PROXY,
            Self::Cookie => oid::COOKIE,
            Self::ClientIp => oid::CLIENT_IP,
            Self::ScanSet => oid::SCAN_SET,
        }
    }

    /// Returns the text of the first unit of this kind.
    pub fn find(self, information: &OtherInformation) -> Option<&InternationalString> {
        information
            .0
            .iter()
            .find_map(|unit| match (&unit.category, &unit.information) {
                (Some(category), Information::CharacterInfo(text))
                    if self.is_category(category) =>
                {
                    Some(text)
                }
                _ => None,
            })
    }

    /// Adds a unit of this kind with the text. It replaces existing units of this kind.
    pub fn put(self, information: &mut OtherInformation, text: impl Into<InternationalString>) {
        let stays = |unit: &OtherInformationUnit| {
            !unit
                .category
                .as_ref()
                .is_some_and(|category| self.is_category(category))
        };
        information.0.retain(stays);
        information.0.push(OtherInformationUnit {
            category: Some(InfoCategory {
                category_type_id: Some(self.oid()),
                category_value: CATEGORY_VALUE,
            }),
            information: Information::CharacterInfo(text.into()),
        });
    }

    fn is_category(self, category: &InfoCategory) -> bool {
        category.category_type_id == Some(self.oid()) && category.category_value == CATEGORY_VALUE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode_value;

    #[test]
    fn a_convention_is_set_once_and_found() {
        for (convention, text) in [
            (Convention::Proxy, "tcp:realhost:210/db"),
            (Convention::Cookie, "17"),
            (Convention::ClientIp, "192.0.2.1"),
            (Convention::ScanSet, "1"),
        ] {
            let mut information = OtherInformation::default();
            assert_eq!(convention.find(&information), None);
            convention.put(&mut information, "before");
            Convention::Cookie.put(&mut information, "17");
            convention.put(&mut information, text);
            assert_eq!(convention.find(&information), Some(&text.into()));
            assert_eq!(Convention::Cookie.find(&information), Some(&"17".into()));
        }
    }

    #[test]
    fn octets_of_a_proxy() {
        let mut information = OtherInformation::default();
        Convention::Proxy.put(&mut information, "x");
        let octets = [
            &[0xbf, 0x81, 0x49, 0x16, 0x30, 0x14, 0xa1, 0x0f, 0x81, 0x0a][..],
            &[0x2a, 0x86, 0x48, 0xce, 0x13, 0x0a, 0x87, 0x68, 0x51, 1],
            &[0x82, 1, 1, 0x82, 1, b'x'],
        ];
        assert_eq!(
            encode_value(&information).expect("encodes"),
            octets.concat()
        );
    }
}
