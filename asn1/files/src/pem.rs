//! Describes the contents of a file that should contain certificates or keys in PEM (RFC 7468), for messages about
//! wrong files.

/// Returns a description of the contents that can end a sentence, such as `a private key` or `nothing in PEM`.
pub fn contents(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let mut found: Vec<&str> = Vec::new();
    for line in text.lines() {
        let label = line.trim().strip_prefix("-----BEGIN ");
        let Some(label) = label.and_then(|label| label.strip_suffix("-----")) else {
            continue;
        };
        let name = name(label);
        if !found.contains(&name) && found.len() < MOST {
            found.push(name);
        }
    }
    match (found.is_empty(), octets.first()) {
        (false, _) => found.join(" and "),
        (true, None) => "nothing: it is empty".to_owned(),
        // Certificates and keys in DER begin like this: a SEQUENCE with a length in two octets.
        (true, Some(0x30)) if octets.get(1) == Some(&0x82) => {
            "DER, not PEM (openssl x509 -inform DER, or openssl pkey -inform DER, converts it)"
                .to_owned()
        }
        (true, _) => "nothing in PEM".to_owned(),
    }
}

/// The maximum number of kinds of contents that are listed.
const MOST: usize = 4;

fn name(label: &str) -> &'static str {
    match label {
        "CERTIFICATE" | "X509 CERTIFICATE" => "a certificate",
        "TRUSTED CERTIFICATE" => {
            "a certificate in OpenSSL's own TRUSTED form (openssl x509 converts it)"
        }
        "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" | "DSA PRIVATE KEY" => "a private key",
        "ENCRYPTED PRIVATE KEY" => "an encrypted private key (openssl pkey decrypts it)",
        "OPENSSH PRIVATE KEY" => "a private key of OpenSSH",
        "PUBLIC KEY" | "RSA PUBLIC KEY" => "a public key",
        "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => "a certificate request",
        "EC PARAMETERS" | "DH PARAMETERS" => "parameters",
        "X509 CRL" => "a list of revoked certificates",
        _ => "something else in PEM",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_d16_the_contents_are_named() {
        for (text, expected) in [
            ("", "nothing: it is empty"),
            ("hello", "nothing in PEM"),
            (
                "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n",
                "a certificate",
            ),
            (
                "-----BEGIN EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----\r\n-----BEGIN RSA PRIVATE KEY-----",
                "parameters and a private key",
            ),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----",
                "an encrypted private key (openssl pkey decrypts it)",
            ),
            ("-----BEGIN COFFEE-----", "something else in PEM"),
        ] {
            assert_eq!(contents(text.as_bytes()), expected, "{text}");
        }
        assert!(contents(&[0x30, 0x82, 1, 1]).starts_with("DER, not PEM"));
    }
}
