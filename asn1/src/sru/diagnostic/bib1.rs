//! Converts Bib-1 conditions to SRU conditions and back, because some programs use both protocols and most SRU servers are front ends of
//! Z39.50 servers.

use super::{SruCondition, SruDiagnostic};
use crate::apdu::DefaultDiagFormat;
use crate::bib1::diagnostics::Condition;
use crate::oid::BIB_1_DIAGNOSTICS;

impl SruDiagnostic {
    /// Converts a Z39.50 diagnostic to SRU, with its addinfo as `details`. A condition without a counterpart becomes 1,
    /// with the Bib-1 message.
    pub fn from_bib1(diagnostic: &DefaultDiagFormat) -> Self {
        let details = diagnostic.addinfo.to_string_lossy();
        let is_bib1 = diagnostic.diagnostic_set_id == BIB_1_DIAGNOSTICS;
        let condition = Condition(if is_bib1 { diagnostic.condition } else { 0 });
        match of_bib1(condition) {
            Some(condition) => Self::new(condition, details),
            None => {
                let one = Self::new(SruCondition::SYSTEM_ERROR, details);
                match diagnostic.message() {
                    Some(message) => one.with_message(message),
                    None => one,
                }
            }
        }
    }

    /// Converts the diagnostic to Z39.50. A condition without a counterpart becomes 1 (224 for Record Update), with the
    /// message of the diagnostic in the addinfo.
    pub fn to_bib1(&self) -> DefaultDiagFormat {
        let condition = self.condition().and_then(to_bib1);
        if let Some(condition) = condition {
            return DefaultDiagFormat::bib1(condition.0, &*self.details);
        }
        let condition = match self.update_number() {
            Some(_) => Condition::EXECUTION_FAILED,
            None => Condition::PERMANENT_SYSTEM_ERROR,
        };
        let words = [self.words(), &self.details];
        let words: Vec<&str> = words.into_iter().filter(|text| !text.is_empty()).collect();
        DefaultDiagFormat::bib1(condition.0, words.join(": "))
    }
}

/// Returns the SRU condition in the first row of [`PAIRS`] that has the Bib-1 condition.
fn of_bib1(condition: Condition) -> Option<SruCondition> {
    let mut rows = PAIRS.iter();
    rows.find(|(bib1, _)| i64::from(*bib1) == condition.0)
        .map(|(_, sru)| SruCondition(*sru))
}

/// Returns the Bib-1 condition for an SRU condition: from [`BACK`], or from the first row of [`PAIRS`] that has the SRU
/// condition.
fn to_bib1(condition: SruCondition) -> Option<Condition> {
    let mut rows = BACK.iter().map(|(sru, bib1)| (bib1, sru));
    let exception = rows.find(|(_, sru)| **sru == condition.0);
    let row = exception.or_else(|| {
        let mut rows = PAIRS.iter().map(|(bib1, sru)| (bib1, sru));
        rows.find(|(_, sru)| **sru == condition.0)
    });
    row.map(|(bib1, _)| Condition(i64::from(*bib1)))
}

/// The SRU conditions whose Bib-1 counterpart is not in the first matching row of [`PAIRS`].
const BACK: [(u16, u16); 5] = [(3, 1011), (10, 108), (36, 125), (66, 238), (67, 238)];

/// Pairs of Bib-1 and SRU conditions. In both directions, the first row with the number applies. Most pairs are the same as in
/// YAZ, because other programs expect them. The following pairs differ, because YAZ maps conditions to others with a different
/// meaning:
///
/// - An unavailable database (109) exists, so the condition becomes 2 (temporarily unavailable) and not 235 (unknown database);
///   the same applies to a locked database (29).
/// - 3 means that the user or the password was not accepted. If they could not be checked (1014), the condition becomes 2; if the user may
///   not use a database for a different reason (1012, 1013, 1016, 1017), it becomes 236; and if a record was left out because of a
///   challenge (103, 104), it becomes 68.
/// - A service that a database does not offer (1025, 1055) becomes an unsupported operation.
/// - Conditions for which YAZ has a counterpart with a different meaning (8, 21, 23, 105, 112) have no counterpart here.
#[rustfmt::skip]
const PAIRS: &[(u16, u16)] = &[
    (1, 1), (2, 2), (3, 48), (4, 35), (5, 12), (6, 38), (7, 30), (9, 29), (10, 36), (11, 12), (11, 23), (12, 60),
    (13, 61), (13, 62), (14, 63), (14, 64), (14, 65), (15, 68), (15, 69), (16, 70), (17, 70), (18, 53), (19, 55), (20, 56),
    (22, 50), (24, 66), (25, 66), (26, 66), (27, 51), (28, 52), (29, 2), (30, 51), (31, 57), (32, 58),
    (33, 59), (101, 3), (102, 3), (103, 68), (104, 68), (106, 67), (107, 11), (108, 10), (108, 13), (108, 14),
    (108, 25), (108, 26), (108, 27), (108, 45), (109, 2), (110, 37), (113, 48), (114, 16), (115, 36), (116, 16),
    (117, 19), (117, 20), (118, 22), (119, 32), (119, 31), (120, 28), (121, 15), (122, 32), (123, 22), (123, 17), (123, 18),
    (124, 24), (125, 36), (126, 36), (127, 36), (128, 51), (129, 39), (130, 39), (131, 40), (132, 42), (201, 39), (201, 44),
    (201, 33), (201, 34), (202, 41), (203, 43), (207, 82), (207, 89), (209, 80), (210, 80), (210, 81), (211, 84), (212, 85),
    (213, 92), (214, 90), (215, 91), (216, 92), (217, 63), (222, 3), (227, 67), (228, 48), (229, 36), (230, 83), (231, 86),
    (232, 16), (233, 120), (235, 235), (236, 236), (237, 82), (238, 67), (239, 66), (242, 70), (244, 66), (245, 48), (246, 48),
    (247, 48), (1007, 100), (1010, 3), (1011, 3), (1012, 236), (1013, 236), (1014, 2), (1015, 1015), (1016, 236), (1017, 236),
    (1018, 2), (1019, 2), (1020, 2), (1021, 3), (1022, 3), (1023, 3), (1024, 16), (1025, 4), (1026, 64), (1028, 65), (1029, 121),
    (1055, 4), (1066, 66), (1066, 67), (1070, 69), (1073, 16), (1074, 1074),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_counterparts() {
        for (bib1, sru, back) in [
            (1, 1, 1),
            (13, 61, 13),
            (30, 51, 27),
            (108, 10, 108),
            (109, 2, 2),
            (114, 16, 114),
            (123, 22, 118),
            (207, 82, 207),
            (227, 67, 238),
            (235, 235, 235),
            (238, 67, 238),
            (239, 66, 238),
            (10, 36, 125),
            (18, 53, 18),
            (29, 2, 2),
            (104, 68, 15),
            (231, 86, 231),
            (232, 16, 114),
            (222, 3, 1011),
            (1011, 3, 1011),
            (1012, 236, 236),
            (1014, 2, 2),
            (1025, 4, 1025),
            (1074, 1074, 1074),
        ] {
            let diagnostic = SruDiagnostic::from_bib1(&DefaultDiagFormat::bib1(bib1, "x"));
            assert_eq!(diagnostic, SruDiagnostic::new(SruCondition(sru), "x"));
            assert_eq!(diagnostic.to_bib1(), DefaultDiagFormat::bib1(back, "x"));
        }
    }

    #[test]
    fn audit_every_pair_is_of_two_known_conditions() {
        let mut known = std::collections::BTreeSet::new();
        for (bib1, sru) in PAIRS {
            let bib1 = Condition(i64::from(*bib1));
            assert!(bib1.message().is_some(), "{bib1}");
            assert!(SruCondition(*sru).message().is_some(), "{sru}");
            assert!(known.insert((bib1.0, *sru)), "{bib1} {sru} twice");
        }
        for (sru, bib1) in BACK {
            let pairs = known.iter();
            let is_known = pairs.clone().any(|(one, _)| *one == i64::from(bib1));
            assert!(
                is_known && pairs.clone().any(|(_, one)| *one == sru),
                "{sru} {bib1}"
            );
        }
    }

    /// Only conditions that a user can resolve with a different name or password are authentication errors.
    #[test]
    fn audit_authentication_errors_are_about_users_and_passwords() {
        let pairs = PAIRS
            .iter()
            .filter(|(_, sru)| *sru == SruCondition::AUTHENTICATION.0);
        let found: Vec<u16> = pairs.map(|(bib1, _)| *bib1).collect();
        assert_eq!(found, [101, 102, 222, 1010, 1011, 1021, 1022, 1023]);
    }

    #[test]
    fn conditions_without_counterparts_keep_their_words() {
        let locked = SruDiagnostic::from_bib1(&DefaultDiagFormat::bib1(1040, "7"));
        assert_eq!(
            locked.to_string(),
            "diagnostic 1 (there is no such function of the extended service): 7"
        );
        for (diagnostic, condition, addinfo) in [
            (
                SruDiagnostic::new(SruCondition::STYLESHEETS, "a.xsl"),
                1,
                "the server does not support stylesheets: a.xsl",
            ),
            (
                SruDiagnostic::update(50, ""),
                224,
                "there is no such record to replace or delete",
            ),
            (SruDiagnostic::with_uri("urn:x", "y"), 1, "y"),
        ] {
            let expected = DefaultDiagFormat::bib1(condition, addinfo);
            assert_eq!(diagnostic.to_bib1(), expected);
        }
    }
}
