//! Recognizes parameters that contain secrets, such as a password, the token for SRU's authentication extension
//! (`info:srw/extension/2/auth-1.0`), or a user's API key.

/// Parts of the names of parameters that contain secrets, in lower case and reduced to letters and digits.
const PARTS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "apikey",
    "accesskey",
    "secret",
    "wskey",
    "credential",
    "authorization",
    "signature",
];
/// Complete names of parameters that contain secrets.
const NAMES: [&str; 4] = ["key", "xkey", "auth", "xauth"];

/// Returns whether a parameter or element with this name contains a secret, which is never echoed, logged or stored.
pub fn is_secret_parameter(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    NAMES.contains(&&*plain) || PARTS.iter().any(|part| plain.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_x3_names_of_secrets() {
        for (name, expected) in [
            ("x-info-2-auth1.0-authenticationToken", true),
            ("x-token", true),
            ("x-api_key", true),
            ("X-API-Key", true),
            ("wskey", true),
            ("x-key", true),
            ("x-password", true),
            ("clientSecret", true),
            ("query", false),
            ("sortKeys", false),
            ("x-username", false),
            ("x-target", false),
            ("x-author", false),
        ] {
            assert_eq!(is_secret_parameter(name), expected, "{name}");
        }
    }
}
