//! Octets written as hexadecimal digits, for tests.

/// The octets; blanks between digits do not count.
pub(crate) fn octets_of_hex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    pairs
        .map(|pair| u8::from_str_radix(&pair, 16).expect("two digits"))
        .collect()
}
