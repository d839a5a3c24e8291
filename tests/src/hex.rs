//! Reads and writes octets as hexadecimal digits with comments, as in `fixtures/wire/*.hex`.

/// Parses octets that are written as two hexadecimal digits each, with any white space between them. `#` begins a comment, and
/// `"…"` represents the octets of the characters between the quotation marks.
pub fn octets(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while !rest.trim_start().is_empty() {
            rest = rest.trim_start();
            if rest.starts_with('#') {
                break;
            }
            if let Some(quoted) = rest.strip_prefix('"') {
                let (characters, after) = quoted.split_once('"').expect("a closing quote");
                octets.extend(characters.bytes());
                rest = after;
                continue;
            }
            let (digits, after) = rest
                .split_at_checked(2)
                .unwrap_or_else(|| panic!("two digits in {line:?}"));
            octets.push(
                u8::from_str_radix(digits, 16)
                    .unwrap_or_else(|_| panic!("hexadecimal digits in {line:?}")),
            );
            rest = after;
        }
    }
    octets
}

/// Formats octets as hexadecimal digits for messages, 32 octets per line.
pub fn digits(octets: &[u8]) -> String {
    let lines = octets.chunks(32).map(|line| {
        let digits: Vec<String> = line.iter().map(|octet| format!("{octet:02X}")).collect();
        digits.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn remarks_and_characters() {
        assert_eq!(
            super::octets("B6 7001 # length\n\"tmf\" 00"),
            [0xb6, 0x70, 1, b't', b'm', b'f', 0]
        );
        assert_eq!(super::digits(&[0xb6, 1]), "B6 01");
    }
}
