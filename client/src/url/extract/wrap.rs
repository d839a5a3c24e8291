//! Writing a URL between `<URL:` and `>` in lines of a given width, as mail needs it (RFC 1738 Appendix,
//! RFC 1736 §4.5). No line ends with a hyphen of the URL's, so there is only one way to read it back.

/// Narrowest width of lines, in characters.
pub const MIN_WRAP_WIDTH: usize = 20;
/// Widest lines, in characters: those of RFC 822 mail.
pub const MAX_WRAP_WIDTH: usize = 76;

/// The URL in a wrapper, in lines of at most `width` characters, the width taken to be within
/// [`MIN_WRAP_WIDTH`] and [`MAX_WRAP_WIDTH`]. Only where more hyphens follow each other than a line has room for, a line
/// ends with one.
///
/// `url` is a canonical form or any other text of graphic ASCII without `<`, `>` and `"`; what else it holds stays
/// where it is. [`extract`](super::extract()) gives back the same.
pub fn wrap(url: &str, width: usize) -> String {
    let width = width.clamp(MIN_WRAP_WIDTH, MAX_WRAP_WIDTH);
    let mut wrapped = String::from("<URL:");
    let mut room = width - wrapped.len();
    let characters: Vec<char> = url.chars().collect();
    let mut rest = characters.as_slice();
    // The `>` may not begin a line, so the last one has a character of the URL too.
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
