//! Wraps a URL between `<URL:` and `>` in lines of a given width, for mail (RFC 1738 Appendix, RFC 1736 §4.5). No line
//! ends with a hyphen of the URL, so that the URL can be extracted unambiguously.

/// The minimum line width in characters.
pub const MIN_WRAP_WIDTH: usize = 20;
/// The maximum line width in characters, which is suitable for mail of RFC 822.
pub const MAX_WRAP_WIDTH: usize = 76;

/// Writes a URL in a wrapper, in lines of at most `width` characters. `width` is clamped to the range from
/// [`MIN_WRAP_WIDTH`] to [`MAX_WRAP_WIDTH`]. A line ends with a hyphen only if the URL has more consecutive hyphens
/// than fit on a line.
///
/// `url` is a canonical form, or any other text of graphic ASCII without `<`, `>` and `"`.
/// [`extract`](super::extract()) finds the same URL in the result.
pub fn wrap(url: &str, width: usize) -> String {
    let width = width.clamp(MIN_WRAP_WIDTH, MAX_WRAP_WIDTH);
    let mut wrapped = String::from("<URL:");
    let mut room = width - wrapped.len();
    let characters: Vec<char> = url.chars().collect();
    let mut rest = characters.as_slice();
    // The last line holds at least one character of the URL, so that `>` does not begin a line.
    while rest.len() >= room {
        let most = rest.get(..room.min(rest.len() - 1)).unwrap_or(rest);
        let hyphens = most.iter().rev().take_while(|&&each| each == '-').count();
        let length = match most.len() - hyphens {
            0 => most.len(),
            length => length,
        };
        let (line, tail) = rest.split_at(length);
        wrapped.extend(line);
        wrapped.push('\n');
        rest = tail;
        room = width;
    }
    wrapped.extend(rest);
    wrapped.push('>');
    wrapped
}
