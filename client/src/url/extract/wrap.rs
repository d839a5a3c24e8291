//! Writing a URL between `<URL:` and `>` in lines of a given width, as mail needs it (RFC 1738 Appendix,
//! RFC 1736 §4.5). No line ends with a hyphen of the URL's, so there is only one way to read it back.

/// Narrowest width of lines, in characters.
pub const MIN_WRAP_WIDTH: usize = 20;
/// Widest lines, in characters: those of RFC 822 mail.
pub const MAX_WRAP_WIDTH: usize = 76;

/// The URL in a wrapper, in lines of at most `width` characters, the width taken to be within
/// [`MIN_WRAP_WIDTH`] and [`MAX_WRAP_WIDTH`]. Only where a line would have to end with a hyphen is it longer.
///
/// `url` is a canonical form or any other text of graphic ASCII without `<`, `>` and `"`; what else it holds stays
/// where it is. [`extract`](super::extract()) gives back the same.
pub fn wrap(url: &str, width: usize) -> String {
    let width = width.clamp(MIN_WRAP_WIDTH, MAX_WRAP_WIDTH);
    let mut wrapped = String::from("<URL:");
    let mut room = width - wrapped.len();
    let mut last = None;
    let mut characters = url.chars().peekable();
    while let Some(character) = characters.next() {
        // The `>` may not begin a line: it would have to be broken off the last character.
        let needed = if characters.peek().is_none() { 2 } else { 1 };
        if room < needed && last != Some('-') {
            wrapped.push('\n');
            room = width;
        }
        wrapped.push(character);
        room = room.saturating_sub(1);
        last = Some(character);
    }
    wrapped.push('>');
    wrapped
}
