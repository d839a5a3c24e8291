//! Extracts messages to the user from an InitializeResponse: diagnostics in user information format userInfo-1 and
//! diagnostic format diag-1 (Z39.50-2003 Appendix USR, Appendix DIAG), and plain text, which some servers send instead.

use z3950_asn1::apdu::{
    DefaultDiagFormat, DiagRec, External, ExternalEncoding, ExternalValue, Information,
    InitializeResponse, OtherInformation,
};
use z3950_asn1::codec::decode_value;
use z3950_asn1::codec::frame::Header;
use z3950_asn1::format::diag1::DiagnosticFormat;
use z3950_asn1::oid::DIAG_1;
use z3950_marc::charset::utf8_or_latin1;

use crate::error::Diagnostics;

/// Texts and diagnostics from the server. Either list may be empty.
#[derive(Debug, Default, PartialEq)]
pub(super) struct UserInformation {
    pub(super) text: Vec<String>,
    pub(super) diagnostics: Diagnostics,
}

/// The maximum depth of nested EXTERNALs. Servers use two levels.
const MAX_DEPTH: usize = 4;

/// Reads the messages in `userInformationField` and `otherInfo`. Unknown formats are ignored.
pub(super) fn read(response: &InitializeResponse) -> UserInformation {
    let mut found = UserInformation::default();
    if let Some(external) = &response.user_information_field {
        found.external(external, MAX_DEPTH);
    }
    if let Some(information) = &response.other_info {
        found.units(information, MAX_DEPTH);
    }
    found
}

impl UserInformation {
    fn external(&mut self, external: &External, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let (octets, is_value) = match &external.encoding {
            ExternalEncoding::SingleAsn1Type(value) => (value.as_bytes(), true),
            ExternalEncoding::OctetAligned(octets) => (octets.as_bytes(), false),
            ExternalEncoding::Arbitrary(_) => return,
        };
        if external.direct_reference == Some(DIAG_1) {
            if let Ok(format) = DiagnosticFormat::from_external(external) {
                self.diag_1(&format, external);
            }
        } else if let Ok(information) = decode_value::<OtherInformation>(octets) {
            self.units(&information, depth);
        } else if let Ok(diagnostic) = decode_value::<DefaultDiagFormat>(octets) {
            self.diagnostics.0.push(DiagRec::DefaultFormat(diagnostic));
        } else if is_value {
            self.text.extend(character_string(octets));
        } else {
            self.text.extend(words(octets));
        }
    }

    /// Adds diagnostics in diag-1. If an EXTERNAL contains explicit diagnostics, it is kept unchanged, because these
    /// cannot be converted to the default format.
    fn diag_1(&mut self, format: &DiagnosticFormat, external: &External) {
        let diagnostics = format.default_diagnostics().cloned();
        self.diagnostics
            .0
            .extend(diagnostics.map(DiagRec::DefaultFormat));
        if format.has_explicit() {
            let external = DiagRec::ExternallyDefined(external.clone());
            self.diagnostics.0.push(external);
        }
        let messages = format.0.iter().filter_map(|unit| unit.message.as_ref());
        self.text
            .extend(messages.filter_map(|message| words(message.as_bytes())));
    }

    fn units(&mut self, information: &OtherInformation, depth: usize) {
        for unit in &information.0 {
            match &unit.information {
                Information::CharacterInfo(text) => self.text.extend(words(text.as_bytes())),
                Information::ExternallyDefinedInfo(external) => self.external(external, depth),
                Information::BinaryInfo(_) | Information::Oid(_) => {}
            }
        }
    }
}

fn contents(value: &[u8]) -> &[u8] {
    match Header::read(value) {
        Ok(Some(header)) => value.get(header.octets..).unwrap_or_default(),
        _ => &[],
    }
}

/// Returns the text of a UTF8String, VisibleString or GeneralString, or `None` for other octets.
fn character_string(octets: &[u8]) -> Option<String> {
    matches!(octets.first()?, 0x0c | 0x1a | 0x1b).then(|| words(contents(octets)))?
}

fn words(octets: &[u8]) -> Option<String> {
    let text = utf8_or_latin1(octets).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::{Options, OtherInformationUnit, ProtocolVersion};
    use z3950_asn1::codec::encode_value;
    use z3950_asn1::oid::{Oid, SUTRS, USER_INFO_1};
    use z3950_asn1::types::{Any, InternationalString};

    fn response(external: Option<External>, text: Option<&str>) -> InitializeResponse {
        let unit = |text: &str| OtherInformationUnit {
            category: None,
            information: Information::CharacterInfo(text.into()),
        };
        InitializeResponse {
            reference_id: None,
            protocol_version: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH,
            preferred_message_size: 0,
            exceptional_record_size: 0,
            result: false,
            implementation_id: None,
            implementation_name: None,
            implementation_version: None,
            user_information_field: external,
            other_info: text.map(|text| OtherInformation(vec![unit(text)])),
            unknown: Default::default(),
        }
    }

    fn single(syntax: Oid, octets: Vec<u8>) -> External {
        External::single_asn1_type(syntax, Any::new(octets).expect("not empty"))
    }

    /// Wraps one diagnostic in diag-1 in userInfo-1, as YAZ and FOLIO do.
    fn user_info_1(diag_1: External) -> External {
        let unit = OtherInformationUnit {
            category: None,
            information: Information::ExternallyDefinedInfo(diag_1),
        };
        single(
            USER_INFO_1,
            encode_value(&OtherInformation(vec![unit])).expect("encodes"),
        )
    }

    fn diag_1_octets(condition: i64, addinfo: &str) -> Vec<u8> {
        let diagnostic = DefaultDiagFormat::bib1(condition, addinfo);
        encode_value(&DiagnosticFormat::of(diagnostic)).expect("encodes")
    }

    #[test]
    fn every_message_and_diagnostic_is_found() {
        let text = |text: &str| vec![text.to_owned()];
        let single_diag = single(DIAG_1, diag_1_octets(1014, "joe"));
        let octets_diag = External::octet_aligned(DIAG_1, diag_1_octets(1014, "joe"));
        let found = Some((1014, "joe"));
        let string = encode_value(&InternationalString::from("go away")).expect("encodes");
        for (response, expected_text, expected) in [
            (response(None, None), vec![], None),
            (
                response(Some(user_info_1(single_diag.clone())), None),
                vec![],
                found,
            ),
            (
                response(Some(user_info_1(octets_diag)), Some(" closed today ")),
                text("closed today"),
                found,
            ),
            (response(Some(single_diag), None), vec![], found),
            (
                response(Some(single(SUTRS, string)), None),
                text("go away"),
                None,
            ),
            (
                response(Some(External::octet_aligned(SUTRS, "no")), None),
                text("no"),
                None,
            ),
            (
                response(
                    Some(External::octet_aligned(DIAG_1, &b"\x30\x80\xff"[..])),
                    None,
                ),
                vec![],
                None,
            ),
            (
                response(Some(single(USER_INFO_1, vec![0xbf, 0x81])), None),
                vec![],
                None,
            ),
        ] {
            let said = read(&response);
            assert_eq!(said.text, expected_text);
            let diagnostic = said.diagnostics.first();
            assert_eq!(
                diagnostic.map(|diagnostic| diagnostic.condition),
                expected.map(|(code, _)| code)
            );
            assert_eq!(
                said.diagnostics.addinfo().as_deref(),
                expected.map(|(_, addinfo)| addinfo)
            );
        }
    }
}
