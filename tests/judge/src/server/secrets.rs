//! Hides credentials that a server sends back. Each of their octets is replaced with `*` in reports.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use z3950_asn1::apdu::IdAuthentication;

use super::finding::Finding;
use super::options::JudgeOptions;
use super::sru::parameters::escaped;
use super::verdict::Verdict;
use z3950::sru::login;

/// The minimum length in octets of user and group names that are hidden. Shorter names are not hidden, because they often occur
/// within other words.
const MIN_NAME: usize = 4;
/// The headers whose values are hidden.
const HEADERS: [&[u8]; 3] = [b"cookie", b"set-cookie", b"proxy-authorization"];

/// The octets to hide in reports: the credentials in every form in which they occur in requests or are quoted in messages.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Returns the secrets in the options of a judgement.
    pub(super) fn of(options: &JudgeOptions) -> Self {
        let mut values: Vec<Vec<u8>> = Vec::new();
        let identity = options.init.id_authentication.as_ref();
        match identity {
            Some(IdAuthentication::IdPass(pass)) => {
                values.extend(pass.password.iter().map(|text| text.as_bytes().to_vec()));
                let names = [&pass.group_id, &pass.user_id].into_iter().flatten();
                let names = names.map(|text| text.as_bytes().to_vec());
                values.extend(names.filter(|name| name.len() >= MIN_NAME));
            }
            Some(IdAuthentication::Open(text)) => values.push(text.as_bytes().to_vec()),
            _ => {}
        }
        if let Some(login) = identity.and_then(login) {
            let basic = STANDARD.encode(format!("{}:{}", login.user, login.password));
            values.extend([basic.into_bytes(), login.password.into_bytes()]);
        }
        let mut forms: Vec<Vec<u8>> = values.iter().flat_map(|value| forms(value)).collect();
        forms.retain(|form| !form.is_empty());
        // The longest forms come first, so that a form that begins with another one is hidden completely.
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        forms.dedup();
        Self(forms)
    }

    /// Hides the secrets in all parts of a finding.
    pub(super) fn hide(&self, finding: &mut Finding) {
        match &mut finding.verdict {
            Verdict::Pass => {}
            Verdict::Fail { wanted, came } => {
                self.hide_in(wanted);
                self.hide_in(came);
            }
            Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => self.hide_in(reason),
        }
        for exchange in &mut finding.exchanges {
            let mut octets = exchange.octets.to_vec();
            self.hide_in_octets(&mut octets);
            if exchange.length > octets.len() {
                self.hide_beginning(&mut octets);
            }
            exchange.octets = Bytes::from(octets);
            self.hide_in(&mut exchange.summary);
        }
    }

    /// Hides the secrets in text, including those that were cut off before a `…`.
    pub(super) fn hide_in(&self, text: &mut String) {
        const CUT: &str = "…";
        let mut octets = std::mem::take(text).into_bytes();
        self.hide_in_octets(&mut octets);
        let cuts = octets
            .windows(CUT.len())
            .enumerate()
            .filter(|(_, part)| *part == CUT.as_bytes());
        let cuts: Vec<usize> = cuts.map(|(at, _)| at).collect();
        for at in cuts {
            self.hide_beginning(octets.get_mut(..at).unwrap_or_default());
        }
        *text = String::from_utf8_lossy(&octets).into_owned();
    }

    fn hide_in_octets(&self, octets: &mut [u8]) {
        for form in &self.0 {
            let mut from = 0;
            while let Some(at) = position(octets.get(from..).unwrap_or_default(), form) {
                let end = from + at + form.len();
                fill(octets, from + at, end);
                from = end;
            }
        }
        hide_userinfo(octets);
        hide_headers(octets);
    }

    /// Hides the beginning of a secret at the end of octets that were cut off.
    fn hide_beginning(&self, octets: &mut [u8]) {
        let longest = |form: &Vec<u8>| {
            let lengths = (1..form.len()).rev();
            lengths.into_iter().find(|length| {
                form.get(..*length)
                    .is_some_and(|part| octets.ends_with(part))
            })
        };
        let length = self.0.iter().filter_map(longest).max().unwrap_or(0);
        fill(octets, octets.len() - length, octets.len());
    }
}

/// Returns the forms of a value: as it is sent, and as it is written in URLs, XML, JSON and messages.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let latin_1: String = value.iter().map(|octet| char::from(*octet)).collect();
    let mut forms = vec![value.to_vec(), latin_1.clone().into_bytes()];
    let text = std::str::from_utf8(value).map_or(latin_1, str::to_owned);
    let in_url = escaped(&text);
    let in_xml = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let in_attribute = in_xml.replace('"', "&quot;");
    let texts = [
        in_url.to_ascii_lowercase(),
        in_url.replace("%20", "+"),
        in_url,
        in_attribute.replace('\'', "&apos;"),
        in_attribute.replace('\'', "&#39;"),
        in_attribute,
        in_xml,
        text.escape_debug().to_string(),
        text.replace('\\', "\\\\").replace('"', "\\\""),
        text,
    ];
    forms.extend(texts.map(String::into_bytes));
    forms
}

/// Returns the offset of `part` in `octets`, or `None` if it does not occur there.
fn position(octets: &[u8], part: &[u8]) -> Option<usize> {
    octets.windows(part.len()).position(|window| window == part)
}

fn fill(octets: &mut [u8], from: usize, to: usize) {
    octets.get_mut(from..to).unwrap_or_default().fill(b'*');
}

/// Hides the user and password in URLs, between `://` and `@`.
fn hide_userinfo(octets: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = position(octets.get(from..).unwrap_or_default(), b"://") {
        let begin = from + at + 3;
        let rest = octets.get(begin..).unwrap_or_default();
        let is_end = |octet: &u8| !octet.is_ascii_graphic() || b"/?#<>\"'".contains(octet);
        let authority = rest.iter().position(is_end).unwrap_or(rest.len());
        let authority = rest.get(..authority).unwrap_or_default();
        if let Some(end) = authority.iter().rposition(|octet| *octet == b'@') {
            fill(octets, begin, begin + end);
        }
        from = begin;
    }
}

/// Hides the values of HTTP headers that could identify a client.
fn hide_headers(octets: &mut [u8]) {
    let mut from = 0;
    while let Some(length) = position(octets.get(from..).unwrap_or_default(), b"\r\n") {
        let line = octets.get(from..from + length).unwrap_or_default();
        if line.is_empty() {
            return;
        }
        let colon = line.iter().position(|octet| *octet == b':');
        if let Some(colon) = colon
            && line.get(..colon).is_some_and(|name| {
                HEADERS
                    .iter()
                    .any(|header| name.eq_ignore_ascii_case(header))
            })
        {
            fill(octets, from + colon + 1, from + length);
        }
        from += length + 2;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use z3950_asn1::apdu::IdPass;

    use super::*;
    use crate::server::all_checks as all;
    use crate::server::ledger::Exchange;

    fn secrets(user: &str, password: &str) -> Secrets {
        let mut options = JudgeOptions::default();
        options.init.id_authentication = Some(IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some(user.into()),
            password: Some(password.into()),
        }));
        Secrets::of(&options)
    }

    #[test]
    fn credentials_are_hidden_however_they_are_written() {
        for (password, text, shown) in [
            ("sesame", "hello annette, sesame!", "hello *******, ******!"),
            (
                "a b&c",
                "a%20b%26c a+b%26c a%20b%26c",
                "********* ******* *********",
            ),
            ("a b&c", "<x>a b&amp;c</x>", "<x>*********</x>"),
            (
                "a\"b\\",
                r#"{"x":"a\"b\\"} a&quot;b\"#,
                r#"{"x":"******"} *********"#,
            ),
            ("x", "Basic YW5uZXR0ZTp4", "Basic ************"),
            ("sesame", "it is ses…, or sesam…", "it is ***…, or *****…"),
            (
                "s",
                "http://u:p@h/s?a@b ftp://h/x@y",
                "http://***@h/*?a@b ftp://h/x@y",
            ),
            (
                "q",
                "HTTP/1.1 200 OK\r\nSet-Cookie: id=7\r\nA: b\r\n\r\nCookie: c\r\n",
                "HTTP/1.1 200 OK\r\nSet-Cookie:*****\r\nA: b\r\n\r\nCookie: c\r\n",
            ),
        ] {
            let mut hidden = text.to_owned();
            secrets("annette", password).hide_in(&mut hidden);
            assert_eq!(hidden, shown, "{password} in {text}");
        }
        let mut plain = "an ann".to_owned();
        secrets("ann", "").hide_in(&mut plain);
        assert_eq!(plain, "an ann", "short names occur in words");
    }

    #[test]
    fn a_secret_that_is_cut_off_is_hidden() {
        for (length, shown) in [(8, "... sesa"), (9, "... ****")] {
            let (_, check) = all().next().expect("a check");
            let mut finding = Finding {
                requirement: &check.requirement,
                verdict: Verdict::fail("sesame", "no sesame"),
                is_error: false,
                time: Duration::ZERO,
                exchanges: vec![Exchange {
                    is_sent: false,
                    octets: Bytes::from_static(b"... sesa"),
                    length,
                    summary: "sesame".to_owned(),
                }],
            };
            secrets("", "sesame").hide(&mut finding);
            assert_eq!(finding.verdict, Verdict::fail("******", "no ******"));
            let exchange = &finding.exchanges[0];
            assert_eq!(
                (&*exchange.octets, &*exchange.summary),
                (shown.as_bytes(), "******")
            );
        }
    }
}
