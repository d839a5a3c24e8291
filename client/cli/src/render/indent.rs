//! XML set out for people: an element a line, indented by what it stands in. Elements with text of their own stay as they
//! are (Extensible Markup Language 1.0 §2.10: white space in them may mean something).

/// From this level on, elements are indented no further.
const DEEPEST: usize = 40;

/// A piece of a document: markup, or the text between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Open(&'a str),
    Close(&'a str),
    /// An empty element, a comment, an instruction, a declaration.
    Alone(&'a str),
    Text(&'a str),
}

/// The document with its elements on lines of their own; as it is, if it is no well-formed XML.
pub(super) fn indent(xml: &str) -> String {
    let Some((pieces, ends)) = pieces(xml) else {
        return xml.to_owned();
    };
    let mut out = String::with_capacity(xml.len());
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(piece) = pieces.get(at) {
        let line = match *piece {
            Piece::Text(text) if text.trim().is_empty() => None,
            Piece::Text(text) | Piece::Alone(text) => Some((depth, text.trim())),
            Piece::Close(text) => {
                depth = depth.saturating_sub(1);
                Some((depth, text))
            }
            Piece::Open(text) => match ends.get(at).copied().flatten() {
                Some(end) => {
                    put_line(depth, "", &mut out);
                    for piece in pieces.iter().take(end + 1).skip(at) {
                        out.push_str(piece.text());
                    }
                    out.push('\n');
                    at = end;
                    None
                }
                None => {
                    depth += 1;
                    Some((depth - 1, text))
                }
            },
        };
        if let Some((depth, text)) = line {
            put_line(depth, text, &mut out);
            out.push('\n');
        }
        at += 1;
    }
    out
}

fn put_line(depth: usize, text: &str, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
    out.push_str(text);
}

impl<'a> Piece<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Open(text) | Self::Close(text) | Self::Alone(text) | Self::Text(text) => text,
        }
    }
}

/// The pieces of a document, and for those that open an element with text of its own, or without anything, where it ends.
fn pieces(xml: &str) -> Option<(Vec<Piece<'_>>, Vec<Option<usize>>)> {
    let (mut pieces, mut ends) = (Vec::new(), Vec::new());
    // Elements that are open: where they begin, and whether they are to stay as they are.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut rest = xml;
    while !rest.is_empty() {
        let end = end_of_piece(rest)?;
        let (text, behind) = rest.split_at_checked(end)?;
        rest = behind;
        let here = pieces.len();
        ends.push(None);
        pieces.push(if text.starts_with("</") {
            let (begin, stays) = open.pop()?;
            if stays || begin + 1 == here {
                *ends.get_mut(begin)? = Some(here);
            }
            Piece::Close(text)
        } else if text.starts_with("<!") || text.starts_with("<?") || text.ends_with("/>") {
            if text.starts_with("<![CDATA[") {
                open.last_mut()?.1 = true;
            }
            Piece::Alone(text)
        } else if text.starts_with('<') {
            open.push((here, false));
            Piece::Open(text)
        } else {
            if let (false, Some((_, stays))) = (text.trim().is_empty(), open.last_mut()) {
                *stays = true;
            }
            Piece::Text(text)
        });
    }
    open.is_empty().then_some((pieces, ends))
}

/// Where the piece at the beginning ends.
fn end_of_piece(text: &str) -> Option<usize> {
    for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
        if text.starts_with(begin) {
            return Some(text.find(end)? + end.len());
        }
    }
    if !text.starts_with('<') {
        return Some(text.find('<').unwrap_or(text.len()));
    }
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(character),
            (Some(mark), character) if mark == character => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_on_lines_of_their_own() {
        for (xml, expected) in [
            ("<a/>", "<a/>\n"),
            ("<a></a>", "<a></a>\n"),
            (
                "<a> <b>x</b><c y='>'/> </a>",
                "<a>\n  <b>x</b>\n  <c y='>'/>\n</a>\n",
            ),
            (
                "<?xml version='1.0'?><a><b><c>1</c></b></a>",
                "<?xml version='1.0'?>\n<a>\n  <b>\n    <c>1</c>\n  </b>\n</a>\n",
            ),
            (
                "<a>mixed <b>text <i>in</i></b> it</a>",
                "<a>mixed <b>text <i>in</i></b> it</a>\n",
            ),
            (
                "<a><!-- <b> --><![CDATA[<c>]]></a>",
                "<a><!-- <b> --><![CDATA[<c>]]></a>\n",
            ),
            ("<a><b></a", "<a><b></a"),
            ("</a>", "</a>"),
            ("no markup", "no markup\n"),
            ("<a", "<a"),
            ("", ""),
        ] {
            assert_eq!(indent(xml), expected, "{xml}");
        }
    }

    #[test]
    fn depth_costs_no_more_than_length() {
        let (levels, open) = (50_000, "<a>");
        let deep = format!("{}<b/>{}", open.repeat(levels), "</a>".repeat(levels));
        assert!(indent(&deep).len() < deep.len() + 2 * levels * (2 * DEEPEST + 1) + 100);
    }
}
